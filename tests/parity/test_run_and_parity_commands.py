"""`autoclave run` and `autoclave parity`, through the command's own entry point, down to the native code."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from native.cpu_artifacts import ADD_BYTES, example_inputs, expected_result, write_artifact
from parity.reference_models import write_reference

from autoclave.artifact.model import Target
from autoclave.artifact.reader import open_artifact
from autoclave.cli import confined
from autoclave.cli.main import main
from autoclave.errors import AutoclaveError
from autoclave.parity.check_file import read_check
from autoclave.parity.inputs import check_inputs

if TYPE_CHECKING:  # found by name or run as processes of their own; said here so that Pants knows
    import autoclave.cli.parity
    import autoclave.cli.run
    import autoclave.native.__main__
    import autoclave.parity.__main__
    import autoclave.parity.record
    import autoclave.parity.reference
    import autoclave.source.upcast  # noqa: F401

OPEN = ("--sandbox", "none")


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: an artifact, its reference model and inputs."""
    monkeypatch.chdir(tmp_path)
    write_artifact(tmp_path / "model.pkl")
    write_reference(tmp_path / "model.onnx")
    np.savez(tmp_path / "in.npz", **example_inputs())  # type: ignore[arg-type]
    return tmp_path


def test_run_gives_what_numpy_gives(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["run", "model.pkl", "--inputs", "in.npz", "--output", "made/out.npz", *OPEN])

    assert code == 0
    with np.load(directory / "made/out.npz") as outputs:
        assert np.array_equal(outputs["result"], expected_result(**example_inputs()))
    heading, row = capsys.readouterr().out.splitlines()
    assert row.split()[:3] == ["result", "float32", "2x4"]


def test_run_from_a_seed_and_timed(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["run", "model.pkl", "--seed", "42", "--repeat", "5", "--output", "out.npz", *OPEN])

    assert code == 0
    assert "forward, 5 times: median" in capsys.readouterr().out
    with open_artifact("model.pkl") as artifact, np.load("out.npz") as outputs:
        assert np.array_equal(outputs["result"], expected_result(**check_inputs(artifact.part("run"), 42)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["absent.pkl", "--seed", "1"], "absent.pkl: cannot be read", id="no-artifact"),
        pytest.param([".", "--seed", "1"], "not a regular file", id="directory"),
        pytest.param(["in.npz", "--seed", "1"], "in.npz", id="not-an-artifact"),
        pytest.param(["model.pkl", "--inputs", "absent.npz"], "absent.npz: cannot be read", id="no-inputs"),
        pytest.param(["model.pkl", "--inputs", "model.onnx"], "reading tensors from model.onnx", id="not-npz"),
        pytest.param(["model.pkl", "--seed", "1", "--part", "runs"], "no part runs; did you mean run", id="part"),
        pytest.param(["model.pkl", "--seed", "-1"], "expected a whole number", id="negative-seed"),
        pytest.param(
            ["model.pkl"], "one of the arguments --inputs --seed --frames is required", id="nothing-to-run-on"
        ),
        pytest.param(["model.pkl", "--seed", "1", "--inputs", "in.npz"], "not allowed with", id="both"),
    ],
)
def test_run_refuses_in_the_users_words(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["run", *arguments, *OPEN])

    error = capsys.readouterr().err
    assert code == 2
    assert error.startswith("autoclave: error: ") and message in error
    assert "inputs/artifact" not in error and "Traceback" not in error


