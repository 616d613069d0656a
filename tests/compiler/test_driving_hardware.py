"""Driving models for GPUs, on their emulators: warps against numpy, queues and outputs against numpy and ONNX Runtime.

tests/drive/test_drive_hardware.py has a longer drive, by the command.
"""

from pathlib import Path

import numpy as np
import pytest
from compiler import driving_onnx
from compiler.driving_actions import assemble, compile_policy, compile_warp
from compiler.driving_onnx import FEATURES, MODEL_SIZE
from compiler.driving_reference import Camera, SupercomboDrive, matrices, six_planes

from autoclave.artifact.reader import open_artifact
from autoclave.driving.metadata import DrivingMetadata
from autoclave.emulator.jit import PORTABLE
from autoclave.emulator.model import EmulatedModel, Placement

PLACE = Placement(PORTABLE)
ROAD = Camera(width=1928, height=1208, stride=2048, y_height=1216, uv_height=608)
SMALL = Camera(width=96, height=64, stride=128, y_height=64, uv_height=32)
SIZE = (512, 256)
EQUAL_PIXELS = 0.999
"""Of a warp on a GPU, which may contract sums and approximate a division."""
TOLERANCE = 5e-3
"""What models for GPUs are held to, which compute in half precision."""
FRAMES = 11
"""More than two turns of a queue that is sampled every fourth frame."""

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
def test_a_drive_gives_nearly_what_numpy_and_onnx_runtime_give(tmp_path: Path, hardware: str) -> None:
    onnx, size = driving_onnx.supercombo(), (SMALL.width, SMALL.height)
    policy = compile_policy(tmp_path / "policy", "supercombo", {"supercombo": onnx}, hardware=hardware)
    warp = compile_warp(tmp_path / "warp", size, MODEL_SIZE, hardware=hardware)
    done = assemble(tmp_path, [policy.output, warp.output])
    assert done.code == 0, done.log
    drive = SupercomboDrive(onnx, SMALL, driving_onnx.IMAGE, seed=2)
    with open_artifact(done.output) as artifact:
        warp_model, model = EmulatedModel(artifact, size, PLACE), EmulatedModel(artifact, "run_policy", PLACE)
        pairs = artifact.header.metadata["state"]
        slices = DrivingMetadata.from_json(artifact.header.metadata["driving"]).parts["supercombo"].output_slices
        specs = {spec.name: spec for spec in model.part.inputs}
        state = {name: np.zeros(specs[name].shape, specs[name].dtype) for name, _ in pairs}
        hidden, equal = np.zeros((1, FEATURES), np.float32), []
        for number in range(FRAMES):
            frame = drive.frame()
            seen = warp_model.run({name: frame[name] for name in ("frame", "big_frame", "tfm", "big_tfm")})
            packed = np.concatenate([frame["desire"], frame["traffic_convention"], frame["action_t"], hidden], axis=1)
            outputs = model.run({**seen, **state, "packed_npy_inputs": packed})

            error = np.abs(outputs["outputs"] - drive.step(frame))
            for name, where in slices.items():
                assert error[:, where].max() < TOLERANCE, f"{name} in frame {number}"
            equal += [(seen[name] == drive.newest_image(name)).mean() for name in seen]
            for name, newest in (*seen.items(), ("desire", frame["desire"]), ("feat", hidden)):
                assert np.array_equal(outputs[f"next_{name}_q"][:-1], state[f"{name}_q"][1:])
                assert np.array_equal(outputs[f"next_{name}_q"][-1], newest)
            hidden = outputs["outputs"][:, -FEATURES:]
            state = {name: outputs[following] for name, following in pairs}
        assert np.mean(equal) > EQUAL_PIXELS
