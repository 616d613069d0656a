"""Which part of an artifact a command is about."""

from pathlib import Path

from autoclave.artifact.model import Part
from autoclave.artifact.reader import key_text, open_artifact
from autoclave.errors import AutoclaveError

PART_HELP = "which part, a name or WIDTHxHEIGHT of a camera (default: the model itself)"


def chosen_part(path: Path, key: str | None) -> Part:
    """The part `key` of the artifact at `path`; without it the model itself, rather than the warps beside it.

    Raises `AutoclaveError` if there is no such part, or several could be meant.
    """
    with open_artifact(path) as artifact:
        if key is not None:
            return artifact.part(key)
        parts = artifact.header.parts
        models = [part for part in parts if isinstance(part.key, str)]
        found = parts if len(parts) == 1 else models
        if len(found) != 1:
            raise AutoclaveError(
                f"{path}: say with --part which one: {', '.join(key_text(part.key) for part in parts)}"
            )
        return found[0]