def test_run_refuses_other_hardware(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_artifact(directory / "model.pkl", Target("METAL", "Metal", "m1"))

    assert main(["run", "model.pkl", "--seed", "1", *OPEN]) == 2
    assert (
        "model.pkl: it is for METAL; run takes artifacts of hardware cpu, qcom and chestnut" in capsys.readouterr().err
    )


def test_code_that_crashes_is_told(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    crash = "define void @add_bytes(ptr %0, ptr %1, ptr %2) {\n  call void @llvm.trap()\n  ret void\n}\ndeclare void @llvm.trap()"
    write_artifact(directory / "model.pkl", add_bytes=crash)

    assert main(["run", "model.pkl", "--seed", "1", *OPEN]) == 2
    assert "autoclave.native ended with exit code" in capsys.readouterr().err


def test_links_left_by_the_code_are_not_followed(directory: Path) -> None:
    (directory / "out").mkdir()
    (directory / "out/outputs.npz").symlink_to(directory / "in.npz")

    with pytest.raises(AutoclaveError, match=r"did not write out/outputs\.npz"):
        confined.deliver(directory, "out/outputs.npz", directory / "stolen.npz")


def test_record_replay_check(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded = main(["parity", "record", "model.pkl", "model.check.zst", *OPEN])
    replayed = main(["parity", "replay", "model.pkl", "model.check.zst", *OPEN])
    checked = main(
        ["parity", "check", "model.pkl", "model.check.zst", "--reference", "model.onnx", "--report", "r.json", *OPEN]
    )

    assert (recorded, replayed, checked) == (0, 0, 0)
    assert capsys.readouterr().out.endswith("parity: ok\n")
    assert read_check(directory / "model.check.zst").recorded_by.kind == "cpu"
    assert json.loads((directory / "r.json").read_text())["status"] == "passed"


def test_failed_check_says_how_to_repeat_it(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["parity", "record", "model.pkl", "model.check.zst", *OPEN])
    write_reference(directory / "model.onnx", factor=3.1)

    code = main(["parity", "check", "model.pkl", "model.check.zst", "--reference", "model.onnx", *OPEN])

    assert code == 1
    assert capsys.readouterr().out.endswith(
        "reproduce with: autoclave parity check model.pkl model.check.zst --reference model.onnx\n"
    )


def test_check_file_of_another_artifact(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["parity", "record", "model.pkl", "model.check.zst", *OPEN])
    write_artifact(directory / "model.pkl", add_bytes=ADD_BYTES.replace("fadd", "fsub"))

    assert main(["parity", "replay", "model.pkl", "model.check.zst", *OPEN]) == 2
    assert "model.check.zst: it was recorded for artifact" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["check", "model.pkl", "c"], ["replay", "model.pkl", "c", "--reference", "m"]])
def test_reference_belongs_to_check(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parity", *arguments, *OPEN]) == 2
    assert "parity check needs --reference" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["record", "model.pkl", "c", "--bisect", "model.pkl"], "parity record takes no --bisect"),
        (["record", "model.pkl", "c", "--device-recording", "o"], "parity record takes no --device-recording"),
        (["record", "model.pkl", "c", "--report", "o"], "parity record takes no --report"),
        (["record", "model.pkl", "c", "--tolerance", "0"], "parity record takes no --tolerance"),
        (["replay", "model.pkl", "c", "--tolerance", "0"], "parity replay takes no --tolerance"),
        (["replay", "model.pkl", "c", "--tolerance-reason", "r"], "parity replay takes no --tolerance-reason"),
        (["replay", "model.pkl", "c", "--launches", "o"], "parity replay takes no --launches"),
        (
            ["replay", "model.pkl", "c", "--bisect", "model.pkl"],
            "--bisect is for artifacts that run on an emulator; model.pkl is",
        ),
        (["record", "absent.pkl", "c"], "absent.pkl: cannot be read"),
    ],
)
def test_options_out_of_place_are_refused(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["parity", *arguments, *OPEN]) == 2
    assert message in capsys.readouterr().err


def test_without_bubblewrap_nothing_runs(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(directory))

    code = main(["run", "model.pkl", "--seed", "42", "--output", "out.npz"])

    assert code == 2
    error = capsys.readouterr().err
    assert "bubblewrap" in error and "--sandbox none" in error
    assert not (directory / "out.npz").exists()


def test_run_in_bubblewrap(directory: Path) -> None:
    code = main(["run", "model.pkl", "--inputs", "in.npz", "--output", "out.npz"])

    assert code == 0
    with np.load(directory / "out.npz") as outputs:
        assert np.array_equal(outputs["result"], expected_result(**example_inputs()))
