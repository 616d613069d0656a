"""Synthetic driving models in several files: the supercombo's network cut after the feature vector, and policies by role.

The vision model computes the features that the runtime collects; a policy is shown them all, the current ones last. Of two policies, the
on-policy drives, and the off-policy sees the road and plans once more.
"""

from collections.abc import Mapping

from onnx import ModelProto

from autoclave.source.driving_model import (
    HIDDEN_STATE,
    NEWEST,
    VISION_HEADS,
    add_outputs,
    conditions,
    finished_model,
    policy_heads,
)
from autoclave.source.driving_network import (
    CONTEXT,
    FEATURE_WIDTH,
    SCALES,
    half,
    head_values,
    policy_state,
    vision_feature,
)
from autoclave.source.graph_builder import GraphBuilder
from autoclave.source.supercombo import IMAGES, checkpoint, policy_inputs
from autoclave.source.weight_stream import Tensor

OFF_POLICY_HEADS = {
    "plan": 990,
    "lane_lines": 528,
    "lane_lines_prob": 8,
    "road_edges": 264,
    "lead": 144,
    "lead_prob": 3,
}

Built = tuple[ModelProto, list[Tensor], int]
"""What `supercombo.build` returns."""


def build_vision(scale: str, seed: int, version: str = NEWEST) -> Built:
    """Make the vision model, which is the same for all behaviour versions but for its name."""
    graph, shape = GraphBuilder(seed), SCALES[scale]
    with graph.scope("vision"):
        feature = vision_feature(graph, shape)
    heads = head_values(graph, "vision_heads", shape, feature, FEATURE_WIDTH, VISION_HEADS)
    widths = {**VISION_HEADS, HIDDEN_STATE: FEATURE_WIDTH}
    add_outputs(graph, {**heads, HIDDEN_STATE: feature}, widths)
    model = finished_model(graph, "vision", checkpoint("vision", scale, seed, version), IMAGES, widths)
    return model, graph.tensors, graph.flop


def build_policy(scale: str, seed: int, version: str = NEWEST) -> Built:
    """Make the policy that drives, beside a vision model alone."""
    return _policy("policy", scale, seed, version, policy_heads(version))


def build_on_policy(scale: str, seed: int, version: str = NEWEST) -> Built:
    """Make the policy that drives, beside an off-policy model."""
    return _policy("on_policy", scale, seed, version, policy_heads(version))


def build_off_policy(scale: str, seed: int, version: str = NEWEST) -> Built:
    """Make the policy that does not drive."""
    return _policy("off_policy", scale, seed, version, OFF_POLICY_HEADS)


def _policy(part: str, scale: str, seed: int, version: str, widths: Mapping[str, int]) -> Built:
    graph, shape = GraphBuilder(seed), SCALES[scale]
    with graph.scope(part):
        state = policy_state(graph, shape, half(graph, "features_buffer"), conditions(version))
    add_outputs(graph, head_values(graph, f"{part}_heads", shape, state, shape.policy, dict(widths)), widths)
    inputs = policy_inputs(version, CONTEXT)
    model = finished_model(graph, part, checkpoint(part, scale, seed, version), inputs, widths)
    return model, graph.tensors, graph.flop
