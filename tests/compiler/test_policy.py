"""Policies: their queues against every frame's values in numpy, their outputs against ONNX Runtime, frame by frame."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiler import driving_onnx
from compiler.driving_actions import compile_policy, policy_request
from compiler.driving_onnx import FEATURES, HIDDEN, IMAGE, VISION, slices
from compiler.driving_reference import History, outputs_of, reference

from autoclave.artifact.reader import open_artifact
from autoclave.compiler.policy_request import PolicyRequest
from autoclave.errors import CompileError
from autoclave.native.model import NativeModel

FRAMES = 11
"""More than two turns of a queue that is sampled every fourth frame."""
TOLERANCE = 1e-4
"""What models for the CPU are held to; a queue that is off by one frame changes outputs by a tenth and more."""


class Drive:
    """What comes for each frame: images, and what the host packs."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self.image, self.big_image, self.desire = History(), History(), History()
        self.conditions: dict[str, np.ndarray] = {}

    def advance(self) -> None:
        self.image.append(self._random.integers(0, 256, (6, *IMAGE), np.uint8))
        self.big_image.append(self._random.integers(0, 256, (6, *IMAGE), np.uint8))
        self.desire.append((self._random.random((1, 8)) < 0.2).astype(np.float32))
        self.conditions = {
            name: self._random.standard_normal((1, 2)).astype(np.float32) for name in ("traffic_convention", "action_t")
        }

    def images(self, skip: int) -> dict[str, np.ndarray]:
        shown = {"img": self.image.every(skip, 2), "big_img": self.big_image.every(skip, 2)}
        return {name: frames.reshape(1, 12, *IMAGE) for name, frames in shown.items()}

    def packed(self, *more: np.ndarray) -> np.ndarray:
        values = [self.desire.ago(0), self.conditions["traffic_convention"], self.conditions["action_t"], *more]
        return np.concatenate([value.reshape(1, -1) for value in values], axis=1).astype(np.float32)


def zero_state(model: NativeModel, pairs: list[list[str]]) -> dict[str, np.ndarray]:
    inputs = {spec.name: spec for spec in model.part.inputs}
    return {name: np.zeros(inputs[name].shape, inputs[name].dtype) for name, _ in pairs}


def next_state(outputs: Mapping[str, Any], pairs: list[list[str]]) -> dict[str, np.ndarray]:
    return {name: outputs[following] for name, following in pairs}


@pytest.mark.parametrize(("features", "desires", "skip"), [(24, 25, 4), (99, 100, 1)], ids=["5 Hz", "20 Hz"])
def test_a_supercombo_sees_the_past_at_its_own_pace(tmp_path: Path, features: int, desires: int, skip: int) -> None:
    onnx = driving_onnx.supercombo(features, desires)
    done = compile_policy(tmp_path, "supercombo", {"supercombo": onnx})
    assert done.code == 0, done.log
    session, drive, hidden = reference(onnx), Drive(seed=1), History()
    hidden.append(np.zeros((1, FEATURES), np.float32))
    with open_artifact(done.output) as artifact:
        model, pairs = NativeModel(artifact, "run_policy"), artifact.header.metadata["state"]
        state = zero_state(model, pairs)
        for _ in range(FRAMES):
            drive.advance()
            images = {"img": drive.image.ago(0), "big_img": drive.big_image.ago(0)}
            outputs = model.run({**images, **state, "packed_npy_inputs": drive.packed(hidden.ago(0))})

            # The newest of the features was computed a frame ago; the model is shown those of skip frames ago and older.
            shown = {
                **drive.images(skip),
                **drive.conditions,
                "desire_pulse": drive.desire.largest(skip, desires).reshape(1, desires, 8),
                "features_buffer": hidden.every(skip, features, first=skip - 1).reshape(1, features, FEATURES),
            }
            expected = outputs_of(session, shown)["outputs"]
            assert np.abs(outputs["outputs"] - expected).max() < TOLERANCE
            assert np.array_equal(outputs["next_img_q"], drive.image.rows(skip + 1))
            assert np.array_equal(outputs["next_big_img_q"], drive.big_image.rows(skip + 1))
            assert np.array_equal(outputs["next_desire_q"], drive.desire.rows(skip * desires))
            assert np.array_equal(outputs["next_feat_q"], hidden.rows(skip * features))
            state = next_state(outputs, pairs)
            hidden.append(outputs["outputs"][:, -FEATURES:])


