"""Traces of one thread of a gfx1200 launch: what it reads and writes, where its lane is off, and as lines of text."""

import numpy as np
import pytest
from emulator.rdna4.wave_programs import ADDRESSES, dual, ins, launch_of

from autoclave.emulator.rdna4.instruction import EXEC, TTMP, VCC, Register
from autoclave.emulator.rdna4.sharing import changes_buffers_in_turn, works_together
from autoclave.emulator.rdna4.trace import Executed, Value, name_of, trace_thread
from autoclave.emulator.rdna4.trace_lines import line, value_text
from autoclave.errors import BudgetExceeded, EmulationError, MemoryFault

ONE, TWO = 0x3F800000, 0x40000000


def traced(program: list, thread: int = 0, **launch: object) -> list[Executed]:  # type: ignore[type-arg]
    """What a thread of a workgroup of 64 executes, but for s_endpgm."""
    executed: list[Executed] = []
    trace_thread(launch_of(program, local_size=(64, 1, 1), **launch), (0, 0, 0), thread, executed.append)  # type: ignore[arg-type]
    assert executed.pop().instruction.name == "s_endpgm"
    return executed


def test_values_of_the_thread_s_own_lane() -> None:
    (add,) = traced([ins("v_add_nc_u32", "v1", "v0", 5)], thread=40)
    assert add.enabled
    assert add.reads == (Value("v0", 40, "u32"),)
    assert add.writes == (Value("v1", 45, "u32"),)


def test_values_are_read_before_they_are_written() -> None:
    _, add = traced([ins("v_mov_b32", "v1", ONE), ins("v_add_f32", "v1", "v1", "v1")])
    assert add.reads == (Value("v1", ONE, "f32"), Value("v1", ONE, "f32"))
    assert add.writes == (Value("v1", TWO, "f32"),)


def test_lane_that_is_off() -> None:
    program = [ins("s_mov_b32", "exec", 0b10), ins("v_mov_b32", "v1", 7)]
    assert [one.enabled for one in traced(program, thread=0)] == [True, False]
    assert [one.enabled for one in traced(program, thread=1)] == [True, True]
    assert traced(program, thread=0)[1].writes == (Value("v1", 0, "b32"),)


def test_scc_and_exec_are_shown_where_they_change() -> None:
    compare, again, narrow = traced(
        [
            ins("s_cmp_eq_u32", (), 1, 1),
            ins("s_cmp_eq_u32", (), 1, 1),
            ins("v_cmpx_eq_u32", (), 3, "v0"),
        ]
    )
    assert compare.writes == (Value("scc", 1, "b32"),)
    assert again.writes == ()
    assert narrow.writes == (Value("exec_lo", 0b1000, "b32"),)


def test_registers_of_wide_operands_are_shown_one_by_one() -> None:
    memory = np.array([1, 2, 3, 4], np.uint32)
    program = [*ADDRESSES, ins("v_mov_b32", "v1", 0), ins("global_load_b128", "v[4:7]", "v1", "s[100:101]")]
    load = traced(program, buffers=[memory], values=[0, 0])[-1]
    assert load.writes == tuple(Value(f"v{4 + at}", 1 + at, "b32") for at in range(4))
    assert load.reads == (Value("v1", 0, "u32"), Value("s[100:101]", 1 << 36, "u64"))
    assert memory.tolist() == [1, 2, 3, 4]


def test_both_operations_of_a_pair() -> None:
    moves = dual(
        ins("v_dual_mov_b32", "v2", "v0", encoding="VOPD"), ins("v_dual_add_nc_u32", "v3", 1, "v0", encoding="VOPD")
    )
    (pair,) = traced([moves], thread=9)
    assert pair.writes == (Value("v2", 9, "b32"), Value("v3", 10, "u32"))


def test_stores_leave_memory_as_it_is() -> None:
    memory = np.zeros(64, np.uint32)
    program = [*ADDRESSES, ins("v_lshlrev_b32", "v1", 2, "v0"), ins("global_store_b32", (), "v1", "v0", "s[100:101]")]
    traced(program, thread=33, buffers=[memory], values=[0, 0])
    assert not memory.any()


