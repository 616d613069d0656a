"""Take the kernels out of an artifact: `python -m autoclave.emulator.extract request.json`.

The request is `{"artifact": path, "output": path}`. The output holds code and launch shapes and no weights, so that models
that differ in weights only share their translations.
"""

import sys
from pathlib import Path
from typing import Any

from autoclave.artifact.reader import open_artifact
from autoclave.canonical import canonical_json
from autoclave.emulator.shapes import artifact_work, pack_work
from autoclave.native.request import carried_out


def _extract(request: dict[str, Any]) -> int:
    with open_artifact(request["artifact"]) as artifact:
        work = artifact_work(artifact)
    output = Path(request["output"])
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(pack_work(work))
    print(canonical_json({"kernels": len(work)}).decode())
    return 0


def main(arguments: list[str]) -> int:
    """Carry out the request that `arguments` names. Returns the exit code."""
    return carried_out(arguments, "autoclave.emulator.extract", _extract)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
