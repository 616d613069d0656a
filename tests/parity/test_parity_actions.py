"""The actions record, reference and parity, on a small CPU artifact."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from native.cpu_artifacts import write_artifact
from parity.reference_models import write_reference

from autoclave.artifact.model import Target
from autoclave.parity import __main__ as parity
from autoclave.parity import record, reference
from autoclave.parity.check_file import Recorder, read_check, write_check
from autoclave.parity.gates import tensor_sha256


@dataclass(frozen=True)
class Outcome:
    """What an action returned and printed."""

    code: int
    stdout: str
    stderr: str


RunAction = Callable[[Callable[[list[str]], int], dict[str, Any]], Outcome]


@pytest.fixture
def run_action(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> RunAction:
    """Runs an action's `main` on a request, in a directory that is its working directory."""
    monkeypatch.chdir(tmp_path)

    def run(main: Callable[[list[str]], int], request: dict[str, Any]) -> Outcome:
        Path("request.json").write_text(json.dumps(request))
        capsys.readouterr()
        return Outcome(main(["request.json"]), *capsys.readouterr())

    return run


RECORD = {"artifact": "model.pkl", "output": "model.check.zst", "seed": 42}
CHECK = {
    "artifact": "model.pkl",
    "check": "model.check.zst",
    "reference_model": "model.onnx",
    "command": "./pants test --force models:tiny-parity",
    "report": "out/report.json",
}


@pytest.fixture
def directory(tmp_path: Path, run_action: RunAction) -> Path:
    """A directory with an artifact, its recorded check file and its reference model."""
    write_artifact(tmp_path / "model.pkl")
    write_reference(tmp_path / "model.onnx")
    recorded = run_action(record.main, RECORD)
    assert recorded.code == 0, recorded.stderr
    return tmp_path


def change_recorded_output(directory: Path) -> None:
    """Set the last recorded value one unit in the last place higher."""
    check = read_check(directory / "model.check.zst")
    result = check.parts[0].outputs["result"].copy()
    result[1, 3] = np.nextafter(result[1, 3], np.float32(np.inf))
    write_check(
        directory / "model.check.zst", replace(check, parts=(replace(check.parts[0], outputs={"result": result}),))
    )


def test_good_artifact_passes(directory: Path, run_action: RunAction) -> None:
    done = run_action(parity.main, CHECK)

    assert (done.code, done.stderr) == (0, "")
    assert done.stdout.endswith("parity: ok\n")
    report = json.loads((directory / "out/report.json").read_text())
    assert report["status"] == "passed"
    assert [(result["gate"], result["subject"]) for result in report["parts"][0]["results"]] == [
        ("replay", "result"),
        ("finite", "result"),
        ("sensitivity", "pixels"),
        ("sensitivity", "x"),
        ("dependence", "result"),
        ("repeat", "result"),
        ("reference", "result"),
        ("change", "result"),
    ]


def test_recording_twice_gives_the_same_bytes(directory: Path, run_action: RunAction) -> None:
    first = (directory / "model.check.zst").read_bytes()

    run_action(record.main, RECORD)

    assert (directory / "model.check.zst").read_bytes() == first


def test_one_bit_fails_and_is_found(directory: Path, run_action: RunAction) -> None:
    change_recorded_output(directory)

    done = run_action(parity.main, CHECK)

    assert done.code == 1
    assert "FAILED  rung 3 replay: result: 1 of 8 values differ" in done.stdout
    assert "the first at index [1, 3]" in done.stdout
    assert done.stdout.endswith("reproduce with: ./pants test --force models:tiny-parity\n")
    assert json.loads((directory / "out/report.json").read_text())["status"] == "failed"


def test_artifact_that_computes_something_else_fails_against_the_reference(
    directory: Path, run_action: RunAction
) -> None:
    write_reference(directory / "model.onnx", factor=3.1)

    done = run_action(parity.main, CHECK)

    assert done.code == 1
    assert "FAILED  rung 4 reference: result: error " in done.stdout
    assert "rung 3 replay: result: all 8 values equal" in done.stdout


