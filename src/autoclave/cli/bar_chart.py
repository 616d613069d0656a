"""A bar chart as SVG: rows of labels with one or more panels of horizontal bars, each on an axis of its own.

It is one self-contained file that any browser shows, with a title and a description for those who do not see it, and with
each bar's value as text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from xml.sax.saxutils import escape, quoteattr

from autoclave.cli.text import printable

_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7")
"""Told apart with any kind of colour vision: Okabe and Ito, "Color Universal Design", 2008."""

_ROW = 22
_BAR = 14
_TOP = 84
_BOTTOM = 46
_PANEL = 260
_GAP = 84
_MARGIN = 20
_LETTER = 7.7
"""Pixels: a row, a bar, the space above and below the bars, a panel, the space for values beside it, the margin, a letter
as wide as a digit, which kernel names consist of."""

_TICKS = 4


@dataclass(frozen=True)
class Panel:
    """One quantity: a value for each row, in `unit`."""

    title: str
    unit: str
    values: Sequence[float]


def quantity(value: float, unit: str) -> str:
    """A value with three digits, a prefix and its unit: "1.23 MB", "456 µs"."""
    if value == 0:
        return f"0 {unit}".rstrip()
    factor, prefix = next(((f, p) for f, p in _PREFIXES if abs(value) >= f * 0.9995), _PREFIXES[-1])
    scaled = value / factor
    digits = max(0, 2 - floor(log10(abs(scaled) * 1.0005)))
    return f"{scaled:.{digits}f} {prefix}{unit}".rstrip()


def bar_chart(title: str, description: str, labels: Sequence[str], panels: Sequence[Panel]) -> str:
    """The SVG file's text. Labels are shown as they are, so the longest one decides how wide the chart is."""
    clean = [printable(label) for label in labels]
    left = _MARGIN + _LETTER * max((len(label) for label in clean), default=0) + 10
    width = left + len(panels) * (_PANEL + _GAP) + _MARGIN
    height = _TOP + len(clean) * _ROW + _BOTTOM
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title description" '
        f'viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}" '
        f'font-family="DejaVu Sans, Verdana, sans-serif" font-size="12">',
        f'<title id="title">{escape(printable(title))}</title>',
        f'<desc id="description">{escape(printable(description))}</desc>',
        f'<rect width="{width:.0f}" height="{height}" fill="#ffffff"/>',
        f'<text x="{_MARGIN}" y="28" font-size="16" font-weight="bold">{escape(printable(title))}</text>',
        f'<text x="{_MARGIN}" y="48" fill="#555555">{escape(printable(description))}</text>',
    ]
    lines += _labels(clean, left)
    for place, panel in enumerate(panels):
        lines += _panel(panel, clean, left + place * (_PANEL + _GAP), _COLOURS[place % len(_COLOURS)])
    return "\n".join([*lines, "</svg>"]) + "\n"


def _labels(labels: Sequence[str], left: float) -> Iterator[str]:
    for row, label in enumerate(labels):
        yield f'<text x="{left - 8:.1f}" y="{_TOP + row * _ROW + 15}" text-anchor="end">{escape(label)}</text>'


def _panel(panel: Panel, labels: Sequence[str], left: float, colour: str) -> Iterator[str]:
    bottom = _TOP + len(labels) * _ROW
    ticks = axis_ticks(max(panel.values, default=0.0))
    scale = _PANEL / ticks[-1]
    yield f'<g role="list" aria-label={quoteattr(panel.title)}>'
    yield f'<text x="{left:.1f}" y="{_TOP - 12}" font-weight="bold">{escape(panel.title)}</text>'
    for tick in ticks:
        x = left + tick * scale
        yield f'<line x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{bottom}" stroke="#dddddd"/>'
        yield (
            f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle" fill="#555555">'
            f"{escape(quantity(tick, panel.unit))}</text>"
        )
    for row, (label, value) in enumerate(zip(labels, panel.values, strict=True)):
        y = _TOP + row * _ROW + (_ROW - _BAR) // 2
        told = escape(quantity(value, panel.unit))
        yield f'<g role="listitem"><title>{escape(label)}: {told}</title>'
        yield f'<rect x="{left:.1f}" y="{y}" width="{value * scale:.1f}" height="{_BAR}" fill="{colour}"/>'
        yield f'<text x="{left + value * scale + 4:.1f}" y="{y + 11}" font-size="11">{told}</text></g>'
    yield f'<line x1="{left:.1f}" y1="{_TOP}" x2="{left:.1f}" y2="{bottom}" stroke="#333333"/>'
    yield "</g>"


def axis_ticks(largest: float) -> list[float]:
    """Round values from 0 to at least `largest`, in steps of 1, 2 or 5 times a power of ten."""
    if largest <= 0:
        return [0.0, 1.0]
    rough = largest / _TICKS
    power: float = 10.0 ** floor(log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.9999)
    return [step * count for count in range(ceil(largest / step * 0.9999) + 1)]
