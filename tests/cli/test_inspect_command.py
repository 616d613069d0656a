"""`autoclave inspect`."""

import hashlib
from pathlib import Path

import pytest
from artifact.sample_artifacts import write_sample
from cli.command_line import autoclave

from autoclave.artifact.model import Buffer, Header, Part, Target, TensorSpec
from autoclave.artifact.writer import ArtifactWriter


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    write_sample(tmp_path / "sample.pkl")
    return tmp_path / "sample.pkl"


def test_everything_is_shown(capsys: pytest.CaptureFixture[str], sample: Path) -> None:
    sha256 = hashlib.sha256(sample.read_bytes()).hexdigest()
    assert (
        autoclave(capsys, "inspect", sample).out
        == f"""\
{sample}: 8.8 KiB, format 1, 2 kernels
sha256 {sha256}
synthetic: made from made-up weights; releases and devices refuse it
onnx: {{"sha256": "{"ab" * 32}", "size": 12}}
state: [["state", "next_state"]]

part run for QCOM, IR3, a630,IMAGE_PITCH_ALIGNMENT=64
  2 launches and 1 copy per run; 1 launch once at load
  inputs
    img    uint8    1x4x8
    state  float16     16
  outputs
    outputs     float16  1x16
    next_state  float16    16
  memory
    input       2     64 B
    constant    2  1.0 KiB
    persistent  1  1.0 KiB
    arena       1  4.0 KiB
    output      1     64 B
  kernels (number, name, renderer, code, launches per run, at load)
    0  r_16_4  ir3  24 B  2  0
    1  E_32    ir3  20 B  0  1
  biggest weights (2 of 2)
    conv.weight  1.0 KiB  at 4096
    bias.Größe       8 B  at 5376

part 1928x1208 for QCOM, IR3, a630,IMAGE_PITCH_ALIGNMENT=64
  0 launches and 1 copy per run; 0 launches once at load
  inputs
  outputs
    warped  float32  8
  memory
    constant  1  32 B
    output    1  32 B
  kernels (number, name, renderer, code, launches per run, at load)
  biggest weights (1 of 1)
    #0  32 B  at 5120
"""
    )


def test_one_part_alone(capsys: pytest.CaptureFixture[str], sample: Path) -> None:
    done = autoclave(capsys, "inspect", sample, "--part", "1928x1208")
    assert "part 1928x1208" in done.out
    assert "part run" not in done.out


def test_unknown_part_gets_a_suggestion(capsys: pytest.CaptureFixture[str], sample: Path) -> None:
    done = autoclave(capsys, "inspect", sample, "--part", "rnu")
    assert done.code == 2
    assert "there is no part rnu; did you mean run?" in done.err


def test_number_of_weights_can_be_chosen(capsys: pytest.CaptureFixture[str], sample: Path) -> None:
    done = autoclave(capsys, "inspect", sample, "--part", "run", "--weights", "1")
    assert "biggest weights (1 of 2)\n    conv.weight  1.0 KiB  at 4096\n" in done.out
    assert "bias" not in done.out


def test_json_holds_numbers_for_scripts(capsys: pytest.CaptureFixture[str], sample: Path) -> None:
    found = autoclave(capsys, "inspect", sample, "--json").json
    assert found["sha256"] == hashlib.sha256(sample.read_bytes()).hexdigest()
    assert (found["size"], found["format"], found["kernels"]) == (sample.stat().st_size, 1, 2)
    run, warp = found["parts"]
    assert (run["key"], warp["key"]) == ("run", [1928, 1208])
    assert (run["launches"], run["copies"], run["init_launches"], run["init_copies"]) == (2, 1, 1, 0)
    assert {use["kind"]: use["nbytes"] for use in run["memory"]} == {
        "input": 64,
        "constant": 1032,
        "persistent": 1024,
        "arena": 4096,
        "output": 64,
    }
    assert run["kernels"][0] == {
        "index": 0,
        "name": "r_16_4",
        "renderer": "ir3",
        "code": 24,
        "launches": 2,
        "init_launches": 0,
    }
    assert run["weights"][0] == {"name": "conv.weight", "buffer": 2, "data": {"offset": 4096, "length": 1024}}


def test_names_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    hostile = "\x1b]0;owned\x07\u202e\rname"
    part = Part(
        hostile,
        Target(hostile, "IR3", "a630"),
        (),
        (TensorSpec(hostile, (1,), "int8", 0),),
        (Buffer("output", 1),),
        (),
        (),
    )
    with ArtifactWriter(tmp_path / "hostile.pkl") as writer:
        writer.finish(Header({hostile: hostile}, (), (part,)))
    out = autoclave(capsys, "inspect", tmp_path / "hostile.pkl").out
    assert not {"\x1b", "\x07", "\u202e", "\r"} & set(out)
    assert r"\x1b]0;owned\x07\u202e\rname" in out
