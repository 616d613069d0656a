"""How a driving model is fed: its queues, what the host packs, and which value each ONNX input gets.

Facts are openpilot's (`compile_modeld.py`). The queues hold every frame's value; a model is shown every `frame_skip`-th:

    images     the rows 0, skip, 2 * skip ... of skip * (frames - 1) + 1, of which the last is the newest
    features   of a supercombo, which appends the current ones itself: the rows 0, skip ... of skip * length
               of a policy beside a vision model: as images, the vision model's features being the newest
    desire     the largest of each group of skip rows, of skip * length
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

from autoclave.compiler.policy_request import PolicyRequest, SourceModel
from autoclave.driving.kinds import COMPOSITIONS, FEATURES, IMAGES, WIDE_IMAGES, Kind, OnnxFileSummary, choose_kind
from autoclave.driving.metadata import OUTPUT, PartMetadata, derive_frame_skip, part_from_onnx
from autoclave.errors import SourceError
from autoclave.source.preflight import check_model

DESIRE = ("desire_pulse", "desire")
"""The desires of the past, as newer and older models call them."""
PACKED = "packed_npy_inputs"
"""The one input that holds all small values that the host computes for each frame."""
PREVIOUS_FEATURES = "prev_feat"
"""What a supercombo's output `hidden_state` was in the run before."""
PLANES = 6
"""Planes of a frame."""
_PACKED_FIRST = ("desire", "traffic_convention", "action_t", PREVIOUS_FEATURES)
HIDDEN_STATE = "hidden_state"

Shape = tuple[int, ...]


@dataclass(frozen=True)
class PlannedModel:
    """One ONNX file, the part that it is, and what it says."""

    part: str
    path: Path
    metadata: PartMetadata

    @property
    def inputs(self) -> Mapping[str, Shape]:
        """Shapes by name."""
        return self.metadata.input_shapes


@dataclass(frozen=True)
class PackedInput:
    """`prod(shape)` values from element `offset` of the packed input."""

    name: str
    offset: int
    shape: Shape


@dataclass(frozen=True)
class PolicyPlan:
    """A driving model and how it is fed. `models` are in the order in which they run, vision first."""

    kind: Kind
    models: tuple[PlannedModel, ...]
    frame_skip: int
    pipeline: str
    dimensions: Mapping[str, int]

    @property
    def policy_order(self) -> tuple[str, ...]:
        """The policies, in their order."""
        return tuple(model.part for model in self.models if model.part.endswith("policy"))

    @property
    def has_vision(self) -> bool:
        """Whether features come from a model of their own."""
        return any(model.part == "vision" for model in self.models)

    @property
    def image(self) -> Shape:
        """(frames, height, width) of what the model is shown of a camera, each frame six planes."""
        _, channels, height, width = self._shape_of(IMAGES)
        return channels // PLANES, height, width

    @property
    def features(self) -> tuple[int, int]:
        """(length, width) of the past features."""
        shape = self._shape_of((FEATURES,))
        return shape[1], prod(shape[2:])

    @property
    def desire(self) -> tuple[int, int]:
        """(length, width) of the past desires."""
        shape = self._shape_of(DESIRE)
        return shape[1], prod(shape[2:])

    @property
    def has_desire(self) -> bool:
        """Whether the model is told desires."""
        return any(set(DESIRE) & set(model.inputs) for model in self.models)

    @property
    def image_rows(self) -> int:
        """Frames of an image queue."""
        return self.frame_skip * (self.image[0] - 1) + 1

    @property
    def feature_rows(self) -> int:
        """Rows of the feature queue."""
        length = self.features[0]
        return self.frame_skip * (length - 1) + 1 if self.has_vision else self.frame_skip * length

    @property
    def packed(self) -> tuple[PackedInput, ...]:
        """What the host packs: what is new of the queues, and every other input, in the order of `_PACKED_FIRST`."""
        shapes: dict[str, Shape] = {"desire": (self.desire[1],)} if self.has_desire else {}
        queued = {*IMAGES, *WIDE_IMAGES, *DESIRE, FEATURES}
        for model in self.models:
            shapes |= {name: shape for name, shape in model.inputs.items() if name not in queued}
        if not self.has_vision:
            shapes[PREVIOUS_FEATURES] = (1, self.features[1])
        names = [name for name in _PACKED_FIRST if name in shapes]
        names += [name for name in shapes if name not in _PACKED_FIRST]
        packed, offset = [], 0
        for name in names:
            packed.append(PackedInput(name, offset, shapes[name]))
            offset += prod(shapes[name])
        return tuple(packed)

    def _shape_of(self, names: tuple[str, ...]) -> Shape:
        return next(shape for model in self.models for name, shape in model.inputs.items() if name in names)


