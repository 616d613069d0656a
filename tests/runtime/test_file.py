"""The loader's own reader takes the same files for artifacts as Autoclave's, and refuses the same."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from artifact.hostile_mutations import SWELLING, mutations, swell_to_the_limit
from artifact.sample_artifacts import CODE, WEIGHTS, join_file, split_file, write_sample
from artifact.test_artifact_reader import FIELD_ATTACKS, PREAMBLE_ATTACKS, SPELLING_ATTACKS

from autoclave.artifact.codec import header_as_json
from autoclave.artifact.reader import open_artifact
from autoclave.errors import ArtifactError
from autoclave.runtime.errors import FormatError
from autoclave.runtime.file import ArtifactFile

SEED = 20261201
COUNT = 300


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("valid") / "valid.pkl"
    write_sample(path)
    return path.read_bytes()


def attacks(valid: bytes) -> Iterator[tuple[str, bytes]]:
    for name, (mutate, _) in PREAMBLE_ATTACKS.items():
        yield name, mutate(valid)
    for name, (header, _) in SPELLING_ATTACKS.items():
        yield name, join_file(valid[:4096], header)
    for name, (change, _) in FIELD_ATTACKS.items():
        sections, header = split_file(valid)
        change(header)
        yield name, join_file(sections, header)


def refused(path: Path, data: bytes) -> bool:
    path.write_bytes(data)
    try:
        with ArtifactFile(path):
            return False
    except FormatError as error:
        assert str(error).startswith(f"{path}: ")
        return True


def refused_by_the_reader(path: Path) -> bool:
    try:
        with open_artifact(path):
            return False
    except ArtifactError:
        return True


def test_every_attack_on_the_format_is_refused(tmp_path: Path, valid: bytes) -> None:
    opened = [name for name, data in attacks(valid) if not refused(tmp_path / "hostile.pkl", data)]
    assert opened == []


def test_both_readers_agree_about_mutated_artifacts(tmp_path: Path, valid: bytes) -> None:
    file = tmp_path / "mutation.pkl"
    results = {False: 0, True: 0}
    for name, data in mutations(valid, SEED, COUNT):
        answer = refused(file, data)
        assert answer == refused_by_the_reader(file), name
        results[answer] += 1
    assert min(results.values()) > COUNT // 100


@pytest.mark.parametrize("item", SWELLING[::4])
def test_both_readers_draw_the_same_limit_for_what_parsing_may_take(tmp_path: Path, valid: bytes, item: str) -> None:
    file = tmp_path / "swollen.pkl"
    assert refused(file, swell_to_the_limit(valid, item)) == refused_by_the_reader(file)


def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    for path, message in ((tmp_path, "not a regular file"), (tmp_path / "none.pkl", "cannot be opened")):
        with pytest.raises(FormatError, match=message):
            ArtifactFile(path)


def test_both_readers_read_the_same_header(tmp_path: Path, valid: bytes) -> None:
    path = tmp_path / "valid.pkl"
    path.write_bytes(valid)

    with ArtifactFile(path) as file, open_artifact(path) as artifact:
        assert as_json(file.header) == header_as_json(artifact.header)
        assert file.sha256() == artifact.sha256()


def test_sections_are_the_files_bytes(tmp_path: Path, valid: bytes) -> None:
    path = tmp_path / "valid.pkl"
    path.write_bytes(valid)

    with ArtifactFile(path) as file:
        constants = [buffer.data for part in file.header.parts for buffer in part.buffers if buffer.data]
        read = [bytes(file.read(span)) for span in constants]
        code = [bytes(file.read(kernel.lib)) for kernel in file.header.kernels]

    assert read == [WEIGHTS[0], WEIGHTS[2], WEIGHTS[1]]
    assert code == list(CODE)


def as_json(value: object) -> object:
    """A header in JSON's terms, by its records' fields."""
    if isinstance(value, tuple | list):
        return [as_json(item) for item in value]
    if hasattr(value, "__dataclass_fields__"):
        record = {name: as_json(getattr(value, name)) for name in value.__dataclass_fields__}
        kinds = {"Program": "program", "Copy": "copy"}
        kind = kinds.get(type(value).__name__)
        return {"kind": kind, **record} if kind else record
    return value
