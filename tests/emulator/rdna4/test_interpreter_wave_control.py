"""Control flow of the wave interpreter: branches, loops, barriers, the budget, and what it refuses."""

import struct
import time

import numpy as np
import pytest
from emulator.rdna4.wave_programs import ADDRESSES, code_of, in_lanes, ins, interpret, launch_of

from autoclave.emulator.overlay import Overlay
from autoclave.emulator.rdna4.interpreter import Interpreter
from autoclave.errors import BudgetExceeded, EmulationError, UnknownInstruction


def branch(name: str, label: int) -> object:
    """A branch to a label, by its place among the labels."""
    return ins(name, target=label)


@pytest.mark.parametrize(("name", "expected"), [("s_cbranch_scc1", 1), ("s_cbranch_scc0", 2)])
def test_branch_on_scc(name: str, expected: int) -> None:
    program = [
        ins("s_mov_b32", "s4", 1),
        ins("s_cmp_eq_u32", (), "s4", 1),
        branch(name, 0),
        ins("s_mov_b32", "s4", 2),
        "behind",
    ]
    assert in_lanes(program, "s4", lanes=1) == [expected]


@pytest.mark.parametrize(
    ("name", "register", "value", "taken"),
    [
        ("s_cbranch_vccz", "vcc", 0, True),
        ("s_cbranch_vccz", "vcc", 4, False),
        ("s_cbranch_vccnz", "vcc", 4, True),
        ("s_cbranch_execz", "exec", 0, True),
        ("s_cbranch_execnz", "exec", 0, False),
    ],
)
def test_branch_on_masks(name: str, register: str, value: int, taken: bool) -> None:
    program = [
        ins("s_mov_b32", "s4", 1),
        ins("s_mov_b32", register, value),
        branch(name, 0),
        ins("s_mov_b32", "s4", 2),
        "behind",
    ]
    assert in_lanes(program, "s4", lanes=4) == [1 if taken else 2] * 4


def test_loop() -> None:
    # 3 + 3 + ... while the counter is below 5
    program = [
        ins("s_mov_b32", "s4", 0),
        ins("s_mov_b32", "s5", 0),
        "again",
        ins("s_add_co_u32", "s4", "s4", 3),
        ins("s_add_co_u32", "s5", "s5", 1),
        ins("s_cmp_lt_u32", (), "s5", 5),
        branch("s_cbranch_scc1", 0),
    ]
    assert in_lanes(program, "s4", lanes=1) == [15]


def test_instructions_count_for_each_thread_of_a_wave() -> None:
    # Two instructions and s_endpgm, for 32 and for 8 threads.
    launch = launch_of([ins("s_nop"), ins("s_nop")], local_size=(40, 1, 1))
    assert interpret(launch) == 3 * 40


def test_barrier() -> None:
    # Wave 0 stores, then both wait, then wave 1 reads what wave 0 stored.
    output = np.zeros(64, np.uint32)
    program = [
        *ADDRESSES,
        ins("v_lshlrev_b32", "v1", 2, "v0"),
        ins("v_add_nc_u32", "v2", "v0", 1000),
        ins("ds_store_b32", (), "v1", "v2"),
        ins("s_barrier_signal", (), -1),
        ins("s_barrier_wait", immediate=-1),
        ins("v_xor_b32", "v3", 32 << 2, "v1"),
        ins("ds_load_b32", "v4", "v3"),
        ins("global_store_b32", (), "v1", "v4", "s[100:101]"),
    ]
    interpret(launch_of(program, [output, output.copy()], local_size=(64, 1, 1), shared_bytes=256))
    assert output.tolist() == [1000 + (thread ^ 32) for thread in range(64)]


