"""A scene drawn from above, as SVG: the plan, lane lines, road edges and leads, with bands of one standard deviation.

One self-contained file that any browser shows, with a title and a description for those who do not see it. Ahead is
up, to the right is right; both axes are in metres, the one across the road stretched, as the picture says.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from autoclave.driving.scene import Curve, Lead, Plan, Scene, SceneError

_WIDTH, _HEIGHT = 440, 680
_LEFT, _TOP, _RIGHT, _BOTTOM = 70, 78, 250, 84
"""Pixels: the road, and the space around it for the axes, the title and, to the right, the legend."""

_PLAN, _LANE, _EDGE, _LEAD = "#009e73", "#0072b2", "#d55e00", "#cc79a7"
"""Told apart with any kind of colour vision: Okabe and Ito, "Color Universal Design", 2008."""
_INK, _FAINT, _GRID = "#333333", "#555555", "#dddddd"

_REACHES = (50.0, 100.0, 200.0)
"""Metres ahead that a picture may show."""
_NARROWEST, _WIDEST, _ACROSS_STEP = 8, 24, 4
"""Metres to each side that a picture shows, in steps of."""
_FAR = 20_000.0
"""Pixels: points further away are drawn there, beyond all edges; some renderers fail on larger numbers."""
_LEAST_PROBABILITY = 0.1
"""Leads that are less likely are only in the legend."""
_CAR = (0.9, 2.3)
"""Metres: half a car's width and length."""
_TITLE = 90
"""Characters of the title and of the description that fit."""


