"""Steps of a part with state: part and reference each go their own way, and must stay together."""

from collections.abc import Callable

import numpy as np

from autoclave.artifact.model import Buffer, Part, Target, TensorSpec
from autoclave.native.model import Tensors
from autoclave.parity.steps import STEPS, step_results
from autoclave.parity.tolerance import Tolerance

SHAPE = (1, 4)
TOLERANCE = Tolerance(error=1e-4)
STATE = [["sum", "next_sum"], ["img_q", "next_img_q"]]
"""The second pair belongs to another part."""


class Accumulator:
    """A part that adds up what it is given: `mistake` is added to what it feeds back."""

    def __init__(self, mistake: Callable[[int], float] = lambda step: 0.0) -> None:
        names = {"new": "input", "sum": "input", "mean": "output", "next_sum": "output"}
        specs = {name: TensorSpec(name, SHAPE, "float32", buffer) for buffer, name in enumerate(names)}
        self._part = Part(
            key="run",
            target=Target("CPU", "LLVM", "x86_64,x86-64-v3"),
            inputs=(specs["new"], specs["sum"]),
            outputs=(specs["mean"], specs["next_sum"]),
            buffers=tuple(
                Buffer("input" if kind == "input" else "output", 16, name=name) for name, kind in names.items()
            ),
            init=(),
            calls=(),
        )
        self._mistake = mistake
        self.given: list[Tensors] = []

    @property
    def part(self) -> Part:
        return self._part

    def run(self, inputs: Tensors) -> Tensors:
        self.given.append(inputs)
        total = inputs["sum"] + inputs["new"]
        return {
            "mean": total.mean(axis=1, keepdims=True),
            "next_sum": total + np.float32(self._mistake(len(self.given))),
        }


def test_a_part_that_feeds_back_what_the_reference_does_passes() -> None:
    part, reference = Accumulator(), Accumulator()

    results = list(step_results(part, reference.run, STATE, 42, TOLERANCE))

    assert [(result.subject, result.gate, result.status) for result in results] == [
        ("mean", "steps", "passed"),
        ("next_sum", "steps", "passed"),
    ]
    assert len(part.given) == STEPS
    assert not part.given[0]["sum"].any()
    assert np.array_equal(part.given[4]["sum"], sum(given["new"] for given in part.given[:4]))
    assert len({given["new"].tobytes() for given in part.given}) == STEPS


def test_a_state_that_drifts_is_found_though_each_step_alone_is_within_the_tolerance() -> None:
    results = list(step_results(Accumulator(lambda step: 9e-5), Accumulator().run, STATE, 42, TOLERANCE))

    assert [result.status for result in results] == ["failed", "failed"]
    assert "first beyond it in step 4" in results[0].message
    assert "first beyond it in step 3" in results[1].message


def test_the_first_step_has_no_error_of_a_state_to_excuse_its_own() -> None:
    part = Accumulator(lambda step: 1.5e-4 if step == 1 else 0.0)

    results = {result.subject: result for result in step_results(part, Accumulator().run, STATE, 42, TOLERANCE)}

    assert results["mean"].status == "passed"
    assert "error 0.00015, allowed 0.0001; first beyond it in step 1" in results["next_sum"].message


def test_a_value_that_is_no_number_never_passes() -> None:
    results = list(step_results(Accumulator(lambda step: np.nan), Accumulator().run, STATE, 42, TOLERANCE))

    assert [result.status for result in results] == ["failed", "failed"]


def test_a_part_without_state_is_not_stepped() -> None:
    part = Accumulator()

    assert list(step_results(part, part.run, [["img_q", "next_img_q"]], 42, TOLERANCE)) == []
    assert part.given == []
