"""Driving models as tensors of tinygrad 0.14: the ONNX graphs, and before them the queues of `autoclave.compiler.policy_plan`."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from tinygrad.dtype import dtypes
from tinygrad.tensor import Tensor
from tinygrad.uop.ops import UOp

from autoclave.compiler.adapters.tinygrad_0_14_models import LoadedModel, input_tensors, load_model, trace
from autoclave.compiler.adapters.tinygrad_0_14_recorder import own_buffer
from autoclave.compiler.adapters.tinygrad_0_14_warp import CAMERAS, appended, graph_input
from autoclave.compiler.policy_plan import DESIRE, HIDDEN_STATE, PACKED, PLANES, PREVIOUS_FEATURES, PolicyPlan
from autoclave.driving.kinds import FEATURES, IMAGES, WIDE_IMAGES, Kind
from autoclave.driving.metadata import OUTPUT
from autoclave.errors import CompileError


@dataclass(frozen=True, slots=True)
class PolicyGraph:
    """Buffers of the initialisers with their names, and the part's inputs and outputs."""

    weights: Mapping[UOp, str]
    inputs: Mapping[str, Tensor]
    outputs: Mapping[str, Tensor]


def policy_graph(plan: PolicyPlan) -> PolicyGraph:
    """The graph of `plan`. Raises `SourceError` or `CompileError` as tracing an ONNX file does."""
    loaded = {model.part: load_model(model.path) for model in plan.models}
    weights = {
        buffer: name if len(loaded) == 1 else f"{part}.{name}"
        for part, model in loaded.items()
        for buffer, name in model.weights.items()
    }
    if plan.kind is Kind.STATEFUL:
        inputs, outputs = _stateful(next(iter(loaded.values())), plan)
    else:
        feeder = _Feeder(plan)
        outputs = _run_models(feeder, loaded) | feeder.state
        inputs = feeder.inputs
    return PolicyGraph(weights, inputs, {name: own_buffer(output) for name, output in outputs.items()})


def _stateful(model: LoadedModel, plan: PolicyPlan) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The ONNX as it is: its history is inside."""
    inputs = input_tensors(model, plan.dimensions)
    outputs = trace(model, inputs)
    return inputs, {**outputs, OUTPUT: outputs[OUTPUT].cast("float32")}


def _run_models(feeder: "_Feeder", loaded: Mapping[str, LoadedModel]) -> dict[str, Tensor]:
    """Each model's output, the vision model's first, whose features feed the others."""
    outputs: dict[str, Tensor] = {}
    for model in feeder.plan.models:
        fed = feeder.feed(loaded[model.part])
        result = trace(loaded[model.part], fed)[OUTPUT].cast("float32")
        _require_read(model.part, fed, result)
        outputs[OUTPUT if len(loaded) == 1 else model.part] = own_buffer(result)
        if model.part == "vision":
            feeder.push_features(outputs[model.part][:, model.metadata.output_slices[HIDDEN_STATE]])
    return outputs


def _require_read(part: str, fed: Mapping[str, Tensor], result: Tensor) -> None:
    """Raise `CompileError` that names what a model is fed for nothing: several of its inputs come in one of the part's."""
    reached = result.uop.toposort()
    unread = [name for name, value in fed.items() if value.uop not in reached]
    if unread:
        raise CompileError(
            f"the {part} model's {OUTPUT} do not depend on its input {', '.join(map(repr, unread))}; "
            "check how the file was exported"
        )


class _Feeder:
    """The part's inputs, and what they become: `state` is the queues' next content, `values` what a model gets, by input."""

    def __init__(self, plan: PolicyPlan) -> None:
        self.plan = plan
        self.inputs: dict[str, Tensor] = {}
        self.state: dict[str, Tensor] = {}
        self.values: dict[str, Tensor] = {}
        self._feed_images()
        self._feed_packed()
        if not plan.has_vision:
            self.push_features(self.values.pop(PREVIOUS_FEATURES))

    def feed(self, model: LoadedModel) -> dict[str, Tensor]:
        """The values of the inputs of `model`, of its types and shapes."""
        wanted = model.runner.graph_inputs
        shapes = {name: tensor.shape for name, tensor in input_tensors(model, self.plan.dimensions).items()}
        return {name: self.values[name].reshape(shapes[name]).cast(wanted[name].dtype) for name in wanted}

    def push_features(self, newest: Tensor) -> None:
        """Append the features, (1, width), to their queue, and sample it."""
        queue = self._push("feat_q", self.plan.feature_rows, newest.reshape(1, self.plan.features[1]))
        self.values[FEATURES] = self._sampled(queue)

    def _feed_images(self) -> None:
        _, height, width = self.plan.image
        for camera, names in zip(CAMERAS, (IMAGES, WIDE_IMAGES), strict=True):
            frame = (PLANES, height, width)
            if self.plan.pipeline == "policy":
                newest = self.inputs[f"{camera}img"] = graph_input(dtypes.uint8, *frame)
                queue = self._push(f"{camera}img_q", self.plan.image_rows, newest)
            else:
                queue = self.inputs[f"{camera}img_q"] = graph_input(dtypes.uint8, self.plan.image_rows, *frame)
            self.values |= dict.fromkeys(names, self._sampled(queue))

    def _feed_packed(self) -> None:
        packed = graph_input(dtypes.float32, 1, sum(prod(each.shape) for each in self.plan.packed))
        for each in self.plan.packed:
            self.values[each.name] = packed[0, each.offset : each.offset + prod(each.shape)]
        if self.plan.has_desire:
            length, width = self.plan.desire
            rows = self.plan.frame_skip * length
            queue = self._push("desire_q", rows, self.values.pop("desire").reshape(1, width))
            largest = queue.reshape(length, self.plan.frame_skip, width).max(axis=1)
            self.values |= dict.fromkeys(DESIRE, largest.contiguous())
        self.inputs[PACKED] = packed

    def _push(self, name: str, rows: int, newest: Tensor) -> Tensor:
        """The queue `name`, an input of `rows` rows, with `newest` appended: its next content, an output."""
        queue = self.inputs[name] = graph_input(newest.dtype, rows, *newest.shape)
        self.state[f"next_{name}"] = own_buffer(appended(queue, newest))
        return self.state[f"next_{name}"]

    def _sampled(self, queue: Tensor) -> Tensor:
        """Every `frame_skip`-th row, in memory of its own: so the model's kernels are those of the model without queues."""
        return queue[:: self.plan.frame_skip].contiguous()
