"""What the compile action is asked to do: a JSON file beside its inputs."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autoclave.errors import CompileError


@dataclass(frozen=True, slots=True)
class CompileRequest:
    """One model to compile for one kind of hardware.

    `dimensions` gives named axes their sizes. `absent_flags` are settings of the hardware profile that the pinned tinygrad
    is known not to have. Paths are relative to the action's directory.
    """

    model: Path
    hardware: str
    tinygrad: str
    source_sha256: str
    source_size: int
    renderer: str | None = None
    dimensions: Mapping[str, int] = field(default_factory=dict)
    synthetic: bool = False
    absent_flags: tuple[str, ...] = ()
    output: Path = Path("out/artifact.pkl")

    @classmethod
    def load(cls, path: Path) -> "CompileRequest":
        """Read a request. Raises `CompileError` that names the field which is missing, unknown or of the wrong type."""
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise CompileError(f"reading the compile request {path}: expected a JSON object, but {error}") from error
        if not isinstance(document, dict):
            raise CompileError(
                f"reading the compile request {path}: expected a JSON object, got {type(document).__name__}"
            )
        return cls.from_json(document, str(path))

    @classmethod
    def from_json(cls, document: Mapping[str, Any], where: str = "the request") -> "CompileRequest":
        """Check `document` field by field. Raises `CompileError` as `load` does."""
        surplus = sorted(set(document) - set(_FIELDS))
        if surplus:
            raise CompileError(f"reading {where}: unknown field {surplus[0]!r}; known are {', '.join(_FIELDS)}")
        missing = sorted(name for name, (_, required) in _FIELDS.items() if required and document.get(name) is None)
        if missing:
            raise CompileError(f"reading {where}: the field {missing[0]!r} is missing")
        values = {name: value for name, value in document.items() if value is not None}
        for name, value in values.items():
            kind = _FIELDS[name][0]
            if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
                raise CompileError(f"reading {where}: the field {name!r} should be {kind.__name__}, got {value!r}")
        for axis, size in values.get("dimensions", {}).items():
            if isinstance(size, bool) or not isinstance(size, int) or size < 1:
                raise CompileError(f"reading {where}: dimensions[{axis!r}] should be a positive number, got {size!r}")
        values["absent_flags"] = tuple(values.get("absent_flags", ()))
        return cls(
            **{**values, "model": Path(values["model"]), "output": Path(values.get("output", "out/artifact.pkl"))}
        )


_FIELDS: dict[str, tuple[type, bool]] = {
    "model": (str, True),
    "hardware": (str, True),
    "renderer": (str, False),
    "tinygrad": (str, True),
    "dimensions": (dict, False),
    "synthetic": (bool, False),
    "source_sha256": (str, True),
    "source_size": (int, True),
    "absent_flags": (list, False),
    "output": (str, False),
}
