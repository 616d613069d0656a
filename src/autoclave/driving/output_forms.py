"""What the raw values of each output mean, by its name and its width: the table that checks and parser share.

Names, widths and forms are those of openpilot's `parse_model_outputs.py` and of the forks' parsers of older models. An
output that came in several forms is told by its width.
"""

from dataclasses import dataclass
from math import prod

from autoclave.driving import constants


@dataclass(frozen=True)
class Mixture:
    """Means and logarithms of standard deviations, of `hypotheses` guesses that are told apart by their weights.

    Each hypothesis is its means, the logarithms of as many deviations, and the logits of `selections` weights. One
    selection chooses one hypothesis, the likeliest by its weight; no selections: there is one hypothesis, chosen.
    `shape` is that of a hypothesis's means.
    """

    shape: tuple[int, ...]
    hypotheses: int = 1
    selections: int = 0

    @property
    def width(self) -> int:
        return self.hypotheses * (2 * prod(self.shape) + self.selections)


@dataclass(frozen=True)
class Probabilities:
    """Logits, each of an event of its own: a sigmoid gives probabilities."""

    shape: tuple[int, ...]

    @property
    def width(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True)
class Categories:
    """Logits of the alternatives along the last axis: a softmax gives probabilities, which sum to 1."""

    shape: tuple[int, ...]

    @property
    def width(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True)
class Values:
    """Values that are used as they are."""

    shape: tuple[int, ...]

    @property
    def width(self) -> int:
        return prod(self.shape)


Form = Mixture | Probabilities | Categories | Values

_PLAN = (constants.POINTS, constants.PLAN_WIDTH)
_LEAD = (constants.LEAD_POINTS, constants.LEAD_WIDTH)
_PLANS = (Mixture(_PLAN), Mixture(_PLAN, hypotheses=5, selections=1))
_LINES = constants.POINTS, 2

FORMS: dict[str, tuple[Form, ...]] = {
    "plan": _PLANS,
    "planplus": _PLANS,
    "lane_lines": (Mixture((constants.LANE_LINES, *_LINES)),),
    "lane_lines_prob": (Probabilities((constants.LANE_LINES, 2)),),
    "road_edges": (Mixture((constants.ROAD_EDGES, *_LINES)),),
    "lead": (
        Mixture((constants.LEADS, *_LEAD)),
        Mixture(_LEAD, hypotheses=2, selections=constants.LEADS),
    ),
    "lead_prob": (Probabilities((constants.LEADS,)),),
    "meta": (Probabilities((55,)),),
    "desire_pred": (Categories((4, constants.DESIRES)),),
    "desire_state": (Categories((constants.DESIRES,)),),
    "pose": (Mixture((constants.POSE_WIDTH,)),),
    "sim_pose": (Mixture((constants.POSE_WIDTH,)),),
    "road_transform": (Mixture((constants.POSE_WIDTH,)),),
    "wide_from_device_euler": (Mixture((3,)),),
    "lat_planner_solution": (Mixture((constants.POINTS, 4)),),
    "desired_curvature": (Mixture((1,)),),
    "action": (Mixture((2,)),),
    "hidden_state": (Values((constants.FEATURE_WIDTH,)),),
}
"""By the output's name, the forms it comes in. An output that is not here is kept as it is."""


def form_of(name: str, width: int) -> Form | None:
    """The form of the output `name` of `width` values; `None` if there is none, see `widths`."""
    return next((form for form in FORMS.get(name, ()) if form.width == width), None)


def widths(name: str) -> tuple[int, ...]:
    """How many values the output `name` may have; empty if it is none of `FORMS`."""
    return tuple(form.width for form in FORMS.get(name, ()))
