"""Two JSON values compared, field by field."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from autoclave.canonical import canonical_json


@dataclass(frozen=True, slots=True)
class FieldChange:
    """What is at `where` in the one and in the other, as JSON text; None if nothing is there."""

    where: str
    left: str | None
    right: str | None


def diff_fields(left: Any, right: Any, where: str = "") -> Iterator[FieldChange]:
    """The innermost fields in which two JSON values differ; items of lists are matched like lines of a text."""
    if isinstance(left, dict) and isinstance(right, dict):
        yield from _diff_objects(left, right, where)
    elif isinstance(left, list) and isinstance(right, list):
        yield from _diff_lists(left, right, where)
    elif _text(left) != _text(right):
        yield FieldChange(where, _text(left), _text(right))


def _diff_objects(left: dict[str, Any], right: dict[str, Any], where: str) -> Iterator[FieldChange]:
    for key in sorted(left.keys() | right.keys()):
        place = f"{where}.{key}" if where else key
        if key in left and key in right:
            yield from diff_fields(left[key], right[key], place)
        else:
            yield FieldChange(place, _text_at(left, key), _text_at(right, key))


def _diff_lists(left: list[Any], right: list[Any], where: str) -> Iterator[FieldChange]:
    left_texts, right_texts = [_text(item) for item in left], [_text(item) for item in right]
    for action, start, stop, other_start, other_stop in SequenceMatcher(None, left_texts, right_texts).get_opcodes():
        if action == "equal":
            continue
        paired = min(stop - start, other_stop - other_start)
        for step in range(paired):
            yield from diff_fields(left[start + step], right[other_start + step], f"{where}[{start + step}]")
        for number in range(start + paired, stop):
            yield FieldChange(f"{where}[{number}]", left_texts[number], None)
        for number in range(other_start + paired, other_stop):
            yield FieldChange(f"{where}[{number}]", None, right_texts[number])


def _text_at(value: dict[str, Any], key: str) -> str | None:
    return _text(value[key]) if key in value else None


def _text(value: Any) -> str:
    return canonical_json(value).decode()
