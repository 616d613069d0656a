"""Small ONNX models, each for one purpose, built with the onnx package."""

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

_TYPES = {"float16": TensorProto.FLOAT16, "float32": TensorProto.FLOAT}


def weights(name: str, shape: tuple[int, ...], dtype: str) -> onnx.TensorProto:
    """A weight of small numbers that repeat every 31 elements."""
    count = int(np.prod(shape))
    values = (np.arange(count) % 31 - 15).astype(dtype) / np.array(16, dtype)
    return numpy_helper.from_array(values.reshape(shape), name)


def model_bytes(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    initialisers: Sequence[onnx.TensorProto] = (),
    opset: int = 13,
) -> bytes:
    """The serialised model."""
    graph = helper.make_graph(list(nodes), "test", list(inputs), list(outputs), list(initialisers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return bytes(model.SerializeToString(deterministic=True))


def tensor(name: str, dtype: str, shape: Sequence[int | str]) -> onnx.ValueInfoProto:
    """A graph input or output."""
    kind = TensorProto.UINT8 if dtype == "uint8" else _TYPES[dtype]
    return helper.make_tensor_value_info(name, kind, list(shape))


def small_model(dtype: str) -> bytes:
    """Convolution, pooling, matrix product and one state: what driving models are made of, in ten nodes."""
    node = helper.make_node
    nodes = [
        node("Cast", ["image"], ["pixels"], to=_TYPES[dtype]),
        node("Div", ["pixels", "scale"], ["scaled"]),
        node("Conv", ["scaled", "kernel"], ["filtered"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("Relu", ["filtered"], ["active"]),
        node("GlobalAveragePool", ["active"], ["pooled"]),
        node("Flatten", ["pooled"], ["features"]),
        node("Concat", ["features", "memory"], ["joined"], axis=1),
        node("MatMul", ["joined", "projection"], ["projected"]),
        node("Tanh", ["projected"], ["next_memory"]),
        node("Cast", ["projected"], ["answer"], to=TensorProto.FLOAT),
    ]
    return model_bytes(
        nodes,
        [tensor("image", "uint8", [1, 4, 16, 16]), tensor("memory", dtype, [1, 8])],
        [tensor("answer", "float32", [1, 8]), tensor("next_memory", dtype, [1, 8])],
        [
            numpy_helper.from_array(np.array(255, dtype), "scale"),
            weights("kernel", (8, 4, 3, 3), dtype),
            weights("projection", (16, 8), dtype),
        ],
    )


def product_model(input_shape: Sequence[int | str], *, factor: float = 0.5) -> bytes:
    """y = x * factor, for tests of the interface alone."""
    return model_bytes(
        [helper.make_node("Mul", ["x", "factor"], ["y"])],
        [tensor("x", "float32", input_shape)],
        [tensor("y", "float32", input_shape)],
        [numpy_helper.from_array(np.array([factor], np.float32), "factor")],
    )


def computed_shape_model() -> bytes:
    """Reshapes (2, 8) to (4, 4) by a shape that the graph computes from the input's own shape."""
    node = helper.make_node
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "first"], ["rows"], axis=0),
        node("Mul", ["rows", "two"], ["twice"]),
        node("Concat", ["twice", "rest"], ["wanted"], axis=0),
        node("Reshape", ["x", "wanted"], ["y"]),
    ]
    numbers = {"first": [0], "two": [2], "rest": [-1]}
    return model_bytes(
        [*nodes, node("Neg", ["y"], ["z"])],
        [tensor("x", "float32", [2, 8])],
        [tensor("z", "float32", [4, 4])],
        [numpy_helper.from_array(np.array(value, np.int64), name) for name, value in numbers.items()],
    )


def shape_from_data_model() -> bytes:
    """Reshapes by the value of an input, which no kernel that is compiled ahead can follow."""
    shape = helper.make_tensor_value_info("shape", TensorProto.INT64, [2])
    return model_bytes(
        [helper.make_node("Reshape", ["x", "shape"], ["y"])],
        [tensor("x", "float32", [2, 8]), shape],
        [tensor("y", "float32", [4, 4])],
    )


def passed_through_model() -> bytes:
    """One output is an input, one a weight, and two are the same value."""
    node = helper.make_node
    nodes = [
        node("Identity", ["x"], ["same"]),
        node("Identity", ["table"], ["constant"]),
        node("Neg", ["x"], ["negated"]),
        node("Identity", ["negated"], ["again"]),
    ]
    outputs = [tensor(name, "float32", [2, 4]) for name in ("same", "constant", "negated", "again")]
    return model_bytes(nodes, [tensor("x", "float32", [2, 4])], outputs, [weights("table", (2, 4), "float32")])


def unknown_operators_model() -> bytes:
    """Two operators that tinygrad does not have, one of them twice, among known ones."""
    node = helper.make_node
    nodes = [
        node("Relu", ["x"], ["a"]),
        node("Det", ["a"], ["b"]),
        node("Det", ["a"], ["c"]),
        node("StringNormalizer", ["b"], ["d"]),
        node("Add", ["c", "d"], ["y"]),
    ]
    return model_bytes(nodes, [tensor("x", "float32", [2, 2])], [tensor("y", "float32", [1])])


def unknown_domain_model() -> bytes:
    """An operator of somebody's own beside one that tinygrad does not have."""
    node = helper.make_node
    nodes = [node("Frob", ["x"], ["a"], domain="com.example"), node("Det", ["a"], ["y"])]
    return model_bytes(nodes, [tensor("x", "float32", [2, 2])], [tensor("y", "float32", [1])])


def unread_input_model() -> bytes:
    """An input that is multiplied into nothing."""
    node = helper.make_node
    return model_bytes(
        [node("Identity", ["x"], ["z"]), node("Neg", ["z"], ["y"])],
        [tensor("x", "float32", [2, 4]), tensor("ignored", "float32", [2, 4])],
        [tensor("y", "float32", [2, 4])],
    )


def half_state_model(operator: str) -> bytes:
    """float16 inputs `x` and `state`; what `operator` computes from the state goes with computed features into a product.

    Sizes are such that tinygrad makes the inputs images on the a630.
    """
    node = helper.make_node
    from_state = {
        "Concat": [],
        "Mul": [node("Mul", ["state", "factor"], ["kept"])],
        "Clip": [node("Clip", ["state", "low", "factor"], ["kept"])],
        "Softmax": [node("Softmax", ["state"], ["kept"], axis=2)],
        "LayerNormalization": [node("LayerNormalization", ["state", "scale"], ["kept"], axis=2)],
        "Erf": [node("Erf", ["state"], ["kept"])],
        "Where": [
            node("Less", ["state", "factor"], ["small"]),
            node("Where", ["small", "state", "factor"], ["kept"]),
        ],
    }[operator]
    nodes = [
        *from_state,
        node("MatMul", ["x", "square"], ["product"]),
        node("Tanh", ["product"], ["feature"]),
        node("Concat", ["kept" if from_state else "state", "feature"], ["next_state"], axis=1),
        node("MatMul", ["next_state", "projection"], ["answer"]),
    ]
    half = np.float16
    return model_bytes(
        nodes,
        [tensor("x", "float16", [1, 1, 64]), tensor("state", "float16", [1, 7, 64])],
        [tensor("answer", "float16", [1, 8, 32])],
        [
            weights("square", (64, 64), "float16"),
            weights("projection", (64, 32), "float16"),
            weights("scale", (64,), "float16"),
            numpy_helper.from_array(half(0.75), "factor"),
            numpy_helper.from_array(half(-1), "low"),
        ],
        opset=17,
    )


def half_maximum_model() -> bytes:
    """The largest of 16 float16 numbers, in each of 512 columns: tinygrad reduces this in local memory on the a630."""
    return model_bytes(
        [helper.make_node("ReduceMax", ["x"], ["y"], axes=[1])],
        [tensor("x", "float16", [1, 16, 512])],
        [tensor("y", "float16", [1, 1, 512])],
    )


def half_largest_product_model() -> bytes:
    """Where the product of two float16 inputs is largest: tinygrad compares a stored maximum with products computed anew."""
    node = helper.make_node
    return model_bytes(
        [node("Mul", ["x", "z"], ["product"]), node("ArgMax", ["product"], ["y"], axis=1, keepdims=0)],
        [tensor("x", "float16", [1, 16, 512]), tensor("z", "float16", [1, 16, 512])],
        [helper.make_tensor_value_info("y", TensorProto.INT64, [1, 512])],
    )


def padded_pool_model() -> bytes:
    """A max pool whose border an a630 kernel cannot read as it reads the rest."""
    return model_bytes(
        [helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])],
        inputs=[tensor("x", "float32", (1, 16, 32, 32))],
        outputs=[tensor("y", "float32", (1, 16, 16, 16))],
    )
