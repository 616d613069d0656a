"""What BUILD files may say of driving and monitoring models, and what they are told when they say something else."""

import pytest
from pants.engine.addresses import Address
from pants.engine.target import (
    InvalidFieldChoiceException,
    InvalidFieldException,
    InvalidFieldTypeException,
    RequiredFieldMissingException,
)
from pants.util.frozendict import FrozenDict

from autoclave_pants.target_types.driving import (
    BehaviorVersionField,
    CameraResolutionsField,
    DrivingModelTarget,
    DrivingSourcesField,
    FrameSkipField,
    HardwareSourcesField,
    ImageHistoryPipelineField,
    KindField,
    MonitoringModelsTarget,
    SizeClassField,
)

HERE = Address("models", target_name="pop223")
BOTH = ("1928x1208", "1344x760")


@pytest.mark.parametrize(
    "field, value, expected",
    [
        (DrivingSourcesField, ":onnx", (("", ":onnx"),)),
        (DrivingSourcesField, [":a", ":b"], (("", ":a"), ("", ":b"))),
        (DrivingSourcesField, {"vision": ":v", "policy": ":p"}, (("policy", ":p"), ("vision", ":v"))),
        (HardwareSourcesField, None, FrozenDict()),
        (HardwareSourcesField, {"chestnut": ":big"}, FrozenDict({"chestnut": (("", ":big"),)})),
        (KindField, None, "auto"),
        (KindField, "split", "split"),
        (CameraResolutionsField, None, BOTH),
        (CameraResolutionsField, ["64x48"], ("64x48",)),
        (FrameSkipField, None, None),
        (FrameSkipField, 20, 20),
        (BehaviorVersionField, "v16", "v16"),
        (ImageHistoryPipelineField, None, "policy"),
    ],
)
def test_value_is_accepted(field, value, expected):
    assert field(value, HERE).value == expected


@pytest.mark.parametrize(
    "field, value, error, words",
    [
        (DrivingSourcesField, None, RequiredFieldMissingException, ["sources"]),
        (DrivingSourcesField, [], InvalidFieldTypeException, ["sources", "vision-onnx"]),
        (DrivingSourcesField, 7, InvalidFieldTypeException, ["sources", "an address, a list"]),
        (DrivingSourcesField, {"eyes": ":v"}, InvalidFieldTypeException, ["eyes", "off_policy"]),
        (DrivingSourcesField, {"vision": 7}, InvalidFieldTypeException, ["sources", "7"]),
        (HardwareSourcesField, ":big", InvalidFieldTypeException, ["hardware_sources", '{"chestnut": ":big-onnx"}']),
        (HardwareSourcesField, {"adreno": ":big"}, InvalidFieldTypeException, ["adreno", "qcom"]),
        (HardwareSourcesField, {"qcom": {"eyes": ":v"}}, InvalidFieldTypeException, ["eyes", "off_policy"]),
        (KindField, "fused", InvalidFieldChoiceException, ["kind", "fused", "supercombo"]),
        (SizeClassField, "medium", InvalidFieldTypeException, ["size_class", "medium", '"small", "big"']),
        (SizeClassField, {"adreno": "big"}, InvalidFieldTypeException, ["adreno", '{"chestnut": "big"}']),
        (CameraResolutionsField, [], InvalidFieldException, ["camera_resolutions", "WIDTHxHEIGHT"]),
        (CameraResolutionsField, ["1928"], InvalidFieldException, ["1928", "WIDTHxHEIGHT"]),
        (CameraResolutionsField, ["63x48"], InvalidFieldException, ["63x48", "even"]),
        (CameraResolutionsField, ["14x48"], InvalidFieldException, ["14x48", "16 to 8192"]),
        (CameraResolutionsField, ["64x48", "64x48"], InvalidFieldException, ["different sizes"]),
        (FrameSkipField, 0, InvalidFieldException, ["frame_skip", "from 1 to 20"]),
        (FrameSkipField, 21, InvalidFieldException, ["frame_skip", "from 1 to 20"]),
        (BehaviorVersionField, "v13", InvalidFieldChoiceException, ["behavior_version", "v13", "v16"]),
        (ImageHistoryPipelineField, "none", InvalidFieldChoiceException, ["image_history_pipeline", "policy"]),
    ],
)
def test_value_is_refused_with_what_to_write_instead(field, value, error, words):
    with pytest.raises(error) as caught:
        field(value, HERE)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "value, expected",
    [
        (None, {"cpu": "small", "qcom": "small", "chestnut": "small"}),
        ("big", {"cpu": "big", "qcom": "big", "chestnut": "big"}),
        ({"chestnut": "big"}, {"cpu": "small", "qcom": "small", "chestnut": "big"}),
    ],
)
def test_size_class_is_of_all_hardware_or_of_some(value, expected):
    field = SizeClassField(value, HERE)
    assert {hardware: field.of(hardware) for hardware in expected} == expected


def test_camera_resolutions_are_widths_and_heights():
    assert CameraResolutionsField(None, HERE).sizes == ((1928, 1208), (1344, 760))


@pytest.mark.parametrize(
    "field, value, addresses",
    [
        (DrivingSourcesField, {"vision": ":v", "policy": ":p"}, (":p", ":v")),
        (HardwareSourcesField, {"qcom": ":q", "chestnut": [":a", ":b"]}, (":q", ":a", ":b")),
    ],
)
def test_sources_are_dependencies(field, value, addresses):
    assert field(value, HERE).to_unparsed_address_inputs().values == addresses


@pytest.mark.parametrize("target", [DrivingModelTarget, MonitoringModelsTarget])
def test_every_field_has_a_manual_page(target):
    assert all(field.help for field in target.core_fields)
