"""`autoclave diff`."""

from pathlib import Path

import numpy as np
import pytest
from artifact.kernel_code import A630_LOOP, QCOM, write_kernels
from cli.command_line import autoclave


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    weight = np.ones(32, dtype=np.float16)
    changed = weight.copy()
    changed[7] = 1.5
    changed_code = A630_LOOP.replace(bytes.fromhex("0e000f00"), bytes.fromhex("0e001000"))
    write_kernels(tmp_path / "a.pkl", QCOM, [("loop", A630_LOOP)], [("w", weight.tobytes())])
    write_kernels(
        tmp_path / "b.pkl", QCOM, [("loop", changed_code), ("new", A630_LOOP[8:])], [("w", changed.tobytes())]
    )
    return tmp_path / "a.pkl", tmp_path / "b.pkl"


def test_same_files_give_exit_code_0(capsys: pytest.CaptureFixture[str], pair: tuple[Path, Path]) -> None:
    done = autoclave(capsys, "diff", pair[0], pair[0])
    assert done.code == 0
    assert done.out.startswith("same: ")


def test_differences_give_exit_code_1_and_are_listed(
    capsys: pytest.CaptureFixture[str], pair: tuple[Path, Path]
) -> None:
    done = autoclave(capsys, "diff", *pair)
    assert done.code == 1
    assert (
        "different: 1 header field, 2 kernels (1 in A, 2 in B), 1 weight (1 in A, 1 in B), 0 sections moved\n"
        in done.out
    )
    assert "\nheader\n  parts[run].calls[1]: nothing -> " in done.out
    assert "  loop (number 0 in A, 0 in B): 5 -> 5 instructions, 1 removed, 1 added\n" in done.out
    assert "    - add.u r3.z, r3.z, r3.w\n    + add.u r3.z, r3.z, r4.x\n" in done.out
    assert "  new: only in B\n" in done.out
    assert "  run: w: 1 of 32 float16 differ, first at 7, by at most 0.5\n" in done.out


def test_long_lists_are_cut_and_say_so(capsys: pytest.CaptureFixture[str], pair: tuple[Path, Path]) -> None:
    assert "... and 2 more (--lines 0 shows all)" in autoclave(capsys, "diff", *pair, "--lines", "3").out
    assert "more (--lines" not in autoclave(capsys, "diff", *pair, "--lines", "0").out


def test_json_has_the_same_for_scripts(capsys: pytest.CaptureFixture[str], pair: tuple[Path, Path]) -> None:
    done = autoclave(capsys, "diff", *pair, "--json")
    assert done.code == 1
    assert done.json["same"] is False
    assert [kernel["name"] for kernel in done.json["kernels"]] == ["loop", "new"]
    assert done.json["weights"][0]["max_abs"] == 0.5


def test_what_is_no_artifact_gives_exit_code_2(capsys: pytest.CaptureFixture[str], pair: tuple[Path, Path]) -> None:
    pair[1].write_bytes(b"\x80\x04pickle")
    done = autoclave(capsys, "diff", *pair)
    assert done.code == 2
    assert f"{pair[1]}: not an artifact" in done.err
