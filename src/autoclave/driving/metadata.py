"""What the metadata of a driving model's artifact says, as a typed record and as JSON.

    header.metadata["driving"] = metadata.to_json()
    metadata = DrivingMetadata.from_json(header.metadata["driving"])

Keys are those that openpilot and its forks use. A record that exists is valid: its parts are those of its kind, its
outputs those of its behaviour version.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from autoclave.driving import metadata_fields as fields
from autoclave.driving.behaviour import OutputLayout, check_layouts
from autoclave.driving.kinds import COMPOSITIONS, FEATURES, Kind, Shape, check_behaviour
from autoclave.driving.metadata_fields import MetadataError
from autoclave.driving.output_slices import decode_output_slices, output_slices_from_json, output_slices_to_json
from autoclave.errors import SourceError

IMAGE_HISTORY_PIPELINES = ("policy", "warp")
"""Which part keeps the past frames: `policy`, the newer and faster way, or `warp`, as artifacts of 2025 did."""
DEVICES = ("CPU", "QCOM", "AMD")
"""tinygrad's names of what artifacts run on."""
CAMERA_RESOLUTIONS = ((1928, 1208), (1344, 760))
"""(width, height) of the cameras of comma's devices: 3X and four."""

OUTPUT = "outputs"
"""The tensor that `output_slices` divide, (1, N). A stateful model has its state beside it."""
LONG_HISTORY = 99
"""With this many past features a model is shown every frame (20 per second), with fewer every fourth (5 per second)."""
MAX_FRAME_SKIP = 20


@dataclass(frozen=True)
class PartMetadata:
    """What one ONNX file of a model says: its checkpoint (a name, no file), where its outputs lie, and its shapes."""

    model_checkpoint: str | None
    output_slices: Mapping[str, slice]
    input_shapes: Mapping[str, tuple[int, ...]]
    output_shapes: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class DrivingMetadata:
    """A driving model's metadata. Raises `MetadataError`, which names the field, for a record that contradicts itself.

    `parts` are by the names of `COMPOSITIONS`; `policy_order` names those of them that are policies, in the order in
    which `run_policy` returns their outputs after the vision model's. `camera_resolutions` are (width, height).
    """

    kind: Kind
    behaviour_version: str
    parts: Mapping[str, PartMetadata]
    policy_order: tuple[str, ...]
    frame_skip: int
    image_history_pipeline: str
    camera_resolutions: tuple[tuple[int, int], ...]
    execution_device: str
    warp_device: str

    def __post_init__(self) -> None:
        compositions = [set(each.parts) for each in COMPOSITIONS if each.kind is self.kind]
        if set(self.parts) not in compositions:
            known = " or ".join(", ".join(each.parts) for each in COMPOSITIONS if each.kind is self.kind)
            raise MetadataError("parts", f"are {', '.join(self.parts)}; a {self.kind.value} model has {known}")
        policies = sorted(part for part in self.parts if part.endswith("policy"))
        if sorted(self.policy_order) != policies:
            raise MetadataError("policy_order", f"is {list(self.policy_order)}; expected each of {policies} once")
        fields.check_range("frame_skip", self.frame_skip, 1, MAX_FRAME_SKIP)
        fields.check_choice("image_history_pipeline", self.image_history_pipeline, IMAGE_HISTORY_PIPELINES)
        fields.check_choice("execution_device", self.execution_device, DEVICES)
        fields.check_choice("warp_device", self.warp_device, DEVICES)
        _check_cameras(self.camera_resolutions)
        _check_outputs(self)

    def to_json(self) -> dict[str, Any]:
        """The record as objects, lists, strings, integers and null."""
        return {
            "kind": self.kind.value,
            "behavior_version": self.behaviour_version,
            "parts": {name: part_to_json(part) for name, part in self.parts.items()},
            "policy_order": list(self.policy_order),
            "frame_skip": self.frame_skip,
            "image_history_pipeline": self.image_history_pipeline,
            "camera_resolutions": [list(size) for size in self.camera_resolutions],
            "execution_device": self.execution_device,
            "warp_device": self.warp_device,
        }

    @classmethod
    def from_json(cls, value: Any) -> "DrivingMetadata":
        """Read what `to_json` wrote. Every key must be there and no other; raises `MetadataError` with the field."""
        record = fields.record("", value, _KEYS)
        return cls(
            kind=Kind(fields.choice("kind", record["kind"], [kind.value for kind in Kind])),
            behaviour_version=fields.text("behavior_version", record["behavior_version"]),
            parts={
                name: part_from_json(f"parts.{name}", part)
                for name, part in fields.mapping("parts", record["parts"]).items()
            },
            policy_order=tuple(
                fields.text("policy_order", part) for part in fields.items("policy_order", record["policy_order"])
            ),
            frame_skip=fields.integer("frame_skip", record["frame_skip"]),
            image_history_pipeline=fields.text("image_history_pipeline", record["image_history_pipeline"]),
            camera_resolutions=tuple(
                fields.pair("camera_resolutions", size)
                for size in fields.items("camera_resolutions", record["camera_resolutions"])
            ),
            execution_device=fields.text("execution_device", record["execution_device"]),
            warp_device=fields.text("warp_device", record["warp_device"]),
        )