def test_looser_tolerance_with_a_reason_passes_and_is_shown(directory: Path, run_action: RunAction) -> None:
    write_reference(directory / "model.onnx", factor=3.1)

    done = run_action(parity.main, CHECK | {"tolerance": 0.5, "tolerance_reason": "the weights were rounded"})

    assert done.code == 0
    assert "allowed 0.5 (the weights were rounded)" in done.stdout


def test_pinned_outputs(directory: Path, run_action: RunAction) -> None:
    pinned = tensor_sha256(read_check(directory / "model.check.zst").parts[0].outputs["result"])

    good = run_action(parity.main, CHECK | {"pinned_outputs": {"result": pinned}})
    bad = run_action(parity.main, CHECK | {"pinned_outputs": {"result": "0" * 64}})

    assert (good.code, bad.code) == (0, 1)
    assert f"pinned: result: sha256 {pinned}, pinned is {'0' * 64}" in bad.stdout


def test_reference_action_gives_the_same_verdict(directory: Path, run_action: RunAction) -> None:
    request = {"reference_model": "model.onnx", "check": "model.check.zst", "output": "out/reference.npz"}
    computed = run_action(reference.main, request)
    assert computed.code == 0, computed.stderr
    by_model = run_action(parity.main, CHECK).stdout

    by_file = run_action(parity.main, CHECK | {"reference": "out/reference.npz", "reference_model": None}).stdout

    assert by_file == by_model


def test_missing_reference_is_a_warning(directory: Path, run_action: RunAction) -> None:
    done = run_action(parity.main, CHECK | {"reference_model": None})

    assert done.code == 0
    assert "WARNING rung 4 reference: all outputs: no reference model was given\n" in done.stdout
    assert done.stdout.endswith("parity: WARNING\n")


def test_demanded_evidence_is_the_processor_itself(directory: Path, run_action: RunAction) -> None:
    done = run_action(parity.main, CHECK | {"require_hardware_evidence": True})

    assert done.code == 0
    assert "ok      rung 5 evidence: all outputs: the hardware itself has computed them\n" in done.stdout


