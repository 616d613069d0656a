"""Small driving models' artifacts: a supercombo's for any hardware, and fixtures, for the CPU, each compiled at most once in a session."""

from pathlib import Path

import pytest
from compiler import driving_onnx
from compiler.driving_actions import assemble, compile_policy, compile_warp
from drive.drives import CAMERA


def compile_supercombo(directory: Path, hardware: str) -> Path:
    """The artifact of a supercombo and a warp, made in `directory`."""
    models = {"supercombo": driving_onnx.supercombo()}
    policy = compile_policy(directory / "policy", "supercombo", models, hardware=hardware)
    size = (CAMERA.width, CAMERA.height)
    warp = compile_warp(directory / "warp", size, driving_onnx.MODEL_SIZE, hardware=hardware)
    done = assemble(directory, [policy.output, warp.output])
    assert done.code == 0, policy.log + warp.log + done.log
    return done.output


@pytest.fixture(scope="session")
def supercombo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The artifact of a supercombo and a warp, for the CPU."""
    return compile_supercombo(tmp_path_factory.mktemp("supercombo"), "cpu")


@pytest.fixture(scope="session")
def split(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The artifact of a vision model, a policy and two warps, for the CPU."""
    directory = tmp_path_factory.mktemp("split")
    models = {"vision": driving_onnx.vision(), "policy": driving_onnx.policy()}
    policy = compile_policy(directory / "policy", "split", models)
    warps = [
        compile_warp(directory / f"warp{width}", (width, height), driving_onnx.MODEL_SIZE)
        for width, height in ((CAMERA.width, CAMERA.height), (128, 96))
    ]
    done = assemble(directory, [policy.output, *(warp.output for warp in warps)], "v11")
    assert done.code == 0, policy.log + done.log
    return done.output


@pytest.fixture(scope="session")
def queueing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The artifact of the same supercombo with the image history in the warp."""
    directory = tmp_path_factory.mktemp("queueing")
    models = {"supercombo": driving_onnx.supercombo()}
    policy = compile_policy(directory / "policy", "supercombo", models, image_history_pipeline="warp")
    size = (CAMERA.width, CAMERA.height)
    warp = compile_warp(directory / "warp", size, driving_onnx.MODEL_SIZE, layout="queue", history=5)
    done = assemble(directory, [policy.output, warp.output])
    assert done.code == 0, policy.log + warp.log + done.log
    return done.output


@pytest.fixture(scope="session")
def stateful(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The artifact of a stateful model and a warp."""
    directory = tmp_path_factory.mktemp("stateful")
    policy = compile_policy(directory / "policy", "stateful", {"stateful": driving_onnx.stateful()})
    warp = compile_warp(directory / "warp", (CAMERA.width, CAMERA.height), driving_onnx.MODEL_SIZE, layout="stacked")
    done = assemble(directory, [policy.output, warp.output])
    assert done.code == 0, policy.log + warp.log + done.log
    return done.output
