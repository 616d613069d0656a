"""The synthetic stateful model: the supercombo with its history inside, as openpilot's models since September 2026.

Only what is new is fed: the frames, the desire, the traffic convention and the delays. Every other input `X` is state,
which the runtime fills from the output `next_X` of the run before. Between the two lies the supercombo.
"""

from onnx import ModelProto, TensorProto

from autoclave.source.driving_model import NEWEST, Interface, conditions, finished_model, whole_widths
from autoclave.source.driving_network import (
    CONTEXT,
    DESIRE_WIDTH,
    FEATURE_WIDTH,
    IMAGE_CHANNELS,
    IMAGE_SIZE,
    PAST,
    SCALES,
)
from autoclave.source.graph_builder import GraphBuilder
from autoclave.source.supercombo import add_network, checkpoint
from autoclave.source.weight_stream import Tensor

_FRAMES: Interface = (TensorProto.UINT8, (2, IMAGE_CHANNELS // 2, *IMAGE_SIZE))
"""One frame of each road camera, six planes each."""

STATE: dict[str, Interface] = {
    "img_buffer": _FRAMES,
    "features_buffer": (TensorProto.FLOAT, (1, PAST, FEATURE_WIDTH)),
    "desire_buffer": (TensorProto.FLOAT, (1, PAST, DESIRE_WIDTH)),
}


def build(scale: str, seed: int, version: str = NEWEST) -> tuple[ModelProto, list[Tensor], int]:
    """Make the model of the given scale and behaviour version; returns what `supercombo.build` returns."""
    graph = GraphBuilder(seed)
    with graph.scope("history"):
        _join_history(graph)
    feature = add_network(graph, SCALES[scale], version)
    with graph.scope("next"):
        _shift_history(graph, feature)
    inputs: dict[str, Interface] = {
        "new_img": _FRAMES,
        "desire": (TensorProto.FLOAT, (1, DESIRE_WIDTH)),
        **{name: (TensorProto.FLOAT, (1, 2)) for name in conditions(version)},
        **STATE,
    }
    following = {f"next_{name}": interface for name, interface in STATE.items()}
    name = checkpoint("stateful", scale, seed, version)
    return finished_model(graph, "stateful", name, inputs, whole_widths(version), following), graph.tensors, graph.flop


def _join_history(graph: GraphBuilder) -> None:
    """Make the supercombo's inputs of the state and what is new."""
    frames = graph.op("Concat", "img_buffer", "new_img", axis=1)
    graph.name_values("Split", frames, graph.ints(1, 1), outputs=("img", "big_img"), axis=0)
    newest = graph.op("Unsqueeze", "desire", graph.ints(1))
    graph.name_values("Concat", "desire_buffer", newest, outputs=("desire_pulse",), axis=1)


def _shift_history(graph: GraphBuilder, feature: str) -> None:
    """Make the next state: drop the oldest entry, append the newest."""
    graph.name_values("Identity", "new_img", outputs=("next_img_buffer",))
    first, end, axis = graph.ints(1), graph.ints(CONTEXT), graph.ints(1)
    graph.name_values("Slice", "desire_pulse", first, end, axis, outputs=("next_desire_buffer",))
    newest = graph.op("Cast", graph.op("Unsqueeze", feature, axis), to=TensorProto.FLOAT)
    kept = graph.op("Slice", "features_buffer", first, graph.ints(PAST), axis)
    graph.name_values("Concat", kept, newest, outputs=("next_features_buffer",), axis=1)
