"""The gates of the ladder's rungs: pure functions from tensors to results.

Rung 3, replay: outputs come out bit for bit, are finite, match pinned hashes, and depend on every input.
Rung 4, reference: outputs agree with ONNX Runtime's on the same graph in fp32, within a tolerance.
Rung 5, evidence: how much of what an emulator computes rests on rules that a device has confirmed.
Rung 6, device: outputs that a device gave come out bit for bit.
"""

import hashlib
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from autoclave.driving.behaviour import PAD
from autoclave.native.model import Array, Tensors
from autoclave.parity.tolerance import Tolerance

Status = Literal["passed", "failed", "warning", "unverified"]
"""Unverified: nothing is wrong, and yet the demanded evidence is not there."""

REPLAY = 3
REFERENCE = 4
EVIDENCE = 5
DEVICE = 6
NO_SLICES: Mapping[str, slice] = MappingProxyType({})
RUNG_NAMES = {REPLAY: "replay", REFERENCE: "reference", EVIDENCE: "evidence", DEVICE: "device"}


@dataclass(frozen=True, slots=True)
class Difference:
    """How a tensor differs from the expected one. `expected` and `actual` are the values at `first_index`."""

    count: int
    total: int
    first_index: tuple[int, ...]
    expected: float
    expected_hex: str
    actual: float
    actual_hex: str
    max_error: float
    mean_error: float


@dataclass(frozen=True, slots=True)
class GateResult:
    """What one gate found about one `subject`, an input's or output's name; `figures` are what it measured."""

    rung: int
    gate: str
    subject: str
    status: Status
    message: str
    figures: dict[str, float] = field(default_factory=dict)
    difference: Difference | None = None


def skipped(rung: int, reason: str) -> GateResult:
    """A rung that cannot be climbed, and why: never a silent pass."""
    return GateResult(rung, RUNG_NAMES[rung], "all outputs", "warning", reason)


def difference(expected: Array, actual: Array) -> Difference | None:
    """Compare two tensors of one dtype and shape bit for bit; None if they are equal.

    Errors are absolute, in fp64, over all elements; NaN if a NaN is among them.
    """
    unequal = np.flatnonzero(_bits(expected) != _bits(actual))
    if not unequal.size:
        return None
    return _describe(expected, actual, unequal)


def replay_gate(output: str, expected: Array, actual: Array, gate: str = "replay", rung: int = REPLAY) -> GateResult:
    """The output equals the recorded one, bit for bit (-0.0 is not 0.0; a NaN equals only itself)."""
    found = difference(expected, actual)
    if found is None:
        return GateResult(rung, gate, output, "passed", f"all {expected.size} values equal, bit for bit")
    message = f"{found.count} of {found.total} values differ from the recorded ones"
    return GateResult(rung, gate, output, "failed", message, difference=found)


def finite_gate(output: str, actual: Array) -> GateResult:
    """No value of the output is NaN or infinite."""
    finite = np.isfinite(actual)
    if finite.all():
        return GateResult(REPLAY, "finite", output, "passed", f"all {actual.size} values are finite")
    first = _index(int(np.flatnonzero(~finite)[0]), actual)
    message = f"{int((~finite).sum())} of {actual.size} values are not finite, the first at {list(first)}"
    return GateResult(REPLAY, "finite", output, "failed", message)


def sensitivity_gate(input_name: str, baseline: Tensors, varied: Tensors, unused_reason: str | None) -> GateResult:
    """Another value of this input alone changes the outputs; with a reason given, it must not."""
    total = sum(tensor.size for tensor in baseline.values())
    changed = sum(int(np.count_nonzero(_bits(baseline[name]) != _bits(varied[name]))) for name in baseline)
    figures = {"changed": float(changed), "total": float(total)}
    if unused_reason is None:
        status: Status = "passed" if changed else "failed"
        message = f"varied alone, it changes {changed} of {total} output values"
        if not changed:
            message += "; if the model ignores it, say so in unused_inputs with the reason"
    else:
        status = "failed" if changed else "passed"
        message = f"declared unused ({unused_reason}); varied alone, it changes {changed} of {total} output values"
    return GateResult(REPLAY, "sensitivity", input_name, status, message, figures)


def dependence_gate(
    output: str, baseline: Array, varied: Collection[Array], slices: Mapping[str, slice] = NO_SLICES
) -> GateResult:
    """The output changes with one input at least: `varied` is what it was with each of them varied alone.

    Each of `slices` of the last axis has to, too, but padding.
    """
    changed = sum(bool((_bits(baseline) != _bits(other)).any()) for other in varied)
    message = f"{changed} of {len(varied)} inputs, varied alone, change it"
    constant = [
        name
        for name, where in slices.items()
        if name != PAD and not any((_bits(baseline[..., where]) != _bits(other[..., where])).any() for other in varied)
    ]
    if not changed:
        message += ": it is a constant, whatever the model is shown"
    elif constant:
        message += f", but not its slices {', '.join(constant)}: they are constants, whatever the model is shown"
    status: Status = "failed" if constant or not changed else "passed"
    return GateResult(REPLAY, "dependence", output, status, message, {"inputs": float(changed)})