@pytest.mark.parametrize(("main", "wanted"), [(record.main, RECORD), (parity.main, CHECK)], ids=["record", "check"])
def test_artifacts_of_the_emulator_are_left_to_its_own_modules(
    directory: Path, run_action: RunAction, main: Callable[[list[str]], int], wanted: dict[str, Any]
) -> None:
    qcom = write_artifact(directory / "model.pkl", Target("QCOM", "IR3", "a630,IMAGE_PITCH_ALIGNMENT=64"))
    check = read_check(directory / "model.check.zst")
    write_check(directory / "model.check.zst", replace(check, artifact_sha256=qcom))

    done = run_action(main, wanted)

    assert done.code == 2
    assert "part run is for QCOM, and this module is for CPU;" in done.stderr


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"artifact": "absent.pkl"}, "absent.pkl", id="no-artifact"),
        pytest.param({"check": "model.onnx"}, "reading the check file model.onnx", id="not-a-check-file"),
        pytest.param({"reference_model": "model.pkl"}, "loading the reference model model.pkl", id="not-a-model"),
        pytest.param({"tolerance": 1}, "say why in tolerance_reason", id="looser-without-reason"),
        pytest.param({"pinned_outputs": {"resul": ""}}, "part run has no 'resul'; it has result", id="unknown-pin"),
        pytest.param({"unused_inputs": {"z": "?"}}, "part run has no 'z'; it has pixels, x", id="unknown-unused"),
        pytest.param({"check": None}, "has no field 'check'", id="field-missing"),
    ],
)
def test_unusable_requests_are_one_line(
    directory: Path, run_action: RunAction, changes: dict[str, Any], message: str
) -> None:
    request = {name: value for name, value in (CHECK | changes).items() if value is not None}

    done = run_action(parity.main, request)

    assert (done.code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ") and message in done.stderr


def test_reference_with_another_output_is_refused(directory: Path, run_action: RunAction) -> None:
    write_reference(directory / "model.onnx", output_name="answer")

    done = run_action(parity.main, CHECK)

    assert done.code == 2
    assert "the reference model has no output 'result'; it has answer" in done.stderr


def test_check_file_of_another_build_is_refused(directory: Path, run_action: RunAction) -> None:
    check = read_check(directory / "model.check.zst")
    write_check(directory / "model.check.zst", replace(check, artifact_sha256="0" * 64))

    done = run_action(parity.main, CHECK)

    assert done.code == 2
    assert "it was recorded for artifact " + "0" * 64 in done.stderr


def write_recording(directory: Path, artifact_sha256: str, change: float = 0.0) -> None:
    """What a device would have captured: the outputs of the check file, plus `change`."""
    result = read_check(directory / "model.check.zst").parts[0].outputs["result"]
    digest = np.frombuffer(bytes.fromhex(artifact_sha256), np.uint8)
    np.savez(directory / "device.npz", result=result + np.float32(change), artifact_sha256=digest)


def artifact_sha256(directory: Path) -> str:
    return hashlib.sha256((directory / "model.pkl").read_bytes()).hexdigest()


WITH_RECORDING = CHECK | {"device_recording": "device.npz"}


def test_device_recording_matches(directory: Path, run_action: RunAction) -> None:
    write_recording(directory, artifact_sha256(directory))

    done = run_action(parity.main, WITH_RECORDING)

    assert done.code == 0
    assert "ok      rung 6 device: result: all 8 values equal, bit for bit\n" in done.stdout


def test_device_recording_of_other_values_fails(directory: Path, run_action: RunAction) -> None:
    write_recording(directory, artifact_sha256(directory), change=0.5)

    done = run_action(parity.main, WITH_RECORDING)

    assert done.code == 1
    assert "FAILED  rung 6 device: result: 8 of 8 values differ from the recorded ones\n" in done.stdout
    assert "rung 3 replay: result: all 8 values equal" in done.stdout


def test_device_recording_of_another_artifact_fails(directory: Path, run_action: RunAction) -> None:
    write_recording(directory, "12" * 32)

    done = run_action(parity.main, WITH_RECORDING)

    assert done.code == 1
    assert f"FAILED  rung 6 device: all outputs: the recording is of artifact {'12' * 32}" in done.stdout


def test_device_recording_may_be_a_check_file(directory: Path, run_action: RunAction) -> None:
    check = read_check(directory / "model.check.zst")
    write_check(directory / "device.npz", replace(check, recorded_by=Recorder("device", "comma 3X", "1")))

    assert "ok      rung 6 device: result" in run_action(parity.main, WITH_RECORDING).stdout


@pytest.mark.parametrize(
    ("kind", "seed", "message"),
    [("cpu", 42, "made by cpu (autoclave.native), not on a device"), ("device", 43, "is not that of the check file")],
)
def test_check_file_that_is_no_device_recording_fails(
    directory: Path, run_action: RunAction, kind: str, seed: int, message: str
) -> None:
    run_action(record.main, RECORD | {"output": "other.check.zst", "seed": seed})
    check = read_check(directory / "other.check.zst")
    write_check(directory / "device.npz", replace(check, recorded_by=Recorder(kind, "autoclave.native", "1")))

    done = run_action(parity.main, WITH_RECORDING)

    assert done.code == 1
    assert message in done.stdout


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"PK\3\4 not really", "reading tensors from device.npz"), (b"", "reading the check file device.npz")],
)
def test_unreadable_device_recording_is_unusable(
    directory: Path, run_action: RunAction, content: bytes, message: str
) -> None:
    (directory / "device.npz").write_bytes(content)

    done = run_action(parity.main, WITH_RECORDING)

    assert (done.code, done.stdout) == (2, "")
    assert message in done.stderr
