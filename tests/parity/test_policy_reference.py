"""The reference of policy parts: what models are shown is worked out by row numbers, what they make of it by ONNX Runtime."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from compiler import driving_onnx
from compiler.driving_reference import outputs_of, reference

from autoclave.driving.metadata import part_from_onnx, part_to_json
from autoclave.errors import AutoclaveError
from autoclave.parity.policy_reference import PolicyReference

RANDOM = np.random.default_rng(1)


def described(part: str, model: bytes) -> dict[str, Any]:
    """What an artifact's metadata says of a file."""
    loaded = onnx.load_from_string(model)
    properties = {each.key: each.value for each in loaded.metadata_props}
    inputs, outputs = (
        {each.name: tuple(axis.dim_value for axis in each.type.tensor_type.shape.dim) for each in tensors}
        for tensors in (loaded.graph.input, loaded.graph.output)
    )
    return part_to_json(part_from_onnx(part, properties, inputs, outputs))


def metadata(
    kind: str, models: dict[str, bytes], pipeline: str = "policy", packed: tuple[str, ...] = ()
) -> dict[str, Any]:
    widths = {"desire": 8, "traffic_convention": 2, "action_t": 2, "prev_feat": 512}
    offsets = np.cumsum([0, *(widths[name] for name in packed)]).tolist()
    return {
        "driving": {
            "kind": kind,
            "behavior_version": "v16",
            "parts": {part: described(part, model) for part, model in models.items()},
            "policy_order": [part for part in models if part.endswith("policy")],
            "frame_skip": 4,
            "image_history_pipeline": pipeline,
            "camera_resolutions": [[64, 48]],
            "execution_device": "CPU",
            "warp_device": "CPU",
        },
        "policy_inputs": [
            {"name": name, "offset": offset, "shape": [1, widths[name]]}
            for name, offset in zip(packed, offsets, strict=False)
        ],
    }


def written(folder: Path, models: dict[str, bytes]) -> dict[str, Path]:
    for part, model in models.items():
        (folder / f"{part}.onnx").write_bytes(model)
    return {part: folder / f"{part}.onnx" for part in models}


def queues(feature_rows: int) -> dict[str, np.ndarray]:
    """Full queues, and what comes with the next frame."""
    images = RANDOM.integers(0, 256, (2, 5, 6, 16, 32), np.uint8)
    newest = RANDOM.integers(0, 256, (2, 6, 16, 32), np.uint8)
    return {
        "img_q": images[0],
        "big_img_q": images[1],
        "img": newest[0],
        "big_img": newest[1],
        "feat_q": RANDOM.standard_normal((feature_rows, 1, 512)).astype(np.float32),
        "desire_q": RANDOM.random((100, 1, 8)).astype(np.float32),
        "packed_npy_inputs": RANDOM.random((1, 8 + 2 + 2 + 512)).astype(np.float32),
    }


def shown_desires(queue: np.ndarray, newest: np.ndarray) -> np.ndarray:
    """The largest of rows 1 to 4, 5 to 8 ... of the old queue, the last group with the newest."""
    rows = [*queue[:, 0], newest]
    return np.array([[np.max(rows[1 + 4 * group : 5 + 4 * group], axis=0) for group in range(25)]])


PACKED = ("desire", "traffic_convention", "action_t", "prev_feat")


def test_supercombo_is_shown_every_fourth_row_of_advanced_queues(tmp_path: Path) -> None:
    models = {"supercombo": driving_onnx.supercombo()}
    policy = PolicyReference(written(tmp_path, models), metadata("supercombo", models, packed=PACKED))
    inputs = queues(96)
    packed = inputs["packed_npy_inputs"][0]

    outputs = policy.run(inputs)

    features = [*inputs["feat_q"][1:], packed[np.newaxis, 12:]]
    shown = {
        # Of five rows after advancing, the first and the last: the old second one and the newest.
        "img": np.concatenate([inputs["img_q"][1], inputs["img"]])[np.newaxis],
        "big_img": np.concatenate([inputs["big_img_q"][1], inputs["big_img"]])[np.newaxis],
        "features_buffer": np.array([features[row][0] for row in range(0, 96, 4)])[np.newaxis],
        "desire_pulse": shown_desires(inputs["desire_q"], packed[:8]),
        "traffic_convention": packed[np.newaxis, 8:10],
        "action_t": packed[np.newaxis, 10:12],
    }
    expected = outputs_of(reference(models["supercombo"]), shown)["outputs"]
    assert np.array_equal(outputs["outputs"], expected)
    assert np.array_equal(outputs["next_feat_q"], features)
    assert np.array_equal(outputs["next_img_q"], [*inputs["img_q"][1:], inputs["img"]])
    assert np.array_equal(outputs["next_desire_q"][:, 0], [*inputs["desire_q"][1:, 0], packed[:8]])
    assert set(outputs) == {"outputs", "next_img_q", "next_big_img_q", "next_feat_q", "next_desire_q"}


def test_policy_is_shown_the_vision_models_features_as_the_newest(tmp_path: Path) -> None:
    models = {"vision": driving_onnx.vision(), "policy": driving_onnx.policy()}
    described = metadata("split", models, pipeline="warp", packed=PACKED[:3])
    inputs = queues(97)
    for name in ("img", "big_img"):  # a warp has advanced the queues already
        del inputs[name]
    inputs["packed_npy_inputs"] = inputs["packed_npy_inputs"][:, :12]
    packed = inputs["packed_npy_inputs"][0]

    outputs = PolicyReference(written(tmp_path, models), described).run(inputs)

    images = {name: inputs[f"{name}_q"][[0, 4]].reshape(1, 12, 16, 32) for name in ("img", "big_img")}
    seen = outputs_of(reference(models["vision"]), images)["outputs"]
    features = [*inputs["feat_q"][1:, 0], seen[0, -512:]]
    shown = {
        "features_buffer": np.array([features[0:97:4]]),
        "desire_pulse": shown_desires(inputs["desire_q"], packed[:8]),
        "traffic_convention": packed[np.newaxis, 8:10],
        "action_t": packed[np.newaxis, 10:12],
    }
    assert np.array_equal(outputs["vision"], seen)
    assert np.array_equal(outputs["policy"], outputs_of(reference(models["policy"]), shown)["outputs"])
    assert set(outputs) == {"vision", "policy", "next_feat_q", "next_desire_q"}


def test_stateful_model_is_run_as_it_is(tmp_path: Path) -> None:
    models = {"stateful": driving_onnx.stateful()}
    policy = PolicyReference(written(tmp_path, models), metadata("stateful", models))
    inputs = {
        "new_img": RANDOM.integers(0, 256, (2, 6, 16, 32), np.uint8),
        "img_buffer": RANDOM.integers(0, 256, (2, 6, 16, 32), np.uint8),
        "features_buffer": RANDOM.standard_normal((1, 1, 512)).astype(np.float32),
        "desire": RANDOM.random((1, 8)).astype(np.float32),
    }

    outputs = policy.run(inputs)

    assert np.array_equal(outputs["next_img_buffer"], inputs["new_img"])
    assert np.array_equal(outputs["next_features_buffer"][0, 0], outputs["outputs"][0, -512:])


def test_models_of_other_parts_are_refused(tmp_path: Path) -> None:
    models = {"vision": driving_onnx.vision(), "policy": driving_onnx.policy()}
    paths = written(tmp_path, models)
    del paths["vision"]

    with pytest.raises(AutoclaveError, match="reference models are policy; the artifact's parts are vision, policy"):
        PolicyReference(paths, metadata("split", models))
