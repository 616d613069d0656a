"""Driving models for GPUs, on their emulators: warps against numpy, policies against ONNX Runtime and every frame's values."""

from pathlib import Path

import numpy as np
import pytest
from compiler import driving_onnx
from compiler.driving_actions import compile_policy, compile_warp
from compiler.driving_onnx import FEATURES, IMAGE
from compiler.driving_reference import Camera, History, matrices, outputs_of, reference, six_planes

from autoclave.artifact.reader import open_artifact
from autoclave.emulator.jit import PORTABLE
from autoclave.emulator.model import EmulatedModel, Placement

PLACE = Placement(PORTABLE)
ROAD = Camera(width=1928, height=1208, stride=2048, y_height=1216, uv_height=608)
SIZE = (512, 256)
EQUAL_PIXELS = 0.999
"""Of a warp on a GPU, which may contract sums and approximate a division."""
TOLERANCE = 0.02
"""GPUs compute in half precision, and weights here are large. One frame of a queue in the place of another changes outputs by a half and more."""

_HARDWARE = ["qcom", "chestnut"]


@pytest.mark.parametrize("hardware", _HARDWARE)
def test_warps_differ_from_numpys_at_most_where_two_pixels_are_equally_near(tmp_path: Path, hardware: str) -> None:
    done = compile_warp(tmp_path, (ROAD.width, ROAD.height), SIZE, hardware=hardware)
    assert done.code == 0, done.log
    random = np.random.default_rng(1)
    with open_artifact(done.output) as artifact:
        model = EmulatedModel(artifact, (ROAD.width, ROAD.height), PLACE)
        for matrix, big_matrix in zip(matrices(ROAD, SIZE, 2, 2), matrices(ROAD, SIZE, 2, 3), strict=True):
            frame, big_frame = random.integers(0, 256, (2, ROAD.nbytes), np.uint8)
            outputs = model.run({"frame": frame, "big_frame": big_frame, "tfm": matrix, "big_tfm": big_matrix})

            assert (outputs["img"] == six_planes(frame, matrix, ROAD, SIZE)).mean() > EQUAL_PIXELS
            assert (outputs["big_img"] == six_planes(big_frame, big_matrix, ROAD, SIZE)).mean() > EQUAL_PIXELS


@pytest.mark.parametrize("hardware", _HARDWARE)
def test_policies_keep_their_queues_exactly_and_agree_with_onnx_runtime(tmp_path: Path, hardware: str) -> None:
    onnx = driving_onnx.supercombo()
    done = compile_policy(tmp_path, "supercombo", {"supercombo": onnx}, hardware=hardware)
    assert done.code == 0, done.log
    session, random = reference(onnx), np.random.default_rng(2)
    image, big_image, desire, hidden = History(), History(), History(), History()
    hidden.append(np.zeros((1, FEATURES), np.float32))
    with open_artifact(done.output) as artifact:
        model, pairs = EmulatedModel(artifact, "run_policy", PLACE), artifact.header.metadata["state"]
        specs = {spec.name: spec for spec in model.part.inputs}
        state = {name: np.zeros(specs[name].shape, specs[name].dtype) for name, _ in pairs}
        for _ in range(6):
            for history in (image, big_image):
                history.append(random.integers(0, 256, (6, *IMAGE), np.uint8))
            desire.append((random.random((1, 8)) < 0.2).astype(np.float32))
            conditions = {name: random.random((1, 2), np.float32) for name in ("traffic_convention", "action_t")}
            packed = np.concatenate([desire.ago(0), *conditions.values(), hidden.ago(0)], axis=1)
            images = {"img": image.ago(0), "big_img": big_image.ago(0)}
            outputs = model.run({**images, **state, "packed_npy_inputs": packed})

            shown = {
                "img": image.every(4, 2).reshape(1, 12, *IMAGE),
                "big_img": big_image.every(4, 2).reshape(1, 12, *IMAGE),
                "desire_pulse": desire.largest(4, 25).reshape(1, 25, 8),
                "features_buffer": hidden.every(4, 24, first=3).reshape(1, 24, FEATURES),
            }
            expected = outputs_of(session, {**shown, **conditions})["outputs"]
            assert np.abs(outputs["outputs"] - expected).max() < TOLERANCE
            assert np.array_equal(outputs["next_img_q"], image.rows(5))
            assert np.array_equal(outputs["next_big_img_q"], big_image.rows(5))
            assert np.array_equal(outputs["next_desire_q"], desire.rows(100))
            assert np.array_equal(outputs["next_feat_q"], hidden.rows(96))
            state = {name: outputs[following] for name, following in pairs}
            hidden.append(outputs["outputs"][:, -FEATURES:])