def test_other_waves_run_where_the_traced_one_sees_their_work() -> None:
    program = [
        ins("v_lshlrev_b32", "v1", 2, "v0"),
        ins("ds_store_b32", (), "v1", "v0"),
        ins("s_barrier_signal", (), -1),
        ins("s_barrier_wait", immediate=-1),
        ins("v_xor_b32", "v1", 32 << 2, "v1"),
        ins("ds_load_b32", "v2", "v1"),
    ]
    assert traced(program, thread=5, shared_bytes=256)[-1].writes == (Value("v2", 37, "b32"),)


def test_what_was_executed_before_a_fault_is_reported() -> None:
    executed: list[Executed] = []
    program = [ins("v_mov_b32", "v2", 0), ins("v_mov_b32", "v3", 0), ins("global_load_b32", "v1", "v[2:3]")]
    with pytest.raises(MemoryFault):
        trace_thread(launch_of(program), (0, 0, 0), 0, executed.append)
    assert [one.instruction.pc for one in executed] == [0, 8]


def test_endless_loops_end_by_the_budget() -> None:
    with pytest.raises(BudgetExceeded):
        trace_thread(launch_of(["again", ins("s_branch", target=0)]), (0, 0, 0), 0, lambda _: None, budget=1000)


def test_refuses_a_thread_that_is_not_there() -> None:
    with pytest.raises(EmulationError, match="no thread 32 in a workgroup of 32"):
        trace_thread(launch_of([ins("s_nop")]), (0, 0, 0), 32, lambda _: None)


@pytest.mark.parametrize(
    ("register", "name"),
    [
        (Register("v", 3), "v3"),
        (Register("v", 3, high=True), "v3.h"),
        (Register("v", 4, 2), "v[4:5]"),
        (Register("s", 4), "s4"),
        (Register("s", VCC), "vcc_lo"),
        (Register("s", VCC, 2), "vcc"),
        (Register("s", EXEC), "exec_lo"),
        (Register("s", TTMP + 9), "ttmp9"),
    ],
)
def test_names(register: Register, name: str) -> None:
    assert name_of(register) == name


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Value("v1", ONE, "f32"), "v1 3f800000 (1.0)"),
        (Value("v1", 0x7FC00000, "f32"), "v1 7fc00000 (nan)"),
        (Value("v1.h", 0x3C00, "f16"), "v1.h 3c00 (1.0)"),
        (Value("v1", 0xC0003C00, "f16x2"), "v1 c0003c00 (1.0, -2.0)"),
        (Value("v[2:3]", 0x3FF8000000000000, "f64"), "v[2:3] 3ff8000000000000 (1.5)"),
        (Value("s4", 0xFFFFFFFF, "i32"), "s4 ffffffff (-1)"),
        (Value("s4", 0xFFFFFFFF, "u32"), "s4 ffffffff (4294967295)"),
        (Value("v1", 0x80, "b16"), "v1 0080"),
        (Value("vcc_lo", 3, "mask"), "vcc_lo 00000003"),
    ],
)
def test_values_as_text(value: Value, expected: str) -> None:
    assert value_text(value) == expected


def test_lines() -> None:
    _, narrow, add = traced(
        [ins("v_mov_b32", "v1", ONE), ins("s_mov_b32", "exec", 2), ins("v_add_f32", "v2", "v1", "v1")]
    )
    assert line(narrow).split() == ["12", "s_mov_b32", "exec_lo,", "2", "exec_lo", "00000002"]
    shown = line(add)
    assert shown.startswith("    16  v_add_f32_e64 v2, v1, v1 ")
    assert shown.endswith("  off  v2 00000000 (0.0) <- v1 3f800000 (1.0), v1 3f800000 (1.0)")


def test_which_waves_see_each_other() -> None:
    assert not works_together([ins("v_mov_b32", "v1", 0), ins("ds_bpermute_b32", "v1", "v2", "v3")])
    assert not works_together([ins("scratch_load_b32", "v1", "off"), ins("s_load_b32", "s4", "s[0:1]")])
    assert works_together([ins("ds_load_b32", "v1", "v2")])
    assert works_together([ins("s_barrier_wait", immediate=-1)])
    assert not changes_buffers_in_turn([ins("ds_add_u32", (), "v1", "v2"), ins("global_load_b32", "v1", "v[2:3]")])
    for name in ("global_atomic_add_u32", "flat_atomic_add_u32"):
        assert changes_buffers_in_turn([ins(name, (), "v[2:3]", "v1")])
        assert works_together([ins(name, (), "v[2:3]", "v1")])
