"""What an artifact is verified by before any of it is used: each way to be given another file is refused by its name."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from native.cpu_artifacts import example_inputs, write_artifact

from autoclave.artifact.reader import open_artifact
from autoclave.parity.check_file import CheckFile, PartCheck, Recorder, write_check
from autoclave.runtime import LoadError, SyntheticRefused, Unverified, VerificationError
from autoclave.runtime.file import ArtifactFile
from autoclave.runtime.verification import Evidence, verify


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_artifact(tmp_path / "model.pkl")
    return tmp_path / "model.pkl"


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def verified(path: Path, **evidence: Any) -> str | None:
    with ArtifactFile(path) as artifact:
        return verify(artifact, Evidence(allow_synthetic=True, **evidence))


def statement(path: Path, name: str, digest: str) -> Path:
    content = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "other", "digest": {"sha256": "0" * 64}}, {"name": name, "digest": {"sha256": digest}}],
    }
    path.write_text(json.dumps(content))
    return path


def check_file(path: Path, artifact: Path, digest: str | None = None, **inputs: Any) -> Path:
    with open_artifact(artifact) as opened:
        part = PartCheck("run", 42, {**example_inputs(), **inputs}, {"result": np.zeros((2, 4), np.float32)})
        # In the artifact's order.
        ordered = {spec.name: part.inputs[spec.name] for spec in opened.part("run").inputs}
    part = PartCheck("run", 42, ordered, part.outputs)
    write_check(path, CheckFile(digest or sha256(artifact), Recorder("cpu", "test", "1"), (part,)))
    return path


def test_the_right_sha256_is_accepted_and_returned(path: Path) -> None:
    assert verified(path, sha256=sha256(path)) == sha256(path)
    assert verified(path, sha256=sha256(path).upper()) == sha256(path)


def test_another_sha256_is_refused(path: Path) -> None:
    with pytest.raises(VerificationError, match="the sha256 that was given says 0000"):
        verified(path, sha256="0" * 64)


def test_one_changed_byte_of_a_weight_is_refused(path: Path) -> None:
    before, data = sha256(path), bytearray(path.read_bytes())
    data[4096] ^= 1
    path.write_bytes(data)

    with pytest.raises(VerificationError):
        verified(path, sha256=before)


def test_an_artifact_without_evidence_is_refused_unless_that_is_allowed(path: Path) -> None:
    with pytest.raises(Unverified, match="what an artifact holds is executed"):
        verified(path)
    assert verified(path, allow_unverified=True) is None


def test_made_up_weights_are_refused_unless_they_are_allowed(path: Path) -> None:
    with ArtifactFile(path) as artifact, pytest.raises(SyntheticRefused, match="its weights are made up"):
        verify(artifact, Evidence(sha256=sha256(path)))


def test_a_provenance_statement_vouches_for_the_file_that_it_names(path: Path, tmp_path: Path) -> None:
    provenance = statement(tmp_path / "p.json", "model.pkl", sha256(path))
    assert verified(path, provenance=provenance) == sha256(path)


def test_a_provenance_statement_about_another_file_is_refused(path: Path, tmp_path: Path) -> None:
    with pytest.raises(VerificationError, match="p.json says 0000"):
        verified(path, provenance=statement(tmp_path / "p.json", "model.pkl", "0" * 64))
    with pytest.raises(VerificationError, match="no in-toto statement with a subject 'model.pkl'"):
        verified(path, provenance=statement(tmp_path / "p.json", "model2.pkl", sha256(path)))


@pytest.mark.parametrize("content", ["", "[]", "{}", "[" * 100_000, '{"_type": "https://in-toto.io/Statement/v1"}'])
def test_what_is_no_statement_is_refused(path: Path, tmp_path: Path, content: str) -> None:
    (tmp_path / "p.json").write_text(content)
    with pytest.raises(VerificationError):
        verified(path, provenance=tmp_path / "p.json")


def test_a_check_file_vouches_for_the_artifact_it_was_recorded_for(path: Path, tmp_path: Path) -> None:
    assert verified(path, check=check_file(tmp_path / "c.zst", path)) == sha256(path)


def test_a_check_file_of_another_artifact_is_refused(path: Path, tmp_path: Path) -> None:
    with pytest.raises(VerificationError, match="c.zst says abab"):
        verified(path, check=check_file(tmp_path / "c.zst", path, digest="ab" * 32))


def test_a_check_file_with_other_inputs_is_refused(path: Path, tmp_path: Path) -> None:
    check = check_file(tmp_path / "c.zst", path, pixels=np.zeros(9, np.uint8))
    with pytest.raises(VerificationError, match="it has no part run with the artifact's inputs and outputs"):
        verified(path, check=check)


@pytest.mark.parametrize("content", [b"", b"no zstandard", b"\x28\xb5\x2f\xfd" + bytes(20)])
def test_what_is_no_check_file_is_refused(path: Path, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "c.zst").write_bytes(content)
    with pytest.raises(VerificationError):
        verified(path, check=tmp_path / "c.zst")


def test_evidence_that_is_not_there_is_refused(path: Path, tmp_path: Path) -> None:
    for evidence in ("check", "provenance"):
        with pytest.raises(LoadError, match="cannot be read"):
            verified(path, **{evidence: tmp_path / "none"})