def test_registers_and_private_memory_of_waves_that_wait_are_their_own() -> None:
    output = np.zeros(64, np.uint32)
    program = [
        *ADDRESSES,
        ins("v_lshlrev_b32", "v1", 2, "v0"),
        ins("v_readfirstlane_b32", "s4", "v0"),
        ins("scratch_store_b32", (), "off", "v0"),
        ins("s_barrier_signal", (), -1),
        ins("s_barrier_wait", immediate=-1),
        ins("scratch_load_b32", "v2", "off"),
        ins("v_lshl_add_u32", "v2", "v2", 8, "s4"),
        ins("global_store_b32", (), "v1", "v2", "s[100:101]"),
    ]
    interpret(launch_of(program, [output, output.copy()], local_size=(64, 1, 1), private_bytes=4))
    assert output.tolist() == [(thread << 8) + (thread // 32 * 32) for thread in range(64)]


def test_a_wave_that_ended_is_not_waited_for() -> None:
    output = np.zeros(2, np.uint32)
    program = [
        *ADDRESSES,
        ins("v_readfirstlane_b32", "s4", "v0"),
        ins("s_cmp_eq_u32", (), "s4", 0),
        branch("s_cbranch_scc1", 0),
        ins("s_barrier_signal", (), -1),
        ins("s_barrier_wait", immediate=-1),
        ins("v_mov_b32", "v1", 0),
        ins("v_mov_b32", "v2", 7),
        ins("global_store_b32", (), "v1", "v2", "s[100:101]"),
        "end",
    ]
    interpret(launch_of(program, [output, output.copy()], local_size=(64, 1, 1)))
    assert output.tolist() == [7, 0]


def test_workgroup_and_thread_numbers() -> None:
    output = np.zeros((2, 3, 2, 2, 2, 4), np.uint32)  # workgroup z, y, x; thread z, y, x
    program = [
        *ADDRESSES,
        ins("s_mul_i32", "s4", "ttmp9", 16),
        ins("s_and_b32", "s5", "ttmp7", 0xFFFF),
        ins("s_mul_i32", "s5", "s5", 32),
        ins("s_lshr_b32", "s6", "ttmp7", 16),
        ins("s_mul_i32", "s6", "s6", 96),
        ins("s_add_co_u32", "s4", "s4", "s5"),
        ins("s_add_co_u32", "s4", "s4", "s6"),
        ins("v_and_b32", "v1", 0x3FF, "v0"),
        ins("v_bfe_u32", "v2", "v0", 10, 10),
        ins("v_lshl_add_u32", "v1", "v2", 2, "v1"),
        ins("v_lshrrev_b32", "v2", 20, "v0"),
        ins("v_lshl_add_u32", "v1", "v2", 3, "v1"),
        ins("v_add_nc_u32", "v1", "s4", "v1"),
        ins("v_lshlrev_b32", "v2", 2, "v1"),
        ins("v_add_nc_u32", "v1", 1, "v1"),
        ins("global_store_b32", (), "v2", "v1", "s[100:101]"),
    ]
    launch = launch_of(program, [output, output.copy()], global_size=(2, 3, 2), local_size=(4, 2, 2))
    interpret(launch)
    assert output.reshape(-1).tolist() == list(range(1, output.size + 1))


def test_numbers_that_the_kernel_does_not_ask_for_are_zero() -> None:
    output = np.zeros(4, np.uint32)
    program = [
        *ADDRESSES,
        ins("v_mov_b32", "v1", "ttmp7"),
        ins("v_add_nc_u32", "v1", "v0", "v1"),
        ins("v_and_b32", "v2", 0x3FF, "v0"),
        ins("v_lshlrev_b32", "v2", 2, "v2"),
        ins("global_store_b32", (), "v2", "v1", "s[100:101]"),
    ]
    launch = launch_of(program, [output, output.copy()], global_size=(1, 2, 1), local_size=(2, 2, 1), rsrc2=2 << 1)
    interpret(launch)
    assert output.tolist() == [0, 1, 0, 0]


def test_endless_loop_runs_into_the_budget() -> None:
    begin = time.monotonic()
    with pytest.raises(BudgetExceeded, match=r"kernel 'k', pc 0, workgroup \(0, 0, 0\), thread 0: .*budget"):
        interpret(launch_of(["again", branch("s_branch", 0)]), budget=10_000)
    assert time.monotonic() - begin < 5


def test_runs_chosen_waves() -> None:
    output = np.zeros(96, np.uint32)
    program = [
        *ADDRESSES,
        ins("v_lshlrev_b32", "v1", 2, "v0"),
        ins("v_mov_b32", "v2", 1),
        ins("global_store_b32", (), "v1", "v2", "s[100:101]"),
    ]
    launch = launch_of(program, [output, output.copy()], local_size=(96, 1, 1))
    overlay = Overlay()
    executed = Interpreter(launch.kernel).run_workgroup(launch, (0, 0, 0), overlay, [1])
    assert executed == 6 * 32
    assert not output.any()
    overlay.commit()
    assert np.flatnonzero(output).tolist() == list(range(32, 64))


def test_refuses_waves_and_workgroups_that_are_not_there() -> None:
    launch = launch_of([ins("s_nop")])
    with pytest.raises(EmulationError, match="no wave 1 in a workgroup of 1"):
        Interpreter(launch.kernel).run_workgroup(launch, (0, 0, 0), Overlay(), [1])
    with pytest.raises(EmulationError, match=r"no workgroup \(1, 0, 0\)"):
        Interpreter(launch.kernel).run_workgroup(launch, (1, 0, 0), Overlay())


@pytest.mark.parametrize(
    ("instruction", "what"),
    [
        (ins("s_getpc_b64", "s[4:5]"), "s_getpc_b64 has no rule"),
        (ins("s_setpc_b64", (), "s[4:5]"), "s_setpc_b64 has no rule"),
        (ins("s_swappc_b64", "s[6:7]", "s[4:5]"), "s_swappc_b64 has no rule"),
        (ins("s_getreg_b32", "s4"), "s_getreg_b32 has no rule"),
        (ins("s_trap"), "s_trap has no rule"),
        (ins("s_barrier_wait", immediate=3), "s_barrier_wait of another barrier"),
        (ins("s_barrier_signal", (), 5), "s_barrier_signal of another barrier"),
    ],
)
def test_refuses_instructions_without_a_rule(instruction: object, what: str) -> None:
    with pytest.raises(UnknownInstruction, match=f"kernel 'k', pc 0: {what}"):
        interpret(launch_of([instruction]))  # type: ignore[list-item]


def test_unreachable_instructions_need_no_rule() -> None:
    interpret(launch_of([branch("s_branch", 0), ins("s_trap"), "end"]))


@pytest.mark.parametrize("target", [-64, 2 << 10, 8], ids=["before", "behind", "within an instruction"])
def test_refuses_wild_branches(target: int) -> None:
    # The instruction behind the branch takes 12 bytes: its words at 8 and 12 begin none.
    code = code_of([ins("s_nop"), ins("v_add_nc_u32", "v1", "v2", 0x12345678), ins("s_endpgm")])
    wild = struct.pack("<I", 0xBFA00000 | ((target - 4) // 4 & 0xFFFF))
    with pytest.raises(UnknownInstruction, match="no instruction begins"):
        interpret(launch_of(wild + code[4:]))


def test_refuses_code_that_does_not_end() -> None:
    with pytest.raises(UnknownInstruction):
        interpret(launch_of(code_of([ins("s_nop"), ins("s_nop")])))
