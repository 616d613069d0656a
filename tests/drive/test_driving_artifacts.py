"""The other commands on driving models' artifacts: which part is meant, what they consist of, several reference models."""

from pathlib import Path

import pytest
from cli.command_line import autoclave
from compiler import driving_onnx

from autoclave.cli import inspect, parity, run  # noqa: F401  found by name; said here so that Pants knows
from autoclave.native import __main__ as native  # noqa: F401  run as processes of their own
from autoclave.parity import __main__ as checks  # noqa: F401
from autoclave.parity import record  # noqa: F401
from autoclave.source import upcast  # noqa: F401

OPEN = ("--sandbox", "none")


def test_run_means_the_model_unless_a_camera_is_named(split: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = autoclave(capsys, "run", split, "--seed", "42", *OPEN)
    warp = autoclave(capsys, "run", split, "--seed", "42", "--part", "128x96", *OPEN)

    assert (model.code, warp.code) == (0, 0), model.err + warp.err
    assert [line.split()[0] for line in model.out.splitlines()[1:3]] == ["vision", "policy"]
    assert [line.split()[0] for line in warp.out.splitlines()] == ["output", "img", "big_img"]


def test_inspect_says_what_model_it_is_and_where_its_outputs_lie(
    split: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = autoclave(capsys, "inspect", split).out.splitlines()

    start = lines.index("driving: split, behaviour v11, frame_skip 4, images of the past kept by the policy")
    assert lines[start + 1] == "  cameras 96x64, 128x96; warps on CPU, model on CPU"
    assert lines[start + 2] == "  vision: checkpoint test/2; 1576 outputs"
    assert lines[start + 3].startswith("    lane_lines 0:528, lane_lines_prob 528:536, ")
    assert "    plan 0:990, action 990:994" in lines


def test_a_model_in_several_files_is_checked_against_a_reference_for_each(
    split: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "see.onnx").write_bytes(driving_onnx.vision())
    (tmp_path / "drive.onnx").write_bytes(driving_onnx.policy())
    check = tmp_path / "split.check.zst"
    vision, policy = f"vision={tmp_path / 'see.onnx'}", f"policy={tmp_path / 'drive.onnx'}"
    recorded = autoclave(capsys, "parity", "record", split, check, *OPEN)

    both = autoclave(capsys, "parity", "check", split, check, "--reference", vision, "--reference", policy, *OPEN)
    swapped = (f"vision={tmp_path / 'drive.onnx'}", f"policy={tmp_path / 'see.onnx'}")
    wrong = autoclave(
        capsys, "parity", "check", split, check, "--reference", swapped[0], "--reference", swapped[1], *OPEN
    )
    unnamed = tmp_path / "see.onnx"
    one = autoclave(capsys, "parity", "check", split, check, "--reference", unnamed, *OPEN)
    two = autoclave(capsys, "parity", "check", split, check, "--reference", vision, "--reference", unnamed, *OPEN)

    assert (recorded.code, both.code) == (0, 0), recorded.err + both.err
    assert "rung 4 reference: vision: error" in both.out and "rung 4 reference: policy: error" in both.out
    assert wrong.code != 0
    assert one.code == 2 and "give a reference model for each, by its part's name" in one.err
    assert two.code == 2 and "as in vision=FILE" in two.err
