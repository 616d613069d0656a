"""`autoclave disasm`."""

from pathlib import Path

import pytest
from artifact.kernel_code import A630_LOOP, CHESTNUT, QCOM, gfx1200_object, write_kernels
from cli.command_line import autoclave

NAMES = ("r_64_32", "r_64_16", "E_32", "E_32")


@pytest.fixture
def artifact(tmp_path: Path) -> Path:
    write_kernels(tmp_path / "qcom.pkl", QCOM, [(name, A630_LOOP[8 * at :]) for at, name in enumerate(NAMES)])
    return tmp_path / "qcom.pkl"


def test_a630_kernel_with_labels(capsys: pytest.CaptureFixture[str], artifact: Path) -> None:
    done = autoclave(capsys, "disasm", artifact, "0")
    assert (
        done.out
        == """\
kernel 0 r_64_32 for a630,IMAGE_PITCH_ALIGNMENT=64 by ir3: 5 instructions, 40 B
     0  08000000034a2420  (rpt2)mov.f32f32 r0.w, (r)c2.x
l1:
     1  0e000f000e001042  add.u r3.z, r3.z, r3.w
     2  1010100010808461  madsh.m16 r4.x, c4.x, r2.y, r4.x
     3  feffffff00000001  jump #l1
     4  0000000000000003  end
"""
    )


def test_gfx1200_kernel(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_kernels(tmp_path / "chestnut.pkl", CHESTNUT, [("exp", gfx1200_object("exp"))])
    lines = autoclave(capsys, "disasm", tmp_path / "chestnut.pkl", "exp").out.splitlines()
    assert lines[0].startswith("kernel 0 exp for gfx1200 by llvm: ")
    assert lines[-1].endswith("s_endpgm")


@pytest.mark.parametrize(("wanted", "name"), [("1", "r_64_16"), ("r_64_16", "r_64_16"), ("r_64_1", "r_64_16")])
def test_kernel_is_found_by_number_name_or_prefix(
    capsys: pytest.CaptureFixture[str], artifact: Path, wanted: str, name: str
) -> None:
    assert autoclave(capsys, "disasm", artifact, wanted).out.startswith(f"kernel 1 {name} ")


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("r_64_31", "there is no kernel 'r_64_31'; did you mean r_64_32 or r_64_16"),
        ("zzz", "there is no kernel 'zzz'; `autoclave inspect` lists them"),
        ("r_64", "'r_64' may be any of 0 (r_64_32), 1 (r_64_16); give the number"),
        ("E_32", "'E_32' may be any of 2 (E_32), 3 (E_32); give the number"),
        ("4", "there is no kernel 4; they are numbered 0 to 3"),
    ],
)
def test_unclear_kernel_gets_suggestions(
    capsys: pytest.CaptureFixture[str], artifact: Path, wanted: str, message: str
) -> None:
    done = autoclave(capsys, "disasm", artifact, wanted)
    assert done.code == 2
    assert message in done.err


def test_json_has_one_record_per_instruction(capsys: pytest.CaptureFixture[str], artifact: Path) -> None:
    records = autoclave(capsys, "disasm", artifact, "0", "--json").json
    assert records[1] == {
        "pc": 1,
        "offset": 8,
        "code": "0e000f000e001042",
        "text": "add.u r3.z, r3.z, r3.w",
        "label": "l1",
    }
    assert len(records) == 5