def plan_policy(request: PolicyRequest) -> PolicyPlan:
    """Read the files of `request` and plan. Raises `SourceError` for files that do not make a model of its kind."""
    models = tuple(_planned(model, request) for model in request.models)
    choice = choose_kind([_summary(model) for model in models], request.kind)
    order = next(each.parts for each in COMPOSITIONS if set(each.parts) == set(choice.parts))
    ordered = tuple(sorted(models, key=lambda model: order.index(model.part)))
    if request.kind is Kind.STATEFUL:
        return PolicyPlan(request.kind, ordered, request.frame_skip or 1, "policy", request.dimensions)
    skip = request.frame_skip or derive_frame_skip(next(model.inputs for model in ordered if FEATURES in model.inputs))
    plan = PolicyPlan(request.kind, ordered, skip, request.image_history_pipeline, request.dimensions)
    _check_shapes(plan)
    return plan


def _planned(source: SourceModel, request: PolicyRequest) -> PlannedModel:
    interface = check_model(source.path, target=source.part, dimensions=request.dimensions)
    inputs, outputs = (
        {tensor.name: tuple(int(size) for size in tensor.shape if size is not None) for tensor in tensors}
        for tensors in (interface.inputs, interface.outputs)
    )
    metadata = part_from_onnx(source.part, interface.summary.metadata, inputs, outputs)
    return PlannedModel(source.part, source.path, metadata)


def _summary(model: PlannedModel) -> OnnxFileSummary:
    """The file under its part's name, so that what a request calls a policy is believed to be which."""
    return OnnxFileSummary(f"{model.part}.onnx", 0, model.metadata.input_shapes, model.metadata.output_shapes)


def _check_shapes(plan: PolicyPlan) -> None:
    """What the queues assume of the inputs. Inputs of the same role must agree, whichever model they belong to."""
    for names, rank in ((IMAGES + WIDE_IMAGES, 4), (DESIRE, 3), ((FEATURES,), 3)):
        shapes = {
            (model.part, name): shape for model in plan.models for name, shape in model.inputs.items() if name in names
        }
        if len(set(shapes.values())) > 1:
            listing = ", ".join(f"{name} of {part} {list(shape)}" for (part, name), shape in shapes.items())
            raise SourceError(f"inputs that are fed alike differ in shape: {listing}")
        for (part, name), shape in shapes.items():
            if len(shape) < rank or shape[0] != 1 or (names != DESIRE and names != (FEATURES,) and shape[1] % PLANES):
                raise SourceError(f"{part}: the input {name} is {list(shape)}, which no queue gives")
    packed: dict[str, Shape] = {}
    for model in plan.models:
        for name, shape in model.inputs.items():
            if packed.setdefault(name, shape) != shape:
                raise SourceError(
                    f"{model.part}: the input {name} is {list(shape)}, but another model's {list(packed[name])}"
                )
    if plan.has_vision:
        _check_hidden_state(plan)


def _check_hidden_state(plan: PolicyPlan) -> None:
    vision = plan.models[0].metadata
    values = vision.output_slices.get(HIDDEN_STATE)
    width = len(range(*values.indices(prod(vision.output_shapes[OUTPUT])))) if values is not None else 0
    if width != plan.features[1]:
        raise SourceError(
            f"vision: {HIDDEN_STATE} has {width} values, but the policy takes features of {plan.features[1]}"
        )
