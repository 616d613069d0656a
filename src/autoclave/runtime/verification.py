"""Whether an artifact is the one that was meant: by its sha256, a provenance statement, or a check file that is bound to it."""

from dataclasses import dataclass
from pathlib import Path

from .check_file import parse_object, read_check_header, require_parts
from .errors import SyntheticRefused, Unverified, VerificationError
from .file import ArtifactFile

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
        header = read_check_header(evidence.check)
        _require_equal(artifact, actual, header.get("artifact_sha256"), str(evidence.check))
        require_parts(header, artifact.header.parts, evidence.check)
    return actual


def _require_equal(artifact: ArtifactFile, actual: str, expected: object, source: str) -> None:
    if actual != expected:
        raise VerificationError(f"{artifact.path}: its sha256 is {actual}, but {source} says {expected}")


def _subject(provenance: Path, name: str) -> str:
    """The sha256 that the statement gives for the file `name`."""
    statement = parse_object(_read(provenance, _MAX_PROVENANCE), provenance)
    subjects = statement.get("subject") if statement.get("_type") == "https://in-toto.io/Statement/v1" else None
    for subject in subjects if isinstance(subjects, list) else ():
        if isinstance(subject, dict) and subject.get("name") == name and isinstance(subject.get("digest"), dict):
            return str(subject["digest"].get("sha256"))
    raise VerificationError(f"{provenance}: no in-toto statement with a subject {name!r}")


def _read(path: Path, most: int) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise VerificationError(f"{path}: cannot be read: {error.strerror}") from error
    if len(data) > most:
        raise VerificationError(f"{path}: larger than {most} bytes")
    return data
