"""Bar charts: what a browser and a screen reader find in them."""

from xml.etree import ElementTree

import pytest

from autoclave.cli.bar_chart import Panel, axis_ticks, bar_chart, quantity

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "B", "0 B"),
        (1, "B", "1.00 B"),
        (999.6, "B", "1.00 kB"),
        (1234, "B", "1.23 kB"),
        (45_600_000, "B", "45.6 MB"),
        (9_996, "", "10.0 k"),
        (123e9, "", "123 G"),
        (0.000456, "s", "456 µs"),
        (0.0123, "s", "12.3 ms"),
        (5e-10, "s", "0.500 ns"),
    ],
)
def test_quantities_have_three_digits_and_a_prefix(value: float, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


@pytest.mark.parametrize(
    ("largest", "ticks"),
    [
        (0, [0, 1]),
        (10, [0, 5, 10]),
        (7, [0, 2, 4, 6, 8]),
        (1000, [0, 500, 1000]),
        (0.35, [0, 0.1, 0.2, 0.3, 0.4]),
    ],
)
def test_ticks_are_round_and_reach_the_largest(largest: float, ticks: list[float]) -> None:
    assert axis_ticks(largest) == pytest.approx(ticks)


@pytest.fixture
def chart() -> ElementTree.Element:
    panels = (Panel("Instructions", "", (100.0, 25.0)), Panel("Time", "s", (0.001, 0.004)))
    return ElementTree.fromstring(bar_chart("Launches of <a>", "two & no more", ["0  first", "1  se\x1bcond"], panels))


def test_a_screen_reader_gets_title_description_and_values(chart: ElementTree.Element) -> None:
    assert chart.get("role") == "img"
    assert [chart.find(f"{SVG}{each}").text for each in ("title", "desc")] == ["Launches of <a>", "two & no more"]
    assert chart.get("aria-labelledby").split() == [chart.find(f"{SVG}{each}").get("id") for each in ("title", "desc")]
    assert [each.text for each in chart.iterfind(f".//{SVG}g[@role='listitem']/{SVG}title")] == [
        "0  first: 100",
        "1  se\\x1bcond: 25.0",
        "0  first: 1.00 ms",
        "1  se\\x1bcond: 4.00 ms",
    ]


def test_bars_are_as_long_as_their_values(chart: ElementTree.Element) -> None:
    bars = [float(bar.get("width")) for bar in chart.iterfind(f".//{SVG}g[@role='listitem']/{SVG}rect")]

    assert bars[0] / bars[1] == pytest.approx(4, rel=0.01)
    assert bars[3] / bars[2] == pytest.approx(4, rel=0.01)


def test_every_panel_has_an_axis_with_units(chart: ElementTree.Element) -> None:
    texts = [each.text for each in chart.iter(f"{SVG}text")]

    assert {"Instructions", "Time", "0", "50.0", "100", "0 s", "1.00 ms", "4.00 ms"} <= set(texts)


def test_nothing_leaves_the_picture(chart: ElementTree.Element) -> None:
    width, height = float(chart.get("width")), float(chart.get("height"))
    for each in chart.iter(f"{SVG}rect"):
        assert float(each.get("x", 0)) + float(each.get("width")) <= width
        assert float(each.get("y", 0)) + float(each.get("height")) <= height


def test_a_chart_without_rows_is_a_chart() -> None:
    ElementTree.fromstring(bar_chart("Nothing", "at all", [], (Panel("Time", "s", ()),)))
