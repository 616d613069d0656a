"""The synthetic supercombo: the interface of openpilot's fused driving model around random weights.

Inputs, outputs, slice widths and metadata are the real model's of 2026. The network is of the real one's kind, not its
copy: a convolutional vision trunk over two stacked road images, a feature vector, a transformer over the past features,
and one head per output. Its size and work follow `SCALES`.
"""

import base64
import itertools
from dataclasses import dataclass

from onnx import ModelProto, TensorProto, ValueInfoProto, helper

from autoclave.source.graph_builder import GraphBuilder
from autoclave.source.weight_stream import Tensor

IMAGE_SIZE = (128, 256)
"""(height, width) of a half-resolution YUV plane."""
IMAGE_CHANNELS = 12
"""Two frames of six planes: four of Y, U, V."""
PAST = 24
"""Past feature vectors fed in; the model appends the current one."""
CONTEXT = PAST + 1
FEATURE_WIDTH = 512
DESIRE_WIDTH = 8
DESIRE_WEIGHT = 8.0
"""Makes a rare pulse count as much as the 512 feature values beside it."""

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

POLICY_HEADS = {"plan": 990, "desire_state": 8, "action": 4}
"""Outputs that depend on the past, the desire, the traffic convention and the actuator delays."""

OUTPUT_ORDER = (
    *itertools.islice(VISION_HEADS, 8),
    "plan",
    "lead",
    "lead_prob",
    "desire_state",
    "action",
    "hidden_state",
)
OUTPUT_WIDTHS = {**VISION_HEADS, **POLICY_HEADS, "hidden_state": FEATURE_WIDTH}
OUTPUT_WIDTH = sum(OUTPUT_WIDTHS.values())

type Interface = tuple[int, tuple[int, ...]]
"""An element type of ONNX and a shape."""

INPUTS: dict[str, Interface] = {
    "img": (TensorProto.UINT8, (1, IMAGE_CHANNELS, *IMAGE_SIZE)),
    "big_img": (TensorProto.UINT8, (1, IMAGE_CHANNELS, *IMAGE_SIZE)),
    "features_buffer": (TensorProto.FLOAT, (1, PAST, FEATURE_WIDTH)),
    "desire_pulse": (TensorProto.FLOAT, (1, CONTEXT, DESIRE_WIDTH)),
    "traffic_convention": (TensorProto.FLOAT, (1, 2)),
    "action_t": (TensorProto.FLOAT, (1, 2)),
}
OUTPUTS: dict[str, Interface] = {"outputs": (TensorProto.FLOAT, (1, OUTPUT_WIDTH))}


@dataclass(frozen=True)
class Scale:
    """How large a synthetic model is.

    `widths` and `depths` are the channels and blocks of the four vision stages, of which the first has the resolution
    of the image divided by `stem`; `expansion` is the widening inside a block; `pooled` the channels kept per position
    before the feature vector; `hidden` and `head` the widths of the layers before it and before the outputs; `policy`,
    `layers`, `heads` and `feed_forward` shape the transformer. `head_per_output` gives every output a layer of its own.
    """

    stem: int
    widths: tuple[int, int, int, int]
    depths: tuple[int, int, int, int]
    expansion: int
    pooled: int
    hidden: int
    head: int
    policy: int
    layers: int
    heads: int
    feed_forward: int
    head_per_output: bool


SCALES = {
    "S": Scale(8, (8, 16, 24, 32), (0, 1, 0, 1), 2, 8, 48, 32, 48, 1, 4, 96, False),
    "M": Scale(4, (24, 48, 96, 160), (1, 2, 3, 3), 3, 16, 192, 128, 160, 1, 4, 384, True),
    "L": Scale(2, (64, 128, 256, 512), (3, 6, 10, 4), 3, 32, 768, 512, 512, 3, 8, 2048, True),
    "XL": Scale(2, (128, 256, 512, 1024), (3, 6, 10, 4), 3, 64, 2048, 1024, 2048, 6, 16, 8192, True),
}


