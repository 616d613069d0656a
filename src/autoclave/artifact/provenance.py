"""The provenance statement beside an artifact: in-toto Statement v1 with a SLSA provenance predicate."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autoclave.errors import ArtifactError

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://slsa.dev/provenance/"
MAX_SIZE = 4 << 20
"""Bytes of a statement's file; real ones have a few thousand."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a statement says: sha256 of each subject by name, and how many inputs the build lists."""

    subjects: dict[str, str]
    inputs: int


def read_provenance(path: Path) -> Provenance:
    """Read the statement at `path`; `ArtifactError` if it is none."""
    try:
        if not path.is_file():
            raise ArtifactError(f"{path}: not a file; expected a provenance statement")
        with path.open("rb") as file:
            data = file.read(MAX_SIZE + 1)
        if len(data) > MAX_SIZE:
            raise ArtifactError(f"{path}: larger than {MAX_SIZE} bytes; expected a provenance statement")
        return _provenance(json.loads(data), path)
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"{path}: not JSON: {error}") from error


def _provenance(statement: Any, path: Path) -> Provenance:
    if not isinstance(statement, dict) or statement.get("_type") != STATEMENT:
        raise ArtifactError(f"{path}: not an in-toto statement: expected _type {STATEMENT}")
    if not str(statement.get("predicateType")).startswith(PREDICATE):
        raise ArtifactError(
            f"{path}: not a provenance statement: expected a predicateType that starts with {PREDICATE}"
        )
    subjects = statement.get("subject")
    if not isinstance(subjects, list):
        raise ArtifactError(f"{path}: the statement has no list of subjects")
    return Provenance(dict(_subject(subject, path) for subject in subjects), _count_inputs(statement.get("predicate")))


def _subject(subject: Any, path: Path) -> tuple[str, str]:
    digest = subject.get("digest") if isinstance(subject, dict) else None
    sha256 = digest.get("sha256") if isinstance(digest, dict) else None
    if not isinstance(sha256, str):
        raise ArtifactError(f"{path}: a subject has no digest.sha256")
    return str(subject.get("name")), sha256


def _count_inputs(predicate: Any) -> int:
    definition = predicate.get("buildDefinition") if isinstance(predicate, dict) else None
    inputs = definition.get("resolvedDependencies") if isinstance(definition, dict) else None
    return len(inputs) if isinstance(inputs, list) else 0
