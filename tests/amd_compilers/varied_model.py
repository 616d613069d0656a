"""A model of few kernels that differ: image and matrix products, softmax, normalisation, functions, in float16 and float32."""

import numpy as np
from compiler.onnx_models import model_bytes, tensor, weights
from onnx import TensorProto, helper, numpy_helper

SIZE = 32


def varied_model() -> bytes:
    """The ONNX file: `image` (uint8), `tokens` and `state` (float16) in; `pooled`, `mixed`, `next_state` out."""
    node = helper.make_node
    nodes = [
        node("Cast", ["image"], ["pixels"], to=TensorProto.FLOAT16),
        node("Mul", ["pixels", "scale"], ["scaled"]),
        node("Conv", ["scaled", "kernel"], ["filtered"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("Sigmoid", ["filtered"], ["gate"]),
        node("Mul", ["filtered", "gate"], ["active"]),
        node("MaxPool", ["active"], ["smaller"], kernel_shape=[2, 2], strides=[2, 2]),
        node("GlobalAveragePool", ["smaller"], ["average"]),
        node("Flatten", ["average"], ["features"]),
        node("Cast", ["features"], ["pooled"], to=TensorProto.FLOAT),
        node("LayerNormalization", ["tokens", "gain"], ["normal"], axis=2),
        node("MatMul", ["normal", "square"], ["queries"]),
        node("Transpose", ["normal"], ["keys"], perm=[0, 2, 1]),
        node("MatMul", ["queries", "keys"], ["products"]),
        node("Softmax", ["products"], ["attention"], axis=2),
        node("MatMul", ["attention", "normal"], ["mixed"]),
        node("Tanh", ["state"], ["bounded"]),
        node("Erf", ["state"], ["error"]),
        node("Concat", ["bounded", "error", "features"], ["joined"], axis=1),
        node("MatMul", ["joined", "projection"], ["next_state"]),
    ]
    return model_bytes(
        nodes,
        [
            tensor("image", "uint8", [1, 4, 16, 16]),
            tensor("tokens", "float16", [1, SIZE, SIZE]),
            tensor("state", "float16", [1, 8]),
        ],
        [
            tensor("pooled", "float32", [1, SIZE]),
            tensor("mixed", "float16", [1, SIZE, SIZE]),
            tensor("next_state", "float16", [1, 8]),
        ],
        [
            numpy_helper.from_array(np.float16(1 / 256), "scale"),
            weights("kernel", (SIZE, 4, 3, 3), "float16"),
            weights("gain", (SIZE,), "float16"),
            weights("square", (SIZE, SIZE), "float16"),
            weights("projection", (16 + SIZE, 8), "float16"),
        ],
        opset=17,
    )
