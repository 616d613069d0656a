"""Control flow of translated code: lanes of a vector that part and meet, loops, regions, barriers, incomplete vectors."""

import numpy as np
import pytest
from emulator.a630_programs import END, ins, launch_of, load, mov, store
from emulator.translated_programs import TARGETS, WIDTHS, bound, per_thread, program_of, run, store_result

from autoclave.emulator.program import Sequence
from autoclave.errors import BudgetExceeded, EmulationError, UnknownInstruction

targets = pytest.mark.parametrize("target", TARGETS, ids=lambda target: f"{target.cpu}-{target.lanes}")
widths = pytest.mark.parametrize("target", WIDTHS, ids=lambda target: f"{target.lanes}")

THREADS = 45
"""No multiple of any lane width."""


def compare(register: str, value: int | str, condition: str, component: str = "x") -> list:
    """Set a predicate by an unsigned comparison."""
    return [ins("cmps.u", f"p0.{component}", register, value, condition=condition)]


@targets
def test_lanes_that_part_meet_again(target) -> None:
    # x = 10; if thread >= 7: x = 20; x += 1
    program = [
        mov("r1.x", 10),
        *compare("r0.x", 7, "lt"),
        ins("br", (), "p0.x", target=2),
        mov("r1.x", 20),
        ins("add.u", "r1.x", "r1.x", 1),
    ]
    assert per_thread(target, program, THREADS) == [11 if thread < 7 else 21 for thread in range(THREADS)]


@targets
def test_both_sides_of_a_choice(target) -> None:
    # odd threads: x = 3 * thread, even ones: x = thread + 100
    program = [
        ins("and.b", "r2.x", "r0.x", 1),
        *compare("r2.x", 0, "eq"),
        ins("br", (), "p0.x", target=3),
        ins("mull.u", "r1.x", "r0.x", 3),
        ins("jump", (), target=2),
        ins("add.u", "r1.x", "r0.x", 100),
    ]
    assert per_thread(target, program, THREADS) == [
        3 * thread if thread % 2 else thread + 100 for thread in range(THREADS)
    ]


