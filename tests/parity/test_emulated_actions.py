"""The actions record, parity and bisect of a630 artifacts, on a small artifact and the emulator."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulator.a630_artifacts import ADD_BYTES, ASTRAY, DOUBLE, MULTIPLY, WEIGHTS, expected_result, write_artifact
from emulator.a630_programs import code_of, ins
from emulator.gfx1200_artifacts import MULTIPLY_MATRICES, write_gfx1200_artifact
from parity.reference_models import write_reference

from autoclave.artifact.reader import open_artifact
from autoclave.emulator import extract, translate
from autoclave.parity.check_file import read_check, write_check
from autoclave.parity.emulated import __main__ as parity
from autoclave.parity.emulated import bisect, record
from autoclave.parity.emulated.launches import read_launches
from autoclave.parity.inputs import check_inputs


@dataclass(frozen=True)
class Outcome:
    """What an action returned and printed."""

    code: int
    stdout: str
    stderr: str


RunAction = Callable[[Callable[[list[str]], int], dict[str, Any]], Outcome]

RECORD = {"artifact": "model.pkl", "output": "model.check.zst", "seed": 42}
CHECK = {
    "artifact": "model.pkl",
    "check": "model.check.zst",
    "reference_model": "model.onnx",
    "command": "./pants test --force models:tiny-parity",
    "report": "out/report.json",
}
WITHOUT_REFERENCE = {name: value for name, value in CHECK.items() if name != "reference_model"}
TRANSLATE = {"kernels": "kernels.json", "cpu": "x86-64-v3", "output": "translations"}
RECORDING = {"lanes": 4, "quick": True}
REPLAYING = {"lanes": 8, "quick": False}
BISECT = {"artifact": "model.pkl", "check": "model.check.zst", "other": "other.pkl"}

ADD_BYTES_TWICE = [*ADD_BYTES[:-2], ins("add.f", "r5.x", "r5.x", "r4.y"), *ADD_BYTES[-2:]]
"""out = a + uint8 b + uint8 b"""


@pytest.fixture
def run_action(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> RunAction:
    """Runs an action's `main` on a request, in a directory that is its working directory."""
    monkeypatch.chdir(tmp_path)

    def run(main: Callable[[list[str]], int], request: dict[str, Any]) -> Outcome:
        Path("request.json").write_text(json.dumps(request))
        capsys.readouterr()
        return Outcome(main(["request.json"]), *capsys.readouterr())

    return run


@pytest.fixture
def directory(tmp_path: Path, run_action: RunAction) -> Path:
    """A directory with an artifact, its recorded check file and its reference model."""
    write_artifact(tmp_path / "model.pkl")
    write_reference(tmp_path / "model.onnx")
    recorded = run_action(record.main, RECORD)
    assert recorded.code == 0, recorded.stderr
    return tmp_path


def test_outputs_that_are_not_finite_are_not_recorded(tmp_path: Path, run_action: RunAction) -> None:
    write_artifact(tmp_path / "model.pkl", weights=np.where(WEIGHTS == 1, np.float32(np.inf), WEIGHTS))

    outcome = run_action(record.main, RECORD)

    assert outcome.code != 0
    assert "part run with the inputs of seed 42: output result: 1 of 8 values are not finite" in outcome.stderr
    assert not (tmp_path / RECORD["output"]).exists()


def replace_artifact(directory: Path, *arguments: Any, **changes: Any) -> None:
    """Write another artifact under the name of the first, and bind the check file to it, as an attacker would."""
    sha256 = write_artifact(directory / "model.pkl", *arguments, **changes)
    check = read_check(directory / "model.check.zst")
    write_check(directory / "model.check.zst", replace(check, artifact_sha256=sha256))


def test_emulator_records_what_numpy_gives(directory: Path) -> None:
    check = read_check(directory / "model.check.zst")

    assert check.recorded_by.kind == "emulator"
    with open_artifact(directory / "model.pkl") as artifact:
        expected = expected_result(**check_inputs(artifact.part("run"), 42))
    assert check.parts[0].outputs["result"].tobytes() == expected.tobytes()


def test_good_artifact_passes_every_rung_that_can_be_climbed(directory: Path, run_action: RunAction) -> None:
    done = run_action(parity.main, CHECK)

    assert (done.code, done.stderr) == (0, ""), done.stdout
    report = json.loads((directory / "out/report.json").read_text())
    assert [(result["gate"], result["subject"], result["status"]) for result in report["parts"][0]["results"]] == [
        ("replay", "result", "passed"),
        ("finite", "result", "passed"),
        ("sensitivity", "pixels", "passed"),
        ("sensitivity", "x", "passed"),
        ("dependence", "result", "passed"),
        ("repeat", "result", "passed"),
        ("cross-check", "3 kernels", "passed"),
        ("reference", "result", "passed"),
        ("change", "result", "passed"),
        ("evidence", "executed instructions", "passed"),
        ("device", "all outputs", "warning"),
    ]
    assert "WARNING rung 6 device: all outputs: no device_recording was given" in done.stdout


