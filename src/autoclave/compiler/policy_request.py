"""What the policy action is asked to do: the ONNX files of a driving model, and how it is fed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autoclave.compiler.request_fields import check_dimensions, check_fields, read_json
from autoclave.driving.kinds import Kind
from autoclave.driving.metadata import IMAGE_HISTORY_PIPELINES, MAX_FRAME_SKIP
from autoclave.errors import CompileError


@dataclass(frozen=True, slots=True)
class SourceModel:
    """One ONNX file: the part of the model that it is, where it lies, and the identity of the file that it was made from."""

    part: str
    path: Path
    sha256: str
    size: int


@dataclass(frozen=True, slots=True)
class PolicyRequest:
    """A driving model's policy part to compile for one kind of hardware.

    `kind` and the `models`' parts are those of `autoclave.driving.kinds`. `frame_skip` None: derived from the model.
    `dimensions` gives named axes their sizes. Paths are relative to the action's directory.
    """

    kind: Kind
    models: tuple[SourceModel, ...]
    hardware: str
    tinygrad: str
    image_history_pipeline: str = "policy"
    renderer: str | None = None
    frame_skip: int | None = None
    dimensions: Mapping[str, int] = field(default_factory=dict)
    synthetic: bool = False
    absent_flags: tuple[str, ...] = ()
    output: Path = Path("out/artifact.pkl")

    @classmethod
    def load(cls, path: Path) -> "PolicyRequest":
        """Read a request. Raises `CompileError` that names the field which is missing, unknown or wrong."""
        return cls.from_json(read_json(path), str(path))

    @classmethod
    def from_json(cls, document: Mapping[str, Any], where: str = "the request") -> "PolicyRequest":
        """Check `document` field by field. Raises `CompileError` as `load` does."""
        values = check_fields(document, _FIELDS, where)
        check_dimensions(values.get("dimensions", {}), where)
        _check_choice(values, "kind", [kind.value for kind in Kind], where)
        _check_choice(values, "image_history_pipeline", IMAGE_HISTORY_PIPELINES, where)
        values["kind"] = Kind(values["kind"])
        values["models"] = tuple(
            _source_model(model, f"{where}: models[{number}]") for number, model in enumerate(values["models"])
        )
        if not 1 <= values.get("frame_skip", 1) <= MAX_FRAME_SKIP:
            raise CompileError(
                f"reading {where}: the field 'frame_skip' should be 1 to {MAX_FRAME_SKIP}, got {values['frame_skip']}"
            )
        values["absent_flags"] = tuple(values.get("absent_flags", ()))
        values["output"] = Path(values.get("output", "out/artifact.pkl"))
        return cls(**values)


def _source_model(model: Any, where: str) -> SourceModel:
    if not isinstance(model, dict):
        raise CompileError(f"reading {where}: expected an object, got {model!r}")
    values = check_fields(model, _MODEL_FIELDS, where)
    return SourceModel(values["part"], Path(values["path"]), values["sha256"], values["size"])


def _check_choice(values: Mapping[str, Any], name: str, choices: "list[str] | tuple[str, ...]", where: str) -> None:
    if name in values and values[name] not in choices:
        raise CompileError(
            f"reading {where}: the field {name!r} should be one of {', '.join(choices)}, got {values[name]!r}"
        )


_FIELDS: dict[str, tuple[type, bool]] = {
    "kind": (str, True),
    "models": (list, True),
    "image_history_pipeline": (str, False),
    "frame_skip": (int, False),
    "hardware": (str, True),
    "renderer": (str, False),
    "tinygrad": (str, True),
    "dimensions": (dict, False),
    "synthetic": (bool, False),
    "absent_flags": (list, False),
    "output": (str, False),
}
_MODEL_FIELDS: dict[str, tuple[type, bool]] = {
    "part": (str, True),
    "path": (str, True),
    "sha256": (str, True),
    "size": (int, True),
}
