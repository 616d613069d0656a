"""Whole driving models by the loader: every kind of history gives the same bits as Autoclave's own drive, frame by frame."""

from pathlib import Path

import numpy as np
import pytest
from drive.artifacts import queueing, stateful, supercombo  # noqa: F401  fixtures
from drive.drives import CAMERA, write_drive, write_stateful_drive

from autoclave.artifact.reader import open_artifact
from autoclave.drive.pipeline import Drive, host_inputs
from autoclave.drive.video import Video, read_video
from autoclave.native.model import NativeModel
from autoclave.runtime import load

FRAMES = 7
SIZE = (CAMERA.width, CAMERA.height)
WARP_INPUTS = ("frame", "big_frame", "tfm", "big_tfm")


def native_drive(path: Path, frames: Path) -> tuple[Video, list[np.ndarray]]:
    """The frames, and the outputs of each by `NativeModel`."""
    with open_artifact(path) as artifact:
        header, warp, policy = artifact.header, artifact.part(SIZE), artifact.part("run_policy")
        video = read_video(frames, warp, host_inputs(header, warp, policy))
        drive = Drive(header, warp, policy, NativeModel(artifact, SIZE).run, NativeModel(artifact, "run_policy").run)
        return video, [drive.step(video.at(number))["outputs"] for number in range(video.count)]


@pytest.mark.parametrize("kind", ["supercombo", "queueing"])
def test_a_supercombo_with_its_history_in_the_policy_or_in_the_warp(
    tmp_path: Path, request: pytest.FixtureRequest, kind: str
) -> None:
    path: Path = request.getfixturevalue(kind)
    write_drive(tmp_path / "video.npz", FRAMES)
    video, expected = native_drive(path, tmp_path / "video.npz")

    model = load(path, allow_unverified=True, allow_synthetic=True)
    policy = model["run_policy"]
    features = np.zeros((1, 512), np.float32)
    for number in range(FRAMES):
        frame = video.at(number)
        seen = model[SIZE].run({name: frame[name] for name in WARP_INPUTS})
        small = [frame[name].reshape(1, -1) for name in ("desire", "traffic_convention", "action_t")]
        images = {name: output for name, output in seen.items() if name in policy.inputs}
        packed = np.concatenate([*small, features], axis=1)
        outputs = policy.run({**images, "packed_npy_inputs": packed})["outputs"].numpy()
        assert outputs.tobytes() == expected[number].tobytes()
        features = outputs[:, -512:]


def test_a_stateful_model(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path: Path = request.getfixturevalue("stateful")
    write_stateful_drive(tmp_path / "video.npz", FRAMES)
    video, expected = native_drive(path, tmp_path / "video.npz")

    model = load(path, allow_unverified=True, allow_synthetic=True)
    for number in range(FRAMES):
        frame = video.at(number)
        seen = model[SIZE].run({name: frame[name] for name in WARP_INPUTS})
        outputs = model["run_policy"].run({"new_img": seen["new_img"], "desire": frame["desire"]})
        assert outputs["outputs"].tobytes() == expected[number].tobytes()