@pytest.mark.parametrize(
    ("kind", "policies"),
    [("split", ["policy"]), ("multi_policy", ["on_policy", "off_policy"]), ("multi_policy", ["policy", "off_policy"])],
)
def test_policies_see_the_vision_models_features_of_the_same_frame(
    tmp_path: Path, kind: str, policies: list[str]
) -> None:
    models = {part: driving_onnx.policy(seed) for seed, part in enumerate(policies, 3)}
    done = compile_policy(tmp_path, kind, {**models, "vision": driving_onnx.vision()})
    assert done.code == 0, done.log
    vision, drive, features = reference(driving_onnx.vision()), Drive(seed=2), History()
    sessions = {part: reference(model) for part, model in models.items()}
    where = slices({**VISION, **HIDDEN})["hidden_state"]
    with open_artifact(done.output) as artifact:
        model, pairs = NativeModel(artifact, "run_policy"), artifact.header.metadata["state"]
        assert [spec.name for spec in model.part.outputs][: 1 + len(policies)] == ["vision", *policies]
        assert artifact.header.metadata["policy"]["policy_order"] == policies
        state = zero_state(model, pairs)
        for _ in range(FRAMES):
            drive.advance()
            images = {"img": drive.image.ago(0), "big_img": drive.big_image.ago(0)}
            outputs = model.run({**images, **state, "packed_npy_inputs": drive.packed()})

            seen = outputs_of(vision, drive.images(4))["outputs"]
            features.append(outputs["vision"][:, where])
            shown = {
                **drive.conditions,
                "desire_pulse": drive.desire.largest(4, 25).reshape(1, 25, 8),
                "features_buffer": features.every(4, 25).reshape(1, 25, FEATURES),
            }
            assert np.abs(outputs["vision"] - seen).max() < TOLERANCE
            for part in policies:
                assert np.abs(outputs[part] - outputs_of(sessions[part], shown)["outputs"]).max() < TOLERANCE
            assert np.array_equal(outputs["next_feat_q"], features.rows(97))
            state = next_state(outputs, pairs)


def test_a_stateful_model_agrees_with_onnx_runtime_over_five_steps(tmp_path: Path) -> None:
    onnx = driving_onnx.stateful()
    done = compile_policy(tmp_path, "stateful", {"stateful": onnx})
    assert done.code == 0, done.log
    session, random = reference(onnx), np.random.default_rng(3)
    with open_artifact(done.output) as artifact:
        model, pairs = NativeModel(artifact, "run_policy"), artifact.header.metadata["state"]
        assert pairs == [["img_buffer", "next_img_buffer"], ["features_buffer", "next_features_buffer"]]
        assert artifact.header.metadata["policy_inputs"] == []
        state = expected_state = zero_state(model, pairs)
        for _ in range(5):
            new = {
                "new_img": random.integers(0, 256, (2, 6, *IMAGE), np.uint8),
                "desire": random.random((1, 8), np.float32),
            }
            outputs, expected = model.run({**new, **state}), outputs_of(session, {**new, **expected_state})
            assert set(outputs) == set(expected)
            for name, tensor in expected.items():
                assert np.abs(outputs[name].astype(np.float64) - tensor).max() < TOLERANCE
            state, expected_state = next_state(outputs, pairs), next_state(expected, pairs)


