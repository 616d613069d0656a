"""Tell what a driving model is, before anything is compiled: `python -m autoclave.source.driving_plan request.json`.

The request:

    models      [{"path", "name", "role", "sha256", "size", "synthetic"}]: the ONNX files. `name` is the file's own; `role`, which
                may be null, the part of the model that the declaration says it is
    kind        "auto", or the declared one of `autoclave.driving.kinds`
    size_class, behavior_version, image_history_pipeline, frame_skip (or null), dimensions
                as declared
    output      where the plan goes

The plan says which kind it is and why, which file is which part, and what warps have to give:

    {"kind": "split", "why": "...", "parts": {"vision": 0, "policy": 1}, "frame_skip": 4,
     "warp": {"layout": "planes", "model_size": [512, 256], "history": null}}

`layout` and `history` are those of `autoclave.compiler.warp_request`. Exit code 2 with one message if the model is refused.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from autoclave.canonical import canonical_json
from autoclave.driving.behaviour import OutputLayout, check_layouts
from autoclave.driving.kinds import (
    COMPOSITIONS,
    IMAGES,
    NEW_IMAGE,
    Choice,
    Kind,
    OnnxFileSummary,
    check_behaviour,
    check_size_class,
    choose_kind,
)
from autoclave.driving.metadata import OUTPUT, PartMetadata, derive_frame_skip, part_from_onnx
from autoclave.errors import SourceError
from autoclave.source.preflight import TensorInterface, check_model
from autoclave.source.request_file import run_action

PLANES_OF_A_FRAME = 6
AUTO = "auto"


@dataclass(frozen=True)
class DeclaredFile:
    """One ONNX file: its own name, the role that it was declared in, or None, and what it says."""

    name: str
    role: str | None
    synthetic: bool
    size: int
    metadata: PartMetadata

    def summary(self) -> OnnxFileSummary:
        """What its kind is told by: a declared role counts as a name."""
        name = f"{self.role}.onnx" if self.role else self.name
        inputs, outputs = self.metadata.input_shapes, self.metadata.output_shapes
        return OnnxFileSummary(name, self.size, inputs, outputs, self.synthetic)


def plan(request: Mapping[str, Any]) -> dict[str, Any]:
    """The plan for the model of `request`. Raises `SourceError` that says why it is refused."""
    files = [_declared_file(model, request["dimensions"]) for model in request["models"]]
    summaries = [file.summary() for file in files]
    choice = choose_kind(summaries, None if request["kind"] == AUTO else Kind(request["kind"]))
    check_size_class(
        request["size_class"],
        [OnnxFileSummary(file.name, file.size, {}, {}, file.synthetic) for file in files],
    )
    parts = _numbered_parts(files, summaries, choice)
    metadata = {part: files[number].metadata for part, number in parts.items()}
    _check_outputs(choice, request["behavior_version"], metadata)
    frame_skip = _frame_skip(choice, metadata, request["frame_skip"])
    return {
        "kind": choice.kind.value,
        "why": choice.why,
        "parts": parts,
        "frame_skip": frame_skip,
        "warp": _warp(choice, metadata, frame_skip, request["image_history_pipeline"]),
    }


def _declared_file(model: Mapping[str, Any], dimensions: Mapping[str, int]) -> DeclaredFile:
    interface = check_model(
        Path(model["path"]), target=model["name"], sha256=model["sha256"], size=model["size"], dimensions=dimensions
    )
    inputs, outputs = _shapes(interface.inputs), _shapes(interface.outputs)
    if not interface.summary.metadata:  # what it is not is better told by its inputs
        choose_kind([OnnxFileSummary(model["name"], model["size"], inputs, outputs)])
    metadata = part_from_onnx(model["name"], interface.summary.metadata, inputs, outputs)
    return DeclaredFile(model["name"], model["role"], model["synthetic"], model["size"], metadata)


def _shapes(tensors: tuple[TensorInterface, ...]) -> dict[str, tuple[int, ...]]:
    return {tensor.name: tuple(size for size in tensor.shape if isinstance(size, int)) for tensor in tensors}


def _numbered_parts(files: list[DeclaredFile], summaries: list[OnnxFileSummary], choice: Choice) -> dict[str, int]:
    """Which file is which part. Raises `SourceError` for a file that was declared as another."""
    parts = {part: next(at for at, each in enumerate(summaries) if each is file) for part, file in choice.parts.items()}
    for part, number in parts.items():
        if files[number].role not in (None, part):
            raise SourceError(f"{files[number].name}: it is declared as {files[number].role}, but it is a {part} model")
    return parts


def _check_outputs(choice: Choice, version: str, metadata: Mapping[str, PartMetadata]) -> None:
    check_behaviour(choice.kind, version)
    layouts = {
        part: OutputLayout(each.output_slices, prod(each.output_shapes.get(OUTPUT, ())))
        for part, each in metadata.items()
    }
    needed = next(each.needed for each in COMPOSITIONS if set(each.parts) == set(metadata))
    check_layouts(version, layouts, needed)


def _frame_skip(choice: Choice, metadata: Mapping[str, PartMetadata], declared: int | None) -> int:
    """How many frames lie between two that the model is shown. A stateful model is shown all, and chooses itself."""
    if declared is not None:
        return declared
    if choice.kind is Kind.STATEFUL:
        return 1
    shapes: dict[str, tuple[int, ...]] = {}
    for each in metadata.values():
        shapes |= each.input_shapes
    return derive_frame_skip(shapes)


def _warp(choice: Choice, metadata: Mapping[str, PartMetadata], frame_skip: int, pipeline: str) -> dict[str, Any]:
    """What each camera's warp gives."""
    names = (NEW_IMAGE,) if choice.kind is Kind.STATEFUL else IMAGES
    shapes = [shape for each in metadata.values() for name, shape in each.input_shapes.items() if name in names]
    if not shapes or len(shapes[0]) != 4 or shapes[0][1] % PLANES_OF_A_FRAME:
        raise SourceError(
            f"{' or '.join(names)} is {shapes}; expected (frames, planes, height, width), six planes a frame"
        )
    _, planes, height, width = shapes[0]
    size = [2 * width, 2 * height]
    if choice.kind is Kind.STATEFUL:
        return {"layout": "stacked", "model_size": size, "history": None}
    if pipeline == "policy":
        return {"layout": "planes", "model_size": size, "history": None}
    frames = planes // PLANES_OF_A_FRAME
    return {"layout": "queue", "model_size": size, "history": frame_skip * (frames - 1) + 1}


def run(request: Mapping[str, Any]) -> None:
    """Write the plan for the model of `request`."""
    output = Path(request["output"])
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(canonical_json(plan(request)))


if __name__ == "__main__":
    required = (
        "models",
        "kind",
        "size_class",
        "behavior_version",
        "image_history_pipeline",
        "frame_skip",
        "dimensions",
        "output",
    )
    sys.exit(run_action("autoclave.source.driving_plan", sys.argv[1:], required, run))
