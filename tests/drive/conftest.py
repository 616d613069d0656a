"""Lets tests import from the other folders of tests/ as they do under Pants; makes one small driving model."""

import os
import sys
from pathlib import Path

import pytest

# For tests that import tinygrad into their own process: without it, it looks for devices of this machine.
os.environ["DEV"] = "NULL"

sys.path.insert(0, str(Path(__file__).parent.parent))

from compiler import driving_onnx
from compiler.driving_actions import assemble, compile_policy, compile_warp
from drive.drives import CAMERA


@pytest.fixture(scope="session")
def supercombo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The artifact of a supercombo and a warp, for the CPU."""
    directory = tmp_path_factory.mktemp("supercombo")
    policy = compile_policy(directory / "policy", "supercombo", {"supercombo": driving_onnx.supercombo()})
    warp = compile_warp(directory / "warp", (CAMERA.width, CAMERA.height), driving_onnx.MODEL_SIZE)
    done = assemble(directory, [policy.output, warp.output])
    assert done.code == 0, policy.log + warp.log + done.log
    return done.output


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
