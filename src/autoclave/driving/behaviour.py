"""Behaviour versions: what a model's outputs must be, and how a car is steered by them.

A behaviour version, v8 to v16, belongs to the model and never changes with the toolchain. It says which outputs there
are and how the curvature to steer is obtained; it does not say of which kind the model is (`autoclave.driving.kinds`),
but for the off-policy part. The table is StarPilot's; v13 is not described anywhere and is refused.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from autoclave.driving.output_forms import FORMS, widths
from autoclave.errors import SourceError


class OutputsError(SourceError):
    """A model's outputs are not what its behaviour version needs; `problems` lists all that is wrong."""

    def __init__(self, version: str, problems: Collection[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(f"the outputs do not fit behaviour version {version}: " + "; ".join(self.problems))


class UnknownBehaviour(SourceError):
    """A behaviour version that is not in the table."""


class Curvature(Enum):
    """How the curvature to steer (1/m) is obtained."""

    FROM_PLAN = "from the yaw and yaw rate of plan (plus planplus, where there is one)"
    FROM_OUTPUT = "desired_curvature"
    ACTION_PER_HUNDRED = "action[0] / 100"
    ACTION_PER_SPEED_SQUARED = "action[0] / max(1, speed in m/s) ** 2"


@dataclass(frozen=True)
class Behaviour:
    """One version. `off_policy`: a model in several files has an off-policy part beside the policy that drives."""

    version: str
    curvature: Curvature
    extra: tuple[str, ...] = ()
    off_policy: bool = False

    @property
    def required(self) -> tuple[str, ...]:
        """The outputs that there must be."""
        return COMMON + self.extra


COMMON = (
    "plan",
    "lane_lines",
    "lane_lines_prob",
    "road_edges",
    "lead",
    "lead_prob",
    "meta",
    "desire_pred",
    "pose",
    "wide_from_device_euler",
    "road_transform",
)
"""What every version needs. Others of `FORMS` may be there (desire_state, hidden_state ...) and then have their widths."""

BEHAVIOURS = {
    behaviour.version: behaviour
    for behaviour in (
        Behaviour("v8", Curvature.FROM_PLAN),
        Behaviour("v9", Curvature.FROM_OUTPUT, ("desired_curvature",)),
        Behaviour("v10", Curvature.FROM_PLAN),
        Behaviour("v11", Curvature.FROM_PLAN),
        Behaviour("v12", Curvature.FROM_PLAN, off_policy=True),
        Behaviour("v14", Curvature.ACTION_PER_HUNDRED, ("action",), off_policy=True),
        Behaviour("v15", Curvature.ACTION_PER_SPEED_SQUARED, ("action",), off_policy=True),
        Behaviour("v16", Curvature.ACTION_PER_SPEED_SQUARED, ("action",)),
    )
}

_UNDESCRIBED = {"v13": "no description of it is known, and none is made up here"}


def behaviour(version: str) -> Behaviour:
    """The behaviour of that name. Raises `UnknownBehaviour`."""
    if version in BEHAVIOURS:
        return BEHAVIOURS[version]
    why = f": {_UNDESCRIBED[version]}" if version in _UNDESCRIBED else ""
    raise UnknownBehaviour(
        f"behaviour version {version[:20]!r} is not known{why}; expected one of {', '.join(BEHAVIOURS)}"
    )


@dataclass(frozen=True)
class OutputLayout:
    """One output tensor: where each output lies in it, and how many values it has in all."""

    slices: Mapping[str, slice]
    length: int


def check_outputs(version: str, slices: Mapping[str, slice], length: int) -> None:
    """Check the outputs of a model that has one output tensor, of `length` values.

    Raises `UnknownBehaviour`, or `OutputsError` with all that is missing, out of range, of a wrong width, or overlaps.
    """
    check_layouts(version, {"": OutputLayout(slices, length)})


def check_layouts(
    version: str,
    layouts: Mapping[str, OutputLayout],
    needed: Mapping[str, Collection[str]] = MappingProxyType({}),
) -> None:
    """Check a model in several files: `layouts` by the part that each output tensor is of, as "vision" and "policy".

    Each required output must be in one of them at least, and those `needed` in a part, in that part. Raises as
    `check_outputs` does; problems say which part they are in.
    """
    known = behaviour(version)
    found = {name for layout in layouts.values() for name in layout.slices}
    problems = [f"{name} is missing" for name in known.required if name not in found]
    for part, layout in layouts.items():
        where = f"{part}: " if part else ""
        missing = (name for name in needed.get(part, ()) if name not in layout.slices)
        problems += [f"{where}{name} is missing" for name in missing]
        problems += [where + problem for problem in _layout_problems(layout)]
    if problems:
        raise OutputsError(version, problems)


@dataclass(frozen=True)
class _Range:
    name: str
    start: int
    stop: int


PAD = "pad"
"""The last two values, which belong to another output as well, or to none."""


def _layout_problems(layout: OutputLayout) -> Iterator[str]:
    ranges = []
    for name, value in layout.slices.items():
        problem = _range_problem(value, layout.length)
        if problem:
            yield f"{name} {problem}"
            continue
        start, stop, _ = value.indices(layout.length)
        if name in FORMS and stop - start not in widths(name):
            expected = " or ".join(map(str, widths(name)))
            yield f"{name} has {stop - start} values; expected {expected}"
        if name != PAD or start != layout.length - 2:
            ranges.append(_Range(name, start, stop))
    yield from _overlaps(ranges)


def _range_problem(value: slice, length: int) -> str | None:
    if value.step not in (None, 1):
        return f"has a step of {value.step}"
    if any(bound is not None and not -length <= bound <= length for bound in (value.start, value.stop)):
        return f"is {_bounds(value)}, out of the range of {length} values"
    start, stop, _ = value.indices(length)
    return None if start < stop else f"is {_bounds(value)}, which is empty"


def _bounds(value: slice) -> str:
    """As in Python: "917:1907"."""
    return ":".join("" if bound is None else str(bound) for bound in (value.start, value.stop))


def _overlaps(ranges: Collection[_Range]) -> Iterator[str]:
    """Of the ranges in order, each that begins before the furthest of those before it ends."""
    furthest = None
    for each in sorted(ranges, key=lambda item: (item.start, item.stop)):
        if furthest is not None and each.start < furthest.stop:
            yield f"{each.name} ({each.start}:{each.stop}) overlaps {furthest.name} ({furthest.start}:{furthest.stop})"
        if furthest is None or each.stop > furthest.stop:
            furthest = each