def build(scale: str, seed: int) -> tuple[ModelProto, list[Tensor], int]:
    """Make the model of the given scale, a key of `SCALES`.

    Returns the model without its initialisers, the initialisers in file order, and the model's work per run in floating
    point operations.
    """
    graph = GraphBuilder(seed)
    add_network(graph, SCALES[scale])
    return finished_model(graph, "supercombo", f"synthetic/{scale}/{seed}", INPUTS, OUTPUTS), graph.tensors, graph.flop


def add_network(graph: GraphBuilder, shape: Scale) -> str:
    """Add everything between the values named in `INPUTS` and `outputs`; returns the current feature vector."""
    with graph.scope("vision"):
        feature = _vision(graph, shape)
    with graph.scope("policy"):
        state = _policy(graph, shape, feature)
    outputs = {
        **_heads(graph, "vision_heads", shape, feature, FEATURE_WIDTH, VISION_HEADS),
        **_heads(graph, "policy_heads", shape, state, shape.policy, POLICY_HEADS),
        "hidden_state": feature,
    }
    joined = graph.op("Concat", *(outputs[name] for name in OUTPUT_ORDER), axis=1)
    graph.nodes.append(helper.make_node("Cast", [joined], ["outputs"], name="outputs", to=TensorProto.FLOAT))
    return feature


def output_slices() -> dict[str, slice]:
    """Where each output lies in `outputs`; `pad` is an alias of the last two values, as in the real model."""
    ends = list(itertools.accumulate(OUTPUT_WIDTHS[name] for name in OUTPUT_ORDER))
    slices = {name: slice(end - OUTPUT_WIDTHS[name], end) for name, end in zip(OUTPUT_ORDER, ends, strict=True)}
    return {**slices, "pad": slice(-2, None)}


