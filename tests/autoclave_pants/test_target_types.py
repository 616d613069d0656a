"""What BUILD files may say, and what they are told when they say something else."""

import pytest
from pants.engine.addresses import Address
from pants.engine.internals.parametrize import Parametrize
from pants.engine.target import InvalidFieldChoiceException, InvalidFieldException, InvalidFieldTypeException
from pants.util.frozendict import FrozenDict

from autoclave_pants.target_types import targets
from autoclave_pants.target_types.fields import Sha256Field
from autoclave_pants.target_types.model_tests import (
    ChangeFractionField,
    DeviceRecordingField,
    DeviceRecordingSha256Field,
    RequireHardwareEvidenceField,
    ToleranceField,
)
from autoclave_pants.target_types.models import (
    DimensionsField,
    FilenameField,
    HardwareField,
    ModelSourceField,
    ModelToolchainField,
)
from autoclave_pants.target_types.toolchains import CommitField, ComponentField, ToolchainComponentsField

HERE = Address("models", target_name="pop223")


@pytest.mark.parametrize(
    "field, value, expected",
    [
        (ModelSourceField, ":onnx", (":onnx",)),
        (ModelSourceField, [":onnx"], (":onnx",)),
        (ModelToolchainField, None, ("toolchains:tinygrad-0.14",)),
        (ToolchainComponentsField, [":llvm", ":mesa"], (":llvm", ":mesa")),
        (DimensionsField, {"N": 1}, FrozenDict({"N": 1})),
        (DimensionsField, None, None),
        (HardwareField, "qcom", "qcom"),
        (Sha256Field, "0" * 64, "0" * 64),
        (DeviceRecordingField, "recordings/pop223.npz", "recordings/pop223.npz"),
        (DeviceRecordingField, "pop223.check.zst", "pop223.check.zst"),
        (DeviceRecordingField, None, None),
        (RequireHardwareEvidenceField, None, False),
        (ToleranceField, None, None),
        (ToleranceField, 0.01, 0.01),
        (ToleranceField, {"qcom": 0.01, "cpu": 0}, FrozenDict({"qcom": 0.01, "cpu": 0})),
        (RequireHardwareEvidenceField, True, True),
        (FilenameField, "driving_tinygrad.pkl", "driving_tinygrad.pkl"),
    ],
)
def test_value_is_accepted(field, value, expected):
    assert field(value, HERE).value == expected


@pytest.mark.parametrize(
    "field, value, error, words",
    [
        (ModelSourceField, [":a", ":b"], InvalidFieldException, ["source", "models:pop223", "one address", ":a, :b"]),
        (HardwareField, "adreno", InvalidFieldChoiceException, ["hardware", "adreno", "qcom"]),
        (HardwareField, Parametrize("cpu"), InvalidFieldException, ["two values", "hardware='cpu'"]),
        (Sha256Field, "ABC", InvalidFieldException, ["sha256", "ABC", "64 lower-case", "sha256sum"]),
        (CommitField, "abc1234", InvalidFieldException, ["commit", "40 lower-case", "git rev-parse"]),
        (Sha256Field, "A" * 64, InvalidFieldException, ["64 lower-case"]),
        (DimensionsField, {"N": 0}, InvalidFieldTypeException, ["dimensions", "positive"]),
        (DimensionsField, {"N": True}, InvalidFieldTypeException, ["dimensions"]),
        (DimensionsField, {1: 1}, InvalidFieldTypeException, ["dimensions"]),
        (FilenameField, "../escape.pkl", InvalidFieldException, ["filename", "without a directory"]),
        (FilenameField, "..", InvalidFieldException, ["filename"]),
        (
            DeviceRecordingSha256Field,
            "ab",
            InvalidFieldException,
            ["device_recording_sha256", "64 lower-case", "sha256sum"],
        ),
        (
            ToleranceField,
            {"adreno": 0.01},
            InvalidFieldTypeException,
            ["tolerance", "adreno", "qcom", '{"qcom": 0.01}'],
        ),
        (ToleranceField, "0.01", InvalidFieldTypeException, ["tolerance", "a number"]),
        (ToleranceField, -1, InvalidFieldTypeException, ["tolerance", "from 0 up"]),
        (ToleranceField, True, InvalidFieldTypeException, ["tolerance"]),
        (ChangeFractionField, {"qcom": None}, InvalidFieldTypeException, ["change_fraction"]),
        (RequireHardwareEvidenceField, "yes", InvalidFieldTypeException, ["require_hardware_evidence", "'yes'"]),
        (ComponentField, "../numpy", InvalidFieldException, ["component", "models:pop223", "../numpy", "letters"]),
    ],
)
def test_value_is_refused_with_the_way_out(field, value, error, words):
    with pytest.raises(error) as caught:
        field(value, HERE)
    for word in words:
        assert word in str(caught.value)


def test_every_target_and_field_explains_itself():
    for target in targets():
        assert len(target.help if isinstance(target.help, str) else target.help()) > 80, target.alias
        for field in target.core_fields:
            text = field.help if isinstance(field.help, str) else field.help()
            assert len(text) > 15, (target.alias, field.alias)


def test_a_tolerance_is_for_the_hardware_that_it_names():
    field = ToleranceField({"qcom": 0.01}, HERE)
    assert (field.of("qcom"), field.of("cpu")) == (0.01, None)
    assert ToleranceField(0.02, HERE).of("cpu") == 0.02
