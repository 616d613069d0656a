"""From a model's raw output tensor to named arrays of means, deviations and probabilities, in float64.

Names are those of openpilot's parser: `plan` and `plan_stds`, and for outputs with several hypotheses `lead_weights`,
`lead_hypotheses` and `lead_stds_hypotheses`. Arrays have no batch axis.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from autoclave.driving.output_forms import Categories, Form, Mixture, Probabilities, Values, form_of, widths
from autoclave.errors import AutoclaveError

Array = NDArray[np.float64]

MAX_EXPONENT = 11.0
"""Larger exponents are cut, as openpilot does, so that a deviation never leaves the range of float16."""

PARTS = ("stateful", "supercombo", "vision", "off_policy", "policy", "on_policy")
"""The parts of models in their order: of an output that two have, the later one's counts."""


def parse_outputs(outputs: NDArray[np.generic], slices: Mapping[str, slice]) -> dict[str, Array]:
    """Parse one output tensor, (1, N) or (N,), whose slices `check_outputs` has accepted.

    Raises `AutoclaveError` for another shape, and for an output whose width has no form.
    """
    values = np.array(outputs, dtype=np.float64)
    if values.ndim == 2 and values.shape[0] == 1:
        values = values[0]
    if values.ndim != 1:
        raise AutoclaveError(f"the output tensor has the shape {values.shape}; expected (1, N)")
    parsed: dict[str, Array] = {}
    for name, place in slices.items():
        parsed |= _parse(name, values[place])
    return parsed


def parse_parts(
    outputs: Mapping[str, NDArray[np.generic]], slices: Mapping[str, Mapping[str, slice]]
) -> dict[str, Array]:
    """Parse a model in several files, whose tensors and slices are given by part; see `PARTS`."""
    unknown = sorted(set(outputs) - set(PARTS))
    if unknown:
        raise AutoclaveError(
            f"parts {', '.join(unknown)} of a model are not known; expected some of {', '.join(PARTS)}"
        )
    parsed: dict[str, Array] = {}
    for part in PARTS:
        if part in outputs:
            parsed |= parse_outputs(outputs[part], slices[part])
    return parsed


def _parse(name: str, raw: Array) -> dict[str, Array]:
    form = form_of(name, raw.size) if widths(name) else Values(raw.shape)
    if form is None:
        expected = " or ".join(map(str, widths(name)))
        raise AutoclaveError(f"output {name} has {raw.size} values; expected {expected}")
    return {f"{name}{suffix}": array for suffix, array in _parse_form(form, raw).items()}


def _parse_form(form: Form, raw: Array) -> dict[str, Array]:
    """What `raw` holds, by the suffix of its name."""
    match form:
        case Mixture():
            return _mixture(form, raw)
        case Probabilities():
            return {"": sigmoid(raw).reshape(form.shape)}
        case Categories():
            return {"": softmax(raw.reshape(form.shape), axis=-1)}
        case Values():
            return {"": raw.reshape(form.shape)}


def _mixture(form: Mixture, raw: Array) -> dict[str, Array]:
    rows = raw.reshape(form.hypotheses, -1)
    count = (rows.shape[1] - form.selections) // 2
    means = rows[:, :count].reshape(form.hypotheses, *form.shape)
    deviations = capped_exp(rows[:, count : 2 * count]).reshape(form.hypotheses, *form.shape)
    if not form.selections:
        return {"": means[0], "_stds": deviations[0]}
    weights = softmax(rows[:, 2 * count :], axis=0)
    # Of equal weights the last counts, as in openpilot, which reverses a sorted order.
    order = np.argsort(weights, axis=0, kind="stable")[::-1]
    best = order[0]
    if form.selections == 1:
        ranked = order[:, 0]
        means, deviations, weights = means[ranked], deviations[ranked], weights[ranked]
        chosen = means[0], deviations[0]
    else:
        chosen = means[best], deviations[best]
    return {
        "": chosen[0],
        "_stds": chosen[1],
        "_weights": weights,
        "_hypotheses": means,
        "_stds_hypotheses": deviations,
    }


def capped_exp(values: Array) -> Array:
    """exp(min(x, 11))."""
    return np.exp(np.minimum(values, MAX_EXPONENT))


def sigmoid(values: Array) -> Array:
    """1 / (1 + exp(-x)), with the exponent cut as openpilot's: never below 1.7e-5."""
    return 1 / (1 + capped_exp(-values))


def softmax(values: Array, axis: int) -> Array:
    """Probabilities from logits, which sum to 1 along `axis`."""
    powers = np.exp(values - values.max(axis=axis, keepdims=True))
    shares: Array = powers / powers.sum(axis=axis, keepdims=True)
    return shares
