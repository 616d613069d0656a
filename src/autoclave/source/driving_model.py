"""The outputs of synthetic driving models, their places in the output tensor, and the metadata that says so, as openpilot's has it."""

import base64
import itertools
from collections.abc import Mapping

from onnx import ModelProto, TensorProto, ValueInfoProto, helper

from autoclave.source.driving_network import FEATURE_WIDTH
from autoclave.source.graph_builder import GraphBuilder

VISION_HEADS = {
    "lane_lines": 528,
    "lane_lines_prob": 8,
    "road_edges": 264,
    "meta": 55,
    "desire_pred": 32,
    "pose": 12,
    "wide_from_device_euler": 6,
    "road_transform": 12,
    "lead": 144,
    "lead_prob": 3,
}
"""Outputs that the real model computes from the current frame alone, and their widths."""

CURRENT_HEADS = {"plan": 990, "desire_state": 8}
"""Outputs that depend on the past, the desire and the traffic convention, of every version."""

EXTRA_HEADS: Mapping[str, Mapping[str, int]] = {
    "v8": {},
    "v9": {"desired_curvature": 2},
    "v10": {},
    "v11": {"planplus": 990},
    "v12": {"planplus": 990},
    "v14": {"action": 4},
    "v15": {"action": 4},
    "v16": {"action": 4},
}
"""Outputs besides, by behaviour version."""
NEWEST = "v16"
HIDDEN_STATE = "hidden_state"


def policy_heads(version: str) -> dict[str, int]:
    """The outputs of a driving policy of this behaviour version, and their widths."""
    return {**CURRENT_HEADS, **EXTRA_HEADS[version]}


def conditions(version: str) -> tuple[str, ...]:
    """The inputs of two values each that a policy of this version is told; those that act know the actuators' delays."""
    return ("traffic_convention", "action_t") if "action" in EXTRA_HEADS[version] else ("traffic_convention",)


def whole_widths(version: str) -> dict[str, int]:
    """The outputs of a model in one file, in their order."""
    heads = {**VISION_HEADS, **policy_heads(version), HIDDEN_STATE: FEATURE_WIDTH}
    order = [*itertools.islice(VISION_HEADS, 8), "plan", "lead", "lead_prob", "desire_state"]
    order += [*EXTRA_HEADS[version], HIDDEN_STATE]
    return {name: heads[name] for name in order}


type Interface = tuple[int, tuple[int, ...]]
"""An element type of ONNX and a shape."""


def add_outputs(graph: GraphBuilder, values: Mapping[str, str], widths: Mapping[str, int]) -> None:
    """Join `values`, by output, in the order of `widths` and name the result `outputs`."""
    joined = graph.op("Concat", *(values[name] for name in widths), axis=1)
    graph.nodes.append(helper.make_node("Cast", [joined], ["outputs"], name="outputs", to=TensorProto.FLOAT))


def finished_model(
    graph: GraphBuilder,
    name: str,
    checkpoint: str,
    inputs: Mapping[str, Interface],
    widths: Mapping[str, int],
    state: Mapping[str, Interface] | None = None,
) -> ModelProto:
    """The model of a complete graph, without its initialisers, with openpilot's metadata.

    `widths` are the outputs within the tensor `outputs`, `state` the outputs beside it.
    """
    outputs = {"outputs": (TensorProto.FLOAT, (1, sum(widths.values()))), **(state or {})}
    model = helper.make_model(
        helper.make_graph(graph.nodes, name, _value_infos(inputs), _value_infos(outputs)),
        opset_imports=[helper.make_opsetid("", 18)],
        producer_name="autoclave.source.synthetic",
        ir_version=9,
    )
    slices = encode_slices(output_slices(widths))
    helper.set_model_props(model, {"model_checkpoint": checkpoint, "output_slices": slices})
    return model


def output_slices(widths: Mapping[str, int]) -> dict[str, slice]:
    """Where each output lies in `outputs`; `pad` is an alias of the last two values, as in the real model."""
    ends = list(itertools.accumulate(widths.values()))
    slices = {name: slice(end - widths[name], end) for name, end in zip(widths, ends, strict=True)}
    return {**slices, "pad": slice(-2, None)}


def _value_infos(values: Mapping[str, Interface]) -> list[ValueInfoProto]:
    return [helper.make_tensor_value_info(name, dtype, dims) for name, (dtype, dims) in values.items()]


def encode_slices(slices: dict[str, slice]) -> str:
    """Base64 of the slices' pickle, as openpilot's metadata holds it.

    The pickle's opcodes (protocol 4) are written out here, because what `pickle.dumps` writes depends on the Python
    version and on which objects happen to be shared.
    """
    items = b"".join(_pickled_string(name) + _pickled_slice(value) for name, value in slices.items())
    return base64.b64encode(b"\x80\x04}(" + items + b"u.").decode()


def _pickled_string(value: str) -> bytes:
    encoded = value.encode()
    return b"\x8c" + bytes([len(encoded)]) + encoded


def _pickled_slice(value: slice) -> bytes:
    bounds = b"".join(_pickled_bound(bound) for bound in (value.start, value.stop, value.step))
    return _pickled_string("builtins") + _pickled_string("slice") + b"\x93" + bounds + b"\x87R"


def _pickled_bound(value: int | None) -> bytes:
    return b"N" if value is None else b"J" + value.to_bytes(4, "little", signed=True)
