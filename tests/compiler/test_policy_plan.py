"""Plans: how models of all years are fed, told from their ONNX files."""

from pathlib import Path

import pytest
from compiler import driving_onnx
from compiler.driving_actions import policy_request
from compiler.driving_onnx import FEATURES, HIDDEN, IMAGE, IMAGES, POLICY, VISION, Shapes, model_of, policy_inputs

from autoclave.compiler.policy_plan import PolicyPlan, plan_policy
from autoclave.compiler.policy_request import PolicyRequest
from autoclave.errors import SourceError

WHOLE = {**VISION, **POLICY, **HIDDEN}


def planned(folder: Path, kind: str, models: dict[str, bytes], **fields: object) -> PolicyPlan:
    for part, content in models.items():
        (folder / f"{part}.onnx").write_bytes(content)
    request = policy_request(kind, models, **fields)
    for model in request["models"]:
        model["path"] = str(folder / model["path"])
    return plan_policy(PolicyRequest.from_json(request))


def test_a_supercombo_of_2026_is_shown_every_fourth_frame(tmp_path: Path) -> None:
    plan = planned(tmp_path, "supercombo", {"supercombo": driving_onnx.supercombo()})

    assert (plan.frame_skip, plan.image_rows, plan.feature_rows) == (4, 5, 96)
    assert [each.name for each in plan.packed] == ["desire", "traffic_convention", "action_t", "prev_feat"]


def test_a_model_of_twenty_frames_a_second_is_shown_all(tmp_path: Path) -> None:
    inputs: Shapes = {
        "input_imgs": (1, 12, *IMAGE),
        "big_input_imgs": (1, 12, *IMAGE),
        "desire": (1, 100, 8),
        "traffic_convention": (1, 2),
        "lateral_control_params": (1, 2),
        "prev_desired_curv": (1, 100, 1),
        "features_buffer": (1, 99, FEATURES),
    }
    plan = planned(tmp_path, "supercombo", {"supercombo": model_of(inputs, WHOLE, 6)})

    assert (plan.frame_skip, plan.image_rows, plan.feature_rows) == (1, 2, 99)
    assert [(each.name, each.offset) for each in plan.packed] == [
        ("desire", 0),
        ("traffic_convention", 8),
        ("prev_feat", 10),
        ("lateral_control_params", 522),
        ("prev_desired_curv", 524),
    ]


def test_a_policy_beside_a_vision_model_is_shown_the_current_features_as_the_last(tmp_path: Path) -> None:
    models = {"policy": driving_onnx.policy(), "vision": driving_onnx.vision()}
    plan = planned(tmp_path, "split", models)

    assert [model.part for model in plan.models] == ["vision", "policy"]
    assert plan.feature_rows == 4 * 24 + 1
    assert [each.name for each in plan.packed] == ["desire", "traffic_convention", "action_t"]


def test_a_declared_pace_counts_more_than_the_derived_one(tmp_path: Path) -> None:
    plan = planned(tmp_path, "supercombo", {"supercombo": driving_onnx.supercombo()}, frame_skip=2)

    assert (plan.frame_skip, plan.image_rows, plan.feature_rows) == (2, 3, 48)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({**IMAGES, "big_img": (1, 6, *IMAGE)}, r"differ in shape: img of supercombo \[1, 12, 16, 32\], big_img"),
        ({name: (1, 10, *IMAGE) for name in IMAGES}, r"the input img is \[1, 10, 16, 32\], which no queue gives"),
        ({**IMAGES, "desire_pulse": (2, 25, 8)}, r"the input desire_pulse is \[2, 25, 8\], which no queue gives"),
    ],
)
def test_inputs_that_no_queue_can_feed_are_refused(tmp_path: Path, inputs: Shapes, message: str) -> None:
    model = model_of({**policy_inputs(24), **inputs}, WHOLE, 6)

    with pytest.raises(SourceError, match=message):
        planned(tmp_path, "supercombo", {"supercombo": model})


def test_policies_that_take_other_features_than_the_vision_model_gives_are_refused(tmp_path: Path) -> None:
    narrow = {**policy_inputs(25), "features_buffer": (1, 25, 128)}
    models = {"vision": driving_onnx.vision(), "policy": model_of(narrow, POLICY, 6)}

    with pytest.raises(SourceError, match="hidden_state has 512 values, but the policy takes features of 128"):
        planned(tmp_path, "split", models)


def test_policies_that_want_one_input_in_two_shapes_are_refused(tmp_path: Path) -> None:
    other = model_of({**policy_inputs(25), "action_t": (1, 3)}, POLICY, 6)
    models = {"vision": driving_onnx.vision(), "on_policy": driving_onnx.policy(), "off_policy": other}

    with pytest.raises(SourceError, match=r"off_policy: the input action_t is \[1, 3\], but another model's \[1, 2\]"):
        planned(tmp_path, "multi_policy", models)