@targets
def test_a_loop_whose_length_differs_between_lanes(target) -> None:
    # x = 1 + 2 + ... + thread
    program = [
        mov("r1.x", 0),
        mov("r2.x", "r0.x"),
        *compare("r2.x", 0, "eq"),
        ins("br", (), "p0.x", target=4),
        ins("add.u", "r1.x", "r1.x", "r2.x"),
        ins("add.u", "r2.x", "r2.x", -1),
        ins("jump", (), target=-4),
    ]
    assert per_thread(target, program, THREADS) == [thread * (thread + 1) // 2 for thread in range(THREADS)]


@widths
def test_a_loop_in_a_loop_with_a_choice_in_it(target) -> None:
    # for i in range(thread % 4): for j in range(3): x += j if (i + j) & 1 else 10
    program = [
        mov("r1.x", 0),
        mov("r2.x", 0),
        ins("and.b", "r3.x", "r0.x", 3),
        *compare("r2.x", "r3.x", "ge"),
        ins("br", (), "p0.x", target=14),
        mov("r2.y", 0),
        ins("add.u", "r4.x", "r2.x", "r2.y"),
        ins("and.b", "r4.x", "r4.x", 1),
        *compare("r4.x", 0, "eq"),
        ins("br", (), "p0.x", target=3),
        ins("add.u", "r1.x", "r1.x", "r2.y"),
        ins("jump", (), target=2),
        ins("add.u", "r1.x", "r1.x", 10),
        ins("add.u", "r2.y", "r2.y", 1),
        *compare("r2.y", 3, "lt"),
        ins("br", (), "p0.x", target=-9),
        ins("add.u", "r2.x", "r2.x", 1),
        ins("jump", (), target=-14),
    ]

    def expected(thread: int) -> int:
        return sum(j if (i + j) & 1 else 10 for i in range(thread % 4) for j in range(3))

    assert per_thread(target, program, THREADS) == [expected(thread) for thread in range(THREADS)]


@widths
def test_a_loop_of_equal_length_for_all_lanes(target) -> None:
    program = [
        mov("r1.x", 0),
        mov("r2.x", 0),
        ins("add.u", "r1.x", "r1.x", "r0.x"),
        ins("add.u", "r2.x", "r2.x", 1),
        *compare("r2.x", 5, "lt"),
        ins("br", (), "p0.x", target=-3),
    ]
    assert per_thread(target, program, THREADS) == [5 * thread for thread in range(THREADS)]


@widths
@pytest.mark.parametrize(
    ("name", "sources", "taken"),
    [
        ("brao", ("p0.x", "!p0.y"), lambda thread: thread == 1 or thread != 2),
        ("braa", ("!p0.x", "p0.y"), lambda thread: thread != 1 and thread == 2),
    ],
)
def test_branches_on_two_predicates(target, name: str, sources: tuple[str, str], taken) -> None:
    program = [
        mov("r1.x", 1),
        *compare("r0.x", 1, "eq"),
        *compare("r0.x", 2, "eq", "y"),
        ins(name, (), *sources, target=2),
        mov("r1.x", 0),
    ]
    assert per_thread(target, program, 6) == [int(taken(thread)) for thread in range(6)]


@targets
def test_a_region_keeps_the_predicate_it_began_with(target) -> None:
    # if thread < 20: x = 5, and p0.x is overwritten; else: x = 6
    program = [
        *compare("r0.x", 20, "lt"),
        ins("predt"),
        mov("r1.x", 5),
        *compare("r0.x", 1000, "eq"),
        ins("predf"),
        mov("r1.x", 6),
        ins("prede"),
    ]
    assert per_thread(target, program, THREADS) == [5 if thread < 20 else 6 for thread in range(THREADS)]


@widths
def test_regions_within_branches(target) -> None:
    # x = 1; if thread < 30: (x = 2 if thread < 10); x += 10
    program = [
        mov("r1.x", 1),
        *compare("r0.x", 30, "ge", "y"),
        ins("br", (), "p0.y", target=6),
        *compare("r0.x", 10, "lt"),
        ins("predt"),
        mov("r1.x", 2),
        ins("prede"),
        ins("add.u", "r1.x", "r1.x", 10),
    ]
    assert per_thread(target, program, THREADS) == [
        12 if thread < 10 else 11 if thread < 30 else 1 for thread in range(THREADS)
    ]


@widths
def test_threads_that_end_early_write_no_more(target) -> None:
    output = np.zeros(THREADS, np.uint32)
    program = [
        mov("r1.x", 1),
        *store_result("r1.x"),
        *compare("r0.x", 9, "ge"),
        ins("kill", (), "p0.x"),
        mov("r1.x", 2),
        *store_result("r1.x"),
    ]
    run(launch_of(program, buffers=[output], local_size=(THREADS, 1, 1)), target)
    assert output.tolist() == [2 if thread < 9 else 1 for thread in range(THREADS)]


@widths
def test_a_kernel_of_many_masked_blocks(target) -> None:
    # for i in range(100): if thread < i: x += i; and all of it twice, in a loop of 1 + thread % 2 turns
    steps = range(100)
    choices = [
        one
        for i in steps
        for one in (*compare("r0.x", i, "ge"), ins("br", (), "p0.x", target=2), ins("add.u", "r1.x", "r1.x", i))
    ]
    program = [
        mov("r1.x", 0),
        mov("r2.x", 0),
        ins("and.b", "r2.y", "r0.x", 1),
        *choices,
        ins("add.u", "r2.x", "r2.x", 1),
        *compare("r2.x", "r2.y", "le"),
        ins("br", (), "p0.x", target=-(len(choices) + 2)),
    ]
    assert per_thread(target, program, THREADS) == [
        sum(i for i in steps if thread < i) * (1 + thread % 2) for thread in range(THREADS)
    ]


def reversed_in_shared_memory(threads: int) -> list:
    """Each thread puts its number + 7 into shared memory, and takes that of the thread as far from the end."""
    return [
        ins("shl.b", "r2.x", "r0.x", 2),
        ins("add.u", "r2.y", "r0.x", 7),
        store("stl", "r2.x", "r2.y"),
        ins("bar", modifiers=("g",)),
        ins("sub.u", "r2.z", threads - 1, "r0.x"),
        ins("shl.b", "r2.z", "r2.z", 2),
        load("ldl", "r1.x", "r2.z"),
    ]


@targets
@pytest.mark.parametrize("threads", [5, 64, 100])
def test_a_barrier_lets_all_vectors_of_a_workgroup_catch_up(target, threads: int) -> None:
    found = per_thread(target, reversed_in_shared_memory(threads), threads, shared_bytes=4 * threads)
    assert found == [threads - 1 - thread + 7 for thread in range(threads)]


@widths
def test_a_barrier_in_a_loop(target) -> None:
    # Three times: each thread adds what its right neighbour has, all at once.
    threads = 40
    program = [
        mov("r1.x", "r0.x"),
        mov("r3.x", 0),
        ins("add.u", "r2.y", "r0.x", 1),
        *compare("r2.y", threads, "eq"),
        ins("br", (), "!p0.x", target=2),
        mov("r2.y", 0),
        ins("shl.b", "r2.x", "r0.x", 2),
        ins("shl.b", "r2.y", "r2.y", 2),
        store("stl", "r2.x", "r1.x"),
        ins("bar", modifiers=("g",)),
        load("ldl", "r4.x", "r2.y"),
        ins("bar", modifiers=("g",)),
        ins("add.u", "r1.x", "r1.x", "r4.x"),
        ins("add.u", "r3.x", "r3.x", 1),
        *compare("r3.x", 3, "lt"),
        ins("br", (), "p0.x", target=-7),
    ]
    expected = np.arange(threads)
    for _ in range(3):
        expected = expected + np.roll(expected, -1)
    assert per_thread(target, program, threads, shared_bytes=4 * threads) == expected.tolist()


@widths
def test_a_barrier_that_some_lanes_of_a_vector_pass_by(target) -> None:
    # x = 1; barrier; if thread is odd: (x = 2; barrier; x += 10); barrier; x += 100
    barrier = ins("bar", modifiers=("g",))
    program = [
        mov("r1.x", 1),
        barrier,
        ins("and.b", "r2.x", "r0.x", 1),
        *compare("r2.x", 0, "eq"),
        ins("br", (), "p0.x", target=4),
        mov("r1.x", 2),
        barrier,
        ins("add.u", "r1.x", "r1.x", 10),
        barrier,
        ins("add.u", "r1.x", "r1.x", 100),
    ]
    assert per_thread(target, program, 75) == [112 if thread % 2 else 101 for thread in range(75)]


@widths
def test_shared_memory_and_registers_are_zero_when_a_workgroup_begins(target) -> None:
    # Adds 1 to shared memory and to a register that nobody has set.
    output = np.zeros((5, 4), np.uint32)
    program = [
        mov("r2.x", 0),
        load("ldl", "r1.x", "r2.x"),
        ins("add.u", "r1.x", "r1.x", 1),
        ins("add.u", "r1.x", "r1.x", "r20.x"),
        store("stl", "r2.x", "r1.x"),
        ins("add.u", "r20.x", "r20.x", 1),
        ins("shl.b", "r3.x", "r48.x", 4),
        ins("add.u", "r40.x", "c0.x", "r3.x"),
        mov("r40.y", "c0.y"),
        store("stg", "r40.x", "r1.x"),
    ]
    launch = launch_of(
        program, buffers=[output.reshape(-1)], global_size=(5, 1, 1), local_size=(1, 1, 1), shared_bytes=4
    )
    run(launch, target)
    assert output[:, 0].tolist() == [1] * 5


def coordinates(local: tuple[int, int, int], groups: tuple[int, int, int]) -> tuple[list, np.ndarray, np.ndarray]:
    """A program that stores its thread's coordinates and its workgroup's, packed; the buffer; what it should hold."""
    width, height, depth = local
    columns, rows, layers = groups
    program = [
        # r1.x: the workgroup's number, r1.y: the thread's, r2.x: its place
        ins("mull.u", "r1.x", "r48.z", rows),
        ins("add.u", "r1.x", "r1.x", "r48.y"),
        ins("mull.u", "r1.x", "r1.x", columns),
        ins("add.u", "r1.x", "r1.x", "r48.x"),
        ins("mull.u", "r1.y", "r0.z", height),
        ins("add.u", "r1.y", "r1.y", "r0.y"),
        ins("mull.u", "r1.y", "r1.y", width),
        ins("add.u", "r1.y", "r1.y", "r0.x"),
        ins("mull.u", "r2.x", "r1.x", width * height * depth),
        ins("add.u", "r2.x", "r2.x", "r1.y"),
        ins("shl.b", "r2.x", "r2.x", 2),
        ins("add.u", "r2.x", "c0.x", "r2.x"),
        mov("r2.y", "c0.y"),
        ins("shl.b", "r3.x", "r1.x", 16),
        ins("add.u", "r3.x", "r3.x", "r1.y"),
        store("stg", "r2.x", "r3.x"),
    ]
    threads, workgroups = width * height * depth, columns * rows * layers
    expected = (np.arange(workgroups)[:, None] << 16) + np.arange(threads)
    return program, np.zeros(threads * workgroups, np.uint32), expected.reshape(-1)


@widths
@pytest.mark.parametrize(
    ("local", "groups"),
    [
        ((1, 1, 1), (37, 1, 1)),
        ((2, 1, 1), (5, 3, 2)),
        ((3, 1, 1), (1, 7, 3)),
        ((16, 2, 1), (2, 2, 1)),
        ((4, 16, 2), (1, 2, 2)),
        ((5, 5, 5), (3, 1, 1)),
    ],
)
def test_every_thread_finds_its_coordinates(target, local, groups) -> None:
    program, output, expected = coordinates(local, groups)
    run(launch_of(program, buffers=[output], local_size=local, global_size=groups), target)
    assert output.tolist() == expected.tolist()


@widths
def test_host_threads_share_the_workgroups(target) -> None:
    program, output, expected = coordinates((7, 3, 1), (11, 5, 2))
    launch = launch_of(program, buffers=[output], local_size=(7, 3, 1), global_size=(11, 5, 2))
    assert run(launch, target, threads=3) == 21 * 110 * (len(program) + 1)
    assert output.tolist() == expected.tolist()


@widths
def test_launches_of_a_sequence_see_what_earlier_ones_wrote(target) -> None:
    # Twenty times: every word becomes the sum of itself and its right neighbour's copy.
    words, copies = np.arange(64, dtype=np.uint32), np.zeros(64, np.uint32)
    address = [ins("shl.b", "r2.z", "r48.x", 2), mov("r2.y", "c0.y"), mov("r3.y", "c0.w")]
    copy = [
        *address,
        mov("r2.x", "r2.z"),
        mov("r3.x", "r2.z"),
        load("ldg", "r4.x", "r2.x"),
        store("stg", "r3.x", "r4.x"),
    ]
    add = [
        *address,
        mov("r2.x", "r2.z"),
        ins("add.u", "r3.x", "r2.z", 4),
        ins("and.b", "r3.x", "r3.x", 255),
        load("ldg", "r4.x", "r2.x"),
        load("ldg", "r4.y", "r3.x"),
        ins("add.u", "r4.x", "r4.x", "r4.y"),
        store("stg", "r2.x", "r4.x"),
    ]
    launches = [bound(launch_of(one, buffers=[words, copies], global_size=(64, 1, 1))) for one in (copy, add)]
    steps = [program_of(launch, target).prepare(launch) for launch in launches] * 20
    expected = words.copy()
    for _ in range(20):
        expected = expected + np.roll(expected, -1)

    statistics = Sequence(steps, threads=2).run()

    assert words.tolist() == expected.tolist()
    assert [each.instructions for each in statistics[:2]] == [64 * (len(copy) + 1), 64 * (len(add) + 1)]


@widths
def test_instructions_are_counted_for_each_thread(target) -> None:
    # Threads below 10 execute two instructions more.
    program = [
        *compare("r0.x", 10, "ge"),
        ins("br", (), "p0.x", target=3),
        mov("r1.x", 1, repeat=3),
        mov("r1.x", 1),
        mov("r2.x", 1),
    ]
    assert run(launch_of(program, local_size=(THREADS, 1, 1)), target) == THREADS * 4 + 10 * 5


@targets
@pytest.mark.parametrize("divergent", [False, True])
def test_an_endless_loop_uses_up_the_budget(target, divergent: bool) -> None:
    program = [*compare("r0.x" if divergent else "c8.x", 3, "eq"), ins("br", (), "!p0.x", target=0)]
    with pytest.raises(BudgetExceeded, match="kernel 'tested'"):
        run(launch_of(program, local_size=(20, 1, 1)), target, budget=100_000)


@widths
def test_the_budget_is_for_all_threads_together(target) -> None:
    launch = launch_of([mov("r1.x", 1)], global_size=(100, 1, 1), local_size=(4, 1, 1))
    assert run(launch, target, budget=800) == 800
    with pytest.raises(BudgetExceeded):
        run(launch, target, threads=2, budget=799)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ([ins("jump", (), target=1000), END], "pc 1000: control leaves the code"),
        ([ins("br", (), "p0.x", target=-5), END], "pc -5: control leaves the code"),
        ([mov("r1.x", 1)], "pc 1: control leaves the code"),
        ([ins("predt"), END], "predt without a prede"),
        (
            [ins("bary.f", "r1.x", 0, "r0.x"), ins("bary.f", "r1.x", 1, "r0.x"), END],
            r"bary.f \(2 times, first at pc 0\)",
        ),
    ],
)
def test_code_that_cannot_be_translated_is_named(program: list, message: str) -> None:
    from emulator.a630_programs import code_of

    with pytest.raises((UnknownInstruction, EmulationError), match=message):
        run(launch_of(code_of(program)), WIDTHS[0])


def test_a_kernel_with_more_accesses_than_any_has_is_refused() -> None:
    program = [mov("r2.y", "c0.y"), *[load("ldg", "r1.x", "r2.x")] * 4097]
    with pytest.raises(UnknownInstruction, match="kernel 'tested', pc 0: it has more than 4096 accesses"):
        run(launch_of(program, buffers=[np.zeros(4, np.uint32)]), WIDTHS[0])


@pytest.mark.parametrize(
    ("groups", "memory", "words"),
    [
        ((1 << 31, 1, 1), {}, r"\(2147483648, 1, 1\) workgroups; expected 1 to 1073741824"),
        ((1 << 30, 1, 1), {"shared_bytes": 1 << 15}, "35184372088832 bytes of shared and private memory"),
        ((1 << 22, 1, 1), {"private_bytes": 1 << 16}, "4398046511104 bytes of shared and private memory"),
    ],
)
def test_workgroups_without_end_are_refused_before_they_run(groups, memory, words) -> None:
    launch = launch_of([mov("r1.x", 1)], global_size=groups, local_size=(16, 1, 1), **memory)
    with pytest.raises(EmulationError, match=words):
        run(launch, WIDTHS[0])
