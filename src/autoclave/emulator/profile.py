"""Where the work of an artifact for an emulated GPU is: `python -m autoclave.emulator.profile request.json`, inside the sandbox.

The request is `{"artifact": path, "part": key, "inputs": path.npz, "repeat": 3, "output": path}`. The output is JSON: what is run on,
and for each call of a run, in order, its kernel, its size, the instructions that it executes (summed over all threads),
the bytes of its arguments, and the seconds that it took here on one thread, the median of `repeat` runs.
"""

import statistics
import sys
import time
from math import prod
from pathlib import Path
from typing import Any

from autoclave.artifact.reader import key_text, open_artifact
from autoclave.canonical import canonical_json
from autoclave.emulator.jit import best_target
from autoclave.emulator.model import EmulatedModel, Placement, Step
from autoclave.emulator.program import Sequence
from autoclave.native.model import Tensors
from autoclave.native.request import carried_out, part_key
from autoclave.native.tensor_files import read_tensors

REPEAT = 3


def profile(model: EmulatedModel, inputs: Tensors, repeat: int = REPEAT) -> list[dict[str, Any]]:
    """What each call of a run does, and its median time of `repeat` runs on one thread."""
    alone = [Sequence([step.prepared]) for step in model.calls]
    runs = [_timed_calls(model, alone, inputs) for _ in range(max(1, repeat))]
    return [
        _described(step, instructions, statistics.median(run[place][1] for run in runs))
        for place, (step, (instructions, _)) in enumerate(zip(model.calls, runs[0], strict=True))
    ]


def _timed_calls(model: EmulatedModel, alone: list[Sequence], inputs: Tensors) -> list[tuple[int, float]]:
    """Instructions and seconds of each call of one run."""
    model.start_run(inputs)
    measured = []
    for call in alone:
        started = time.perf_counter()
        (executed,) = call.run()
        measured.append((executed.instructions, time.perf_counter() - started))
    return measured


def _described(step: Step, instructions: int, seconds: float) -> dict[str, Any]:
    launch = step.launch
    return {
        "index": step.index,
        "kernel": step.number,
        "name": step.name,
        "workgroups": list(launch.global_size) if launch else None,
        "threads": prod(launch.global_size) * prod(launch.local_size) if launch else 0,
        "instructions": instructions,
        "bytes": step.nbytes,
        "seconds": seconds,
    }


def _profile(request: dict[str, Any]) -> int:
    target = best_target()
    with open_artifact(request["artifact"]) as artifact:
        placement = Placement(target)
        model = EmulatedModel(artifact, part_key(request.get("part", "run")), placement)
        inputs = read_tensors(Path(request["inputs"]), model.part.inputs)
        calls = profile(model, inputs, int(request.get("repeat", REPEAT)))
    result = {
        "format": 1,
        "part": key_text(model.part.key),
        "host": {"cpu": target.cpu, "lanes": target.lanes, "threads": placement.threads},
        "launches": calls,
    }
    output = Path(request["output"])
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(canonical_json(result) + b"\n")
    return 0


def main(arguments: list[str]) -> int:
    """Carry out the request that `arguments` names. Returns the exit code."""
    return carried_out(arguments, "autoclave.emulator.profile", _profile)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