def test_translations_of_an_action_give_the_same_verdict(directory: Path, run_action: RunAction) -> None:
    translated = {"translations": "translations", "cpu": "x86-64-v3"}
    run_action(extract.main, {"artifact": "model.pkl", "output": "kernels.json"})
    fresh = (directory / "model.check.zst").read_bytes()
    for main, request, made in ((record.main, RECORD, RECORDING), (parity.main, CHECK, REPLAYING)):
        assert run_action(translate.main, TRANSLATE | made).code == 0
        assert run_action(main, request | translated).code == 0

    assert (directory / "model.check.zst").read_bytes() == fresh


def test_translations_for_another_lane_width_are_refused(directory: Path, run_action: RunAction) -> None:
    run_action(extract.main, {"artifact": "model.pkl", "output": "kernels.json"})
    run_action(translate.main, TRANSLATE | RECORDING)

    done = run_action(parity.main, CHECK | {"translations": "translations", "cpu": "x86-64-v3"})

    assert done.code == 2
    assert "has none of it for x86-64-v3 with 8 lanes" in done.stderr


def test_tampered_check_file_fails_and_is_found(directory: Path, run_action: RunAction) -> None:
    check = read_check(directory / "model.check.zst")
    result = check.parts[0].outputs["result"].copy()
    result[1, 3] = np.nextafter(result[1, 3], np.float32(np.inf))
    changed = replace(check, parts=(replace(check.parts[0], outputs={"result": result}),))
    write_check(directory / "model.check.zst", changed)

    done = run_action(parity.main, CHECK)

    assert done.code == 1
    assert "FAILED  rung 3 replay: result: 1 of 8 values differ from the recorded ones" in done.stdout
    assert "the first at index [1, 3]" in done.stdout


def test_tampered_kernel_bit_fails_and_is_found(directory: Path, run_action: RunAction) -> None:
    code = bytearray(code_of(ADD_BYTES))
    place = 8 * next(pc for pc, instruction in enumerate(ADD_BYTES) if instruction.name == "add.f")
    code[place] ^= 1  # another register to add
    replace_artifact(directory, bytes(code))

    done = run_action(parity.main, CHECK)

    assert done.code == 1
    assert "FAILED  rung 3 replay: result:" in done.stdout


def test_kernel_that_reaches_astray_is_a_failure(directory: Path, run_action: RunAction) -> None:
    replace_artifact(directory, ASTRAY, name="astray")

    done = run_action(parity.main, CHECK)

    assert done.code == 1
    assert "FAILED  rung 3 replay: all outputs: " in done.stdout and "astray" in done.stdout


def test_matrices_that_not_all_lanes_multiply_are_a_warning(directory: Path, run_action: RunAction) -> None:
    write_gfx1200_artifact(directory / "model.pkl", MULTIPLY_MATRICES)
    assert run_action(record.main, RECORD).code == 0

    done = run_action(parity.main, CHECK)

    assert done.code == 0
    assert "WARNING rung 3 replay, matrices: kernel 2 add_bytes: lanes may not all reach its products" in done.stdout
    assert "compile it with a renderer that keeps them in place (docs/toolchains.md" in done.stdout


def test_artifact_without_matrices_has_no_word_of_them(directory: Path, run_action: RunAction) -> None:
    write_gfx1200_artifact(directory / "model.pkl")
    assert run_action(record.main, RECORD).code == 0

    assert "matrices" not in run_action(parity.main, CHECK).stdout