def pinned_gate(output: str, actual: Array, sha256: str) -> GateResult:
    """The sha256 of the output's bytes (little-endian, row-major) is the pinned one."""
    found = tensor_sha256(actual)
    if found == sha256:
        return GateResult(REPLAY, "pinned", output, "passed", f"sha256 {found}, as pinned")
    return GateResult(REPLAY, "pinned", output, "failed", f"sha256 {found}, pinned is {sha256}")


def reference_gate(
    output: str,
    actual: Array,
    reference: Array,
    varied_reference: Array,
    tolerance: Tolerance,
    slices: Mapping[str, slice] = NO_SLICES,
) -> list[GateResult]:
    """The output is near `reference`; `varied_reference` is what the reference gives for the inputs of seed 43.

    Two results, "reference" and "change", by the definitions in `autoclave.parity.tolerance`. The second is measured
    always, and a gate only if the tolerance has a `change_fraction`. `slices` of the last axis have figures of their own,
    `error/NAME`, and the message names the one with the largest error.
    """
    error = max_error(actual, reference)
    fraction = change_fraction(actual, reference, varied_reference)
    each = {name: max_error(actual[..., where], reference[..., where]) for name, where in slices.items()}
    largest = f" (in {max(each, key=lambda name: (math.isnan(each[name]), each[name]))})" if each else ""
    return [
        GateResult(
            REFERENCE,
            "reference",
            output,
            "passed" if error <= tolerance.error else "failed",
            f"error {error:.3g}{largest}, allowed {tolerance.error:.3g}{_because(tolerance)}",
            {"error": error, "allowed": tolerance.error} | {f"error/{name}": of for name, of in each.items()},
            None if error <= tolerance.error else _beyond(actual, reference, tolerance.error),
        ),
        _change_result(output, fraction, tolerance),
    ]


def pixels_gate(output: str, actual: Array, reference: Array, allowed: float) -> GateResult:
    """At least the share `allowed` of the output's bytes equal those of `reference`."""
    equal = int(np.count_nonzero(actual == reference))
    share = equal / max(1, actual.size)
    figures = {"equal_share": share, "allowed": allowed}
    message = f"{equal} of {actual.size} bytes are the reference's, {100 * allowed:g} % have to be"
    if share >= allowed:
        return GateResult(REFERENCE, "pixels", output, "passed", message, figures)
    found = difference(reference, actual)
    return GateResult(REFERENCE, "pixels", output, "failed", message, figures, found)


def max_error(actual: Array, reference: Array) -> float:
    """The largest of |a - r| / max(1, |r|) over all elements; NaN if there is a NaN in either tensor."""
    return float(_errors(actual, reference).max(initial=0.0))


def change_fraction(actual: Array, reference: Array, varied_reference: Array) -> float:
    """The largest |a - r| as a fraction of the largest |r43 - r|. 0 if both are 0, infinite if only the second is."""
    error = float(_distance(actual, reference).max(initial=0.0))
    change = float(_distance(varied_reference, reference).max(initial=0.0))
    if change == 0:
        return 0.0 if error == 0 else float("inf")
    return error / change


def tensor_sha256(tensor: Array) -> str:
    """The sha256, in hex, of a tensor's bytes: row-major and little-endian."""
    return hashlib.sha256(np.ascontiguousarray(tensor).tobytes()).hexdigest()


def _change_result(output: str, fraction: float, tolerance: Tolerance) -> GateResult:
    allowed = tolerance.change_fraction
    figures = {"change_fraction": fraction}
    message = f"error is {100 * fraction:.3g} % of the change that other inputs make"
    if allowed is None:
        return GateResult(REFERENCE, "change", output, "passed", message + ", measured only", figures)
    status: Status = "passed" if fraction <= allowed else "failed"
    message += f", allowed {100 * allowed:.3g} %{_because(tolerance)}"
    return GateResult(REFERENCE, "change", output, status, message, figures | {"allowed": allowed})


def _because(tolerance: Tolerance) -> str:
    return f" ({tolerance.reason})" if tolerance.reason else ""


def _bits(tensor: Array) -> NDArray[np.unsignedinteger]:
    return np.ascontiguousarray(tensor).reshape(-1).view(f"u{tensor.dtype.itemsize}")


def _distance(left: Array, right: Array) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):
        return np.abs(left.astype(np.float64) - right.astype(np.float64)).reshape(-1)


def _errors(actual: Array, reference: Array) -> NDArray[np.float64]:
    return _distance(actual, reference) / np.maximum(1.0, np.abs(reference.astype(np.float64))).reshape(-1)


def _beyond(actual: Array, reference: Array, allowed: float) -> Difference:
    """How `actual` differs from `reference` where the error is above `allowed`."""
    return _describe(reference.astype(actual.dtype), actual, np.flatnonzero(~(_errors(actual, reference) <= allowed)))


def _describe(expected: Array, actual: Array, places: NDArray[np.intp]) -> Difference:
    first = int(places[0])
    distance = _distance(expected, actual)
    wanted, found = expected.reshape(-1)[first], actual.reshape(-1)[first]
    return Difference(
        count=int(places.size),
        total=expected.size,
        first_index=_index(first, expected),
        expected=float(wanted),
        expected_hex=_hex(wanted),
        actual=float(found),
        actual_hex=_hex(found),
        max_error=float(distance.max()),
        mean_error=float(distance.mean()),
    )


def _hex(value: np.generic) -> str:
    return "0x" + value.tobytes()[::-1].hex()


def _index(flat: int, tensor: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(flat, tensor.shape))
