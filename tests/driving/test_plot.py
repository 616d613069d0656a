"""The picture of a scene: what lies where on it, and what a screen reader finds."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from driving.raw_outputs import WIDTHS, layout, random_outputs
from driving.sample_road import LANE_LINES, raw_outputs

from autoclave.driving.parser import parse_outputs
from autoclave.driving.plot import plot
from autoclave.driving.scene import Scene, SceneError, scene

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def road() -> Scene:
    return scene(parse_outputs(*raw_outputs()))


def drawn(shown: Scene, **options: float) -> ElementTree.Element:
    return ElementTree.fromstring(plot(shown, "pop223 <qcom>", "frame 49 & more\x1b[2J", **options))


def texts(picture: ElementTree.Element) -> list[str]:
    return [each.text for each in picture.iter(f"{SVG}text")]


def group(picture: ElementTree.Element, name: str) -> ElementTree.Element:
    """The group of that title, and how it is drawn."""
    return next(each for each in picture.iter(f"{SVG}g") if (each.findtext(f"{SVG}title") or "").startswith(name))


def points(shape: ElementTree.Element) -> np.ndarray:
    return np.array([[float(value) for value in pair.split(",")] for pair in shape.get("points").split()])


def metres(picture: ElementTree.Element, shape: ElementTree.Element) -> np.ndarray:
    """A shape's points as (ahead, right), by the numbers at the picture's axes."""
    labels = [each for each in picture.iterfind(f"{SVG}text") if (each.text or "").isdecimal()]
    ahead = {float(each.text): float(each.get("y")) - 4 for each in labels if each.get("text-anchor") == "end"}
    right = [float(each.get("x")) for each in labels if each.get("text-anchor") == "middle"]
    furthest = max(ahead)
    up = (points(shape)[:, 1] - ahead[0]) / (ahead[furthest] - ahead[0]) * furthest
    middle = (right[0] + right[-1]) / 2
    widest = float(next(each.text for each in labels if each.get("text-anchor") == "middle"))
    return np.stack([up, (points(shape)[:, 0] - middle) / (right[-1] - middle) * widest], axis=1)


def test_a_screen_reader_gets_title_and_description(road: Scene) -> None:
    picture = drawn(road)
    assert picture.get("role") == "img"
    assert [picture.findtext(f"{SVG}{each}") for each in ("title", "desc")] == [
        "pop223 <qcom>",
        "frame 49 & more\ufffd[2J",
    ]
    assert picture.get("aria-labelledby").split() == [
        picture.find(f"{SVG}{each}").get("id") for each in ("title", "desc")
    ]


def test_each_thing_on_the_road_has_a_name_and_its_probability(road: Scene) -> None:
    titles = [each.findtext(f"{SVG}title") for each in drawn(road).iter(f"{SVG}g")]
    assert [each for each in titles if each] == [
        "road edge 1",
        "road edge 2",
        "lane line 1, 40 %",
        "lane line 2, 97 %",
        "lane line 3, 99 %",
        "lane line 4, 75 %",
        "plan",
        "in 2 s: 55 %, 61 m, 14.0 m/s",
        "now: 92 %, 38 m, 14.0 m/s",
    ]


def test_curves_lie_where_the_axes_say(road: Scene) -> None:
    picture = drawn(road)
    line = metres(picture, group(picture, "lane line 2").find(f"{SVG}polyline"))
    np.testing.assert_allclose(line[0], [0, LANE_LINES[1]], atol=0.1)
    np.testing.assert_allclose(line[16], [48, LANE_LINES[1] + 48**2 / 800], atol=0.1)
    plan = metres(picture, group(picture, "plan").find(f"{SVG}polyline"))
    np.testing.assert_allclose(plan[-1], [170, 36.125], atol=0.2)


def test_bands_are_one_deviation_to_each_side(road: Scene) -> None:
    picture = drawn(road)
    band = metres(picture, group(picture, "lane line 2").find(f"{SVG}polygon"))
    assert len(band) == 66
    left, right = band[16], band[-17]
    np.testing.assert_allclose(left[0], right[0], atol=0.01)
    assert (right[1] - left[1]) / 2 == pytest.approx(0.1 + 0.48, abs=0.02)


def test_less_likely_lines_are_fainter(road: Scene) -> None:
    picture = drawn(road)
    faint, strong = (float(group(picture, f"lane line {number}").get("opacity")) for number in (1, 3))
    assert faint < 0.6 < 0.9 < strong


def test_a_lead_that_is_hardly_there_is_told_of_but_not_drawn(road: Scene) -> None:
    assert "in 4 s: 3 %, not drawn" in texts(drawn(road))


def test_the_legend_says_what_there_is_and_that_the_road_is_stretched(road: Scene) -> None:
    told = texts(drawn(road))
    for text in ("plan", "lane lines", "road edges", "leads", "one standard deviation", "40 %, 97 %, 99 %, 75 %"):
        assert text in told
    assert "170 m ahead in 10 s" in told and "16.0 m/s now, then 18.0" in told
    assert "metres ahead" in told and "across the road stretched 2.8 times" in told


@pytest.mark.parametrize(("distance", "reach"), [(30.0, "50"), (51.0, "100"), (170.0, "200"), (400.0, "200")])
def test_the_picture_reaches_as_far_as_the_plan_needs(road: Scene, distance: float, reach: str) -> None:
    path = replace(road.plan.path, x=road.plan.path.x * distance / 170)
    told = texts(drawn(replace(road, plan=replace(road.plan, path=path))))
    assert max((text for text in told if text.isdecimal()), key=float) == reach


def test_the_reach_can_be_chosen(road: Scene) -> None:
    assert "80" in texts(drawn(road, reach=80.0)) and "100" not in texts(drawn(road, reach=80.0))
    for reach in (0.0, -5.0, float("nan"), float("inf")):
        with pytest.raises(SceneError, match="expected metres above 0"):
            plot(road, "", reach=reach)


def test_the_same_scene_is_drawn_as_the_same_file(road: Scene) -> None:
    assert plot(road, "a", "b") == plot(road, "a", "b")


@pytest.mark.parametrize("factor", [1.0, 1e6])
def test_any_finite_outputs_are_drawn_within_what_renderers_can_take(factor: float) -> None:
    slices, length = layout(WIDTHS)
    picture = drawn(scene(parse_outputs(random_outputs(length, 3) * factor, slices)))
    shapes = [shape for kind in ("polygon", "polyline") for shape in picture.iter(f"{SVG}{kind}")]
    assert len(shapes) > 14 and all(np.abs(points(shape)).max() <= 20_009 for shape in shapes)