def test_with_the_history_in_the_warp_the_queues_come_as_they_are(tmp_path: Path) -> None:
    onnx = driving_onnx.supercombo()
    done = compile_policy(tmp_path, "supercombo", {"supercombo": onnx}, image_history_pipeline="warp", frame_skip=2)
    assert done.code == 0, done.log
    random = np.random.default_rng(4)
    queues = {name: random.integers(0, 256, (3, 6, *IMAGE), np.uint8) for name in ("img_q", "big_img_q")}
    with open_artifact(done.output) as artifact:
        model, pairs = NativeModel(artifact, "run_policy"), artifact.header.metadata["state"]
        assert {name for name, _ in pairs} == {"desire_q", "feat_q"}
        packed = np.zeros((1, 8 + 2 + 2 + FEATURES), np.float32)
        outputs = model.run({**queues, **zero_state(model, pairs), "packed_npy_inputs": packed})

    shapes = driving_onnx.policy_inputs(24)
    zeros = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    images = {name.removesuffix("_q"): queue[[0, 2]].reshape(1, 12, *IMAGE) for name, queue in queues.items()}
    expected = outputs_of(reference(onnx), {**zeros, **images})["outputs"]
    assert np.abs(outputs["outputs"] - expected).max() < TOLERANCE


def test_metadata_says_what_the_model_is_and_what_the_host_packs(tmp_path: Path) -> None:
    onnx = driving_onnx.supercombo()
    done = compile_policy(tmp_path, "supercombo", {"supercombo": onnx})
    assert done.code == 0, done.log
    with open_artifact(done.output) as artifact:
        metadata = artifact.header.metadata

    assert metadata["policy_inputs"] == [
        {"name": "desire", "offset": 0, "shape": [8]},
        {"name": "traffic_convention", "offset": 8, "shape": [1, 2]},
        {"name": "action_t", "offset": 10, "shape": [1, 2]},
        {"name": "prev_feat", "offset": 12, "shape": [1, 512]},
    ]
    assert metadata["synthetic"] is True
    assert metadata["sources"]["supercombo"]["size"] == len(onnx)
    policy = metadata["policy"]
    assert (policy["kind"], policy["frame_skip"], policy["image_history_pipeline"]) == ("supercombo", 4, "policy")
    assert policy["parts"]["supercombo"]["model_checkpoint"] == "test/1"
    assert policy["parts"]["supercombo"]["output_slices"]["lane_lines"] == [0, 528]


@pytest.mark.parametrize("name", ["action_t", "features_buffer", "big_img"])
def test_an_input_that_has_no_effect_is_named(tmp_path: Path, name: str) -> None:
    done = compile_policy(tmp_path, "supercombo", {"supercombo": driving_onnx.deaf(name)})

    assert done.code == 2
    assert f"the supercombo model's outputs do not depend on its input '{name}'" in done.log


@pytest.mark.parametrize(
    ("kind", "models", "message"),
    [
        ("split", {"vision": driving_onnx.vision()}, "that makes no split model"),
        ("split", {"vision": driving_onnx.policy(), "policy": driving_onnx.policy()}, "the name says vision"),
        ("supercombo", {"vision": driving_onnx.vision()}, "that makes no supercombo model"),
        ("supercombo", {"supercombo": b"<html>"}, "supercombo"),
    ],
)
def test_files_that_do_not_make_the_model_are_refused(
    tmp_path: Path, kind: str, models: dict[str, bytes], message: str
) -> None:
    done = compile_policy(tmp_path, kind, models)

    assert done.code == 2
    assert message in done.log
    assert not done.output.exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "twins"}, "the field 'kind' should be one of stateful, multi_policy, split, supercombo, got 'twins'"),
        ({"image_history_pipeline": "x"}, "'image_history_pipeline' should be one of policy, warp, got 'x'"),
        ({"frame_skip": 21}, "the field 'frame_skip' should be 1 to 20, got 21"),
        ({"models": [{"part": "vision"}]}, r"models\[0\]: the field 'path' is missing"),
        ({"models": ["vision"]}, r"models\[0\]: expected an object, got 'vision'"),
        ({"dimensions": {"N": 0}}, r"dimensions\['N'\] should be a positive number, got 0"),
        ({"camera": [64, 48]}, "unknown field 'camera'"),
    ],
)
def test_a_wrong_request_is_refused_by_the_fields_name(change: dict[str, Any], message: str) -> None:
    with pytest.raises(CompileError, match=message):
        PolicyRequest.from_json({**policy_request("supercombo", {"supercombo": b""}), **change})
