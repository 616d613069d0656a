"""What the warp action is asked to do: how a camera's frames become what a model sees. It holds nothing of the model."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autoclave.compiler.request_fields import check_fields, read_json, size_pair
from autoclave.driving.nv12 import Nv12Frame
from autoclave.errors import CompileError

PLANES, STACKED, QUEUE, LUMA = "planes", "stacked", "queue", "luma"
LAYOUTS = (PLANES, STACKED, QUEUE, LUMA)
"""planes: `img` and `big_img`, six planes of each camera's frame. stacked: both in one tensor, `new_img`. queue: the past frames
of both cameras with the new one appended, `next_img_q` and `next_big_img_q`. luma: one camera's luma, `input_img`, for
driver monitoring.
"""
MAX_HISTORY = 400
"""Frames of a queue."""


@dataclass(frozen=True, slots=True)
class WarpRequest:
    """One warp to compile for one kind of hardware.

    `camera` and `model_size` are (width, height) in pixels. `history`: frames that a queue holds, for layout "queue" alone.
    `border_fill`: what lies outside of the camera's frame, for layout "luma" alone; without it, the nearest pixel.
    """

    camera: Nv12Frame
    model_size: tuple[int, int]
    layout: str
    hardware: str
    tinygrad: str
    renderer: str | None = None
    history: int | None = None
    border_fill: int | None = None
    absent_flags: tuple[str, ...] = ()
    output: Path = Path("out/artifact.pkl")

    @classmethod
    def load(cls, path: Path) -> "WarpRequest":
        """Read a request. Raises `CompileError` that names the field which is missing, unknown or wrong."""
        return cls.from_json(read_json(path), str(path))

    @classmethod
    def from_json(cls, document: Mapping[str, Any], where: str = "the request") -> "WarpRequest":
        """Check `document` field by field. Raises `CompileError` as `load` does."""
        values = check_fields(document, _FIELDS, where)
        values["model_size"] = size_pair(values["model_size"], "model_size", where)
        values["absent_flags"] = tuple(values.get("absent_flags", ()))
        values["output"] = Path(values.get("output", "out/artifact.pkl"))
        try:
            values["camera"] = Nv12Frame(*size_pair(values["camera"], "camera", where))
        except ValueError as error:
            raise CompileError(f"reading {where}: the field 'camera': {error}") from None
        _check_layout(values, where)
        return cls(**values)


def _check_layout(values: Mapping[str, Any], where: str) -> None:
    layout = values["layout"]
    if layout not in LAYOUTS:
        raise CompileError(f"reading {where}: the field 'layout' should be one of {', '.join(LAYOUTS)}, got {layout!r}")
    if layout != LUMA and any(side % 4 for side in values["model_size"]):
        raise CompileError(f"reading {where}: the field 'model_size' should have multiples of 4 for layout {layout!r}")
    for name, limits in _LIMITS.items():
        value = values.get(name)
        if layout != limits.layout and value is not None:
            raise CompileError(f"reading {where}: the field {name!r} is for layout {limits.layout!r} alone")
        if layout == limits.layout and value is None and limits.required:
            raise CompileError(f"reading {where}: the field {name!r} is missing, which layout {layout!r} needs")
        if value is not None and not limits.first <= value <= limits.last:
            raise CompileError(
                f"reading {where}: the field {name!r} should be {limits.first} to {limits.last}, got {value}"
            )


@dataclass(frozen=True, slots=True)
class _Limits:
    """Of a field that belongs to one layout."""

    layout: str
    required: bool
    first: int
    last: int


_LIMITS = {"history": _Limits(QUEUE, True, 1, MAX_HISTORY), "border_fill": _Limits(LUMA, False, 0, 255)}

_FIELDS: dict[str, tuple[type, bool]] = {
    "camera": (list, True),
    "model_size": (list, True),
    "layout": (str, True),
    "hardware": (str, True),
    "renderer": (str, False),
    "tinygrad": (str, True),
    "history": (int, False),
    "border_fill": (int, False),
    "absent_flags": (list, False),
    "output": (str, False),
}