def test_wrong_translation_is_caught_by_the_interpreter(
    directory: Path, run_action: RunAction, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A launch that leaves one bit otherwise than the instructions say."""
    from autoclave.emulator.model import EmulatedModel, Step

    execute = EmulatedModel.execute

    def execute_wrongly(model: EmulatedModel, step: Step) -> Any:
        done = execute(model, step)
        if step.name == "multiply":
            assert step.launch is not None
            step.launch.buffers[0].memory[0] ^= 1
        return done

    monkeypatch.setattr(EmulatedModel, "execute", execute_wrongly)

    done = run_action(parity.main, CHECK)

    assert done.code == 1
    assert "FAILED  rung 3 replay, cross-check: kernel 1 multiply: 1 of " in done.stdout
    assert "workgroup (0, 0, 0), thread 0: buffer 0 + 0" in done.stdout
    assert "rung 3 replay: result: all 8 values equal" in done.stdout


def test_evidence_that_is_not_there_is_a_failure_of_its_own_kind(directory: Path, run_action: RunAction) -> None:
    done = run_action(parity.main, CHECK | {"require_hardware_evidence": True})

    assert done.code == 3
    assert "UNVERIFIED rung 5 evidence: executed instructions: " in done.stdout
    assert "not verified for " in done.stdout
    assert done.stdout.splitlines()[-2:] == ["parity: UNVERIFIED", f"reproduce with: {CHECK['command']}"]


def test_recorded_launches_have_all_that_was_written(directory: Path, run_action: RunAction) -> None:
    assert run_action(record.main, RECORD | {"launches": "out/launches.json"}).code == 0

    (part,) = read_launches(directory / "out/launches.json").parts
    assert [(launch.stage, launch.kernel, launch.written[0].name) for launch in part.launches] == [
        ("init", "double", "persistent buffer 3"),
        ("run", "multiply", "arena + 0"),
        ("run", "copy", "arena + 128"),
        ("run", "add_bytes", "output result"),
    ]


def test_bisect_of_equal_artifacts_finds_nothing(directory: Path, run_action: RunAction) -> None:
    write_artifact(directory / "other.pkl")

    done = run_action(bisect.main, BISECT)

    assert (done.code, done.stdout) == (0, "bisect: all 4 launches leave the same bits\n")


def test_bisect_finds_the_kernel_that_changed(directory: Path, run_action: RunAction) -> None:
    write_artifact(directory / "other.pkl", ADD_BYTES_TWICE)

    done = run_action(bisect.main, BISECT)

    assert done.code == 1
    lines = done.stdout.splitlines()
    assert lines[0] == "bisect: launch 2 of run, kernel 2 add_bytes, is the first that differs"
    assert lines[1] == "  writes output result, float32:"
    assert "8 of 8 values, the first at index [0]" in lines[2] or "of 8 values, the first at index" in lines[2]
    assert "expected 0x" in lines[3] and "got      0x" in lines[4]
    removed = [line for line in lines if line.startswith("    - ")]
    assert len(removed) == 1 and "add.f r5.x, r5.x, r4.y" in removed[0]


def test_bisect_finds_the_weight_that_changed(directory: Path, run_action: RunAction) -> None:
    weights = WEIGHTS.copy()
    weights[5] = 7
    write_artifact(directory / "other.pkl", weights=weights)

    done = run_action(bisect.main, BISECT)

    lines = done.stdout.splitlines()
    assert lines[:3] == [
        "bisect: launch 0 of init, kernel 0 double, is the first that differs",
        "  reads constant weights, float32:",
        "    1 of 8 values, the first at index [5]",
    ]
    assert lines[3:5] == ["    expected 0x40e00000 = 7.0", "    got      0x3fc00000 = 1.5"]
    assert "  its code, the same on both sides:" in lines


def test_bisect_tells_where_the_launches_part(directory: Path, run_action: RunAction) -> None:
    write_artifact(directory / "other.pkl", name="add_other_bytes")

    done = run_action(bisect.main, BISECT)

    assert done.code == 1
    assert done.stdout == (
        "bisect: up to launch 2 of run, kernel 2 add_bytes all is the same; there the other side launches add_other_bytes\n"
    )


def test_bisect_against_a_recording(directory: Path, run_action: RunAction) -> None:
    run_action(record.main, RECORD | {"launches": "launches.json"})
    same = run_action(bisect.main, BISECT | {"other": "launches.json"})
    replace_artifact(directory, ADD_BYTES_TWICE)

    done = run_action(bisect.main, BISECT | {"other": "launches.json"})

    assert same.code == 0
    assert done.code == 1
    lines = done.stdout.splitlines()
    assert lines[:4] == [
        "bisect: launch 2 of run, kernel 2 add_bytes, is the first that differs",
        "  writes output result, float32:",
        "    1 of 1 blocks of 1024 bytes differ from the recorded hashes",
        "    the first has the values 0 to 7, of 8",
    ]
    assert any("add.f r5.x, r5.x, r4.y" in line for line in lines)


BOTH: tuple[str | tuple[int, int], ...] = ("run", (1928, 1208))


@pytest.mark.parametrize(
    ("keys", "part", "lines"),
    [
        (BOTH, None, ["run: all 4", "1928x1208: launch 2 of run"]),
        (BOTH[::-1], None, ["1928x1208: launch 2 of run"]),
        (BOTH, "run", ["run: all 4"]),
        (BOTH, "1928x1208", ["1928x1208: launch 2 of run"]),
    ],
)
def test_bisect_goes_through_the_parts_or_takes_one(
    directory: Path, run_action: RunAction, keys: tuple[str | tuple[int, int], ...], part: str | None, lines: list[str]
) -> None:
    write_artifact(directory / "model.pkl", keys=keys)
    run_action(record.main, RECORD | {"launches": "launches.json"})
    recorded = json.loads((directory / "launches.json").read_text())
    (warp,) = [each for each in recorded["parts"] if each["key"] == [1928, 1208]]
    warp["launches"][3]["written"][0]["blocks"] = ["0123456789abcdef"]
    (directory / "launches.json").write_text(json.dumps(recorded))

    done = run_action(bisect.main, BISECT | {"other": "launches.json"} | ({"part": part} if part else {}))

    reported = [line for line in done.stdout.splitlines() if line.startswith("bisect: ")]
    assert done.code == ("launch 2" in lines[-1])
    assert [line.startswith(f"bisect: part {each}") for line, each in zip(reported, lines, strict=True)] == [
        True
    ] * len(lines)


@pytest.mark.parametrize(("change", "verdict", "code"), [(0, "ok", 0), (1, "FAILED", 1)])
def test_device_recording_of_several_parts(
    directory: Path, run_action: RunAction, change: float, verdict: str, code: int
) -> None:
    sha256 = write_artifact(directory / "model.pkl", keys=("run", "walk"))
    run_action(record.main, RECORD)
    run, walk = (part.outputs["result"] for part in read_check(directory / "model.check.zst").parts)
    outputs = {"run/result": run, "walk/result": walk + np.float32(change)}
    np.savez(directory / "device.npz", artifact_sha256=np.frombuffer(bytes.fromhex(sha256), np.uint8), **outputs)

    done = run_action(parity.main, WITHOUT_REFERENCE | {"device_recording": "device.npz"})

    found = [line.split(": ")[0].split() for line in done.stdout.splitlines() if " rung 6 " in line]
    assert found == [["ok", "rung", "6", "device"], [verdict, "rung", "6", "device"]]
    assert done.code == code


def test_device_recording_of_one_of_several_parts_is_unusable(directory: Path, run_action: RunAction) -> None:
    sha256 = write_artifact(directory / "model.pkl", keys=("run", "walk"))
    run_action(record.main, RECORD)
    run, _ = read_check(directory / "model.check.zst").parts
    digest = np.frombuffer(bytes.fromhex(sha256), np.uint8)
    np.savez(directory / "device.npz", artifact_sha256=digest, result=run.outputs["result"])

    done = run_action(parity.main, WITHOUT_REFERENCE | {"device_recording": "device.npz"})

    assert done.code == 2
    assert "missing: run/result, walk/result; not known: result" in done.stderr


def test_bisect_compares_parts_of_the_same_key(directory: Path, run_action: RunAction) -> None:
    write_artifact(directory / "model.pkl", keys=BOTH)
    run_action(record.main, RECORD)
    write_artifact(directory / "other.pkl", keys=BOTH[::-1])
    same = run_action(bisect.main, BISECT)
    write_artifact(directory / "other.pkl")

    done = run_action(bisect.main, BISECT)

    assert same.code == 0
    assert (done.code, "there is no part 1928x1208; it has run" in done.stderr) == (2, True)


def test_bisect_refuses_another_device(directory: Path, run_action: RunAction) -> None:
    write_gfx1200_artifact(directory / "other.pkl")

    done = run_action(bisect.main, BISECT)

    assert (done.code, done.stdout) == (2, "")
    assert "other.pkl: part run is for AMD, that of model.pkl for QCOM" in done.stderr


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{}", "is not what `autoclave parity record --launches` writes"),
        (b'{"format":9}', "it has format 9"),
        (b"{" * 5000, "is not what"),
        (b"none", "other.pkl"),
    ],
)
def test_other_side_that_is_neither(directory: Path, run_action: RunAction, content: bytes, message: str) -> None:
    (directory / "other.pkl").write_bytes(content)

    done = run_action(bisect.main, BISECT)

    assert (done.code, done.stdout) == (2, "")
    assert message in done.stderr


def test_kernels_of_the_tests_are_told_apart() -> None:
    assert len({code_of(code) for code in (DOUBLE, MULTIPLY, ADD_BYTES, ADD_BYTES_TWICE)}) == 4
