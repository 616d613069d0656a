"""What a driving model sees and plans, as curves over the road: from parsed outputs, for drawing and for JSON.

Everything is in the car's frame at the moment of the frame: x metres ahead, y metres to the right, deviations in metres
(one standard deviation, as the model states it).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoclave.driving.constants import LEAD_T_IDXS, LEAD_T_OFFSETS, POSITION, T_IDXS, VELOCITY, X_IDXS
from autoclave.errors import AutoclaveError

Array = NDArray[np.float64]

DIGITS = 6
"""Significant digits of numbers in JSON: more than a model's precision, fewer than hosts may differ in."""


class SceneError(AutoclaveError):
    """Outputs are missing, or are not finite, so that there is nothing to show."""


@dataclass(frozen=True)
class Curve:
    """A lane line, a road edge or the plan: points (x, y) and the deviation of y at each.

    `probability`: that the line is there; `None` if the model does not say.
    """

    x: Array
    y: Array
    y_std: Array
    probability: float | None = None


@dataclass(frozen=True)
class Plan:
    """Where the car will be: `path` at the times `t` (s), with the forward speed (m/s) there."""

    path: Curve
    t: Array
    speed: Array


@dataclass(frozen=True)
class Lead:
    """The car that will be ahead in `time` seconds, with `probability`: where it is at the times `t` (s), how fast (m/s)."""

    time: float
    probability: float
    t: Array
    x: Array
    y: Array
    speed: Array
    x_std: Array
    y_std: Array


@dataclass(frozen=True)
class Scene:
    """One frame's plan, lane lines (from left to right), road edges (left, right) and leads (by their time)."""

    plan: Plan
    lane_lines: tuple[Curve, ...]
    road_edges: tuple[Curve, ...]
    leads: tuple[Lead, ...]


def scene(outputs: Mapping[str, Array]) -> Scene:
    """The scene of outputs that `autoclave.driving.parser` gave. Raises `SceneError`."""
    _check(outputs)
    plan, plan_stds = outputs["plan"], outputs["plan_stds"]
    path = Curve(plan[:, POSITION][:, 0], plan[:, POSITION][:, 1], plan_stds[:, POSITION][:, 1])
    # Of the two logits of a lane line the second says whether it is there; a plan has x of its own, lines a fixed grid.
    probabilities = outputs["lane_lines_prob"][:, 1]
    return Scene(
        Plan(path, np.array(T_IDXS), plan[:, VELOCITY][:, 0]),
        tuple(_lines(outputs, "lane_lines", map(float, probabilities))),
        tuple(_lines(outputs, "road_edges", [None] * len(outputs["road_edges"]))),
        tuple(_lead(outputs, number, time) for number, time in enumerate(LEAD_T_OFFSETS)),
    )


def scene_to_json(shown: Scene) -> dict[str, Any]:
    """The scene as lists and objects of numbers with `DIGITS` significant digits; keys are the fields' names."""
    return {
        "plan": {"t": _numbers(shown.plan.t), **_curve_to_json(shown.plan.path), "speed": _numbers(shown.plan.speed)},
        "lane_lines": [_curve_to_json(line) for line in shown.lane_lines],
        "road_edges": [_curve_to_json(edge) for edge in shown.road_edges],
        "leads": [_lead_to_json(lead) for lead in shown.leads],
    }


def outputs_to_json(outputs: Mapping[str, Array]) -> dict[str, Any]:
    """All parsed outputs as nested lists, by name. Raises `SceneError` for values that JSON has no words for."""
    _check_finite(outputs, outputs)
    return {name: _numbers(values) for name, values in sorted(outputs.items())}


_NEEDED = (
    "plan",
    "plan_stds",
    "lane_lines",
    "lane_lines_stds",
    "lane_lines_prob",
    "road_edges",
    "road_edges_stds",
    "lead",
    "lead_stds",
    "lead_prob",
)


def _check(outputs: Mapping[str, Array]) -> None:
    missing = [name for name in _NEEDED if name not in outputs]
    if missing:
        raise SceneError(f"outputs {', '.join(missing)} are missing, without which there is no scene")
    _check_finite(outputs, _NEEDED)


def _check_finite(outputs: Mapping[str, Array], names: Iterable[str]) -> None:
    counts = {name: int(np.count_nonzero(~np.isfinite(outputs[name]))) for name in names}
    broken = [f"{name} ({count} of {outputs[name].size} values)" for name, count in counts.items() if count]
    if broken:
        raise SceneError(f"outputs are not finite: {', '.join(broken)}")


def _lines(outputs: Mapping[str, Array], name: str, probabilities: Iterable[float | None]) -> Iterable[Curve]:
    for line, deviations, probability in zip(outputs[name], outputs[f"{name}_stds"], probabilities, strict=True):
        yield Curve(np.array(X_IDXS), line[:, 0], deviations[:, 0], probability)


def _lead(outputs: Mapping[str, Array], number: int, time: float) -> Lead:
    points, deviations = outputs["lead"][number], outputs["lead_stds"][number]
    return Lead(
        time=time,
        probability=float(outputs["lead_prob"][number]),
        t=np.array(LEAD_T_IDXS),
        x=points[:, 0],
        y=points[:, 1],
        speed=points[:, 2],
        x_std=deviations[:, 0],
        y_std=deviations[:, 1],
    )


def _curve_to_json(curve: Curve) -> dict[str, Any]:
    written = {"x": _numbers(curve.x), "y": _numbers(curve.y), "y_std": _numbers(curve.y_std)}
    return written if curve.probability is None else {**written, "probability": _number(curve.probability)}


def _lead_to_json(lead: Lead) -> dict[str, Any]:
    names = ("t", "x", "y", "speed", "x_std", "y_std")
    return {
        "time": lead.time,
        "probability": _number(lead.probability),
        **{name: _numbers(getattr(lead, name)) for name in names},
    }


def _numbers(values: Array) -> Any:
    """Nested lists of a shape's numbers."""
    return [_numbers(row) for row in values] if values.ndim > 1 else [_number(value) for value in values]


def _number(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
