"""Record a check file: `python -m autoclave.parity.record request.json`, inside the sandbox.

The request is `{"artifact": path, "output": path, "seed": 42}`. CPU parts run natively.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autoclave.artifact.model import Part
from autoclave.artifact.reader import Artifact, key_text, open_artifact
from autoclave.canonical import canonical_json
from autoclave.errors import AutoclaveError
from autoclave.native.request import carried_out
from autoclave.parity.check_file import CheckFile, PartCheck, write_check
from autoclave.parity.gates import finite_gate
from autoclave.parity.hardware import Hardware, Ways, way_of
from autoclave.parity.inputs import CHECK_SEED, check_inputs
from autoclave.parity.native import WAYS

NOTHING: Mapping[str, Any] = {}


def record(
    artifact: Artifact, seed: int = CHECK_SEED, ways: Ways = WAYS, request: Mapping[str, Any] = NOTHING
) -> CheckFile:
    """Check inputs of all parts of `artifact`, and the outputs that they give.

    Raises `AutoclaveError` if a part is none of `ways`' business or cannot be loaded, or if an output is not finite.
    """
    parts = artifact.header.parts
    found = [way_of(part, ways) for part in parts]
    return CheckFile(
        artifact_sha256=artifact.sha256(),
        recorded_by=found[0].recorder,
        parts=tuple(_record_part(artifact, part, seed, way, request) for part, way in zip(parts, found, strict=True)),
    )


def _record_part(artifact: Artifact, part: Part, seed: int, way: Hardware, request: Mapping[str, Any]) -> PartCheck:
    inputs = check_inputs(part, seed)
    outputs = way.open(artifact, part, request, replays=False).run(inputs)
    for name, values in outputs.items():
        result = finite_gate(name, values)
        if result.status != "passed":
            raise AutoclaveError(
                f"recording part {key_text(part.key)} with the inputs of seed {seed}: output {name}: {result.message}; a device would steer by "
                f"them. Look for an overflow: fp16 ends at 65504"
            )
    return PartCheck(part.key, seed, inputs, outputs)


def run_record(arguments: list[str], module: str, ways: Ways) -> int:
    """Record as the request file in `arguments` says; returns the exit code. `module` is the entry module's name."""

    def carry_out(request: dict[str, Any]) -> int:
        with open_artifact(request["artifact"]) as artifact:
            check = record(artifact, int(request.get("seed", CHECK_SEED)), ways, request)
        write_check(Path(request["output"]), check)
        print(canonical_json({"recorded_by": check.recorded_by.kind, "parts": len(check.parts)}).decode())
        return 0

    return carried_out(arguments, module, carry_out)


def main(arguments: list[str]) -> int:
    """Carry out the request that `arguments` names. Returns the exit code."""
    return run_record(arguments, "autoclave.parity.record", WAYS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
