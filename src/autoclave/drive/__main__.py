"""Drive a model through frames: `python -m autoclave.drive request.json`, inside the sandbox.

The request is `{"artifact": path, "frames": path.npz, "camera": [width, height], "output": path.npz}`; see `autoclave.drive.video` for the
frames. The output has each model's results with a row per frame, by the names of run_policy's outputs. The last line on stdout is
`{"frames": n, "seconds": s}`. Exit code 2 and a message on stderr if anything is wrong with the request or a file.
"""

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from autoclave.artifact.reader import Artifact, open_artifact
from autoclave.canonical import canonical_json
from autoclave.drive.pipeline import RUN_POLICY, Drive, Run, host_inputs
from autoclave.drive.video import read_video
from autoclave.emulator.devices import DEVICES
from autoclave.emulator.jit import best_target
from autoclave.emulator.model import EmulatedModel, Placement
from autoclave.emulator.processors import processors
from autoclave.native.model import NativeModel
from autoclave.native.request import carried_out, part_key
from autoclave.native.tensor_files import write_tensors

WORTH_OPTIMISING = 20
"""Frames from which on better host code for a GPU's kernels is worth its time."""


def main(arguments: list[str]) -> int:
    """Carry out the request that `arguments` names. Returns the exit code."""
    return carried_out(arguments, "autoclave.drive", _drive)


def _drive(request: dict[str, Any]) -> int:
    with open_artifact(request["artifact"]) as artifact:
        header, warp, policy = artifact.header, artifact.part(part_key(request["camera"])), artifact.part(RUN_POLICY)
        video = read_video(Path(request["frames"]), warp, host_inputs(header, warp, policy))
        quick = video.count < WORTH_OPTIMISING
        drive = Drive(header, warp, policy, _runner(artifact, warp.key, quick), _runner(artifact, policy.key, quick))
        started = time.perf_counter()
        steps = [drive.step(frame) for frame in video.frames()]
        seconds = time.perf_counter() - started
    write_tensors(Path(request["output"]), {name: np.concatenate([step[name] for step in steps]) for name in steps[0]})
    print(canonical_json({"frames": video.count, "seconds": seconds}).decode())
    return 0


def _runner(artifact: Artifact, key: str | tuple[int, int], quick: bool) -> Run:
    """What runs a part: the processor, or the emulator of its GPU."""
    if artifact.part(key).target.device not in DEVICES:
        return NativeModel(artifact, key).run
    placement = Placement(replace(best_target(), quick=quick), threads=processors())
    return EmulatedModel(artifact, key, placement).run


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
