"""Reading a request: a JSON object whose fields are checked one by one, each refusal naming the field."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autoclave.errors import CompileError

Fields = Mapping[str, tuple[type, bool]]
"""By name: the field's type, and whether it must be there."""


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in the file `path`. Raises `CompileError` if there is none."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CompileError(f"reading the compile request {path}: expected a JSON object, but {error}") from error
    if not isinstance(document, dict):
        raise CompileError(f"reading the compile request {path}: expected a JSON object, got {type(document).__name__}")
    return document


def check_fields(document: Mapping[str, Any], fields: Fields, where: str) -> dict[str, Any]:
    """The fields of `document` that have a value. Raises `CompileError` for one that is unknown, missing or of another type."""
    surplus = sorted(set(document) - set(fields))
    if surplus:
        raise CompileError(f"reading {where}: unknown field {surplus[0]!r}; known are {', '.join(fields)}")
    missing = sorted(name for name, (_, required) in fields.items() if required and document.get(name) is None)
    if missing:
        raise CompileError(f"reading {where}: the field {missing[0]!r} is missing")
    values = {name: value for name, value in document.items() if value is not None}
    for name, value in values.items():
        kind = fields[name][0]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise CompileError(f"reading {where}: the field {name!r} should be {kind.__name__}, got {value!r}")
    return values


def check_dimensions(dimensions: Mapping[str, Any], where: str) -> None:
    """Raise `CompileError` unless named axes have positive sizes."""
    for axis, size in dimensions.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise CompileError(f"reading {where}: dimensions[{axis!r}] should be a positive number, got {size!r}")


def size_pair(value: list[Any], field: str, where: str) -> tuple[int, int]:
    """A list of two positive integers, width and height."""
    if len(value) != 2 or any(isinstance(side, bool) or not isinstance(side, int) or side < 1 for side in value):
        raise CompileError(f"reading {where}: the field {field!r} should be [width, height] in pixels, got {value!r}")
    return value[0], value[1]
