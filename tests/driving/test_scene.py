"""A scene holds what the model says of the road, in metres, and JSON holds the same."""

import json
from typing import Any

import numpy as np
import pytest
from driving.raw_outputs import WIDTHS, layout, random_outputs
from driving.sample_road import (
    LANE_LINE_PROBABILITIES,
    LANE_LINES,
    LEAD_DISTANCES,
    LEAD_PROBABILITIES,
    ROAD_EDGES,
    raw_outputs,
)

from autoclave.driving.parser import parse_outputs
from autoclave.driving.scene import SceneError, outputs_to_json, scene, scene_to_json


@pytest.fixture(scope="module")
def outputs() -> dict[str, np.ndarray]:
    return parse_outputs(*raw_outputs())


@pytest.fixture(scope="module")
def written(outputs: dict[str, np.ndarray]) -> Any:
    return json.loads(json.dumps(scene_to_json(scene(outputs)), allow_nan=False))


def test_the_plan_is_where_the_car_is_when_and_how_fast(written: Any) -> None:
    plan = written["plan"]
    assert set(plan) == {"t", "x", "y", "y_std", "speed"} and {len(values) for values in plan.values()} == {33}
    # After 10 s at 16 m/s and 0.2 m/s^2: 170 m, and on the bend of 400 m 170^2 / 800 to the right.
    assert [plan[name][-1] for name in ("t", "x", "y", "speed")] == [10, 170, 36.125, 18]
    assert plan["y_std"][-1] == pytest.approx(1.3, rel=1e-5)


def test_lane_lines_go_from_left_to_right_on_the_grid_of_distances(written: Any) -> None:
    lines = written["lane_lines"]
    assert [line["y"][0] for line in lines] == pytest.approx(LANE_LINES)
    assert [line["probability"] for line in lines] == pytest.approx(LANE_LINE_PROBABILITIES, rel=1e-5)
    assert all(line["x"][16] == 48 and line["x"][-1] == 192 for line in lines)
    assert lines[0]["y"][-1] == pytest.approx(LANE_LINES[0] + 192**2 / 800, rel=1e-5)
    assert lines[0]["y_std"][-1] == pytest.approx(0.1 + 1.92, rel=1e-5)


def test_road_edges_have_no_probability(written: Any) -> None:
    edges = written["road_edges"]
    assert [edge["y"][0] for edge in edges] == pytest.approx(ROAD_EDGES)
    assert all(set(edge) == {"x", "y", "y_std"} for edge in edges)


def test_leads_say_when_how_likely_where_and_how_fast(written: Any) -> None:
    leads = written["leads"]
    assert [lead["time"] for lead in leads] == [0, 2, 4]
    assert [lead["x"][0] for lead in leads] == pytest.approx(LEAD_DISTANCES)
    assert [lead["probability"] for lead in leads] == pytest.approx(LEAD_PROBABILITIES, rel=1e-5)
    assert leads[0]["t"] == [0, 2, 4, 6, 8, 10]
    assert leads[0]["x"][1] == 38 + 28 and leads[0]["speed"] == [14] * 6
    assert (leads[0]["x_std"][0], leads[0]["y_std"][0]) == pytest.approx((3, 0.6), rel=1e-5)


def test_models_with_several_hypotheses_give_a_scene_too() -> None:
    slices, length = layout({**WIDTHS, "plan": 4955, "lead": 102})
    shown = scene(parse_outputs(random_outputs(length, 5), slices))
    assert shown.plan.path.x.shape == (33,) and shown.leads[2].x.shape == (6,)


@pytest.mark.parametrize("name", ["plan", "lane_lines_prob", "road_edges_stds", "lead"])
def test_a_scene_needs_all_that_it_shows(outputs: dict[str, np.ndarray], name: str) -> None:
    with pytest.raises(SceneError, match=f"outputs {name} are missing"):
        scene({key: value for key, value in outputs.items() if key != name})


def test_values_that_are_not_finite_are_counted_and_refused(outputs: dict[str, np.ndarray]) -> None:
    broken = {**outputs, "plan": outputs["plan"].copy(), "pose": np.full(6, np.inf)}
    broken["plan"][3:5, 0] = np.nan
    with pytest.raises(SceneError, match=r"outputs are not finite: plan \(2 of 495 values\)$"):
        scene(broken)
    with pytest.raises(SceneError, match=r"plan \(2 of 495 values\), pose \(6 of 6 values\)|pose .*, plan"):
        outputs_to_json(broken)


def test_all_outputs_can_be_written_for_programs(outputs: dict[str, np.ndarray]) -> None:
    written = json.loads(json.dumps(outputs_to_json(outputs), allow_nan=False))
    assert set(written) == set(outputs)
    assert np.array(written["lead_stds"]).shape == (3, 6, 4)
    assert written["desire_state"] == [0.125] * 8
    np.testing.assert_allclose(written["plan"], outputs["plan"], rtol=1e-5)
