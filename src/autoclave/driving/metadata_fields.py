"""Readers of the fields of JSON metadata: each takes the field's name and its value, and says what is wrong by that name."""

from collections.abc import Collection
from typing import Any

from autoclave.driving.slice_values import shown
from autoclave.errors import ArtifactError

MAX_ITEMS = 256
"""Entries of an object or a list."""
MAX_TEXT = 512
MAX_RANK = 16
MAX_LENGTH = 1 << 31
"""Elements along a dimension."""


class MetadataError(ArtifactError):
    """A field of an artifact's driving metadata is absent, of a wrong type, or contradicts another; `field` names it."""

    def __init__(self, field: str, what: str) -> None:
        self.field = field
        super().__init__(f"driving metadata: {field + ': ' if field else ''}{what}")


def record(field: str, value: Any, keys: Collection[str]) -> dict[str, Any]:
    """An object with just these keys."""
    entries = mapping(field, value)
    missing = [key for key in keys if key not in entries]
    surplus = [key for key in entries if key not in keys]
    if missing:
        raise MetadataError(field, f"{', '.join(missing)} is missing")
    if surplus:
        raise MetadataError(field, f"{', '.join(map(shown, surplus[:8]))} is not known; expected {', '.join(keys)}")
    return entries


def mapping(field: str, value: Any) -> dict[str, Any]:
    """An object of at most `MAX_ITEMS` entries, whose keys are strings as `text` allows."""
    if not isinstance(value, dict) or len(value) > MAX_ITEMS:
        raise MetadataError(field, f"is {shown(value)}; expected an object of at most {MAX_ITEMS} entries")
    for key in value:
        text(field, key)
    return value


def items(field: str, value: Any) -> list[Any]:
    """A list of at most `MAX_ITEMS` items."""
    if not isinstance(value, list) or len(value) > MAX_ITEMS:
        raise MetadataError(field, f"is {shown(value)}; expected a list of at most {MAX_ITEMS} items")
    return value


def text(field: str, value: Any) -> str:
    """A string of 1 to `MAX_TEXT` printable characters."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT or not value.isprintable():
        raise MetadataError(field, f"is {shown(value)}; expected 1 to {MAX_TEXT} printable characters")
    return value


def integer(field: str, value: Any) -> int:
    """An integer, which a boolean is not."""
    if type(value) is not int:
        raise MetadataError(field, f"is {shown(value)}; expected an integer")
    return value


def pair(field: str, value: Any) -> tuple[int, int]:
    """A list of two integers."""
    if not isinstance(value, list) or len(value) != 2:
        raise MetadataError(field, f"has {shown(value)}; expected [width, height]")
    return integer(field, value[0]), integer(field, value[1])


def choice(field: str, value: Any, choices: Collection[str]) -> str:
    """One of the strings `choices`."""
    chosen = text(field, value)
    check_choice(field, chosen, choices)
    return chosen


def shapes(field: str, value: Any) -> dict[str, tuple[int, ...]]:
    """An object from names to shapes: lists of at most `MAX_RANK` integers from 1 up."""
    return {name: _shape(f"{field}.{name}", dims) for name, dims in mapping(field, value).items()}


def _shape(field: str, value: Any) -> tuple[int, ...]:
    if not isinstance(value, list) or len(value) > MAX_RANK:
        raise MetadataError(field, f"is {shown(value)}; expected a list of at most {MAX_RANK} integers")
    for length in value:
        check_range(field, integer(field, length), 1, MAX_LENGTH)
    return tuple(value)


def check_choice(field: str, value: str, choices: Collection[str]) -> None:
    """Refuse what is none of `choices`."""
    if value not in choices:
        raise MetadataError(field, f"is {shown(value)}; expected one of {', '.join(choices)}")


def check_range(field: str, value: int, first: int, last: int) -> None:
    """Refuse what does not lie from `first` to `last`."""
    if not first <= value <= last:
        raise MetadataError(field, f"is {shown(value)}; expected {first} to {last}")
