"""Small a630 programs on translated host code, for every feature set of this machine and every lane width."""

from dataclasses import replace
from typing import Any

import numpy as np
from emulator.a630_programs import ins, launch_of, mov, store

from autoclave.emulator.a630.instruction import Instruction
from autoclave.emulator.jit import HostTarget
from autoclave.emulator.launch import Launch
from autoclave.emulator.program import DEFAULT_BUDGET, Program, launch_shape, load_programs, translate
from autoclave.native.host import host_features, required_features

LANES = (8, 16, 32)
LEVELS = [
    level for level in ("x86-64", "x86-64-v3", "x86-64-v4") if required_features(f"x86_64,{level}") <= host_features()
]
TARGETS = [
    *(HostTarget(level, "", lanes) for level in LEVELS for lanes in LANES),
    HostTarget(LEVELS[-1], "", 4, quick=True),
]
"""Code for kernels of a few instructions is made in some 20 ms. The last one is of the kind that check files are recorded with."""

WIDTHS = [target for target in TARGETS if target.cpu == LEVELS[-1]]
"""One for each lane width, the quick one included."""


def bound(launch: Launch) -> Launch:
    """The launch with the slots that its kernel would name."""
    kernel = replace(
        launch.kernel,
        buffer_slots=tuple(range(len(launch.buffers))),
        image_slots=tuple(range(len(launch.images))),
        texture_slots=tuple(range(len(launch.textures))),
    )
    return replace(launch, kernel=kernel)


def program_of(launch: Launch, target: HostTarget) -> Program:
    """The loaded translation of a launch that is `bound`."""
    (program,) = load_programs([translate(launch_shape(launch), target)])
    return program


def run(launch: Launch, target: HostTarget, threads: int = 1, budget: int = DEFAULT_BUDGET) -> int:
    """Translate and run; gives how many instructions were executed."""
    launch = bound(launch)
    return program_of(launch, target).run(launch, threads, budget).instructions


def store_result(register: str) -> list[Instruction]:
    """Store a register as the word of the thread in the first buffer; threads find their number in r0.x."""
    return [
        ins("shl.b", "r40.z", "r0.x", 2),
        ins("add.u", "r40.x", "c0.x", "r40.z"),
        mov("r40.y", "c0.y"),
        mov("r41.x", register),
        store("stg", "r40.x", "r41.x"),
    ]


def per_thread(
    target: HostTarget, instructions: list[Instruction], threads: int, register: str = "r1.x", **launch: Any
) -> list[int]:
    """What `register` holds at the end, of each thread of a workgroup."""
    output = np.zeros(threads, np.uint32)
    buffers = [output, *launch.pop("more_buffers", ())]
    program = [*instructions, *store_result(register)]
    run(launch_of(program, buffers=buffers, local_size=(threads, 1, 1), **launch), target)
    return [int(word) for word in output]
