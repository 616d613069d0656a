"""Control flow of the interpreter: branches, predicated regions, barriers, the budget."""

import time

import numpy as np
import pytest
from emulator.a630_programs import code_of, ins, interpret, launch_of, load, mov, results, store

from autoclave.emulator.a630.interpreter import Interpreter, interpret_workgroup
from autoclave.emulator.overlay import Overlay
from autoclave.errors import BudgetExceeded, EmulationError, UnknownInstruction


def set_predicate(register: str, value: int, component: str = "x") -> list:
    """Set a predicate where a register holds `value`."""
    return [ins("cmps.u", f"p0.{component}", register, value, condition="eq")]


def per_thread(instructions: list, threads: int, register: str = "r1.x", **launch: object) -> list[int]:
    """What `register` holds at the end, of each of `threads` threads, which find their number in r0.x."""
    output = np.zeros(threads, np.uint32)
    program = [
        *instructions,
        ins("shl.b", "r40.z", "r0.x", 2),
        ins("add.u", "r40.x", "c0.x", "r40.z"),
        mov("r40.y", "c0.y"),
        mov("r41.x", register),
        store("stg", "r40.x", "r41.x"),
    ]
    interpret(launch_of(program, buffers=[output], local_size=(threads, 1, 1), **launch))
    return output.tolist()


def test_branch_is_taken_where_its_predicate_is_set() -> None:
    program = [
        mov("r1.x", 10),
        *set_predicate("r0.x", 1),
        ins("br", (), "p0.x", target=2),
        mov("r1.x", 20),
    ]
    assert per_thread(program, 3) == [20, 10, 20]


def test_negated_branch() -> None:
    program = [mov("r1.x", 10), *set_predicate("r0.x", 1), ins("br", (), "!p0.x", target=2), mov("r1.x", 20)]
    assert per_thread(program, 3) == [10, 20, 10]


@pytest.mark.parametrize(("name", "expected"), [("brao", [1, 1, 1, 0]), ("braa", [0, 0, 0, 1])])
def test_branch_on_two_predicates(name: str, expected: list[int]) -> None:
    # brao: thread 0 sets the first, thread 2 the second; !p0.z is false of thread 1 alone. braa is the opposite.
    sources = ("p0.x", "!p0.y") if name == "brao" else ("!p0.x", "p0.y")
    program = [
        mov("r1.x", 1),
        *set_predicate("r0.x", 0),
        *set_predicate("r0.x", 3, "y"),
        ins(name, (), *sources, target=2),
        mov("r1.x", 0),
    ]
    taken = [1 if value else 0 for value in per_thread(program, 4)]
    assert taken == expected


def test_loop_counts_to_the_thread_number() -> None:
    program = [
        mov("r1.x", 0),
        mov("r2.x", 0),
        ins("cmps.u", "p0.x", "r2.x", "r0.x", condition="ge"),
        ins("br", (), "p0.x", target=4),
        ins("add.u", "r1.x", "r1.x", 3),
        ins("add.u", "r2.x", "r2.x", 1),
        ins("jump", (), target=-4),
    ]
    assert per_thread(program, 5) == [0, 3, 6, 9, 12]


def test_predicated_region_with_both_parts() -> None:
    program = [
        *set_predicate("r0.x", 1),
        mov("r1.x", 0),
        ins("predt"),
        ins("add.u", "r1.x", "r1.x", 10),
        ins("predf"),
        ins("add.u", "r1.x", "r1.x", 20),
        ins("prede"),
        ins("add.u", "r1.x", "r1.x", 1),
    ]
    assert per_thread(program, 3) == [21, 11, 21]


def test_predicated_region_with_the_false_part_alone() -> None:
    program = [
        *set_predicate("r0.x", 1),
        mov("r1.x", 0),
        ins("predf"),
        mov("r1.x", 5),
        ins("prede"),
    ]
    assert per_thread(program, 3) == [5, 0, 5]


def test_region_keeps_its_choice_when_the_predicate_changes_within() -> None:
    program = [
        *set_predicate("r0.x", 1),
        mov("r1.x", 0),
        ins("predt"),
        ins("add.u", "r1.x", "r1.x", 10),
        ins("cmps.u", "p0.x", "r1.x", 0, condition="eq"),
        ins("predf"),
        ins("add.u", "r1.x", "r1.x", 20),
        ins("prede"),
    ]
    assert per_thread(program, 2) == [20, 10]


def test_kill_ends_the_threads_whose_predicate_is_set() -> None:
    assert per_thread([mov("r1.x", 7), *set_predicate("r0.x", 1), ins("kill", (), "p0.x")], 3) == [7, 0, 7]


def test_end_in_the_middle() -> None:
    program = [mov("r1.x", 7), *set_predicate("r0.x", 1), ins("br", (), "!p0.x", target=2), ins("end")]
    assert per_thread(program, 3) == [7, 0, 7]


def test_what_lies_behind_the_end_need_have_no_rule() -> None:
    assert interpret_workgroup(launch_of([ins("end"), ins("ret")]), (0, 0, 0), None, Overlay()) == 1


