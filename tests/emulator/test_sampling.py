"""Cross-checking a launch on sampled threads."""

from itertools import product

import numpy as np
import pytest
from emulator.a630_programs import atomic, ins, launch_of, load, mov, stib, store

from autoclave.emulator.a630.interpreter import Interpreter, interpret_workgroup
from autoclave.emulator.launch import Launch
from autoclave.emulator.overlay import Overlay
from autoclave.emulator.sampling import Sample, choose, cross_check
from autoclave.errors import BudgetExceeded, MemoryFault

ADDRESS_OF_THREAD = [
    ins("mull.u", "r40.z", "r48.x", 16),
    ins("shl.b", "r40.w", "r0.x", 2),
    ins("add.u", "r40.x", "c0.x", "r40.z"),
    ins("add.u", "r40.x", "r40.x", "r40.w"),
    mov("r40.y", "c0.y"),
]
"""Where thread r0.x of workgroup r48.x, four threads each, has its word."""

SQUARES = [*ADDRESS_OF_THREAD, ins("mull.u", "r1.x", "r40.w", "r40.w"), store("stg", "r40.x", "r1.x")]


def squares(groups: int = 50, **fields: object) -> tuple[Launch, np.ndarray]:
    """A launch of `groups` workgroups of 4 threads, each of which writes a word."""
    output = np.zeros(4 * groups, np.uint32)
    return launch_of(SQUARES, buffers=[output], local_size=(4, 1, 1), global_size=(groups, 1, 1), **fields), output


def run_all(launch: Launch) -> None:
    """Run the whole launch on its memory."""
    overlay = Overlay()
    for z, y, x in product(*map(range, reversed(launch.global_size))):
        interpret_workgroup(launch, (x, y, z), None, overlay)
    overlay.commit()


def test_launch_that_agrees() -> None:
    launch, output = squares()
    result = cross_check(launch, lambda: run_all(launch))
    assert result.differences == ()
    assert (result.samples, result.threads, result.elements) == (16, 16, 16)
    assert result.instructions == 16 * len(SQUARES) + 16
    assert output[199] == 144  # (4 * 3)^2: the launch was run


def test_interpreter_sees_memory_as_it_was_before_the_launch() -> None:
    counter = [
        *ADDRESS_OF_THREAD,
        load("ldg", "r1.x", "r40.x"),
        ins("add.u", "r1.x", "r1.x", 1),
        store("stg", "r40.x", "r1.x"),
    ]
    words = np.arange(8, dtype=np.uint32)
    launch = launch_of(counter, buffers=[words], local_size=(4, 1, 1), global_size=(2, 1, 1))
    assert cross_check(launch, lambda: run_all(launch)).differences == ()
    assert words.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


def test_difference_says_who_wrote_what_where() -> None:
    launch, output = squares()

    def run() -> None:
        run_all(launch)
        output[199] ^= 1

    (difference,) = cross_check(launch, run).differences
    assert str(difference) == (
        f"kernel 'tested', pc {len(SQUARES) - 1}, workgroup (49, 0, 0), thread 3: "
        "buffer 0 + 796 (address 0x100000031c) is 0x00000091, by the interpreter 0x00000090"
    )


def test_difference_in_an_image_names_the_pixel() -> None:
    image = np.zeros((2, 3, 4), np.float16)
    one = ins("mov", "hr4.y", "h0x3c00", source_type="u16", type="u16")
    launch = launch_of([mov("r1.x", 2), mov("r1.y", 1), one, stib("hr4.x", "r1.x", kind="f16")], images=[image])
    (difference,) = cross_check(launch, lambda: None).differences
    assert (difference.place, difference.expected, difference.actual) == ("image 0, pixel (2, 1).y", 0x3C00, 0)


def test_first_and_last_thread_come_first_and_none_twice() -> None:
    launch, _ = squares()
    samples = list(choose(launch, Interpreter(launch.kernel).instructions, seed=0))
    assert samples[:2] == [Sample((0, 0, 0), (0,)), Sample((49, 0, 0), (3,))]
    assert len(set(samples)) == len(samples) == 16


def test_choice_depends_on_the_seed_alone() -> None:
    launch, _ = squares()
    instructions = Interpreter(launch.kernel).instructions
    assert list(choose(launch, instructions, 1)) == list(choose(launch, instructions, 1))
    assert list(choose(launch, instructions, 1)) != list(choose(launch, instructions, 2))


def test_workgroup_with_a_barrier_is_sampled_whole() -> None:
    launch = launch_of([ins("bar", modifiers=("g",))], local_size=(4, 1, 1), global_size=(2, 3, 1))
    samples = list(choose(launch, Interpreter(launch.kernel).instructions, seed=0))
    assert samples[:2] == [Sample((0, 0, 0), None), Sample((1, 2, 0), None)]
    assert len(samples) == 6
    assert cross_check(launch, lambda: None).threads == 24


@pytest.mark.parametrize(("budget", "samples"), [(1, 1), (2 * len(SQUARES) + 2, 2)])
def test_budget_bounds_the_samples(budget: int, samples: int) -> None:
    launch, _ = squares()
    assert cross_check(launch, lambda: run_all(launch), budget=budget).samples == samples


def test_faults_are_not_hidden() -> None:
    launch = launch_of([mov("r1.x", 0), mov("r1.y", 0), store("stg", "r1.x", "r2.x")])
    with pytest.raises(MemoryFault):
        cross_check(launch, lambda: None)


def counting(groups: int) -> Launch:
    """A launch in which every thread adds 1 to one word of a buffer."""
    program = [mov("r2.x", 0), mov("r2.y", "c0.y"), mov("r3.x", 1), atomic("atomic.g.add", "r1.x", "r2.x", "r3.x")]
    return launch_of(program, buffers=[np.zeros(1, np.uint32)], local_size=(2, 1, 1), global_size=(groups, 1, 1))


def test_atomics_on_buffers_are_compared_where_all_workgroups_can_be_interpreted() -> None:
    launch = counting(16)

    result = cross_check(launch, lambda: run_all(launch))

    assert (result.differences, result.threads) == ((), 32)


def test_atomics_on_buffers_in_many_workgroups_cannot_be_compared() -> None:
    launch = counting(40)
    with pytest.raises(BudgetExceeded, match="40 workgroups change the same memory in turn"):
        cross_check(launch, lambda: run_all(launch))
