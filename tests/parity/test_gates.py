"""The gates, against values calculated by hand."""

import hashlib
import math

import numpy as np
import pytest

from autoclave.parity.gates import (
    Difference,
    GateResult,
    change_fraction,
    dependence_gate,
    difference,
    finite_gate,
    max_error,
    pinned_gate,
    reference_gate,
    replay_gate,
    sensitivity_gate,
)
from autoclave.parity.tolerance import Tolerance

NAN, INF = math.nan, math.inf


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def test_equal_tensors_have_no_difference() -> None:
    assert difference(f32(0.5, NAN, INF), f32(0.5, NAN, INF)) is None


def test_difference_says_where_and_how_much() -> None:
    expected = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    actual = np.array([[1.0, 2.0], [3.5, 6.0]], np.float32)

    assert difference(expected, actual) == Difference(
        count=2,
        total=4,
        first_index=(1, 0),
        expected=3.0,
        expected_hex="0x40400000",
        actual=3.5,
        actual_hex="0x40600000",
        max_error=2.0,
        mean_error=0.625,
    )


@pytest.mark.parametrize(
    ("expected", "actual", "hexes"),
    [
        (f32(0.0), f32(-0.0), ("0x00000000", "0x80000000")),
        (np.array([1.0], np.float16), np.array([1.0009765625], np.float16), ("0x3c00", "0x3c01")),
        (np.array([1.0]), np.array([-2.0]), ("0x3ff0000000000000", "0xc000000000000000")),
        (np.array([254], np.uint8), np.array([255], np.uint8), ("0xfe", "0xff")),
        (np.array([-1], np.int64), np.array([0], np.int64), ("0x" + "f" * 16, "0x" + "0" * 16)),
        (np.array([True]), np.array([False]), ("0x01", "0x00")),
    ],
    ids=["zeros", "float16", "float64", "uint8", "int64", "bool"],
)
def test_bits_decide_and_are_shown(expected: np.ndarray, actual: np.ndarray, hexes: tuple[str, str]) -> None:
    found = difference(expected, actual)

    assert found is not None
    assert (found.expected_hex, found.actual_hex) == hexes


def test_scalar_difference_has_an_empty_index() -> None:
    found = difference(np.array(1, np.float32), np.array(2, np.float32))

    assert found is not None
    assert found.first_index == ()


def test_strided_tensors_are_compared_by_value() -> None:
    matrix = np.arange(6, dtype=np.float32).reshape(2, 3)

    assert difference(matrix.T, np.ascontiguousarray(matrix.T)) is None


def test_replay_gate() -> None:
    assert replay_gate("out", f32(1, 2), f32(1, 2)) == GateResult(
        3, "replay", "out", "passed", "all 2 values equal, bit for bit"
    )
    failed = replay_gate("out", f32(1, 2), f32(1, NAN))
    assert failed.status == "failed"
    assert failed.message == "1 of 2 values differ from the recorded ones"
    assert failed.difference is not None and failed.difference.actual_hex == "0x7fc00000"
    assert math.isnan(failed.difference.max_error)


@pytest.mark.parametrize(
    ("values", "status", "message"),
    [
        ([[1.0, -0.0]], "passed", "all 2 values are finite"),
        ([[1.0, 2.0], [NAN, INF]], "failed", r"2 of 4 values are not finite, the first at [1, 0]"),
        ([[-INF]], "failed", r"1 of 1 values are not finite, the first at [0, 0]"),
    ],
)
def test_finite_gate(values: list[list[float]], status: str, message: str) -> None:
    result = finite_gate("out", np.array(values, np.float16))

    assert (result.status, result.message) == (status, message)


def test_integers_are_finite() -> None:
    assert finite_gate("out", np.array([1, 2], np.int32)).status == "passed"


@pytest.mark.parametrize(
    ("varied", "reason", "status"),
    [
        pytest.param(f32(1, 2, 4), None, "passed", id="used"),
        pytest.param(f32(1, 2, 3), None, "failed", id="ignored"),
        pytest.param(f32(1, 2, 3), "kept for the interface", "passed", id="ignored-as-declared"),
        pytest.param(f32(1, 2, 4), "kept for the interface", "failed", id="used-against-the-declaration"),
    ],
)
def test_sensitivity_gate(varied: np.ndarray, reason: str | None, status: str) -> None:
    same = np.zeros(5, np.uint8)

    result = sensitivity_gate("x", {"out": f32(1, 2, 3), "n": same}, {"out": varied, "n": same}, reason)

    assert (result.subject, result.status, result.figures["total"]) == ("x", status, 8)
    assert ("kept for the interface" in result.message) is (reason is not None)


def test_ignored_input_is_told_how_to_be_declared() -> None:
    assert "unused_inputs" in sensitivity_gate("x", {"out": f32(1)}, {"out": f32(1)}, None).message


def test_pinned_gate() -> None:
    pinned = hashlib.sha256(bytes.fromhex("0000803f00000040")).hexdigest()  # 1.0, 2.0 in little-endian fp32

    assert pinned_gate("out", f32(1, 2), pinned).status == "passed"
    failed = pinned_gate("out", f32(1, 3), pinned)
    assert failed.status == "failed"
    assert pinned in failed.message and hashlib.sha256(bytes.fromhex("0000803f00004040")).hexdigest() in failed.message