_KEYS = (
    "kind",
    "behavior_version",
    "parts",
    "policy_order",
    "frame_skip",
    "image_history_pipeline",
    "camera_resolutions",
    "execution_device",
    "warp_device",
)
_PART_KEYS = ("model_checkpoint", "output_slices", "input_shapes", "output_shapes")


def part_from_onnx(
    label: str,
    properties: Mapping[str, str],
    input_shapes: Mapping[str, tuple[int, ...]],
    output_shapes: Mapping[str, tuple[int, ...]],
) -> PartMetadata:
    """What the ONNX file `label` says: `properties` are its `metadata_props`, shapes have their named axes put in.

    Raises `SourceError` if there is no `output_slices`, or it cannot be read, or there is no output tensor that it divides.
    """
    if "output_slices" not in properties:
        known = ", ".join(sorted(properties)) or "none"
        raise SourceError(f"{label}: the ONNX metadata has no output_slices (it has {known}); is it a driving model?")
    try:
        slices = decode_output_slices(properties["output_slices"])
    except SourceError as error:
        raise SourceError(f"{label}: {error}") from None
    shape = output_shapes.get(OUTPUT)
    if shape is None:
        raise SourceError(f"{label}: has no output {OUTPUT!r} but {', '.join(sorted(output_shapes)) or 'none'}")
    if len(shape) != 2 or shape[0] != 1:
        raise SourceError(f"{label}: the output {OUTPUT!r} is {list(shape)}; expected [1, N]")
    return PartMetadata(properties.get("model_checkpoint"), slices, dict(input_shapes), dict(output_shapes))


def derive_frame_skip(input_shapes: Mapping[str, Shape]) -> int:
    """How many frames lie between two that a model is shown: 1 if it has a `features_buffer` of 99 or more, else 4.

    Raises `SourceError` if there is no such input, or its history has no fixed length; then it must be declared.
    """
    shape = input_shapes.get(FEATURES)
    if shape is None or len(shape) < 2 or not isinstance(shape[1], int):
        raise SourceError(f"frame_skip cannot be derived, as there is no {FEATURES} of a fixed length: declare it")
    return 1 if shape[1] >= LONG_HISTORY else 4


def part_to_json(part: PartMetadata) -> dict[str, Any]:
    """The part as in `DrivingMetadata.to_json`, under its name in `parts`."""
    return {
        "model_checkpoint": part.model_checkpoint,
        "output_slices": output_slices_to_json(part.output_slices),
        "input_shapes": {name: list(shape) for name, shape in part.input_shapes.items()},
        "output_shapes": {name: list(shape) for name, shape in part.output_shapes.items()},
    }


def part_from_json(where: str, value: Any) -> PartMetadata:
    """Read what `part_to_json` wrote; `where` names it in errors."""
    record = fields.record(where, value, _PART_KEYS)
    checkpoint = record["model_checkpoint"]
    try:
        slices = output_slices_from_json(record["output_slices"])
    except SourceError as error:
        raise MetadataError(where, str(error)) from None
    return PartMetadata(
        model_checkpoint=None if checkpoint is None else fields.text(f"{where}.model_checkpoint", checkpoint),
        output_slices=slices,
        input_shapes=fields.shapes(f"{where}.input_shapes", record["input_shapes"]),
        output_shapes=fields.shapes(f"{where}.output_shapes", record["output_shapes"]),
    )


def _check_cameras(sizes: tuple[tuple[int, int], ...]) -> None:
    if not sizes or len(set(sizes)) != len(sizes):
        raise MetadataError("camera_resolutions", f"is {list(sizes)}; expected at least one, and each once")
    for size in sizes:
        if any(length % 2 or not 16 <= length <= 8192 for length in size):
            raise MetadataError("camera_resolutions", f"has {size}; expected even numbers of pixels from 16 to 8192")


def _check_outputs(metadata: DrivingMetadata) -> None:
    layouts = {}
    for name, part in metadata.parts.items():
        shape = part.output_shapes.get(OUTPUT)
        if shape is None or len(shape) != 2 or shape[0] != 1:
            raise MetadataError(f"parts.{name}.output_shapes", f"{OUTPUT} is {shape}; expected (1, N)")
        layouts[name] = OutputLayout(part.output_slices, prod(shape))
    needed = next(each.needed for each in COMPOSITIONS if set(each.parts) == set(metadata.parts))
    try:
        check_behaviour(metadata.kind, metadata.behaviour_version)
        check_layouts(metadata.behaviour_version, layouts, needed)
    except SourceError as error:
        raise MetadataError("behavior_version", str(error)) from error
