"""`autoclave run --frames` for every hardware: 50 frames through warp, queues and model against numpy and ONNX Runtime, slice by slice."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from cli.command_line import autoclave
from compiler.driving_onnx import HIDDEN, POLICY, VISION, slices
from drive.artifacts import compile_supercombo
from drive.drives import write_drive

from autoclave.cli import run  # noqa: F401  found by name; said here so that Pants knows
from autoclave.drive import __main__ as action  # noqa: F401  run as a process of its own
from autoclave.driving.parser import parse_outputs

FRAMES = 50
SHOWN = 37
"""A frame before the last one, with a past that is longer than any queue of images."""
TOLERANCE = {"cpu": 1e-4, "qcom": 5e-3, "chestnut": 5e-3}
"""What parity holds models to, here of values between -1 and 1. A queue that is off by one frame changes them by a tenth and more."""
SLICES = slices({**VISION, **POLICY, **HIDDEN})
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("hardware", TOLERANCE)
def test_fifty_frames_give_what_numpy_and_onnx_runtime_give_in_every_slice(
    tmp_path: Path, hardware: str, capsys: pytest.CaptureFixture[str]
) -> None:
    artifact = compile_supercombo(tmp_path / "build", hardware)
    expected = write_drive(tmp_path / "video.npz", FRAMES)
    files = ("--frames", tmp_path / "video.npz", "--output", tmp_path / "out.npz", "--plot", tmp_path / "road.svg")

    done = autoclave(capsys, "run", artifact, *files, "--json", "--frame", str(SHOWN), "--sandbox", "none")

    assert done.code == 0, done.err
    with np.load(tmp_path / "out.npz") as outputs:
        actual = outputs["outputs"]
    assert actual.shape == expected.shape
    error = np.abs(actual - expected)
    largest = {name: float(error[:, where].max()) for name, where in SLICES.items()}
    print(
        f"{hardware}: largest error in {FRAMES} frames: "
        + ", ".join(f"{name} {of:.1e}" for name, of in largest.items())
    )
    assert {name: of for name, of in largest.items() if not of < TOLERANCE[hardware]} == {}
    # Every frame counts, or queues that stand still would pass, too.
    assert np.abs(expected[1:] - expected[:-1]).max(axis=1).min() > 1e-2

    assert (done.json["frame"], done.json["frames"]) == (SHOWN, FRAMES)
    parsed = parse_outputs(expected[SHOWN], SLICES)
    assert done.json["outputs"].keys() == parsed.keys()
    for name, values in parsed.items():
        np.testing.assert_allclose(done.json["outputs"][name], values, rtol=2e-2, atol=2e-2, err_msg=name)
    lines = [line["y"] for line in done.json["scene"]["lane_lines"]]
    np.testing.assert_allclose(lines, parsed["lane_lines"][:, :, 0], rtol=2e-2, atol=2e-2)

    picture = ElementTree.parse(tmp_path / "road.svg").getroot()
    assert f"video.npz, frame {SHOWN} of {FRAMES}" in "".join(picture.itertext())
    titles = [title.text or "" for title in picture.iter(f"{SVG}title")]
    for drawn in ("plan", "lane line 4", "road edge 2", "now:"):
        assert any(title.startswith(drawn) for title in titles), f"{drawn} is not drawn, but {titles}"