@pytest.mark.parametrize(
    ("actual", "reference", "error"),
    [
        pytest.param(f32(0.5, 0.25), f32(0.5, 0.25), 0.0, id="equal"),
        pytest.param(f32(0.5, 0.25), f32(0.5, 0.5), 0.25, id="absolute-below-one"),
        pytest.param(f32(101.0), f32(100.0), 0.01, id="relative-above-one"),
        pytest.param(f32(-99.0), f32(-100.0), 0.01, id="negative"),
        pytest.param(f32(100.5, 0.5), f32(100.0, 0.25), 0.25, id="large-values-do-not-hide-small-ones"),
        pytest.param(np.array([1.5], np.float16), f32(1.0), 0.5, id="mixed-dtypes"),
        pytest.param(np.array([7]), np.array([5]), 0.4, id="integers"),
        pytest.param(f32(), f32(), 0.0, id="empty"),
    ],
)
def test_max_error(actual: np.ndarray, reference: np.ndarray, error: float) -> None:
    assert max_error(actual, reference) == pytest.approx(error, rel=1e-12)


@pytest.mark.parametrize(
    ("actual", "reference", "varied", "fraction"),
    [
        pytest.param(f32(1.25, 0), f32(1, 0), f32(1, 2), 0.125, id="largest-of-each"),
        pytest.param(f32(1, 0), f32(1, 0), f32(1, 2), 0.0, id="no-error"),
        pytest.param(f32(2, 0), f32(1, 0), f32(1, 0), INF, id="constant-reference"),
        pytest.param(f32(1, 0), f32(1, 0), f32(1, 0), 0.0, id="constant-and-equal"),
    ],
)
def test_change_fraction(actual: np.ndarray, reference: np.ndarray, varied: np.ndarray, fraction: float) -> None:
    assert change_fraction(actual, reference, varied) == fraction


@pytest.mark.parametrize(
    ("actual", "tolerance", "statuses"),
    [
        pytest.param(f32(0.25, 4), Tolerance(0.1, 0.5), ["passed", "passed"], id="equal"),
        pytest.param(f32(0.375, 4), Tolerance(0.125, 0.5), ["passed", "passed"], id="at-the-bound"),
        pytest.param(f32(0.375, 4), Tolerance(0.12, 0.5), ["failed", "passed"], id="error-too-large"),
        pytest.param(f32(0.375, 4), Tolerance(0.2, 0.06), ["passed", "failed"], id="change-too-large"),
        pytest.param(f32(0.375, 4), Tolerance(0.2), ["passed", "passed"], id="change-not-bounded"),
        pytest.param(f32(NAN, 4), Tolerance(0.2, 0.5), ["failed", "failed"], id="nan"),
        pytest.param(f32(0.25, INF), Tolerance(0.2, 0.5), ["failed", "failed"], id="infinity"),
    ],
)
def test_reference_gate(actual: np.ndarray, tolerance: Tolerance, statuses: list[str]) -> None:
    # The error of 0.375 against 0.25 is 0.125; the reference's largest change is 2: 0.125 / 2 = 0.0625.
    results = reference_gate("out", actual, f32(0.25, 4), f32(0.25, 2), tolerance)

    assert [result.gate for result in results] == ["reference", "change"]
    assert [result.status for result in results] == statuses


def test_failed_reference_gate_says_where() -> None:
    result, _ = reference_gate("out", f32(1, 2, 3.5, 5), f32(1, 2.05, 3, 4), f32(0, 0, 0, 0), Tolerance(0.1))

    assert result.difference is not None
    assert (result.difference.count, result.difference.first_index) == (2, (2,))
    assert (result.difference.expected, result.difference.actual) == (3.0, 3.5)


def test_unusual_tolerance_is_shown_with_its_reason() -> None:
    results = reference_gate("out", f32(1), f32(1), f32(2), Tolerance(0.5, 0.5, reason="long sums of one sign"))

    assert all("(long sums of one sign)" in result.message for result in results)


def test_an_output_depends_on_what_changes_it() -> None:
    result = dependence_gate("plan", f32(1.0, 2.0), [f32(1.0, 2.0), f32(1.0, 2.5)])

    assert (result.status, result.message) == ("passed", "1 of 2 inputs, varied alone, change it")


def test_an_output_that_nothing_changes_is_a_constant() -> None:
    result = dependence_gate("plan", f32(0.0, NAN), [f32(0.0, NAN), f32(0.0, NAN)])

    assert result.status == "failed"
    assert result.message == "0 of 2 inputs, varied alone, change it: it is a constant, whatever the model is shown"


def test_a_slice_that_no_input_changes_is_named_and_padding_is_not() -> None:
    slices = {"plan": slice(0, 1), "lead": slice(1, 3), "pad": slice(3, 4)}
    varied = [f32(1.5, 2.0, 3.0, 0.0), f32(1.0, 2.0, 3.0, 0.0)]
    result = dependence_gate("outputs", f32(1.0, 2.0, 3.0, 0.0), varied, slices)
    assert result.status == "failed"
    assert result.message == (
        "1 of 2 inputs, varied alone, change it, but not its slices lead: they are constants, whatever the model is shown"
    )
    varied[1] = f32(1.0, 2.0, 3.5, 0.0)
    assert dependence_gate("outputs", f32(1.0, 2.0, 3.0, 0.0), varied, slices).status == "passed"


@pytest.mark.parametrize(("value", "worst"), [(3.0, "plan"), (NAN, "lead")])
def test_the_slice_with_the_largest_error_is_named(value: float, worst: str) -> None:
    reference, actual = f32(1, 2, 2, 0)[np.newaxis], f32(1, 3, 2, 0.25)[np.newaxis]
    actual[0, 3] = value if math.isnan(value) else actual[0, 3]

    result, _ = reference_gate(
        "outputs", actual, reference, reference, Tolerance(5e-3, None), {"plan": slice(0, 2), "lead": slice(2, 4)}
    )

    assert f"(in {worst}), allowed 0.005" in result.message
    assert result.figures["error/plan"] == 0.5  # 1 of 2
    assert result.status == "failed"
