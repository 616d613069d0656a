"""The synthetic driver monitoring model: luma of the driver's camera and the calibration in, what the driver does out, for either seat.

Inputs, outputs and metadata are those of openpilot's model of 2026; the network is a small convolutional one of any scale.
"""

from onnx import ModelProto, TensorProto, helper

from autoclave.source.driving_model import NEWEST, Interface, finished_model
from autoclave.source.driving_network import SCALES, half
from autoclave.source.graph_builder import GraphBuilder
from autoclave.source.supercombo import checkpoint
from autoclave.source.weight_stream import Tensor

IMAGE_SIZE = (960, 1440)
"""(height, width) of the luma that the model is shown."""
CALIBRATION = 3
STRIDES = (4, 4, 2, 3)
"""Of the four stages, whose channels are the scale's `widths`."""

INPUTS: dict[str, Interface] = {
    "input_img": (TensorProto.UINT8, (1, IMAGE_SIZE[0] * IMAGE_SIZE[1])),
    "calib": (TensorProto.FLOAT, (1, CALIBRATION)),
}
SIDE_HEADS = {
    "face_descs": 12,
    "face_prob": 1,
    "left_eye_prob": 1,
    "right_eye_prob": 1,
    "left_blink_prob": 1,
    "right_blink_prob": 1,
    "sunglasses_prob": 1,
    "using_phone_prob": 1,
    "sleep_prob": 1,
}
WIDTHS = {"wheel_on_right": 1} | {
    f"{name}_{side}": width for side in ("lhd", "rhd") for name, width in SIDE_HEADS.items()
}
"""Outputs and how many values each has: the last six of a face are logarithms of deviations."""


def build(scale: str, seed: int, version: str = NEWEST) -> tuple[ModelProto, list[Tensor], int]:
    """Make the model of the given scale; returns what `supercombo.build` returns. Behaviour versions change only its name."""
    graph, shape = GraphBuilder(seed), SCALES[scale]
    x = graph.op("Cast", graph.reshape("input_img", 1, 1, *IMAGE_SIZE), to=TensorProto.FLOAT16)
    x = graph.op("Div", graph.op("Sub", x, graph.scalar(128.0)), graph.scalar(64.0))
    channels, size = 1, IMAGE_SIZE
    for stage, (width, stride) in enumerate(zip(shape.widths, STRIDES, strict=True)):
        with graph.scope(f"stage{stage}"):
            kernel = 5 if stride == 4 else 3
            x = graph.op("Relu", graph.conv(x, (channels, width), kernel, size, stride=stride, gain=1.4))
            channels, size = width, (size[0] // stride, size[1] // stride)
    with graph.scope("pool"):
        x = graph.op("Relu", graph.conv(x, (channels, shape.pooled), 1, size))
        x = graph.op("Flatten", x, axis=1)
        x = graph.op("Relu", graph.gemm(x, (shape.pooled * size[0] * size[1], shape.hidden), gain=1.4))
    with graph.scope("heads"):
        joined = graph.op("Concat", x, half(graph, "calib"), axis=1)
        x = graph.op("Tanh", graph.gemm(joined, (shape.hidden + CALIBRATION, shape.head)))
        # One layer for all outputs: the a630 binds at most 16 textures to a kernel, and each layer's weights are one.
        values = graph.gemm(x, (shape.head, sum(WIDTHS.values())), gain=1.5)
    graph.nodes.append(helper.make_node("Cast", [values], ["outputs"], name="outputs", to=TensorProto.FLOAT))
    model = finished_model(graph, "monitoring", checkpoint("monitoring", scale, seed, version), INPUTS, WIDTHS)
    return model, graph.tensors, graph.flop
