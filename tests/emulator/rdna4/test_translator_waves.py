"""Translated waves: what they start with, loops, barriers, lanes that read lanes, and products of matrices, as the interpreter has them."""

from typing import Any

import numpy as np
import pytest
from emulator.rdna4.translated_waves import BEST, TARGETS, assert_agree, run
from emulator.rdna4.wave_programs import ADDRESSES, ins, launch_of
from numpy.typing import NDArray

from autoclave.emulator.jit import HostTarget
from autoclave.emulator.rdna4.decoder import decode_kernel
from autoclave.emulator.rdna4.instruction import Instruction
from autoclave.emulator.rdna4.launch import kernel_of
from autoclave.emulator.rdna4.translator.kernel import translate_kernel
from autoclave.errors import BudgetExceeded, UnknownInstruction

LANES = [*ADDRESSES, ins("v_lshlrev_b32", "v250", 2, "v0")]
"""v250: 4 times the lane's number."""

STORE = [ins("global_store_b32", (), "v250", "v1", "s[100:101]")]


def _words(count: int = 64) -> NDArray[np.uint32]:
    return np.zeros(count, np.uint32)


def test_workgroup_and_thread_numbers() -> None:
    # The word of each thread: x + 16 y + 64 z of the thread, then 256 x + 1024 y + 4096 z of the workgroup.
    program = [
        *ADDRESSES,
        ins("v_and_b32", "v1", 0x3FF, "v0"),
        ins("v_bfe_u32", "v2", "v0", 10, 10),
        ins("v_bfe_u32", "v3", "v0", 20, 10),
        ins("v_lshl_add_u32", "v1", "v2", 4, "v1"),
        ins("v_lshl_add_u32", "v1", "v3", 6, "v1"),
        ins("s_and_b32", "s4", "ttmp7", 0xFFFF),
        ins("s_lshr_b32", "s5", "ttmp7", 16),
        ins("s_lshl_b32", "s4", "s4", 10),
        ins("s_lshl_b32", "s5", "s5", 12),
        ins("s_lshl_b32", "s6", "ttmp9", 8),
        ins("s_add_co_u32", "s4", "s4", "s5"),
        ins("s_add_co_u32", "s4", "s4", "s6"),
        ins("v_add_nc_u32", "v1", "s4", "v1"),
        ins("v_lshlrev_b32", "v250", 2, "v1"),
        *STORE,
    ]
    output = _words(1 << 14)
    run(launch_of(program, [output, _words()], (3, 2, 2), (3, 4, 4)))
    expected = {
        x + 16 * y + 64 * z + 256 * group_x + 1024 * group_y + 4096 * group_z
        for x in range(3)
        for y in range(4)
        for z in range(4)
        for group_x in range(3)
        for group_y in range(2)
        for group_z in range(2)
    }
    assert set(output.nonzero()[0].tolist()) == expected - {0}
    assert all(output[number] == number for number in expected)


@pytest.mark.parametrize(("threads", "lanes"), [(1, 4), (4, 4), (5, 8), (16, 16), (17, 32), (64, 32)])
def test_lanes_are_as_few_as_hold_the_threads(threads: int, lanes: int) -> None:
    launch = launch_of([*LANES, *STORE], [_words(), _words()], local_size=(threads, 1, 1))
    kernel = kernel_of(launch)
    made = translate_kernel(kernel, decode_kernel(kernel.code), launch.local_size, BEST)
    assert made.geometry.lanes == lanes


def test_lanes_that_read_each_other_are_all_there() -> None:
    program = [
        *LANES,
        ins("v_mov_b32", "v2", 7),
        ins("v_readlane_b32", "s4", "v2", 20),
        ins("v_mov_b32", "v1", "s4"),
        *STORE,
    ]
    output = _words()
    run(launch_of(program, [output, _words()], local_size=(4, 1, 1)))
    assert output[:5].tolist() == [0, 0, 0, 0, 0]  # lane 20 holds no thread: its registers are 0 for ever


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_waves_meet_at_barriers(target: HostTarget) -> None:
    # Each wave adds up what the others stored; registers, SCC and private memory are its own.
    program = [
        *LANES,
        ins("s_cmp_eq_u32", (), "ttmp9", 1),
        ins("v_add_nc_u32", "v5", 3, "v0"),
        ins("scratch_store_b32", (), "off", "v5", immediate=4),
        ins("ds_store_b32", (), "v250", "v5"),
        ins("s_barrier_signal", (), -1),
        ins("s_barrier_wait", immediate=-1),
        ins("v_xor_b32", "v6", 0x80, "v250"),
        ins("ds_load_b32", "v7", "v6"),
        ins("s_barrier_signal", (), -1),
        ins("s_barrier_wait", immediate=-1),
        ins("scratch_load_b32", "v8", "off", immediate=4),
        ins("s_cselect_b32", "s4", 1000, 0),
        ins("v_add3_u32", "v1", "v7", "v8", "s4"),
        ins("s_lshl_b32", "s5", "ttmp9", 8),
        ins("v_add_nc_u32", "v250", "s5", "v250"),
        *STORE,
    ]
    output = _words(128)
    launch = launch_of(program, [output, _words()], (2, 1, 1), (64, 1, 1), shared_bytes=256, private_bytes=8)
    run(launch, target)
    first = [3 + lane + 3 + (lane ^ 32) for lane in range(64)]
    assert output.tolist() == [*first, *(one + 1000 for one in first)]


