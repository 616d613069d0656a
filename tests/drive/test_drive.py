"""`autoclave run --frames`: frames through warp, queues and model, against numpy and ONNX Runtime, and what is made of the outputs."""

import zipfile
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from cli.command_line import autoclave
from drive.drives import CAMERA, write_drive, write_stateful_drive

from autoclave.artifact.reader import open_artifact
from autoclave.cli import run  # noqa: F401  found by name; said here so that Pants knows
from autoclave.drive import __main__ as action  # noqa: F401  run as a process of its own
from autoclave.driving.metadata import DrivingMetadata
from autoclave.driving.parser import parse_outputs

FRAMES = 6
OPEN = ("--sandbox", "none")
WHOLE_BUFFER = 294912
"""Bytes of the camera's buffer: 128 * (64 + 32) + 4096 + 16384, to whole pages, and 512 * 512 more."""


@pytest.fixture
def frames(tmp_path: Path) -> Path:
    write_drive(tmp_path / "video.npz", FRAMES)
    return tmp_path / "video.npz"


@pytest.mark.parametrize("artifact", ["supercombo", "queueing"])
def test_outputs_of_all_frames_are_those_of_numpy_and_onnx_runtime(
    tmp_path: Path, request: pytest.FixtureRequest, artifact: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether the policy keeps the past frames, or the warp does."""
    expected = write_drive(tmp_path / "video.npz", FRAMES)
    path, out = request.getfixturevalue(artifact), tmp_path / "out.npz"

    done = autoclave(capsys, "run", path, "--frames", tmp_path / "video.npz", "--output", out, *OPEN)

    assert done.code == 0, done.err
    with np.load(out) as outputs:
        assert list(outputs) == ["outputs"]
        assert outputs["outputs"].shape == expected.shape
        assert np.abs(outputs["outputs"] - expected).max() < 1e-4
    # A frame's place matters, or queues that stand still would pass, too.
    assert np.abs(expected[1:] - expected[:-1]).max() > 1e-2


def test_a_stateful_model_is_fed_what_it_left_behind(
    tmp_path: Path, stateful: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = write_stateful_drive(tmp_path / "video.npz", FRAMES)
    out = tmp_path / "out.npz"

    done = autoclave(capsys, "run", stateful, "--frames", tmp_path / "video.npz", "--output", out, *OPEN)

    assert done.code == 0, done.err
    with np.load(out) as outputs:
        assert np.abs(outputs["outputs"] - expected).max() < 1e-4


def test_json_has_what_the_parser_reads_in_the_frame_asked_for(
    tmp_path: Path, supercombo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = write_drive(tmp_path / "video.npz", FRAMES)
    with open_artifact(supercombo) as artifact:
        slices = DrivingMetadata.from_json(artifact.header.metadata["driving"]).parts["supercombo"].output_slices

    done = autoclave(
        capsys,
        "run",
        supercombo,
        "--frames",
        tmp_path / "video.npz",
        "--frame",
        "2",
        "--json",
        "--part",
        "96x64",
        *OPEN,
    )

    assert done.code == 0, done.err
    assert (done.json["frame"], done.json["frames"]) == (2, FRAMES)
    parsed = parse_outputs(expected[2:3], slices)
    assert done.json["outputs"].keys() == parsed.keys()
    for name, values in parsed.items():
        np.testing.assert_allclose(done.json["outputs"][name], values, rtol=1e-3, atol=1e-3, err_msg=name)
    assert len(done.json["scene"]["lane_lines"]) == 4


def test_the_plot_is_a_picture_of_the_last_frame(
    tmp_path: Path, supercombo: Path, frames: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = autoclave(capsys, "run", supercombo, "--frames", frames, "--plot", tmp_path / "made/road.svg", *OPEN)

    assert done.code == 0, done.err
    text = "".join(ElementTree.parse(tmp_path / "made/road.svg").getroot().itertext())
    assert supercombo.name in text
    assert f"video.npz, frame {FRAMES - 1} of {FRAMES}" in text
    assert done.out.splitlines()[0].split() == ["output", "shape", "min", "mean", "max"]


def test_a_split_model_shows_the_outputs_of_both_its_parts(
    tmp_path: Path, split: Path, frames: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = autoclave(
        capsys, "run", split, "--frames", frames, "--part", "96x64", "--json", "--output", tmp_path / "out.npz", *OPEN
    )

    assert done.code == 0, done.err
    with np.load(tmp_path / "out.npz") as outputs:
        assert {name: len(rows) for name, rows in outputs.items()} == {"vision": FRAMES, "policy": FRAMES}
    assert {"plan", "lane_lines", "action"} <= done.json["outputs"].keys()


def test_what_is_not_given_is_zero_and_matrices_may_be_one_for_all(
    tmp_path: Path, supercombo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (2, 2, CAMERA.nbytes), np.uint8)
    short = {"frame": pixels[0], "big_frame": pixels[1], "tfm": np.eye(3, dtype=np.float32)}
    short["big_tfm"] = short["tfm"]
    conditions = {"traffic_convention": np.tile(np.float32([[[1, 0]]]), (2, 1, 1))}
    long = {**short, **conditions, "tfm": np.stack([short["tfm"]] * 2), "desire": np.zeros((2, 8), np.float32)}
    np.savez(tmp_path / "short.npz", **short)
    np.savez(tmp_path / "long.npz", **long)

    for name in ("short", "long"):
        video, out = tmp_path / f"{name}.npz", tmp_path / f"{name}-out.npz"
        assert autoclave(capsys, "run", supercombo, "--frames", video, "--output", out, *OPEN).code == 0

    with np.load(tmp_path / "short-out.npz") as first, np.load(tmp_path / "long-out.npz") as second:
        assert first["outputs"].tobytes() == second["outputs"].tobytes()


def test_a_frame_may_be_the_cameras_whole_buffer(
    tmp_path: Path, supercombo: Path, frames: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What follows the planes in it is not looked at."""
    with np.load(frames) as loaded:
        arrays = dict(loaded)
    rest = np.full((FRAMES, WHOLE_BUFFER - CAMERA.nbytes), 99, np.uint8)
    arrays |= {name: np.concatenate([arrays[name], rest], axis=1) for name in ("frame", "big_frame")}
    np.savez(tmp_path / "whole.npz", **arrays)

    for name in ("video", "whole"):
        video, out = tmp_path / f"{name}.npz", tmp_path / f"{name}-out.npz"
        assert autoclave(capsys, "run", supercombo, "--frames", video, "--output", out, *OPEN).code == 0

    with np.load(tmp_path / "video-out.npz") as first, np.load(tmp_path / "whole-out.npz") as second:
        assert first["outputs"].tobytes() == second["outputs"].tobytes()


def test_a_file_that_is_cut_short_is_refused_where_it_ends(
    tmp_path: Path, supercombo: Path, frames: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with zipfile.ZipFile(frames) as source, zipfile.ZipFile(tmp_path / "cut.npz", "w") as target:
        for name in source.namelist():
            target.writestr(name, source.read(name)[: -1 if name == "frame.npy" else None])

    done = autoclave(capsys, "run", supercombo, "--frames", tmp_path / "cut.npz", *OPEN)

    assert done.code == 2
    assert "reading 'frame' from" in done.err and "cut.npz: it ends before its last row" in done.err


def broken(frames: Path, **changes: np.ndarray | None) -> None:
    with np.load(frames) as loaded:
        arrays = {**loaded, **changes}
    np.savez(frames, **{name: array for name, array in arrays.items() if array is not None})


BROKEN: dict[str, tuple[dict[str, np.ndarray | None], str]] = {
    "no frames": ({"frame": None}, "'frame' should have 1 to 2400 rows, it has 0"),
    "no wide frames": ({"big_frame": None}, "missing: big_frame"),
    "another camera": ({"frame": np.zeros((FRAMES, 100), np.uint8)}, "reading 'frame'"),
    "fewer wide frames": ({"big_frame": np.zeros((1, CAMERA.nbytes), np.uint8)}, "reading 'big_frame'"),
    "matrices in double precision": ({"tfm": np.zeros((3, 3))}, "it is float64"),
    "an unknown array": ({"speed": np.zeros(FRAMES, np.float32)}, "not known: speed"),
    "queues": ({"img_q": np.zeros(FRAMES, np.float32)}, "not known: img_q"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_frames_that_do_not_fit_are_refused(
    supercombo: Path, frames: Path, case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    changes, message = BROKEN[case]
    broken(frames, **changes)

    done = autoclave(capsys, "run", supercombo, "--frames", frames, *OPEN)

    assert done.code == 2
    assert message in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--frame", "6"], "there is no frame 6; there are 6, counted from 0"),
        (["--part", "10x10"], "say with --part which camera's warp to use: 96x64"),
        (["--repeat", "2"], "it does not go with --frames"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    supercombo: Path, frames: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    done = autoclave(capsys, "run", supercombo, "--frames", frames, *words, *OPEN)
    assert done.code == 2
    assert message in done.err


def test_a_camera_must_be_chosen_if_there_are_two(
    split: Path, frames: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = autoclave(capsys, "run", split, "--frames", frames, *OPEN)
    assert done.code == 2
    assert "say with --part which camera's warp to use: 96x64, 128x96" in done.err


def test_plots_need_frames(supercombo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = autoclave(capsys, "run", supercombo, "--seed", "1", "--plot", tmp_path / "road.svg", *OPEN)
    assert done.code == 2
    assert "say --frames, too" in done.err
