"""What synthetic driving models are made of: a network of the real one's kind, not its copy.

A convolutional vision trunk over two stacked road images gives a feature vector, a transformer over the features of the past gives a
state, and one head per output reads either. Size and work follow `SCALES`.
"""

import itertools
from dataclasses import dataclass

from onnx import TensorProto

from autoclave.source.graph_builder import GraphBuilder

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


def vision_feature(graph: GraphBuilder, shape: Scale) -> str:
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


def half(graph: GraphBuilder, name: str) -> str:
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


def joined_features(graph: GraphBuilder, feature: str) -> str:
    """The past features of the input `features_buffer` and the current one, (1, 25, 512)."""
    current = graph.op("Unsqueeze", feature, graph.ints(1))
    return graph.op("Concat", half(graph, "features_buffer"), current, axis=1)


def policy_state(graph: GraphBuilder, shape: Scale, features: str, conditions: tuple[str, ...]) -> str:
    """Features, desires and what the inputs `conditions` say (two values each) to one state, (1, policy)."""
    width = shape.policy
    desire = graph.op("Mul", half(graph, "desire_pulse"), graph.scalar(DESIRE_WEIGHT))
    with graph.scope("embed"):
        tokens = graph.op("Concat", features, desire, axis=2)
        x = graph.linear(tokens, (FEATURE_WIDTH + DESIRE_WIDTH, width), rows=CONTEXT)
        x = graph.op("Add", x, graph.weight("position", (1, CONTEXT, width), 0.2))
    for layer in range(shape.layers):
        with graph.scope(f"layer{layer}"):
            x = _attention(graph, x, CONTEXT, width, shape.heads)
            x = _feed_forward(graph, x, shape)
    with graph.scope("summary"):
        return _summary(graph, x, shape, conditions)


def _feed_forward(graph: GraphBuilder, x: str, shape: Scale) -> str:
    with graph.scope("feed_forward"):
        with graph.scope("norm"):
            y = graph.layer_norm(x, shape.policy)
        with graph.scope("expand"):
            y = graph.gelu(graph.linear(y, (shape.policy, shape.feed_forward), rows=CONTEXT))
        with graph.scope("project"):
            return graph.op("Add", x, graph.linear(y, (shape.feed_forward, shape.policy), rows=CONTEXT))


def _summary(graph: GraphBuilder, x: str, shape: Scale, given: tuple[str, ...]) -> str:
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
        conditions = half(graph, graph.op("Concat", *given, axis=1) if len(given) > 1 else given[0])
        state = graph.op("Add", state, graph.gemm(conditions, (2 * len(given), width)))
    with graph.scope("norm"):
        return graph.layer_norm(state, width)


def head_values(
    graph: GraphBuilder, scope: str, shape: Scale, x: str, width: int, heads: dict[str, int]
) -> dict[str, str]:
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
