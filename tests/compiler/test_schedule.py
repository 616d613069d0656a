"""What runs once at load, and what runs every time."""

import pytest

from autoclave.compiler.captured import Capture, CapturedBuffer, CapturedCall, CapturedTensor
from autoclave.compiler.lowering import plan_intermediates
from autoclave.compiler.schedule import fold_constant_copies, require_inputs_read, split_schedule
from autoclave.errors import CompileError


def call(writes: int, *reads: int) -> CapturedCall:
    return CapturedCall(0, (writes, *reads), frozenset(reads), frozenset({writes}))


def capture(*calls: CapturedCall, inputs: tuple[int, ...] = (0,), outputs: tuple[int, ...] = (9,)) -> Capture:
    def tensor(number: int) -> CapturedTensor:
        return CapturedTensor(f"tensor{number}", (64,), "float32", number)

    buffers = tuple(
        CapturedBuffer(256, "float32", memoryview(bytes(256)) if number == 1 else None) for number in range(10)
    )
    return Capture(buffers, (), calls, tuple(map(tensor, inputs)), tuple(map(tensor, outputs)))


def test_a_weight_layout_runs_once_and_stays() -> None:
    layout, use = call(2, 1), call(9, 0, 2)

    schedule = split_schedule(capture(layout, use))

    assert schedule.init == (layout,)
    assert schedule.calls == (use,)
    assert schedule.persistent == {2}


def test_a_weight_shared_with_a_repeated_call_does_not_make_a_layout_repeated() -> None:
    first, layout, use = call(3, 0, 1), call(2, 1), call(9, 3, 2)

    assert split_schedule(capture(first, layout, use)).init == (layout,)


def test_what_only_init_uses_lives_in_the_arena() -> None:
    chain = capture(call(2, 1), call(3, 2), call(9, 0, 3))

    schedule = split_schedule(chain)
    plan = plan_intermediates(chain, schedule)

    assert schedule.persistent == {3}
    assert set(plan.offsets) == {2}


def test_a_buffer_that_changes_is_prepared_again_each_time() -> None:
    clear, add = call(2, 1), call(2, 0)

    assert split_schedule(capture(clear, add, call(9, 2))).init == ()


def test_an_output_that_depends_on_nothing_is_still_written_by_each_run() -> None:
    constant = call(8, 1)

    schedule = split_schedule(capture(constant, call(9, 0), outputs=(9, 8)))

    assert schedule.init == ()
    assert constant in schedule.calls


def test_an_input_that_no_call_reads_is_named() -> None:
    with pytest.raises(CompileError, match="no kernel reads the input 'tensor5'"):
        require_inputs_read(capture(call(9, 0), inputs=(0, 5)))


def copy(destination: int, source: int) -> CapturedCall:
    return CapturedCall(None, (destination, source), frozenset({source}), frozenset({destination}))


def test_a_copy_of_a_constant_is_a_constant() -> None:
    use = call(9, 0, 3)

    folded = fold_constant_copies(capture(copy(2, 1), copy(3, 2), use))

    assert folded.calls == (use,)
    assert folded.buffers[3].data == memoryview(bytes(256))


@pytest.mark.parametrize(
    "calls",
    [
        (copy(2, 0), call(9, 2)),
        (copy(9, 1),),
        (copy(2, 1), call(2, 0), call(9, 2)),
    ],
    ids=["of an input", "to an output", "to what is written again"],
)
def test_other_copies_stay(calls: tuple[CapturedCall, ...]) -> None:
    assert fold_constant_copies(capture(*calls)).calls == calls
