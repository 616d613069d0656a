"""Parsed outputs of a model that sees a right-hand bend of 400 m radius at 16 m/s, with a car 38 m ahead."""

import numpy as np
from driving.raw_outputs import WIDTHS, layout
from numpy.typing import NDArray

from autoclave.driving.constants import LEAD_T_IDXS, T_IDXS, X_IDXS

SPEED = 16.0
RADIUS = 400.0
LANE_LINES = (-5.3, -1.7, 1.8, 5.4)
LANE_LINE_PROBABILITIES = (0.4, 0.97, 0.99, 0.75)
ROAD_EDGES = (-7.4, 6.9)
LEAD_DISTANCES = (38.0, 61.0, 95.0)
LEAD_PROBABILITIES = (0.92, 0.55, 0.03)


def bend(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far to the right the road is at x metres ahead."""
    return x**2 / (2 * RADIUS)


def raw_outputs() -> tuple[NDArray[np.float32], dict[str, slice]]:
    """The road as a model's output tensor, (1, 2578), with its slices."""
    slices, length = layout(WIDTHS)
    raw = np.zeros((1, length), dtype=np.float32)
    x, t = np.array(X_IDXS), np.array(T_IDXS)

    def put(name: str, *values: NDArray[np.float64]) -> None:
        raw[0, slices[name]] = np.concatenate([value.ravel() for value in values])

    plan = np.zeros((33, 15))
    plan[:, 0] = SPEED * t + 0.1 * t**2
    plan[:, 1] = bend(plan[:, 0])
    plan[:, 3] = SPEED + 0.2 * t
    plan_stds = np.full((33, 15), 5.0)
    plan_stds[:, 1] = 0.1 + 0.12 * t
    put("plan", plan, np.log(plan_stds))
    for name, places in (("lane_lines", LANE_LINES), ("road_edges", ROAD_EDGES)):
        lines = np.array([[place + bend(x), np.zeros(33)] for place in places]).transpose(0, 2, 1)
        deviations = np.broadcast_to(0.1 + 0.01 * x[:, None], lines.shape) * (2 if name == "road_edges" else 1)
        put(name, lines, np.log(deviations))
    lead_t = np.array(LEAD_T_IDXS)
    leads = [[[d + 14 * t, bend(d + 14 * t) + 0.2, 14.0, 0.0] for t in lead_t] for d in LEAD_DISTANCES]
    put("lead", np.array(leads), np.log(np.full((3, 6, 4), (3.0, 0.6, 1.0, 0.5))))
    put("lead_prob", _logits(np.array(LEAD_PROBABILITIES)))
    seen = _logits(np.array(LANE_LINE_PROBABILITIES))
    put("lane_lines_prob", np.stack([np.full(4, -5.0), seen], axis=1))
    return raw, slices


def _logits(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.log(probabilities / (1 - probabilities))
