"""Interpreter and translator on random programs: two implementations, the same bits, whatever the host's features and lanes."""

from dataclasses import replace

import pytest
from emulator.rdna4.random_waves import arithmetic_launch, control_launch, memory_launch

from autoclave.emulator.jit import BASELINE, HostTarget, best_target
from autoclave.emulator.launch import Launch
from autoclave.emulator.program import load_programs
from autoclave.emulator.sampling import cross_check
from autoclave.emulator.translation import launch_shape, translate

TARGETS = {"sse2": replace(BASELINE, quick=True), "host": best_target(), "quick": replace(best_target(), quick=True)}


def check(launch: Launch, target: HostTarget) -> None:
    (program,) = load_programs([translate(launch_shape(launch), target)])
    result = cross_check(launch, lambda: program.run(launch), budget=1 << 30, most=1 << 10)
    assert result.elements > 0
    assert result.differences == (), "\n".join(map(str, result.differences[:5]))


@pytest.mark.parametrize(
    ("target", "seed", "threads"),
    [
        ("sse2", 1, 3), ("host", 2, 7), ("quick", 3, 13), ("quick", 4, 32), ("quick", 5, 45), ("host", 6, 20),
        ("quick", 7, 1), ("sse2", 8, 32), ("quick", 9, 64), ("quick", 10, 16),
    ],
)  # fmt: skip
def test_arithmetic(target: str, seed: int, threads: int) -> None:
    check(arithmetic_launch(seed, 60, threads), TARGETS[target])


@pytest.mark.parametrize(
    ("target", "seed", "threads"), [("sse2", 1, 5), ("host", 2, 19), ("quick", 3, 40), ("quick", 4, 8)]
)
def test_memory(target: str, seed: int, threads: int) -> None:
    check(memory_launch(seed, 60, threads), TARGETS[target])


@pytest.mark.parametrize(
    ("target", "seed", "depth"),
    [
        ("quick", 1, 2), ("quick", 2, 2), ("host", 3, 2), ("sse2", 4, 2), ("quick", 5, 2), ("quick", 10, 2), ("quick", 1, 3),
        ("quick", 102, 3),
    ],
)  # fmt: skip
def test_control(target: str, seed: int, depth: int) -> None:
    check(control_launch(seed, depth), TARGETS[target])
