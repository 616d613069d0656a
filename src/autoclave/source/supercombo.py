"""The synthetic supercombo: the interface of openpilot's fused driving model around random weights.

Inputs, outputs, slice widths and metadata are the real model's of 2026, or, of an older behaviour version, as that needs.
"""

from onnx import ModelProto, TensorProto

from autoclave.source.driving_model import (
    HIDDEN_STATE,
    NEWEST,
    VISION_HEADS,
    Interface,
    add_outputs,
    conditions,
    finished_model,
    policy_heads,
    whole_widths,
)
from autoclave.source.driving_network import (
    CONTEXT,
    DESIRE_WIDTH,
    FEATURE_WIDTH,
    IMAGE_CHANNELS,
    IMAGE_SIZE,
    PAST,
    SCALES,
    Scale,
    head_values,
    joined_features,
    policy_state,
    vision_feature,
)
from autoclave.source.graph_builder import GraphBuilder
from autoclave.source.weight_stream import Tensor

IMAGES: dict[str, Interface] = {
    name: (TensorProto.UINT8, (1, IMAGE_CHANNELS, *IMAGE_SIZE)) for name in ("img", "big_img")
}


def policy_inputs(version: str, features: int) -> dict[str, Interface]:
    """What a policy that is shown `features` feature vectors is fed."""
    return {
        "features_buffer": (TensorProto.FLOAT, (1, features, FEATURE_WIDTH)),
        "desire_pulse": (TensorProto.FLOAT, (1, CONTEXT, DESIRE_WIDTH)),
        **{name: (TensorProto.FLOAT, (1, 2)) for name in conditions(version)},
    }


def build(scale: str, seed: int, version: str = NEWEST) -> tuple[ModelProto, list[Tensor], int]:
    """Make the model of the given scale, a key of `SCALES`, and behaviour version.

    Returns the model without its initialisers, the initialisers in file order, and the model's work per run in floating
    point operations.
    """
    graph = GraphBuilder(seed)
    add_network(graph, SCALES[scale], version)
    inputs = {**IMAGES, **policy_inputs(version, PAST)}
    model = finished_model(graph, "supercombo", checkpoint("", scale, seed, version), inputs, whole_widths(version))
    return model, graph.tensors, graph.flop


def checkpoint(part: str, scale: str, seed: int, version: str) -> str:
    """The name that a synthetic model gives itself."""
    return "/".join(filter(None, ("synthetic", part, scale, str(seed), version if version != NEWEST else "")))


def add_network(graph: GraphBuilder, shape: Scale, version: str = NEWEST) -> str:
    """Add everything between the model's inputs and `outputs`; returns the current feature vector."""
    with graph.scope("vision"):
        feature = vision_feature(graph, shape)
    with graph.scope("policy"):
        state = policy_state(graph, shape, joined_features(graph, feature), conditions(version))
    values = {
        **head_values(graph, "vision_heads", shape, feature, FEATURE_WIDTH, VISION_HEADS),
        **head_values(graph, "policy_heads", shape, state, shape.policy, policy_heads(version)),
        HIDDEN_STATE: feature,
    }
    add_outputs(graph, values, whole_widths(version))
    return feature
