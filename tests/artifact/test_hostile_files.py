"""Mutated artifacts are opened or refused with ArtifactError: no crash, no hang, no memory beyond the file's share."""

from pathlib import Path

import pytest
from artifact.hostile_mutations import SWELLING, mutations, swell_to_the_limit
from artifact.hostile_trial import ALLOWANCE, HostileTrial
from artifact.sample_artifacts import write_sample

SEED = 20261130
COUNT = 500


@pytest.fixture
def valid(tmp_path: Path) -> Path:
    write_sample(tmp_path / "valid.pkl")
    return tmp_path / "valid.pkl"


def test_500_mutations_are_opened_or_refused_within_the_memory_limit(tmp_path: Path, valid: Path) -> None:
    file = tmp_path / "mutation.pkl"
    results = {"opened": 0, "refused": 0}
    with HostileTrial(valid) as trial:
        for name, data in mutations(valid.read_bytes(), SEED, COUNT):
            file.write_bytes(data)
            outcome = trial.open(file)
            assert not outcome.is_defect, (name, outcome)
            assert outcome.memory <= 2 * len(data) + ALLOWANCE, (name, outcome)
            results[outcome.result] += 1
    assert results["refused"] > COUNT // 2
    assert results["opened"] > 0


@pytest.mark.parametrize("item", SWELLING)
def test_header_as_swollen_as_the_limit_allows_stays_within_the_memory_limit(
    tmp_path: Path, valid: Path, item: str
) -> None:
    file = tmp_path / "swollen.pkl"
    data = swell_to_the_limit(valid.read_bytes(), item)
    file.write_bytes(data)
    with HostileTrial(valid) as trial:
        outcome = trial.open(file)
    assert not outcome.is_defect, outcome
    assert outcome.memory <= 2 * len(data) + ALLOWANCE, outcome
    assert "parsing it may take" not in outcome.detail


def test_trial_notices_memory(tmp_path: Path, valid: Path) -> None:
    """The measurement itself: a valid artifact of 64 MiB, read whole, takes about its own size."""
    write_sample(tmp_path / "large.pkl", weights=(bytes(64 << 20), b"v" * 32, b"u" * 8))
    with HostileTrial(valid) as trial:
        outcome = trial.open(tmp_path / "large.pkl")
    assert outcome.result == "opened"
    assert 60 << 20 < outcome.memory < 80 << 20
