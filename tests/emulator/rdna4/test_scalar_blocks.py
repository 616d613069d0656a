"""Scalar loads of 8 and 16 words that reach behind the end of a buffer, as compilers widen them, on both implementations."""

from collections.abc import Callable

import numpy as np
import pytest
from emulator.rdna4.translated_waves import TARGETS, run
from emulator.rdna4.wave_programs import ADDRESSES, ins, interpret, launch_of

from autoclave.emulator.launch import Launch
from autoclave.errors import MemoryFault

Run = Callable[[Launch], int]

IMPLEMENTATIONS = [interpret, *(lambda launch, target=target: run(launch, target) for target in TARGETS)]
NAMES = ["interpreter", *(f"translator-{number}" for number in range(len(TARGETS)))]


def loading(words: int, offset: int, held: int) -> tuple[Launch, np.ndarray]:
    """A launch that loads so many words at an offset of a buffer of `held` bytes, 1, 2, 3 ..., and stores them; and where."""
    stored = np.full(16, 0xFFFFFFFF, np.uint32)
    program = [
        *ADDRESSES,
        ins(f"s_load_b{32 * words}", f"s[16:{15 + words}]", "s[102:103]", immediate=offset),
        ins("v_mov_b32", "v1", 0),
    ]
    for word in range(words):
        program += [
            ins("v_mov_b32", "v2", f"s{16 + word}"),
            ins("global_store_b32", (), "v1", "v2", "s[100:101]", immediate=4 * word),
        ]
    return launch_of(program, [stored, np.arange(1, held + 1, dtype=np.uint8)], local_size=(1, 1, 1)), stored


@pytest.mark.parametrize("execute", IMPLEMENTATIONS, ids=NAMES)
@pytest.mark.parametrize(
    ("words", "offset", "held"),
    [(8, 0, 32), (8, 32, 56), (8, 32, 36), (8, 0, 31), (8, 32, 61), (16, 0, 64), (16, 64, 100), (16, 64, 69)],
)
def test_what_is_behind_the_end_reads_zero(execute: Run, words: int, offset: int, held: int) -> None:
    launch, stored = loading(words, offset, held)

    execute(launch)

    expected = np.zeros(4 * words, np.uint8)
    there = np.arange(1, held + 1, dtype=np.uint8)[offset : offset + 4 * words]
    expected[: there.size] = there
    assert stored.view(np.uint8)[: 4 * words].tolist() == expected.tolist()


@pytest.mark.parametrize("execute", IMPLEMENTATIONS, ids=NAMES)
@pytest.mark.parametrize(
    ("words", "offset", "held"),
    [
        pytest.param(8, 32, 32, id="nothing-of-it-is-there"),
        pytest.param(8, 32, 35, id="not-even-a-word"),
        pytest.param(8, 4, 32, id="not-aligned"),
        pytest.param(16, 32, 64, id="aligned-to-half-of-it"),
        pytest.param(4, 16, 28, id="four-words"),
        pytest.param(2, 8, 12, id="two-words"),
        pytest.param(8, -32, 64, id="before-the-buffer"),
    ],
)
def test_other_loads_across_the_end_are_faults(execute: Run, words: int, offset: int, held: int) -> None:
    launch, _ = loading(words, offset, held)

    with pytest.raises(MemoryFault, match=f"access of {4 * words} bytes|access of 4 bytes"):
        execute(launch)
