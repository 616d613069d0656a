"""Raw outputs become means, deviations and probabilities as openpilot computes them; expected values are worked by hand."""

import math

import numpy as np
import pytest
from driving.raw_outputs import WIDTHS, layout, random_outputs
from numpy.testing import assert_allclose, assert_array_equal

from autoclave.driving.constants import LEAD_T_IDXS, LEAD_T_OFFSETS, T_IDXS, X_IDXS
from autoclave.driving.curvature import desired_curvature
from autoclave.driving.parser import parse_outputs, parse_parts
from autoclave.errors import AutoclaveError


def parsed(name: str, values: list[float]) -> dict[str, np.ndarray]:
    """What an output of these values, the only one of its tensor, is parsed to."""
    return parse_outputs(np.array([values], dtype=np.float32), {name: slice(0, len(values))})


def test_the_grids_are_quadratic() -> None:
    assert len(T_IDXS) == len(X_IDXS) == 33
    assert T_IDXS[0] == X_IDXS[0] == 0
    assert T_IDXS[16] == 2.5 and T_IDXS[32] == 10
    assert X_IDXS[1] == 0.1875 and X_IDXS[16] == 48 and X_IDXS[32] == 192
    assert LEAD_T_IDXS == (0, 2, 4, 6, 8, 10) and LEAD_T_OFFSETS == (0, 2, 4)


def test_a_mixture_is_means_then_logarithms_of_deviations() -> None:
    pose = parsed("pose", [1, -2, 3, 0, 0.5, 0.25, 0, math.log(2), -1, 1, -30, 3])
    assert_array_equal(pose["pose"], [1, -2, 3, 0, 0.5, 0.25])
    assert_allclose(pose["pose_stds"], [1, 2, 1 / math.e, math.e, math.exp(-30), math.exp(3)], rtol=1e-6)
    assert set(pose) == {"pose", "pose_stds"}


def test_deviations_end_at_e_to_the_11() -> None:
    stds = parsed("action", [0, 0, 11.5, 80])["action_stds"]
    assert_allclose(stds, [59874.14171519782, 59874.14171519782])


def test_probabilities_are_sigmoids_that_do_not_overflow() -> None:
    probabilities = parsed("lead_prob", [0, math.log(3), -200])["lead_prob"]
    assert_allclose(probabilities, [0.5, 0.75, 1 / (1 + math.exp(11))], rtol=1e-7)


def test_categories_sum_to_one_in_each_row() -> None:
    logits = np.zeros((4, 8))
    logits[0, 3] = math.log(7)  # 7 of 14
    logits[1] = 1000  # equal, and too large for exp
    logits[2, :4] = -1000
    rows = parsed("desire_pred", list(logits.ravel()))["desire_pred"]
    assert_allclose(rows[0], [1 / 14] * 3 + [0.5] + [1 / 14] * 4, rtol=1e-6)
    assert_allclose(rows[1], [1 / 8] * 8)
    assert_allclose(rows[2], [0] * 4 + [1 / 4] * 4)
    assert parsed("desire_state", [0.0] * 8)["desire_state"].shape == (8,)


def test_hidden_state_and_unknown_outputs_are_kept_as_they_are() -> None:
    values = [float(number) for number in range(512)]
    assert_array_equal(parsed("hidden_state", values)["hidden_state"], values)
    assert_array_equal(parsed("unheard_of", [1.5, -2.0])["unheard_of"], [1.5, -2.0])


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("plan", (33, 15)),
        ("lane_lines", (4, 33, 2)),
        ("road_edges", (2, 33, 2)),
        ("lead", (3, 6, 4)),
        ("pose", (6,)),
        ("road_transform", (6,)),
        ("wide_from_device_euler", (3,)),
        ("action", (2,)),
        ("lane_lines_prob", (4, 2)),
        ("lead_prob", (3,)),
        ("meta", (55,)),
        ("desire_pred", (4, 8)),
        ("desire_state", (8,)),
        ("hidden_state", (512,)),
        ("pad", (2,)),
    ],
)
def test_outputs_have_the_shapes_of_openpilots_parser(name: str, shape: tuple[int, ...]) -> None:
    slices, length = layout(WIDTHS)
    outputs = parse_outputs(random_outputs(length, 1), slices)
    assert outputs[name].shape == shape
    assert outputs.get(f"{name}_stds", outputs[name]).shape == shape


def test_values_are_in_the_order_of_the_tensor() -> None:
    """Lane line 2's point 5: its z is the value after its y; deviations follow all means."""
    slices, length = layout(WIDTHS)
    raw = random_outputs(length, 2)
    outputs = parse_outputs(raw, slices)
    place = (2 * 33 + 5) * 2 + 1
    assert outputs["lane_lines"][2, 5, 1] == raw[0, place]
    assert outputs["lane_lines_stds"][2, 5, 1] == pytest.approx(math.exp(raw[0, 264 + place]))
    plan = slices["plan"].start
    assert outputs["plan"][7, 3] == raw[0, plan + 7 * 15 + 3]
    assert outputs["lane_lines_prob"][3, 1] == pytest.approx(1 / (1 + math.exp(-raw[0, 528 + 7])))


