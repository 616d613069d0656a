"""Driving models of a few nodes each: the inputs and outputs of real ones around products of small random matrices."""

import base64
import itertools
import pickle
from collections.abc import Mapping
from functools import cache

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

IMAGE = (16, 32)
"""(height, width) of a plane: that of a model image of 64 x 32 pixels."""
MODEL_SIZE = (64, 32)
FEATURES = 512
DESIRES = 8

VISION = {
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
POLICY = {"plan": 990, "action": 4}
HIDDEN = {"hidden_state": FEATURES}
_RANK = 12

Shapes = Mapping[str, tuple[int, ...]]
IMAGES: Shapes = {"img": (1, 12, *IMAGE), "big_img": (1, 12, *IMAGE)}
CONDITIONS: Shapes = {"traffic_convention": (1, 2), "action_t": (1, 2)}


def policy_inputs(features: int, desires: int = 25) -> Shapes:
    """Inputs of a policy that is shown `features` features and `desires` desires."""
    return {"features_buffer": (1, features, FEATURES), "desire_pulse": (1, desires, DESIRES), **CONDITIONS}


@cache
def supercombo(features: int = 24, desires: int = 25) -> bytes:
    """A model in one file."""
    return model_of({**IMAGES, **policy_inputs(features, desires)}, {**VISION, **POLICY, **HIDDEN}, seed=1)


@cache
def vision() -> bytes:
    """A vision model."""
    return model_of(IMAGES, {**VISION, **HIDDEN}, seed=2)


@cache
def policy(seed: int = 3) -> bytes:
    """A policy beside a vision model, which is shown the current features as the last of 25."""
    return model_of(policy_inputs(25), POLICY, seed)


@cache
def deaf(name: str) -> bytes:
    """A supercombo that has the input `name` and ignores it."""
    return model_of({**IMAGES, **policy_inputs(24)}, {**VISION, **POLICY, **HIDDEN}, seed=5, ignored=name)


@cache
def stateful() -> bytes:
    """A model that keeps one past frame and one past feature itself."""
    frames = (2, 6, *IMAGE)
    inputs = {"new_img": frames, "img_buffer": frames, "features_buffer": (1, 1, FEATURES), "desire": (1, DESIRES)}
    nodes = [
        helper.make_node("Identity", ["new_img"], ["next_img_buffer"]),
        helper.make_node("Slice", ["outputs", "first", "end", "axis"], ["feature"]),
        helper.make_node("Unsqueeze", ["feature", "axis"], ["next_features_buffer"]),
    ]
    widths = {**VISION, **POLICY, **HIDDEN}
    total = sum(widths.values())
    numbers = {"first": total - FEATURES, "end": total, "axis": 1}
    state = {f"next_{name}": inputs[name] for name in ("img_buffer", "features_buffer")}
    return model_of(inputs, widths, 4, nodes, {name: np.array([value]) for name, value in numbers.items()}, state)


def slices(widths: Mapping[str, int]) -> dict[str, slice]:
    """Outputs of these widths, one after the other."""
    ends = list(itertools.accumulate(widths.values()))
    return {name: slice(end - width, end) for (name, width), end in zip(widths.items(), ends, strict=True)}


def model_of(
    inputs: Shapes,
    widths: Mapping[str, int],
    seed: int,
    nodes: list[onnx.NodeProto] | None = None,
    numbers: Mapping[str, np.ndarray] | None = None,
    state: Shapes | None = None,
    ignored: str | None = None,
) -> bytes:
    """tanh of the inputs' columns times one random matrix and another; an `ignored` input has no columns."""
    random = np.random.default_rng(seed)
    graph: list[onnx.NodeProto] = []
    constants: dict[str, np.ndarray] = dict(numbers or {})
    columns = []
    for name, shape in inputs.items():
        if name == ignored:
            continue
        # Pixels become at most 1 before they meet weights, which would have to be too small for half precision.
        constants[f"{name}.scale"] = np.array(1 / 255 if len(shape) == 4 else 1, np.float32)
        graph.append(helper.make_node("Cast", [name], [f"{name}.float"], to=TensorProto.FLOAT))
        graph.append(helper.make_node("Mul", [f"{name}.float", f"{name}.scale"], [f"{name}.scaled"]))
        weight = random.standard_normal((shape[-1], 2)) / np.sqrt(shape[-1])
        constants[f"{name}.weight"] = weight.astype(np.float32)
        graph.append(helper.make_node("MatMul", [f"{name}.scaled", f"{name}.weight"], [f"{name}.product"]))
        constants[f"{name}.shape"] = np.array([1, -1])
        graph.append(helper.make_node("Reshape", [f"{name}.product", f"{name}.shape"], [f"{name}.column"]))
        columns.append((f"{name}.column", 2 * int(np.prod(shape[:-1]))))
    # Every input matters as much as any other, however many values it has.
    mix = [random.standard_normal((count, _RANK)) / np.sqrt(count) for _, count in columns]
    constants["mix"] = np.concatenate(mix).astype(np.float32)
    constants["spread"] = (0.2 * random.standard_normal((_RANK, sum(widths.values())))).astype(np.float32)
    graph += [
        helper.make_node("Concat", [name for name, _ in columns], ["joined"], axis=1),
        helper.make_node("MatMul", ["joined", "mix"], ["mixed"]),
        helper.make_node("MatMul", ["mixed", "spread"], ["spread.product"]),
        helper.make_node("Tanh", ["spread.product"], ["outputs"]),
        *(nodes or []),
    ]
    outputs = {"outputs": (1, sum(widths.values())), **(state or {})}
    model = helper.make_model(
        helper.make_graph(
            graph,
            "driving",
            [_value(name, shape) for name, shape in inputs.items()],
            [_value(name, shape) for name, shape in outputs.items()],
            [numpy_helper.from_array(value, name) for name, value in constants.items()],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    encoded = base64.b64encode(pickle.dumps(slices(widths))).decode()
    helper.set_model_props(model, {"model_checkpoint": f"test/{seed}", "output_slices": encoded})
    return bytes(model.SerializeToString(deterministic=True))


def _value(name: str, shape: tuple[int, ...]) -> onnx.ValueInfoProto:
    kind = TensorProto.UINT8 if len(shape) == 4 else TensorProto.FLOAT
    return helper.make_tensor_value_info(name, kind, shape)
