"""Whole driving models by the loader: every kind of history gives the same bits as Autoclave's own drive, frame by frame."""

from pathlib import Path

import numpy as np
import pytest
from drive.artifacts import compile_supercombo, queueing, stateful, supercombo  # noqa: F401  fixtures
from drive.drives import CAMERA, write_drive, write_stateful_drive

from autoclave.artifact.reader import Artifact, open_artifact
from autoclave.drive.pipeline import Drive, Run, host_inputs
from autoclave.drive.video import read_video
from autoclave.emulator.jit import best_target
from autoclave.emulator.model import EmulatedModel, Placement
from autoclave.emulator.tinygrad_device import register
from autoclave.native.model import NativeModel, Tensors
from autoclave.runtime import Model, load

FRAMES = 7
SIZE = (CAMERA.width, CAMERA.height)
WARP_INPUTS = ("frame", "big_frame", "tfm", "big_tfm")


def own_runner(artifact: Artifact, key: str | tuple[int, int]) -> Run:
    """Autoclave's own way to run a part."""
    if artifact.part(key).target.device == "CPU":
        return NativeModel(artifact, key).run
    return EmulatedModel(artifact, key, Placement(best_target())).run


def own_drive(path: Path, video: Path) -> tuple[list[Tensors], list[np.ndarray]]:
    """The frames of `video`, and the outputs of each by Autoclave's own runners."""
    with open_artifact(path) as artifact:
        header, warp, policy = artifact.header, artifact.part(SIZE), artifact.part("run_policy")
        frames = list(read_video(video, warp, host_inputs(header, warp, policy)).frames())
        drive = Drive(header, warp, policy, own_runner(artifact, SIZE), own_runner(artifact, "run_policy"))
        return frames, [drive.step(frame)["outputs"] for frame in frames]


def loaded_drive(model: Model, frames: list[Tensors]) -> list[np.ndarray]:
    """The outputs of a loaded supercombo: images stay on the device between its parts, state is the loader's business."""
    policy, results = model["run_policy"], []
    features = np.zeros((1, 512), np.float32)
    for frame in frames:
        seen = model[SIZE].run({name: frame[name] for name in WARP_INPUTS})
        small = [frame[name].reshape(1, -1) for name in ("desire", "traffic_convention", "action_t")]
        images = {name: output for name, output in seen.items() if name in policy.inputs}
        packed = np.concatenate([*small, features], axis=1)
        results.append(policy.run({**images, "packed_npy_inputs": packed})["outputs"].numpy())
        features = results[-1][:, -512:]
    return results


@pytest.mark.parametrize("kind", ["supercombo", "queueing"])
def test_a_supercombo_with_its_history_in_the_policy_or_in_the_warp(
    tmp_path: Path, request: pytest.FixtureRequest, kind: str
) -> None:
    path: Path = request.getfixturevalue(kind)
    write_drive(tmp_path / "video.npz", FRAMES)
    frames, expected = own_drive(path, tmp_path / "video.npz")

    outputs = loaded_drive(load(path, allow_unverified=True, allow_synthetic=True), frames)

    assert [each.tobytes() for each in outputs] == [each.tobytes() for each in expected]


@pytest.mark.parametrize(("hardware", "device"), [("qcom", "QCOM"), ("chestnut", "AMD")])
def test_a_supercombo_on_the_emulated_devices(tmp_path: Path, hardware: str, device: str) -> None:
    path = compile_supercombo(tmp_path / "build", hardware)
    write_drive(tmp_path / "video.npz", FRAMES)
    frames, expected = own_drive(path, tmp_path / "video.npz")

    register(device=device)
    outputs = loaded_drive(load(path, allow_unverified=True, allow_synthetic=True), frames)

    assert [each.tobytes() for each in outputs] == [each.tobytes() for each in expected]


def test_a_stateful_model(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path: Path = request.getfixturevalue("stateful")
    write_stateful_drive(tmp_path / "video.npz", FRAMES)
    frames, expected = own_drive(path, tmp_path / "video.npz")

    model = load(path, allow_unverified=True, allow_synthetic=True)
    for frame, outputs in zip(frames, expected, strict=True):
        seen = model[SIZE].run({name: frame[name] for name in WARP_INPUTS})
        found = model["run_policy"].run({"new_img": seen["new_img"], "desire": frame["desire"]})
        assert found["outputs"].tobytes() == outputs.tobytes()