def _loop(times: int) -> list[Instruction | str]:
    return [
        *LANES,
        ins("s_mov_b32", "s4", 0),
        ins("v_mov_b32", "v1", 0),
        "again",
        ins("v_add_nc_u32", "v1", "v1", "v0"),
        ins("s_add_co_u32", "s4", "s4", 1),
        ins("s_cmp_lt_u32", (), "s4", times),
        ins("s_cbranch_scc1", target=0),
        *STORE,
    ]


def test_loops_count_each_instruction_for_each_thread() -> None:
    output = _words()
    counted = run(launch_of(_loop(6), [output, _words()], local_size=(20, 1, 1)))
    assert output[:20].tolist() == [6 * lane for lane in range(20)]
    assert counted == 20 * (len(LANES) + 2 + 6 * 4 + 2)


def test_endless_loops_end_with_the_budget() -> None:
    with pytest.raises(BudgetExceeded):
        run(launch_of(_loop(0xFFFFFFFF), [_words(), _words()]), budget=1 << 16)


def test_unknown_instructions_are_named_with_their_count() -> None:
    program = [ins("s_getpc_b64", "s[4:5]"), ins("s_getpc_b64", "s[4:5]")]
    with pytest.raises(UnknownInstruction, match="'k'.*s_getpc_b64 .2 times, first at pc 0"):
        run(launch_of(program))


_MATRICES = [
    "v_wmma_f32_16x16x16_f16",
    "v_wmma_f32_16x16x16_bf16",
    "v_wmma_f16_16x16x16_f16",
    "v_wmma_bf16_16x16x16_bf16",
]


def _loads(first: int, count: int, at: int) -> list[Instruction]:
    return [
        ins("global_load_b32", f"v{first + step}", "v250", "s[102:103]", immediate=at + 128 * step)
        for step in range(count)
    ]


def _random_bits(generator: np.random.Generator, shape: tuple[int, ...], name: str) -> NDArray[Any]:
    numbers = generator.standard_normal(shape).astype(np.float32)
    if name.endswith("bf16"):
        return (numbers.view(np.uint32) >> 16).astype(np.uint16)
    return numbers.astype(np.float16).view(np.uint16)


@pytest.mark.parametrize(("name", "negated"), [*((name, False) for name in _MATRICES), (_MATRICES[0], True)])
def test_products_of_matrices(name: str, negated: bool) -> None:
    """Two products, the second of which adds to the first, with EXEC off in between: it does not matter."""
    generator = np.random.default_rng(3)
    factors = _random_bits(generator, (8, 32, 2), name).view(np.uint32).reshape(8, 32)
    wide = "f32" in name.split("_")[2]
    sums = generator.standard_normal((8, 32)).astype(np.float32).view(np.uint32)
    if not wide:
        sums = _random_bits(generator, (8, 32, 2), name).view(np.uint32).reshape(8, 32)
    count = 8 if wide else 4
    to = f"v[20:{19 + count}]"
    first = "-v[4:7]" if negated else "v[4:7]"
    program = [
        *LANES,
        *_loads(4, 8, 0),
        *_loads(20, count, 8 * 128),
        ins(name, to, first, "v[8:11]", to),
        ins("s_mov_b32", "exec", 3),
        ins(name, to, "v[8:11]", "v[4:7]", to),
        ins("s_mov_b32", "exec", -1),
        *(
            ins("global_store_b32", (), "v250", f"v{20 + step}", "s[100:101]", immediate=128 * step)
            for step in range(count)
        ),
    ]
    data = np.concatenate((factors, sums)).reshape(-1)
    assert_agree(launch_of(program, [_words(256), data]), TARGETS[:-1] if name == _MATRICES[0] else [TARGETS[0], BEST])
