"""A line chart as SVG, of the same look as the command's bar charts (`autoclave.cli.bar_chart`): equal data, equal bytes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from autoclave.cli.bar_chart import axis_ticks, quantity

_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
"""Told apart with any kind of colour vision: Okabe and Ito, "Color Universal Design", 2008."""

_WIDTH = 560
_HEIGHT = 320
_LEFT = 90
_TOP = 74
_BOTTOM = 60
_NAMES = 250
"""Pixels: the plot, the space around it, and the space for the lines' names on its right."""

_LINE = 17
"""Pixels between two names."""


@dataclass(frozen=True)
class Axis:
    """What is on an axis, and its unit ("s", "B", or "" for a count)."""

    title: str
    unit: str = ""


@dataclass(frozen=True)
class Series:
    """One line through points (x, y), none of them negative. A dashed one is what could be at best, without marks."""

    name: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False


def line_chart(title: str, description: str, x: Axis, y: Axis, series: Sequence[Series]) -> str:
    """The SVG file's text. Both axes begin at 0; every mark tells its values when it is pointed at."""
    xs = axis_ticks(max((point[0] for each in series for point in each.points), default=0.0))
    ys = axis_ticks(max((point[1] for each in series for point in each.points), default=0.0))
    width, height = _LEFT + _WIDTH + _NAMES, _TOP + _HEIGHT + _BOTTOM
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title description" '
        f'viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="DejaVu Sans, Verdana, sans-serif" font-size="12">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="description">{escape(description)}</desc>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="20" y="28" font-size="16" font-weight="bold">{escape(title)}</text>',
        f'<text x="20" y="48" fill="#555555">{escape(description)}</text>',
        *_axes(x, y, xs, ys),
    ]
    scale = _WIDTH / xs[-1], _HEIGHT / ys[-1]
    for each, colour in zip(series, _colours(len(series)), strict=True):
        lines += _line(each, x, y, scale, colour)
    lines += _names(series, scale)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _colours(count: int) -> list[str]:
    return [_COLOURS[number % len(_COLOURS)] for number in range(count)]


def _axes(x: Axis, y: Axis, xs: Sequence[float], ys: Sequence[float]) -> Iterator[str]:
    bottom, right = _TOP + _HEIGHT, _LEFT + _WIDTH
    for tick in xs:
        place = _LEFT + tick * _WIDTH / xs[-1]
        yield f'<line x1="{place:.1f}" y1="{_TOP}" x2="{place:.1f}" y2="{bottom}" stroke="#dddddd"/>'
        yield f'<text x="{place:.1f}" y="{bottom + 18}" text-anchor="middle" fill="#555555">{_told(tick, x)}</text>'
    for tick in ys:
        place = bottom - tick * _HEIGHT / ys[-1]
        yield f'<line x1="{_LEFT}" y1="{place:.1f}" x2="{right}" y2="{place:.1f}" stroke="#dddddd"/>'
        yield f'<text x="{_LEFT - 8}" y="{place + 4:.1f}" text-anchor="end" fill="#555555">{_told(tick, y)}</text>'
    yield f'<path d="M{_LEFT} {_TOP} V{bottom} H{right}" fill="none" stroke="#333333"/>'
    yield f'<text x="{(_LEFT + right) / 2:.1f}" y="{bottom + 42}" text-anchor="middle">{escape(x.title)}</text>'
    yield (
        f'<text transform="translate(18 {_TOP + _HEIGHT / 2:.0f}) rotate(-90)" text-anchor="middle">{escape(y.title)}</text>'
    )


def _told(value: float, axis: Axis) -> str:
    """A value with its unit; a plain number where it is a count."""
    return escape(quantity(value, axis.unit) if axis.unit else f"{value:g}")


def _line(series: Series, x: Axis, y: Axis, scale: tuple[float, float], colour: str) -> Iterator[str]:
    places = [_place(point, scale) for point in series.points]
    dashes = ' stroke-dasharray="5 4"' if series.dashed else ""
    yield f'<g role="list" aria-label={quoteattr(series.name)}>'
    through = " ".join(f"{left:.1f},{top:.1f}" for left, top in places)
    yield f'<polyline points="{through}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>'
    for point, (left, top) in zip(series.points, places, strict=True):
        if not series.dashed:
            told = f"{escape(series.name)}, {_told(point[0], x)}: {_told(point[1], y)}"
            yield f'<circle role="listitem" cx="{left:.1f}" cy="{top:.1f}" r="3" fill="{colour}"><title>{told}</title></circle>'
    yield "</g>"


def _place(point: tuple[float, float], scale: tuple[float, float]) -> tuple[float, float]:
    return _LEFT + point[0] * scale[0], _TOP + _HEIGHT - point[1] * scale[1]


def _names(series: Sequence[Series], scale: tuple[float, float]) -> Iterator[str]:
    """Each line's name beside its end, moved down as far as the names above it need."""
    ends = [
        (_place(each.points[-1], scale), each, colour)
        for each, colour in zip(series, _colours(len(series)), strict=True)
    ]
    free = 0.0
    for (left, top), each, colour in sorted(ends, key=lambda end: end[0][1]):
        free = max(top + 4, free + _LINE)
        yield f'<text x="{left + 10:.1f}" y="{free:.1f}" fill="{colour}" font-weight="bold">{escape(each.name)}</text>'