def _vision(graph: GraphBuilder, shape: Scale) -> str:
    """Both images to one feature vector of unit mean square, (1, 512)."""
    x = graph.op("Concat", *(_normalised_image(graph, name) for name in ("img", "big_img")), axis=1)
    x, size = _stem(graph, shape, x)
    for stage, (width, depth) in enumerate(zip(shape.widths, shape.depths, strict=True)):
        with graph.scope(f"stage{stage}"):
            if stage:
                with graph.scope("downsample"):
                    x = graph.op("Relu", graph.conv(x, (shape.widths[stage - 1], width), 3, size, stride=2))
                size = (size[0] // 2, size[1] // 2)
            for block in range(depth):
                with graph.scope(f"block{block}"):
                    x = _vision_block(graph, x, shape, width, size, stage)
    with graph.scope("attention"):
        x = _vision_attention(graph, x, shape.widths[3], size)
    with graph.scope("pool"):
        x = graph.op("Elu", graph.conv(x, (shape.widths[3], shape.pooled), 1, size), alpha=1.0)
        x = graph.op("Flatten", x, axis=1)
        x = graph.op("Relu", graph.gemm(x, (shape.pooled * size[0] * size[1], shape.hidden)))
    with graph.scope("feature"):
        return _unit_mean_square(graph, graph.gemm(x, (shape.hidden, FEATURE_WIDTH)))


def _normalised_image(graph: GraphBuilder, name: str) -> str:
    """uint8 pixels to about -2..2."""
    pixels = graph.op("Cast", name, to=TensorProto.FLOAT16)
    return graph.op("Div", graph.op("Sub", pixels, graph.scalar(128.0)), graph.scalar(64.0))


def _half(graph: GraphBuilder, name: str) -> str:
    """An input, which the runtime gives in fp32, in the precision that the model computes in."""
    return graph.op("Cast", name, to=TensorProto.FLOAT16)


def _stem(graph: GraphBuilder, shape: Scale, x: str) -> tuple[str, tuple[int, int]]:
    height, width = IMAGE_SIZE
    with graph.scope("stem0"):
        channels = (2 * IMAGE_CHANNELS, shape.widths[0])
        x = graph.op("Elu", graph.conv(x, channels, 3, (height, width), stride=2), alpha=1.0)
    stride = 2
    while stride < shape.stem:
        with graph.scope(f"stem{stride}"):
            size = (height // stride, width // stride)
            x = graph.op("Relu", graph.conv(x, (shape.widths[0],) * 2, 3, size, stride=2, groups=shape.widths[0]))
        stride *= 2
    return x, (height // stride, width // stride)


def _vision_block(graph: GraphBuilder, x: str, shape: Scale, width: int, size: tuple[int, int], stage: int) -> str:
    """Depthwise token mixing, then a depthwise convolution and a two-layer channel mixer, each with a residual."""
    with graph.scope("mixer"):
        x = graph.op("Add", x, graph.conv(x, (width, width), 3, size, groups=width, gain=0.4))
    with graph.scope("spread"):
        y = graph.conv(x, (width, width), 7 if stage < 3 else 3, size, groups=width)
    with graph.scope("expand"):
        y = graph.conv(y, (width, width * shape.expansion), 1, size)
        y = graph.gelu(y) if stage % 2 == 0 else graph.op("Elu", y, alpha=1.0)
    with graph.scope("project"):
        x = graph.op("Add", x, graph.conv(y, (width * shape.expansion, width), 1, size, gain=0.5))
    return _squeeze_excite(graph, x, width) if stage == 3 else x


def _squeeze_excite(graph: GraphBuilder, x: str, width: int) -> str:
    """Scale every channel by a gate that depends on all channels' means."""
    with graph.scope("gate"):
        gate = graph.op("GlobalAveragePool", x)
        gate = graph.op("Relu", graph.conv(gate, (width, width // 4), 1, (1, 1)))
        gate = graph.op("HardSigmoid", graph.conv(gate, (width // 4, width), 1, (1, 1)), alpha=0.25, beta=0.75)
        return graph.op("Mul", x, gate)


def _vision_attention(graph: GraphBuilder, x: str, width: int, size: tuple[int, int]) -> str:
    """One attention layer over the positions of the last stage."""
    count = size[0] * size[1]
    tokens = graph.op("Transpose", graph.reshape(x, 1, width, count), perm=[0, 2, 1])
    tokens = _attention(graph, tokens, count, width, 4)
    return graph.reshape(graph.op("Transpose", tokens, perm=[0, 2, 1]), 1, width, *size)


def _attention(graph: GraphBuilder, x: str, count: int, width: int, heads: int) -> str:
    """Normalised multi-head self-attention over (1, count, width), with a residual."""
    head = width // heads
    with graph.scope("norm"):
        normalised = graph.layer_norm(x, width)
    with graph.scope("qkv"):
        joined = graph.linear(normalised, (width, 3 * width), rows=count)
        parts = graph.ops("Split", joined, graph.ints(width, width, width), outputs=3, axis=2)
        query, key, value = (
            graph.op("Transpose", graph.reshape(part, 1, count, heads, head), perm=perm)
            for part, perm in zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]), strict=True)
        )
    scores = graph.op("Mul", graph.op("MatMul", query, key), graph.scalar(head**-0.5))
    mixed = graph.op("MatMul", graph.op("Softmax", scores, axis=-1), value)
    graph.flop += 4 * count * count * width
    with graph.scope("out"):
        merged = graph.reshape(graph.op("Transpose", mixed, perm=[0, 2, 1, 3]), 1, count, width)
        return graph.op("Add", x, graph.linear(merged, (width, width), rows=count))


def _unit_mean_square(graph: GraphBuilder, x: str) -> str:
    """Divide a (1, N) vector by the root of its mean square, then clip outliers."""
    mean = graph.op("ReduceMean", graph.op("Pow", x, graph.scalar(2.0)), graph.ints(1), keepdims=1)
    x = graph.op("Div", x, graph.op("Sqrt", graph.op("Add", mean, graph.scalar(0.001))))
    return graph.op("Clip", x, graph.scalar(-8.0), graph.scalar(8.0))


def _policy(graph: GraphBuilder, shape: Scale, feature: str) -> str:
    """Past features, current feature, desire, traffic convention and delays to one state, (1, policy)."""
    width = shape.policy
    current = graph.op("Unsqueeze", feature, graph.ints(1))
    history = graph.op("Concat", _half(graph, "features_buffer"), current, axis=1)
    desire = graph.op("Mul", _half(graph, "desire_pulse"), graph.scalar(DESIRE_WEIGHT))
    with graph.scope("embed"):
        tokens = graph.op("Concat", history, desire, axis=2)
        x = graph.linear(tokens, (FEATURE_WIDTH + DESIRE_WIDTH, width), rows=CONTEXT)
        x = graph.op("Add", x, graph.weight("position", (1, CONTEXT, width), 0.2))
    for layer in range(shape.layers):
        with graph.scope(f"layer{layer}"):
            x = _attention(graph, x, CONTEXT, width, shape.heads)
            x = _feed_forward(graph, x, shape)
    with graph.scope("summary"):
        return _summary(graph, x, shape)


def _feed_forward(graph: GraphBuilder, x: str, shape: Scale) -> str:
    with graph.scope("feed_forward"):
        with graph.scope("norm"):
            y = graph.layer_norm(x, shape.policy)
        with graph.scope("expand"):
            y = graph.gelu(graph.linear(y, (shape.policy, shape.feed_forward), rows=CONTEXT))
        with graph.scope("project"):
            return graph.op("Add", x, graph.linear(y, (shape.feed_forward, shape.policy), rows=CONTEXT))


def _summary(graph: GraphBuilder, x: str, shape: Scale) -> str:
    """Gate between the newest token and the mean of all, add the driver's side and the delays, normalise."""
    width = shape.policy
    mean = graph.op("ReduceMean", x, graph.ints(1), keepdims=0)
    newest = graph.op("Gather", x, graph.index(PAST), axis=1)
    with graph.scope("gate"):
        gate = graph.op("Sigmoid", graph.gemm(graph.op("Concat", mean, newest, axis=1), (2 * width, width)))
    with graph.scope("candidate"):
        candidate = graph.op("Tanh", graph.gemm(newest, (width, width)))
    kept = graph.op("Mul", graph.op("Sub", graph.scalar(1.0), gate), candidate)
    state = graph.op("Add", graph.op("Mul", gate, mean), kept)
    with graph.scope("conditions"):
        conditions = _half(graph, graph.op("Concat", "traffic_convention", "action_t", axis=1))
        state = graph.op("Add", state, graph.gemm(conditions, (4, width)))
    with graph.scope("norm"):
        return graph.layer_norm(state, width)


def _heads(graph: GraphBuilder, scope: str, shape: Scale, x: str, width: int, heads: dict[str, int]) -> dict[str, str]:
    """One value per head, either each from a layer of its own or all cut from one layer."""
    with graph.scope(scope):
        with graph.scope("trunk"):
            x = graph.op("Relu", graph.gemm(x, (width, shape.head), gain=1.4))
            with graph.scope("residual"):
                x = graph.op("Add", x, graph.op("Relu", graph.gemm(x, (shape.head, shape.head))))
        if not shape.head_per_output:
            return _cut_heads(graph, x, shape.head, heads)
        values = {}
        for name, count in heads.items():
            with graph.scope(name):
                values[name] = graph.gemm(x, (shape.head, count), gain=0.7)
        return values


def _cut_heads(graph: GraphBuilder, x: str, width: int, heads: dict[str, int]) -> dict[str, str]:
    joined = graph.gemm(x, (width, sum(heads.values())), gain=0.7)
    ends = list(itertools.accumulate(heads.values()))
    return {
        name: graph.op("Slice", joined, graph.ints(end - heads[name]), graph.ints(end), graph.ints(1))
        for name, end in zip(heads, ends, strict=True)
    }


def finished_model(
    graph: GraphBuilder, name: str, checkpoint: str, inputs: dict[str, Interface], outputs: dict[str, Interface]
) -> ModelProto:
    """The model of a complete graph, without its initialisers, with openpilot's metadata."""
    model = helper.make_model(
        helper.make_graph(graph.nodes, name, _value_infos(inputs), _value_infos(outputs)),
        opset_imports=[helper.make_opsetid("", 18)],
        producer_name="autoclave.source.synthetic",
        ir_version=9,
    )
    helper.set_model_props(model, {"model_checkpoint": checkpoint, "output_slices": encode_slices(output_slices())})
    return model


def _value_infos(values: dict[str, Interface]) -> list[ValueInfoProto]:
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