def plot(scene: Scene, title: str, description: str = "", reach: float | None = None) -> str:
    """The SVG file's text.

    `title` and `description` are shown above the road. `reach`: metres ahead to show, above 0; by default as many of
    50, 100 and 200 as the plan needs. Raises `SceneError` for another reach.
    """
    view = _view(scene, reach)
    full = _LEFT + _WIDTH + _RIGHT, _TOP + _HEIGHT + _BOTTOM
    told = [escape(_printable(text)[:_TITLE]) for text in (title, description)]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title description" '
        f'viewBox="0 0 {full[0]} {full[1]}" width="{full[0]}" height="{full[1]}" '
        f'font-family="DejaVu Sans, Verdana, sans-serif" font-size="12">',
        f'<title id="title">{told[0]}</title>',
        f'<desc id="description">{told[1] or "A driving scene from above"}</desc>',
        f'<rect width="{full[0]}" height="{full[1]}" fill="#ffffff"/>',
        f'<text x="20" y="28" font-size="16" font-weight="bold">{told[0]}</text>',
        f'<text x="20" y="48" fill="{_FAINT}">{told[1]}</text>',
        f'<clipPath id="road"><rect x="{_LEFT}" y="{_TOP}" width="{_WIDTH}" height="{_HEIGHT}"/></clipPath>',
        *_axes(view),
        '<g clip-path="url(#road)">',
        *_road(view, scene),
        "</g>",
        f'<rect x="{_LEFT}" y="{_TOP}" width="{_WIDTH}" height="{_HEIGHT}" fill="none" stroke="{_INK}"/>',
        *_legend(scene),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _View:
    """How metres become pixels: `ahead` metres up, `behind` below the car, `across` to each side."""

    ahead: float
    behind: float
    across: float

    def pixels(self, ahead: NDArray[np.float64], right: NDArray[np.float64]) -> str:
        """Points as an SVG attribute's value."""
        x, y = self.place(ahead, right)
        return " ".join(f"{each:.1f},{other:.1f}" for each, other in zip(x, y, strict=True))

    def place(
        self, ahead: NDArray[np.float64] | float, right: NDArray[np.float64] | float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Metres as pixels (x, y)."""
        x = _LEFT + _WIDTH / 2 + np.asarray(right) * self.per_metre_across
        y = _TOP + _HEIGHT - (np.asarray(ahead) + self.behind) * self.per_metre_ahead
        return np.clip(x, -_FAR, _FAR), np.clip(y, -_FAR, _FAR)

    @property
    def per_metre_across(self) -> float:
        return _WIDTH / (2 * self.across)

    @property
    def per_metre_ahead(self) -> float:
        return _HEIGHT / (self.ahead + self.behind)


def _view(scene: Scene, reach: float | None) -> _View:
    if reach is not None and not 0 < reach < float("inf"):
        raise SceneError(f"reach is {reach}; expected metres above 0")
    furthest = float(scene.plan.path.x.max())
    ahead = reach or next((each for each in _REACHES if furthest <= each), _REACHES[-1])
    curves = (scene.plan.path, *scene.lane_lines, *scene.road_edges)
    widest = max((float(np.abs(curve.y[curve.x <= ahead]).max(initial=0)) for curve in curves), default=0.0)
    across = min(max(_ACROSS_STEP * ceil(widest / _ACROSS_STEP), _NARROWEST), _WIDEST)
    return _View(ahead, ahead * 0.05, float(across))


def _axes(view: _View) -> Iterator[str]:
    bottom, middle = _TOP + _HEIGHT, _LEFT + _WIDTH / 2
    for metres in np.arange(0, view.ahead + 0.1, view.ahead / 10):
        y = float(view.place(float(metres), 0.0)[1])
        yield f'<line x1="{_LEFT}" y1="{y:.1f}" x2="{_LEFT + _WIDTH}" y2="{y:.1f}" stroke="{_GRID}"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill="{_FAINT}">{metres:g}</text>'
    for metres in np.arange(-view.across, view.across + 0.1, _ACROSS_STEP):
        x = float(view.place(0.0, float(metres))[0])
        yield f'<line x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{bottom}" stroke="{_GRID}"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle" fill="{_FAINT}">{abs(metres):g}</text>'
    stretch = view.per_metre_across / view.per_metre_ahead
    yield f'<text x="{_LEFT}" y="{bottom + 38}" fill="{_FAINT}">&#8592; metres to the left</text>'
    yield (
        f'<text x="{_LEFT + _WIDTH}" y="{bottom + 38}" text-anchor="end" fill="{_FAINT}">metres to the right &#8594;</text>'
    )
    yield (
        f'<text x="{middle:.1f}" y="{bottom + 60}" text-anchor="middle" fill="{_FAINT}">'
        f"across the road stretched {stretch:.1f} times</text>"
    )
    yield (
        f'<text transform="translate(22 {_TOP + _HEIGHT / 2:.0f}) rotate(-90)" text-anchor="middle" '
        f'fill="{_FAINT}">metres ahead</text>'
    )


def _road(view: _View, scene: Scene) -> Iterator[str]:
    for number, edge in enumerate(scene.road_edges):
        yield from _curve(view, edge, _EDGE, f"road edge {number + 1}", 'stroke-dasharray="10 5" stroke-width="2.5"')
    for number, line in enumerate(scene.lane_lines):
        yield from _curve(view, line, _LANE, f"lane line {number + 1}", 'stroke-width="2.5"')
    yield from _plan(view, scene.plan)
    yield from _car(view)
    for lead in reversed(scene.leads):
        if lead.probability >= _LEAST_PROBABILITY:
            yield from _lead(view, lead)


def _curve(view: _View, curve: Curve, colour: str, name: str, stroke: str) -> Iterator[str]:
    """The band of one deviation to each side, and the curve; both fainter the less likely the line is there."""
    strength = 1.0 if curve.probability is None else 0.2 + 0.8 * curve.probability
    certainty = "" if curve.probability is None else f", {_percent(curve.probability)}"
    band_x = np.concatenate([curve.x, curve.x[::-1]])
    band_y = np.concatenate([curve.y - curve.y_std, (curve.y + curve.y_std)[::-1]])
    yield f'<g opacity="{strength:.2f}"><title>{name}{certainty}</title>'
    yield f'<polygon points="{view.pixels(band_x, band_y)}" fill="{colour}" opacity="0.18"/>'
    yield f'<polyline points="{view.pixels(curve.x, curve.y)}" fill="none" stroke="{colour}" {stroke}/></g>'


def _plan(view: _View, plan: Plan) -> Iterator[str]:
    yield from _curve(view, plan.path, _PLAN, "plan", 'stroke-width="5" stroke-linecap="round"')
    seconds = np.arange(1, int(plan.t[-1]) + 1)
    ahead, right = (np.interp(seconds, plan.t, values) for values in (plan.path.x, plan.path.y))
    labelled = float("inf")
    for second, x, y in zip(seconds, *view.place(ahead, right), strict=True):
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="#ffffff" stroke="{_PLAN}" stroke-width="2"/>'
        if second % 2 == 0 and abs(y - labelled) >= 14:
            labelled = y
            yield _label(x + 9, y + 4, f"{second} s", _PLAN, "start")


def _car(view: _View) -> Iterator[str]:
    half_width, half_length = _CAR
    x, y = view.place(np.array([half_length, -half_length]), np.array([-half_width, half_width]))
    yield (
        f'<rect x="{x[0]:.1f}" y="{y[0]:.1f}" width="{x[1] - x[0]:.1f}" height="{y[1] - y[0]:.1f}" rx="4" '
        f'fill="{_INK}"><title>the car</title></rect>'
    )


def _lead(view: _View, lead: Lead) -> Iterator[str]:
    """Where it is first, with an ellipse of one deviation, and where it goes."""
    x, y = view.place(lead.x, lead.y)
    radii = float(lead.y_std[0]) * view.per_metre_across, float(lead.x_std[0]) * view.per_metre_ahead
    yield f'<g opacity="{0.2 + 0.8 * lead.probability:.2f}"><title>{_lead_text(lead)}</title>'
    yield (
        f'<ellipse cx="{x[0]:.1f}" cy="{y[0]:.1f}" rx="{min(radii[0], _FAR):.1f}" ry="{min(radii[1], _FAR):.1f}" '
        f'fill="{_LEAD}" opacity="0.25"/>'
    )
    yield (
        f'<polyline points="{view.pixels(lead.x, lead.y)}" fill="none" stroke="{_LEAD}" stroke-width="1.5" '
        f'stroke-dasharray="3 3"/>'
    )
    for each, other in zip(x[1:], y[1:], strict=True):
        yield f'<circle cx="{each:.1f}" cy="{other:.1f}" r="2" fill="{_LEAD}"/>'
    yield _diamond(float(x[0]), float(y[0]))
    yield _label(float(x[0]) - 13, float(y[0]) + 4, _moment(lead.time), _LEAD, "end") + "</g>"


def _diamond(x: float, y: float) -> str:
    corners = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in ((0, -9), (9, 0), (0, 9), (-9, 0)))
    return f'<polygon points="{corners}" fill="{_LEAD}" stroke="#ffffff"/>'


def _label(x: float, y: float, text: str, colour: str, anchor: str) -> str:
    """Text on a white rim of its own, readable on anything."""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="11"'
    rim = f'<text {place} stroke="#ffffff" stroke-width="4" stroke-linejoin="round" aria-hidden="true">{text}</text>'
    return f'{rim}<text {place} font-weight="bold" fill="{colour}">{text}</text>'


def _legend(scene: Scene) -> Iterator[str]:
    """What the colours mean, and the probabilities as numbers."""
    left, top = _LEFT + _WIDTH + 24, _TOP + 12
    line = '<line x1="{x}" y1="{y}" x2="{end}" y2="{y}" stroke="{colour}" {stroke}/>'
    samples: Sequence[tuple[str, str, str, Sequence[str]]] = (
        ("plan", _PLAN, 'stroke-width="5" stroke-linecap="round"', _plan_texts(scene.plan)),
        ("lane lines", _LANE, 'stroke-width="2.5"', _lane_texts(scene.lane_lines)),
        ("road edges", _EDGE, 'stroke-width="2.5" stroke-dasharray="10 5"', ()),
        ("leads", _LEAD, 'stroke-width="1.5" stroke-dasharray="3 3"', [_lead_text(lead) for lead in scene.leads]),
    )
    yield "<g>"
    for name, colour, stroke, texts in samples:
        yield line.format(x=left, end=left + 30, y=top - 4, colour=colour, stroke=stroke)
        if colour == _LEAD:
            yield _diamond(left + 15, top - 4)
        yield f'<text x="{left + 40}" y="{top}" font-weight="bold">{name}</text>'
        for text in texts:
            top += 18
            yield f'<text x="{left + 40}" y="{top}" fill="{_FAINT}">{text}</text>'
        top += 30
    yield f'<rect x="{left}" y="{top - 14}" width="30" height="14" fill="{_FAINT}" opacity="0.25"/>'
    yield f'<text x="{left + 40}" y="{top - 3}">one standard deviation</text>'
    yield f'<text x="{left}" y="{top + 24}" fill="{_FAINT}">Fainter: less likely.</text>'
    yield "</g>"


def _plan_texts(plan: Plan) -> list[str]:
    end = f"{plan.path.x[-1]:.0f} m ahead in {plan.t[-1]:.0f} s"
    return ["a dot for each second", end, f"{plan.speed[0]:.1f} m/s now, then {plan.speed[-1]:.1f}"]


def _lane_texts(lines: Sequence[Curve]) -> list[str]:
    told = [_percent(line.probability) for line in lines if line.probability is not None]
    return ["from the left:", ", ".join(told)] if told else []


def _lead_text(lead: Lead) -> str:
    if lead.probability < _LEAST_PROBABILITY:
        return f"{_moment(lead.time)}: {_percent(lead.probability)}, not drawn"
    return f"{_moment(lead.time)}: {_percent(lead.probability)}, {lead.x[0]:.0f} m, {lead.speed[0]:.1f} m/s"


def _moment(time: float) -> str:
    return f"in {time:g} s" if time else "now"


def _percent(probability: float) -> str:
    return f"{100 * probability:.0f} %"


def _printable(text: str) -> str:
    """`text` without what XML or a terminal has no use for."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
