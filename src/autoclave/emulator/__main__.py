"""Run one part of an artifact for an emulated GPU once: `python -m autoclave.emulator request.json`, inside the sandbox.

Request, output and exit codes are those of `python -m autoclave.native`, which does the same for CPU artifacts.
"""

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from autoclave.artifact.reader import open_artifact
from autoclave.canonical import canonical_json
from autoclave.emulator.jit import best_target
from autoclave.emulator.model import EmulatedModel, Placement
from autoclave.emulator.processors import processors
from autoclave.native.request import carried_out, part_key
from autoclave.native.tensor_files import read_tensors, write_tensors


def _run(request: dict[str, Any]) -> int:
    with open_artifact(request["artifact"]) as artifact:
        started = time.perf_counter()
        repeat = int(request.get("repeat", 0))
        # Better code is not worth its time for a single run.
        placement = Placement(replace(best_target(), quick=not repeat), threads=processors())
        model = EmulatedModel(artifact, part_key(request.get("part", "run")), placement)
        loaded = time.perf_counter()
        outputs = model.run(read_tensors(Path(request["inputs"]), model.part.inputs))
        times = [_timed(model) for _ in range(repeat)]
    write_tensors(Path(request["output"]), outputs)
    print(canonical_json({"seconds": {"load": loaded - started, "run": times}}).decode())
    return 0


def _timed(model: EmulatedModel) -> float:
    started = time.perf_counter()
    model.launch()
    return time.perf_counter() - started


def main(arguments: list[str]) -> int:
    """Carry out the request that `arguments` names. Returns the exit code."""
    return carried_out(arguments, "autoclave.emulator", _run)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
