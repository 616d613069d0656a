"""What the compile action is asked to do: a JSON file beside its inputs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autoclave.compiler.request_fields import check_dimensions, check_fields, read_json


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
        return cls.from_json(read_json(path), str(path))

    @classmethod
    def from_json(cls, document: Mapping[str, Any], where: str = "the request") -> "CompileRequest":
        """Check `document` field by field. Raises `CompileError` as `load` does."""
        values = check_fields(document, _FIELDS, where)
        check_dimensions(values.get("dimensions", {}), where)
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
