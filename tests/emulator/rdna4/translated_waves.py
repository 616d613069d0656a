"""Small gfx1200 programs on translated host code, for every feature set of this machine, and what the interpreter makes of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from emulator.rdna4.wave_programs import interpret
from numpy.typing import NDArray

from autoclave.emulator.jit import HostTarget
from autoclave.emulator.launch import Launch
from autoclave.emulator.program import Program, load_programs
from autoclave.emulator.translation import launch_shape, translate
from autoclave.native.host import host_features, required_features

LEVELS = [
    level for level in ("x86-64", "x86-64-v3", "x86-64-v4") if required_features(f"x86_64,{level}") <= host_features()
]
TARGETS = [*(HostTarget(level, "", 8) for level in LEVELS), HostTarget(LEVELS[-1], "", 4, quick=True)]
"""A kernel's lanes follow from the kernel, not from the target. The last one is of the kind that check files are recorded with."""

BEST = TARGETS[len(LEVELS) - 1]


def program_of(launch: Launch, target: HostTarget = BEST) -> Program:
    """The loaded translation of a launch's kernel."""
    (program,) = load_programs([translate(launch_shape(launch), target)])
    return program


def run(launch: Launch, target: HostTarget = BEST, budget: int = 1 << 24) -> int:
    """Translate and run; gives how many instructions were executed."""
    return program_of(launch, target).run(launch, 1, budget).instructions


def copied(launch: Launch) -> Launch:
    """The launch on memory of its own, but for what it may only read."""
    buffers = tuple(
        replace(buffer, memory=buffer.memory.copy()) if buffer.memory.flags.writeable else buffer
        for buffer in launch.buffers
    )
    return replace(launch, buffers=buffers)


def memories(launch: Launch) -> list[NDArray[Any]]:
    """What is in the launch's buffers."""
    return [buffer.memory for buffer in launch.buffers]


def assert_agree(launch: Launch, targets: Sequence[HostTarget] = TARGETS) -> None:
    """Interpreted and translated for each target, the launch leaves the same bytes and counts the same instructions."""
    interpreted = copied(launch)
    counted = interpret(interpreted)
    for target in targets:
        translated = copied(launch)
        assert run(translated, target) == counted
        for expected, actual in zip(memories(interpreted), memories(translated), strict=True):
            np.testing.assert_array_equal(actual, expected, err_msg=f"on {target}")
