"""`autoclave verify`."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from artifact.sample_artifacts import write_sample
from cli.command_line import autoclave

from autoclave.artifact.reader import open_artifact
from autoclave.parity.check_file import CheckFile, PartCheck, Recorder, write_check


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    write_sample(tmp_path / "sample.pkl")
    return tmp_path / "sample.pkl"


def sha256_of(path: Path) -> str:
    with open_artifact(path) as artifact:
        return artifact.sha256()


def write_statement(path: Path, sha256: str, **changes: object) -> Path:
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "sample.pkl", "digest": {"sha256": sha256}}],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {"buildDefinition": {"resolvedDependencies": [{"name": "onnx"}, {"name": "tinygrad"}]}},
        **changes,
    }
    path.write_text(json.dumps(statement))
    return path


def write_check_for(path: Path, sha256: str) -> Path:
    run_inputs: dict[str, np.ndarray[Any, Any]] = {
        "img": np.zeros((1, 4, 8), np.uint8),
        "state": np.zeros(16, np.float16),
    }
    parts = (PartCheck("run", 42, run_inputs, {}), PartCheck((1928, 1208), 42, {}, {}))
    write_check(path, CheckFile(sha256, Recorder("none", "", ""), parts))
    return path


def test_well_formed_artifact_is_good(capsys: pytest.CaptureFixture[str], sample: Path) -> None:
    done = autoclave(capsys, "verify", sample)
    assert done.code == 0
    assert done.out == (
        "good    format: 8.8 KiB, 2 parts, 2 kernels\n"
        f"good    sha256: {sha256_of(sample)} (give --sha256 to compare it)\n"
    )


def test_right_sha256_is_good_in_either_case(capsys: pytest.CaptureFixture[str], sample: Path) -> None:
    assert autoclave(capsys, "verify", sample, "--sha256", sha256_of(sample)).code == 0
    assert autoclave(capsys, "verify", sample, "--sha256", sha256_of(sample).upper()).code == 0


def test_wrong_sha256_fails(capsys: pytest.CaptureFixture[str], sample: Path) -> None:
    done = autoclave(capsys, "verify", sample, "--sha256", "0" * 64)
    assert done.code == 1
    assert f"FAILED  sha256: expected {'0' * 64}, found {sha256_of(sample)}" in done.out


def test_what_is_no_sha256_is_bad_usage(capsys: pytest.CaptureFixture[str], sample: Path) -> None:
    done = autoclave(capsys, "verify", sample, "--sha256", "abc")
    assert done.code == 2
    assert "'abc' is not a sha256: expected 64 hexadecimal digits" in done.err


def test_bytes_hidden_between_sections_fail(capsys: pytest.CaptureFixture[str], sample: Path) -> None:
    data = bytearray(sample.read_bytes())
    data[5156] = 1  # behind the second weight, 32 bytes at 5120
    sample.write_bytes(data)
    done = autoclave(capsys, "verify", sample)
    assert done.code == 1
    assert "FAILED  format: byte 5156 belongs to no section and is not zero" in done.out


def test_check_file_of_this_artifact_is_good(capsys: pytest.CaptureFixture[str], sample: Path) -> None:
    check = write_check_for(sample.with_suffix(".check.zst"), sha256_of(sample))
    done = autoclave(capsys, "verify", sample, "--check", check)
    assert done.code == 0
    assert f"good    check file: {check} is for this artifact; recorded by none" in done.out


def test_check_file_of_another_artifact_fails(capsys: pytest.CaptureFixture[str], sample: Path) -> None:
    done = autoclave(capsys, "verify", sample, "--check", write_check_for(sample.with_suffix(".zst"), "1" * 64))
    assert done.code == 1
    assert "FAILED  check file: " in done.out
    assert f"recorded for artifact {'1' * 64}" in done.out


def test_provenance_that_names_the_artifact_is_good(capsys: pytest.CaptureFixture[str], sample: Path) -> None:
    statement = write_statement(sample.with_suffix(".json"), sha256_of(sample))
    done = autoclave(capsys, "verify", sample, "--provenance", statement)
    assert done.code == 0
    assert f"good    provenance: {statement} names it sample.pkl, with 2 inputs" in done.out


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"subject": []}, "none of its subjects has sha256"),
        ({"subject": [{"name": "x", "digest": {"sha256": "2" * 64}}]}, f"x has {'2' * 64}"),
        ({"subject": [{"name": "x"}]}, "a subject has no digest.sha256"),
        ({"subject": {}}, "has no list of subjects"),
        ({"_type": "https://in-toto.io/Statement/v9"}, "not an in-toto statement"),
        ({"predicateType": "https://example.com/else"}, "not a provenance statement"),
        ({"predicate": None, "subject": None}, "has no list of subjects"),
    ],
)
def test_other_provenance_fails(
    capsys: pytest.CaptureFixture[str], sample: Path, changes: dict[str, object], message: str
) -> None:
    statement = write_statement(sample.with_suffix(".json"), sha256_of(sample), **changes)
    done = autoclave(capsys, "verify", sample, "--provenance", statement)
    assert done.code == 1
    assert message in done.out


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, "[]", '"text"', "null"], ids=["empty", "cut", "deep", "list", "text", "null"]
)
def test_provenance_that_is_no_statement_fails(capsys: pytest.CaptureFixture[str], sample: Path, text: str) -> None:
    statement = sample.with_suffix(".json")
    statement.write_text(text)
    assert autoclave(capsys, "verify", sample, "--provenance", statement).code == 1


def test_what_is_no_artifact_gives_exit_code_2(capsys: pytest.CaptureFixture[str], sample: Path) -> None:
    sample.write_bytes(sample.read_bytes()[:-1])
    done = autoclave(capsys, "verify", sample)
    assert done.code == 2
    assert "the file is cut short" in done.err
