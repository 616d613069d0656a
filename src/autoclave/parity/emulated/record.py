"""Record the check file of an artifact for an emulated GPU: `python -m autoclave.parity.emulated.record request.json`.

The request is that of `python -m autoclave.parity.record`, and may have `translations`, `cpu` and `features` besides, see
autoclave.parity.emulated.hardware. With `launches`, a path, what each launch wrote is kept there, see
autoclave.parity.emulated.launches.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autoclave.artifact.model import Part
from autoclave.artifact.reader import Artifact, open_artifact
from autoclave.canonical import canonical_json
from autoclave.emulator.devices import DEVICES
from autoclave.native.request import carried_out
from autoclave.parity.check_file import write_check
from autoclave.parity.emulated.hardware import EmulatedHardware
from autoclave.parity.emulated.launches import LaunchRecorder, RecordedPart, write_launches
from autoclave.parity.hardware import Runner
from autoclave.parity.inputs import CHECK_SEED
from autoclave.parity.record import record


class _Watching(EmulatedHardware):
    """The same hardware, with a note of every launch."""

    def __init__(self) -> None:
        self.recorders: list[LaunchRecorder] = []

    def open(self, artifact: Artifact, part: Part, request: Mapping[str, Any], *, replays: bool) -> Runner:
        self.recorders.append(LaunchRecorder(self.load(artifact, part, request, replays=replays)))
        return self.recorders[-1]


def _record(request: dict[str, Any]) -> int:
    hardware = _Watching() if request.get("launches") else EmulatedHardware()
    seed = int(request.get("seed", CHECK_SEED))
    with open_artifact(request["artifact"]) as artifact:
        check = record(artifact, seed, dict.fromkeys(DEVICES, hardware), request)
    write_check(Path(request["output"]), check)
    if isinstance(hardware, _Watching):
        parts = [RecordedPart(each.part.key, seed, each.launches) for each in hardware.recorders]
        write_launches(Path(request["launches"]), check.artifact_sha256, parts)
    print(canonical_json({"recorded_by": check.recorded_by.kind, "parts": len(check.parts)}).decode())
    return 0


def main(arguments: list[str]) -> int:
    """Carry out the request that `arguments` names. Returns the exit code."""
    return carried_out(arguments, "autoclave.parity.emulated.record", _record)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
