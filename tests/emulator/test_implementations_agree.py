"""Interpreter and translator on random programs: two implementations, the same bits, whatever the host's features and lanes."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from emulator.a630_programs import ins, launch_of, mov, store
from emulator.random_programs import arithmetic_launch, control_launch, memory_launch

from autoclave.emulator.jit import BASELINE, HostTarget, best_target
from autoclave.emulator.launch import Launch
from autoclave.emulator.program import launch_shape, load_programs, translate
from autoclave.emulator.sampling import cross_check

TARGETS = {
    "sse2": BASELINE,
    "4 lanes": HostTarget(BASELINE.cpu, "", 4),
    "host": best_target(),
    "quick": replace(best_target(), quick=True),
}

targets = pytest.mark.parametrize("target", TARGETS)


def check(launch: Launch, target: HostTarget) -> None:
    (program,) = load_programs([translate(launch_shape(launch), target)])
    result = cross_check(launch, lambda: program.run(launch), budget=1 << 30, most=1 << 10)
    assert result.elements > 0
    assert result.differences == (), "\n".join(map(str, result.differences[:5]))


@targets
@pytest.mark.parametrize(
    ("seed", "merged", "demotion"), [(1, False, True), (2, False, False), (3, True, True)], ids=str
)
def test_arithmetic(target: str, seed: int, merged: bool, demotion: bool) -> None:
    check(arithmetic_launch(seed, 40, threads=19, merged=merged, demotion=demotion), TARGETS[target])


@targets
@pytest.mark.parametrize("seed", [1, 2])
def test_loads_and_stores(target: str, seed: int) -> None:
    check(memory_launch(seed, 40, threads=19), TARGETS[target])


@targets
@pytest.mark.parametrize("seed", range(4))
def test_control_flow_and_memory(target: str, seed: int) -> None:
    check(control_launch(seed), TARGETS[target])


@targets
@pytest.mark.parametrize("literal", ["h8", "h335"])
@pytest.mark.parametrize("name", ["max.f", "min.f"])
def test_literal_half_denormals_are_zeros(target: str, name: str, literal: str) -> None:
    signs = itertools.product(("", "(neg)"), repeat=2)
    program = [ins("mov", "hr1.x", "h0x3ff", source_type="u16", type="u16"), mov("r2.x", "c0.x"), mov("r2.y", "c0.y")]
    for place, (first, second) in enumerate(signs):
        program += [
            ins(name, "hr3.x", first + literal, second + "hr1.x"),
            store("stg", "r2.x", "hr3.x", "u16", offset=2 * place),
        ]
    check(launch_of(program, buffers=[np.zeros(4, np.uint16)]), TARGETS[target])
