"""Line charts: what a browser and a screen reader find in them."""

from xml.etree import ElementTree

from autoclave.simulation.line_chart import Axis, Series, line_chart

SVG = "{http://www.w3.org/2000/svg}"
LINES = (Series("measured <1>", [(0, 0), (5, 50), (10, 100)]), Series("at best", [(0, 0), (10, 100)], dashed=True))


def chart() -> ElementTree.Element:
    return ElementTree.fromstring(
        line_chart("Speed & size", "what it shows", Axis("workers"), Axis("time", "s"), LINES)
    )


def test_it_has_a_title_and_a_description() -> None:
    root = chart()

    assert root.findtext(f"{SVG}title") == "Speed & size"
    assert root.findtext(f"{SVG}desc") == "what it shows"


def test_lines_begin_at_the_corner_and_end_at_the_last_tick() -> None:
    # The plot is 560 by 320 pixels, with its lower left corner at (90, 394); both axes end where the data do.
    for line in chart().iter(f"{SVG}polyline"):
        points = [tuple(map(float, point.split(","))) for point in line.attrib["points"].split()]
        assert (points[0], points[-1]) == ((90, 394), (650, 74))


def test_marks_tell_their_values_and_dashed_lines_have_none() -> None:
    told = [mark.findtext(f"{SVG}title") for mark in chart().iter(f"{SVG}circle")]

    assert told == ["measured <1>, 0: 0 s", "measured <1>, 5: 50.0 s", "measured <1>, 10: 100 s"]


def test_names_of_lines_do_not_overlap() -> None:
    names = {
        each.text: float(each.attrib["y"]) for each in chart().iter(f"{SVG}text") if each.get("font-weight") == "bold"
    }

    assert abs(names["measured <1>"] - names["at best"]) >= 12


def test_no_points_are_an_empty_chart() -> None:
    ElementTree.fromstring(line_chart("t", "d", Axis("x"), Axis("y"), ()))
