"""Whether an artifact is the one that was meant: by its sha256, a provenance statement, or a check file that is bound to it."""

import json
import struct
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from .errors import SyntheticRefused, Unverified, VerificationError
from .file import ArtifactFile
from .records import Part, Tensor

_CHECK_MAGIC = b"\x8aATCHCK\n"
_CHECK_FORMAT = 1
_CHECK_PREAMBLE = struct.Struct("<8sIQ")
_MAX_CHECK_HEADER = 1 << 20
_MAX_WINDOW = 1 << 25
_MAX_PROVENANCE = 4 << 20


@dataclass(frozen=True)
class Evidence:
    """What an artifact is verified by, and what is let pass.

    sha256: the file's, in hex. provenance: an in-toto statement that has the file's name among its subjects. check: a check file.
    allow_unverified: do without all of them. allow_synthetic: load made-up weights, for tests.
    """

    sha256: str | None = None
    provenance: Path | None = None
    check: Path | None = None
    allow_unverified: bool = False
    allow_synthetic: bool = False


def verify(artifact: ArtifactFile, evidence: Evidence) -> str | None:
    """Check `artifact` against all of `evidence`. Returns the file's sha256, None if there was nothing to compare it with.

    Raises `Unverified` if there is no evidence, `VerificationError` if it is of another artifact, and `SyntheticRefused`.
    """
    if artifact.header.metadata.get("synthetic") is not False and not evidence.allow_synthetic:
        raise SyntheticRefused(
            f"{artifact.path}: its weights are made up, for tests; pass allow_synthetic=True to load it"
        )
    if evidence.sha256 is None and evidence.provenance is None and evidence.check is None:
        if not evidence.allow_unverified:
            raise Unverified(
                f"{artifact.path}: pass its sha256, its provenance or its check file, or allow_unverified=True: "
                "what an artifact holds is executed"
            )
        return None
    actual = artifact.sha256()
    if evidence.sha256 is not None:
        _require_equal(artifact, actual, evidence.sha256.lower(), "the sha256 that was given")
    if evidence.provenance is not None:
        _require_equal(artifact, actual, _subject(evidence.provenance, artifact.path.name), str(evidence.provenance))
    if evidence.check is not None:
        header = _check_header(evidence.check)
        _require_equal(artifact, actual, header.get("artifact_sha256"), str(evidence.check))
        _require_parts(artifact, header, evidence.check)
    return actual


def _require_equal(artifact: ArtifactFile, actual: str, expected: object, source: str) -> None:
    if actual != expected:
        raise VerificationError(f"{artifact.path}: its sha256 is {actual}, but {source} says {expected}")


def _subject(provenance: Path, name: str) -> str:
    """The sha256 that the statement gives for the file `name`."""
    statement = _json(_read(provenance, _MAX_PROVENANCE), provenance)
    subjects = statement.get("subject") if statement.get("_type") == "https://in-toto.io/Statement/v1" else None
    for subject in subjects if isinstance(subjects, list) else ():
        if isinstance(subject, dict) and subject.get("name") == name and isinstance(subject.get("digest"), dict):
            return str(subject["digest"].get("sha256"))
    raise VerificationError(f"{provenance}: no in-toto statement with a subject {name!r}")


def _check_header(path: Path) -> dict[str, Any]:
    """The header of the check file at `path`; the tensors behind it stay compressed."""
    start = _decompressed(path, _CHECK_PREAMBLE.size + _MAX_CHECK_HEADER)
    if len(start) < _CHECK_PREAMBLE.size:
        raise VerificationError(f"{path}: not a check file: cut short")
    magic, version, length = _CHECK_PREAMBLE.unpack_from(start)
    if magic != _CHECK_MAGIC or version != _CHECK_FORMAT or length > _MAX_CHECK_HEADER:
        raise VerificationError(f"{path}: not a check file of format {_CHECK_FORMAT}")
    return _json(start[_CHECK_PREAMBLE.size : _CHECK_PREAMBLE.size + length], path)


def _decompressed(path: Path, most: int) -> bytes:
    """The first `most` bytes of what is in the zstandard file at `path`."""
    for module in ("compression.zstd", "zstandard", "backports.zstd"):
        try:
            zstd = import_module(module)
        except ImportError:
            continue
        try:
            with path.open("rb") as file:
                if module == "zstandard":
                    stream = zstd.ZstdDecompressor(max_window_size=_MAX_WINDOW).stream_reader(file)
                else:
                    stream = zstd.ZstdFile(file, options={zstd.DecompressionParameter.window_log_max: 25})
                return bytes(stream.read(most))
        except (OSError, EOFError, zstd.ZstdError) as error:
            raise VerificationError(f"{path}: cannot be read as a check file: {error}") from error
    raise VerificationError(
        f"{path}: reading it needs Python 3.14 or the package zstandard; or give the sha256 instead"
    )


def _require_parts(artifact: ArtifactFile, check: dict[str, Any], path: Path) -> None:
    """The check file must have recorded just the parts, inputs and outputs that the artifact has."""
    recorded = check.get("parts")
    found = [_recorded_part(part) for part in recorded] if isinstance(recorded, list) else []
    for part in artifact.header.parts:
        if not any(_fits(part, each) for each in found):
            raise VerificationError(f"{path}: it has no part {part.key} with the artifact's inputs and outputs")


def _recorded_part(part: Any) -> tuple[object, list[object], list[object]]:
    if not isinstance(part, dict):
        return None, [], []
    return part.get("key"), _recorded(part.get("inputs")), _recorded(part.get("outputs"))


def _fits(part: Part, recorded: tuple[object, list[object], list[object]]) -> bool:
    key, inputs, outputs = recorded
    expected = part.key if isinstance(part.key, str) else list(part.key)
    return key == expected and inputs == _described(part.inputs) and outputs in ([], _described(part.outputs))


def _recorded(tensors: Any) -> list[object]:
    if not isinstance(tensors, list) or not all(isinstance(tensor, dict) for tensor in tensors):
        return [None]
    return [[tensor.get(field) for field in ("name", "dtype", "shape")] for tensor in tensors]


def _described(tensors: tuple[Tensor, ...]) -> list[object]:
    return [[tensor.name, tensor.dtype, list(tensor.shape)] for tensor in tensors]


def _read(path: Path, most: int) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise VerificationError(f"{path}: cannot be read: {error.strerror}") from error
    if len(data) > most:
        raise VerificationError(f"{path}: larger than {most} bytes")
    return data


def _json(data: bytes, path: Path) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise VerificationError(f"{path}: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise VerificationError(f"{path}: expected a JSON object")
    return value
