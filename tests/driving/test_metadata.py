"""An artifact's driving metadata survives JSON, and is refused, by field, if it is malformed or contradicts itself."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from driving.onnx_files import IMAGES, POLICY, STATEFUL, SUPERCOMBO
from driving.raw_outputs import WIDTHS, layout

from autoclave.canonical import canonical_json
from autoclave.driving.kinds import Kind
from autoclave.driving.metadata import (
    CAMERA_RESOLUTIONS,
    DrivingMetadata,
    PartMetadata,
    derive_frame_skip,
    part_from_onnx,
)
from autoclave.driving.metadata_fields import MetadataError
from autoclave.errors import SourceError
from autoclave.source.driving_model import encode_slices, output_slices, whole_widths


def part(widths: dict[str, int], inputs: dict[str, Any], checkpoint: str | None = "a3f1/1200") -> PartMetadata:
    slices, length = layout(widths)
    return PartMetadata(checkpoint, slices, inputs, {"outputs": (1, length)})


def metadata(kind: Kind, version: str, parts: dict[str, PartMetadata], **changes: Any) -> DrivingMetadata:
    usual = {
        "policy_order": tuple(name for name in parts if name.endswith("policy")),
        "frame_skip": 4,
        "image_history_pipeline": "policy",
        "camera_resolutions": CAMERA_RESOLUTIONS,
        "execution_device": "AMD",
        "warp_device": "QCOM",
    }
    return DrivingMetadata(kind, version, parts, **{**usual, **changes})


VISION = {name: width for name, width in WIDTHS.items() if name not in ("plan", "desire_state", "action")}
DRIVING = {"plan": 990, "desire_state": 8, "action": 4}

SINGLE = metadata(Kind.SUPERCOMBO, "v16", {"supercombo": part(WIDTHS, SUPERCOMBO)})
MULTI = metadata(
    Kind.MULTI_POLICY,
    "v15",
    {
        "vision": part(VISION, IMAGES),
        "on_policy": part(DRIVING, POLICY, None),
        "off_policy": part({"plan": 4955}, POLICY),
    },
    image_history_pipeline="warp",
    warp_device="CPU",
)
WITHOUT_STATE = {name: width for name, width in WIDTHS.items() if name != "hidden_state"}
STATE = metadata(Kind.STATEFUL, "v16", {"stateful": part(WITHOUT_STATE, STATEFUL)})


@pytest.mark.parametrize("record", [SINGLE, MULTI, STATE])
def test_a_record_survives_canonical_json(record: DrivingMetadata) -> None:
    assert DrivingMetadata.from_json(json.loads(canonical_json(record.to_json()))) == record


def test_the_keys_are_those_of_openpilot_and_its_forks() -> None:
    written = SINGLE.to_json()
    assert written["behavior_version"] == "v16" and written["kind"] == "supercombo"
    assert written["camera_resolutions"] == [[1928, 1208], [1344, 760]]
    assert set(written["parts"]["supercombo"]) == {"model_checkpoint", "output_slices", "input_shapes", "output_shapes"}
    assert written["parts"]["supercombo"]["output_slices"]["pad"] == [-2, None]
    assert written["parts"]["supercombo"]["input_shapes"]["img"] == [1, 12, 128, 256]


def changed(path: str, value: Any) -> Any:
    """The JSON of `SINGLE` with the entry at `path` replaced, or added."""
    written = json.loads(json.dumps(SINGLE.to_json()))
    *folders, last = path.split("/")
    entry = written
    for folder in folders:
        entry = entry[folder]
    entry[last] = value
    return written


PART = "parts/supercombo"


@pytest.mark.parametrize(
    ("path", "value", "field", "what"),
    [
        ("kind", "combo", "kind", "is 'combo'; expected one of stateful, multi_policy, split, supercombo"),
        ("kind", 5, "kind", "is 5; expected 1 to 512 printable characters"),
        ("kind", "split", "parts", "are supercombo; a split model has vision, policy"),
        ("behavior_version", "v13", "behavior_version", "no description of it is known"),
        ("behavior_version", "v9", "behavior_version", "desired_curvature is missing"),
        ("behavior_version", None, "behavior_version", "is None"),
        ("parts", [], "parts", "is a list; expected an object"),
        ("parts", {}, "parts", "are ; a supercombo model has supercombo"),
        (PART, {}, "parts.supercombo", "model_checkpoint, output_slices, input_shapes, output_shapes is missing"),
        (f"{PART}/model_checkpoint", "", "parts.supercombo.model_checkpoint", "is ''"),
        (f"{PART}/model_checkpoint", "a\x1b[2J", "parts.supercombo.model_checkpoint", "printable"),
        (f"{PART}/output_slices", None, "parts.supercombo", "output_slices is None"),
        (f"{PART}/output_slices/plan", [0, 5, 1], "parts.supercombo", "plan is a list"),
        (f"{PART}/output_slices/plan", [0, 990], "behavior_version", "overlaps"),
        (f"{PART}/output_slices/plan", [2000, 2990], "behavior_version", "out of the range of 2578 values"),
        (f"{PART}/input_shapes/img", [1, 0], "parts.supercombo.input_shapes.img", "is 0; expected 1 to 2147483648"),
        (f"{PART}/input_shapes/img", [1.0], "parts.supercombo.input_shapes.img", "is a float; expected an integer"),
        (f"{PART}/input_shapes/img", [True], "parts.supercombo.input_shapes.img", "is True; expected an integer"),
        (f"{PART}/input_shapes/img", [1] * 17, "parts.supercombo.input_shapes.img", "at most 16"),
        (f"{PART}/output_shapes", {}, "parts.supercombo.output_shapes", r"outputs is None; expected \(1, N\)"),
        (f"{PART}/output_shapes/outputs", [2, 9], "parts.supercombo.output_shapes", r"outputs is \(2, 9\)"),
        ("policy_order", ["policy"], "policy_order", r"is \['policy'\]; expected each of \[\] once"),
        ("policy_order", {}, "policy_order", "is a dict; expected a list"),
        ("frame_skip", 0, "frame_skip", "is 0; expected 1 to 20"),
        ("frame_skip", "4", "frame_skip", "is '4'; expected an integer"),
        ("image_history_pipeline", "both", "image_history_pipeline", "expected one of policy, warp"),
        ("camera_resolutions", [], "camera_resolutions", "expected at least one"),
        ("camera_resolutions", [[1928, 1208]] * 2, "camera_resolutions", "each once"),
        ("camera_resolutions", [[1928]], "camera_resolutions", r"expected \[width, height\]"),
        ("camera_resolutions", [[1927, 1208]], "camera_resolutions", "expected even numbers"),
        ("camera_resolutions", [[1 << 20, 2]], "camera_resolutions", "16 to 8192"),
        ("execution_device", "USB+AMD", "execution_device", "is 'USB\\+AMD'; expected one of CPU, QCOM, AMD"),
        ("warp_device", "CUDA", "warp_device", "expected one of CPU, QCOM, AMD"),
        ("surplus", 1, "", "'surplus' is not known"),
    ],
)
def test_a_wrong_field_is_refused_by_its_name(path: str, value: Any, field: str, what: str) -> None:
    with pytest.raises(MetadataError, match=what) as caught:
        DrivingMetadata.from_json(changed(path, value))
    assert caught.value.field == field
    assert str(caught.value).startswith(f"driving metadata: {field}")


@pytest.mark.parametrize("key", list(SINGLE.to_json()))
def test_an_absent_field_is_refused_by_its_name(key: str) -> None:
    written = SINGLE.to_json()
    del written[key]
    with pytest.raises(MetadataError, match=f"{key} is missing"):
        DrivingMetadata.from_json(written)


@pytest.mark.parametrize("value", [None, [], "text", 5])
def test_what_is_no_object_is_refused(value: Any) -> None:
    with pytest.raises(MetadataError, match="expected an object"):
        DrivingMetadata.from_json(value)


def refused(make: Callable[[], DrivingMetadata]) -> str:
    with pytest.raises(MetadataError) as caught:
        make()
    return str(caught.value)


def test_a_model_whose_features_are_fed_back_must_give_them() -> None:
    assert "supercombo: hidden_state is missing" in refused(
        lambda: metadata(Kind.SUPERCOMBO, "v16", {"supercombo": part(WITHOUT_STATE, SUPERCOMBO)})
    )
    vision = {name: width for name, width in VISION.items() if name != "hidden_state"}
    parts = {"vision": part(vision, IMAGES), "policy": part({**DRIVING, "hidden_state": 512}, POLICY)}
    assert "vision: hidden_state is missing" in refused(lambda: metadata(Kind.SPLIT, "v8", parts))


def test_a_version_that_does_not_fit_the_kind_is_refused() -> None:
    parts = {"vision": part(VISION, IMAGES), "policy": part(DRIVING, POLICY)}
    assert metadata(Kind.SPLIT, "v11", parts).policy_order == ("policy",)
    assert "a split model has no off-policy part, which v12 does not fit" in refused(
        lambda: metadata(Kind.SPLIT, "v12", parts)
    )


def test_the_order_of_policies_is_free_but_complete() -> None:
    assert metadata(Kind.MULTI_POLICY, "v15", dict(MULTI.parts), policy_order=("off_policy", "on_policy"))
    assert "policy_order: is ['on_policy']" in refused(
        lambda: metadata(Kind.MULTI_POLICY, "v15", dict(MULTI.parts), policy_order=("on_policy",))
    )


@pytest.mark.parametrize(("history", "skip"), [(24, 4), (25, 4), (98, 4), (99, 1), (100, 1)])
def test_frame_skip_follows_from_the_length_of_the_history(history: int, skip: int) -> None:
    assert derive_frame_skip({"features_buffer": (1, history, 512)}) == skip


@pytest.mark.parametrize("shapes", [{}, {"features_buffer": (1, "history", 512)}, {"features_buffer": (1,)}])
def test_frame_skip_must_be_declared_where_nothing_tells_it(shapes: dict[str, Any]) -> None:
    with pytest.raises(SourceError, match="frame_skip cannot be derived"):
        derive_frame_skip(shapes)


def test_an_onnx_files_metadata_becomes_that_of_a_part() -> None:
    widths = whole_widths("v16")
    properties = {
        "model_checkpoint": "synthetic/S/1",
        "output_slices": encode_slices(output_slices(widths)),
        "other": "ignored",
    }
    shapes = {"outputs": (1, sum(widths.values()))}
    read = part_from_onnx("model.onnx", properties, SUPERCOMBO, shapes)
    assert read == PartMetadata("synthetic/S/1", output_slices(widths), SUPERCOMBO, shapes)
    assert metadata(Kind.SUPERCOMBO, "v16", {"supercombo": read})


def test_an_onnx_file_without_slices_or_with_others_is_refused_by_its_name() -> None:
    with pytest.raises(SourceError, match=r"model.onnx: .* has no output_slices \(it has author\)"):
        part_from_onnx("model.onnx", {"author": "x"}, {}, {})
    with pytest.raises(SourceError, match="model.onnx: output_slices: byte 0: opcode EMPTY_LIST has no place"):
        part_from_onnx("model.onnx", {"output_slices": "XS4="}, {}, {})