def test_of_five_plans_the_likeliest_is_chosen_and_all_are_ranked() -> None:
    """Each hypothesis: 495 means, 495 logarithms, one logit."""
    logits = [0.0, math.log(5), math.log(2), math.log(3), math.log(9)]  # 1, 5, 2, 3 and 9 of 20
    rows = [[10.0 * number] * 495 + [math.log(number + 1)] * 495 + [logit] for number, logit in enumerate(logits)]
    plan = parsed("plan", [value for row in rows for value in row])
    assert plan["plan"].shape == (33, 15) and plan["plan_hypotheses"].shape == (5, 33, 15)
    assert_array_equal(plan["plan"], np.full((33, 15), 40.0))
    assert_allclose(plan["plan_stds"], 5.0, rtol=1e-6)
    assert_allclose(plan["plan_weights"], [[0.45], [0.25], [0.15], [0.1], [0.05]], rtol=1e-6)
    assert_array_equal(plan["plan_hypotheses"][:, 0, 0], [40, 10, 30, 20, 0])
    assert_allclose(plan["plan_stds_hypotheses"][:, 0, 0], [5, 2, 4, 3, 1], rtol=1e-6)


def test_of_two_leads_each_time_chooses_its_own() -> None:
    """Each hypothesis: 24 means, 24 logarithms, a logit for each of the three times."""
    first = [*range(24), *[0.0] * 24, 2.0, 0.0, -1.0]
    second = [*range(100, 124), *[math.log(2)] * 24, 1.0, 3.0, -0.5]
    lead = parsed("lead", [*first, *second])
    assert_array_equal(lead["lead"][:, 0, 0], [0, 100, 100])
    assert_array_equal(lead["lead"][1], np.arange(100, 124).reshape(6, 4))
    assert_allclose(lead["lead_stds"][:, 5, 3], [1, 2, 2], rtol=1e-6)
    share = 1 / (1 + math.exp(-1.0))
    assert_allclose(lead["lead_weights"][:, 0], [share, 1 - share], rtol=1e-6)
    assert_array_equal(lead["lead_hypotheses"][:, 0, 0], [0, 100])


def test_of_equal_hypotheses_the_last_is_chosen_as_in_openpilot() -> None:
    rows = [[float(number)] * 990 + [1.0] for number in range(5)]
    assert parsed("plan", [value for row in rows for value in row])["plan"][0, 0] == 4


def test_the_newest_lead_has_one_trajectory_for_each_time() -> None:
    lead = parsed("lead", [*range(72), *[0.0] * 72])
    assert_array_equal(lead["lead"], np.arange(72).reshape(3, 6, 4))
    assert "lead_weights" not in lead


def test_the_later_part_of_a_model_counts_and_the_policy_that_drives_is_last() -> None:
    slices = {"action": slice(0, 4)}
    outputs = {part: np.full((1, 4), number) for number, part in enumerate(("on_policy", "vision", "off_policy"))}
    assert_array_equal(parse_parts(outputs, dict.fromkeys(outputs, slices))["action"], [0, 0])
    del outputs["on_policy"]
    assert_array_equal(parse_parts(outputs, dict.fromkeys(outputs, slices))["action"], [2, 2])


def test_the_callers_tensor_is_left_alone() -> None:
    raw = np.ones(512)
    parse_outputs(raw, {"hidden_state": slice(0, 512)})["hidden_state"][:] = 7
    assert raw.max() == 1


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(AutoclaveError, match=r"the shape \(2, 8\); expected \(1, N\)"):
        parse_outputs(np.zeros((2, 8)), {})
    with pytest.raises(AutoclaveError, match="output plan has 8 values; expected 990 or 4955"):
        parse_outputs(np.zeros((1, 8)), {"plan": slice(0, 8)})
    with pytest.raises(AutoclaveError, match="parts policies of a model are not known"):
        parse_parts({"policies": np.zeros((1, 8))}, {"policies": {}})


def test_curvature_comes_from_the_action_or_the_output_of_its_version() -> None:
    outputs = {"action": np.array([2.0, 1.0]), "desired_curvature": np.array([0.03])}
    assert desired_curvature("v14", outputs, speed=20) == pytest.approx(0.02)
    assert desired_curvature("v15", outputs, speed=20) == pytest.approx(2 / 400)
    assert desired_curvature("v16", outputs, speed=0.5) == pytest.approx(2.0)
    assert desired_curvature("v9", outputs, speed=20) == pytest.approx(0.03)


@pytest.mark.parametrize("version", ["v8", "v10", "v11", "v12"])
def test_curvature_from_a_plan_that_follows_a_circle_is_the_circles(version: str) -> None:
    """At 10 m/s on a circle of 50 m to the right the yaw is 0.2 rad/s times the time."""
    plan = np.zeros((33, 15))
    plan[:, 11] = 0.2 * np.array(T_IDXS)
    plan[:, 14] = 0.2
    assert desired_curvature(version, {"plan": plan}, speed=10, delay=2.5) == pytest.approx(1 / 50)
    assert desired_curvature(version, {"plan": plan, "planplus": plan / 2}, 10, 2.5) == pytest.approx(1.5 / 50)
    assert desired_curvature(version, {"plan": plan}, speed=0, delay=2.5) == pytest.approx(0.2)
