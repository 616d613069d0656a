"""What bisect compares: the parts of an artifact, and what takes their places on the other side."""

from pathlib import Path

from autoclave.artifact.model import Part
from autoclave.artifact.reader import Artifact, key_text, open_artifact
from autoclave.emulator.devices import DEVICES
from autoclave.errors import ArtifactError
from autoclave.parity.emulated.launches import read_launches

_JSON = b"{"


def check_sides(artifact_path: Path, other_path: Path, key: str | None) -> None:
    """Raise `ArtifactError` unless the two can be compared: the other side is recorded launches, or an artifact for the same device.

    key: of the one part that is compared, None for all.
    """
    with open_artifact(artifact_path) as artifact:
        parts = compared_parts(artifact, key)
        if is_recording(other_path):
            recording = read_launches(other_path)
            for part in parts:
                recording.part(part.key)
            return
        with open_artifact(other_path) as other:
            for part in parts:
                other_part(part, artifact, other)


def compared_parts(artifact: Artifact, key: str | None) -> tuple[Part, ...]:
    """The part called `key`, or all if that is None. Raises `ArtifactError` if one is for a device without an emulator."""
    parts = artifact.header.parts if key is None else (artifact.part(key),)
    for part in parts:
        if part.target.device not in DEVICES:
            raise ArtifactError(
                f"{artifact.path}: it is for {part.target.device}; bisect takes artifacts for {' and '.join(DEVICES)}"
            )
    return parts


def other_part(part: Part, artifact: Artifact, other: Artifact) -> Part:
    """The part of `other` with the key of `part`, or the only one where both artifacts have one.

    Raises `ArtifactError` if there is none, or if it is for another device.
    """
    alone = len(artifact.header.parts) == len(other.header.parts) == 1
    found = other.header.parts[0] if alone else other.part(part.key)
    if found.target.device != part.target.device:
        raise ArtifactError(
            f"{other.path}: part {key_text(found.key)} is for {found.target.device}, that of {artifact.path} for "
            f"{part.target.device}; bisect compares artifacts for the same device"
        )
    return found


def is_recording(path: Path) -> bool:
    """Whether the file begins as recorded launches do. Raises `ArtifactError` if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(len(_JSON)) == _JSON
    except OSError as error:
        raise ArtifactError(f"{path}: cannot be read: {error.strerror}") from error
