"""Record a check file: `python -m autoclave.parity.record request.json`, inside the sandbox.

The request is `{"artifact": path, "output": path, "seed": 42}`. CPU parts run natively. For other hardware there is no
emulator yet: the check file holds inputs and no outputs, and says that nobody recorded it.
"""

import sys
from pathlib import Path

from autoclave import __version__
from autoclave.artifact.model import Part
from autoclave.artifact.reader import Artifact, open_artifact
from autoclave.canonical import canonical_json
from autoclave.errors import AutoclaveError
from autoclave.native.model import NativeModel
from autoclave.native.request import read_request
from autoclave.parity.check_file import CheckFile, PartCheck, Recorder, write_check
from autoclave.parity.inputs import CHECK_SEED, check_inputs

NATIVE_RECORDER = Recorder("cpu", "autoclave.native", __version__)
NO_RECORDER = Recorder("none", "", "")


def record(artifact: Artifact, seed: int = CHECK_SEED) -> CheckFile:
    """Check inputs of all parts of `artifact` and, if it is for the CPU, the outputs that it computes from them."""
    native = all(part.target.device == "CPU" for part in artifact.header.parts)
    return CheckFile(
        artifact_sha256=artifact.sha256(),
        recorded_by=NATIVE_RECORDER if native else NO_RECORDER,
        parts=tuple(_record_part(artifact, part, seed, native) for part in artifact.header.parts),
    )


def _record_part(artifact: Artifact, part: Part, seed: int, native: bool) -> PartCheck:
    inputs = check_inputs(part, seed)
    outputs = NativeModel(artifact, part.key).run(inputs) if native else {}
    return PartCheck(part.key, seed, inputs, outputs)


def main(arguments: list[str]) -> int:
    """Carry out the request that `arguments` names. Returns the exit code."""
    try:
        request = read_request(arguments, "autoclave.parity.record")
        with open_artifact(request["artifact"]) as artifact:
            check = record(artifact, int(request.get("seed", CHECK_SEED)))
        write_check(Path(request["output"]), check)
        print(canonical_json({"recorded_by": check.recorded_by.kind, "parts": len(check.parts)}).decode())
    except AutoclaveError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
