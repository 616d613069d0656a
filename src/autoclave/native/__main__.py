"""Run one part of a CPU artifact once: `python -m autoclave.native request.json`, inside the sandbox.

The request is `{"artifact": path, "part": key, "inputs": path.npz, "output": path.npz, "repeat": n}`. The last line
on stdout is `{"seconds": {"load": s, "run": [s, ...]}}`; with `repeat` the run list has n entries, measured without
copying inputs and outputs. Exit code 2 and a message on stderr if anything is wrong with the request or the artifact.
"""

import sys
import time
from pathlib import Path
from typing import Any

from autoclave.artifact.reader import open_artifact
from autoclave.canonical import canonical_json
from autoclave.errors import AutoclaveError
from autoclave.native.model import NativeModel
from autoclave.native.request import part_key, read_request
from autoclave.native.tensor_files import read_tensors, write_tensors


def main(arguments: list[str]) -> int:
    """Carry out the request that `arguments` names. Returns the exit code."""
    try:
        print(canonical_json(_run(read_request(arguments, "autoclave.native"))).decode())
    except AutoclaveError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _run(request: dict[str, Any]) -> dict[str, Any]:
    with open_artifact(request["artifact"]) as artifact:
        started = time.perf_counter()
        model = NativeModel(artifact, part_key(request.get("part", "run")))
        loaded = time.perf_counter()
        outputs = model.run(read_tensors(Path(request["inputs"]), model.part.inputs))
        times = [_timed(model) for _ in range(int(request.get("repeat", 0)))]
    write_tensors(Path(request["output"]), outputs)
    return {"seconds": {"load": loaded - started, "run": times}}


def _timed(model: NativeModel) -> float:
    started = time.perf_counter()
    model.launch()
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