def test_barrier_lets_every_thread_see_what_the_others_stored() -> None:
    # Each thread stores its number squared in shared memory, then reads that of its right neighbour, cyclically.
    program = [
        ins("mul.u24", "r2.x", "r0.x", "r0.x"),
        ins("shl.b", "r3.x", "r0.x", 2),
        store("stl", "r3.x", "r2.x"),
        ins("bar", modifiers=("g",)),
        ins("add.u", "r4.x", "r0.x", 1),
        ins("and.b", "r4.x", "r4.x", 3),
        ins("shl.b", "r4.x", "r4.x", 2),
        load("ldl", "r1.x", "r4.x"),
    ]
    assert per_thread(program, 4, shared_bytes=16) == [1, 4, 9, 0]


def test_threads_keep_registers_and_private_memory_over_a_barrier() -> None:
    program = [
        mov("r2.x", "r0.x"),
        mov("r3.x", 0),
        store("stp", "r3.x", "r0.x"),
        ins("mov", "hr5.x", "h9", source_type="u16", type="u16"),
        ins("bar", modifiers=("g",)),
        load("ldp", "r4.x", "r3.x"),
        ins("cov", "r5.x", "hr5.x", source_type="u16", type="u32"),
        ins("add.u", "r1.x", "r2.x", "r4.x"),
        ins("add.u", "r1.x", "r1.x", "r5.x"),
    ]
    assert per_thread(program, 3, private_bytes=4) == [9, 11, 13]


def test_coordinates_of_workgroup_and_thread() -> None:
    output = np.zeros(6, np.uint32)
    registers = ("r48.x", "r48.y", "r48.z", "r0.x", "r0.y", "r0.z")
    program = [mov("r40.x", "c0.x"), mov("r40.y", "c0.y")]
    for place, register in enumerate(registers):
        program += [mov("r41.x", register), store("stg", "r40.x", "r41.x", offset=4 * place)]
    launch = launch_of(program, buffers=[output], local_size=(2, 3, 4), global_size=(5, 6, 7))
    overlay = Overlay()
    interpret_workgroup(launch, (4, 5, 6), [2 + 1 + 6 * 3], overlay)  # thread (1, 1, 3)
    overlay.commit()
    assert output.tolist() == [4, 5, 6, 1, 1, 3]


def test_registers_begin_as_zero_for_each_thread() -> None:
    assert per_thread([ins("add.u", "r1.x", "r1.x", "r9.w"), mov("r9.w", 5)], 3) == [0, 0, 0]


def test_endless_loop_exceeds_the_budget() -> None:
    launch = launch_of([ins("jump", (), target=0)])
    with pytest.raises(
        BudgetExceeded, match=r"kernel 'tested', pc 0, workgroup \(0, 0, 0\), thread 0: .* endless loop"
    ):
        interpret(launch, budget=1000)


def test_budget_counts_repetitions() -> None:
    launch = launch_of([ins("nop", repeat=5), ins("nop")])
    assert interpret_workgroup(launch, (0, 0, 0), None, Overlay(), budget=8) == 8
    with pytest.raises(BudgetExceeded):
        interpret_workgroup(launch, (0, 0, 0), None, Overlay(), budget=7)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ([ins("jump", (), target=100)], "pc 100: control leaves the code"),
        ([ins("jump", (), target=-1)], "pc -1: control leaves the code"),
        ([ins("nop")], "pc 1: control leaves the code"),
        ([ins("predt"), ins("end")], "pc 0: predt without a prede"),
        ([ins("ret"), ins("end")], "pc 0: ret has no rule"),
    ],
)
def test_control_that_leads_nowhere(program: list, message: str) -> None:
    with pytest.raises(UnknownInstruction, match=f"kernel 'tested', {message}"):
        Interpreter(launch_of(code_of(program)).kernel)


def test_code_of_many_branches_into_a_long_tail_is_taken_apart_in_linear_time() -> None:
    branches, tail = 4000, 4000
    # The last branch goes to the start of the tail, the one before it to its second instruction, and so on.
    goes = [ins("br", (), "p0.x", target=branches - at + branches - 1 - at) for at in range(branches)]
    started = time.process_time()
    Interpreter(launch_of([*goes, *[ins("nop")] * tail]).kernel)
    assert time.process_time() - started < 5


def test_code_beyond_all_measure_is_refused() -> None:
    with pytest.raises(UnknownInstruction, match="at most 65536 instructions"):
        Interpreter(launch_of(bytes(8 * 65537)).kernel)


def test_workgroup_or_thread_that_the_launch_lacks() -> None:
    launch = launch_of([], local_size=(2, 2, 1), global_size=(3, 1, 1))
    with pytest.raises(EmulationError, match=r"no workgroup \(3, 0, 0\) in a launch of \(3, 1, 1\)"):
        interpret_workgroup(launch, (3, 0, 0), None, Overlay())
    with pytest.raises(EmulationError, match="no thread 4 in a workgroup of 4"):
        interpret_workgroup(launch, (0, 0, 0), [4], Overlay())


def test_results_of_the_helper_come_from_the_program() -> None:
    assert results([mov("r1.x", 1)], "r1.x", "r2.x") == [1, 0]
