"""Small ONNX models made with the `onnx` package, one per feature that the scanner and the upcast must know."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

OPSET = [helper.make_opsetid("", 18)]

NUMPY_DTYPES = (
    "float32",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "int32",
    "int64",
    "bool",
    "float16",
    "float64",
    "uint32",
    "uint64",
    "complex64",
    "complex128",
)


def sample_values(dtype: str) -> np.ndarray[Any, Any]:
    """Six values of the dtype, negative and large ones included, as (2, 3)."""
    values = np.array([0, 1, -1, 100, -100, 7]).reshape(2, 3)
    return (values > 0) if dtype == "bool" else values.astype(np.int64).astype(dtype)


def model_of(
    nodes: Sequence[NodeProto],
    inputs: Sequence[ValueInfoProto],
    outputs: Sequence[ValueInfoProto],
    initializers: Sequence[TensorProto] = (),
    **options: Any,
) -> ModelProto:
    """A model of one graph; `opsets` and other options of `make_model` may be given."""
    graph = helper.make_graph(nodes, "sample", inputs, outputs, list(initializers))
    return helper.make_model(graph, opset_imports=options.pop("opsets", OPSET), ir_version=9, **options)


def linear_model() -> ModelProto:
    """y = x @ w + b with fp32 weights, one raw and one typed."""
    weight = numpy_helper.from_array(np.arange(12, dtype=np.float32).reshape(4, 3), "w")
    bias = helper.make_tensor("b", TensorProto.FLOAT, [3], [0.5, -0.5, 2.0])
    return model_of(
        [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["y"])],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3])],
        [weight, bias],
        producer_name="samples",
    )


def typed_data_model() -> ModelProto:
    """An initialiser of every dtype, raw and typed, and a scalar."""
    tensors = []
    for dtype in NUMPY_DTYPES:
        values = sample_values(dtype)
        number = helper.np_dtype_to_tensor_dtype(values.dtype)
        tensors.append(numpy_helper.from_array(values, f"raw_{dtype}"))
        tensors.append(helper.make_tensor(f"typed_{dtype}", number, values.shape, values.flatten().tolist()))
    tensors.append(TensorProto(name="text", data_type=TensorProto.STRING, dims=[2], string_data=[b"a", b"\xff"]))
    tensors.append(helper.make_tensor("scalar", TensorProto.FLOAT, [], [2.5]))
    tensors.append(helper.make_tensor("int4", TensorProto.INT4, [3], [1, -2, 3]))
    tensors.append(helper.make_tensor("bf16", TensorProto.BFLOAT16, [2], [1.0, -2.0]))
    tensors.append(helper.make_tensor("empty", TensorProto.FLOAT, [0, 3], []))
    identity = helper.make_node("Identity", ["x"], ["y"])
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"]
    return model_of([identity], value[:1], value[1:], tensors)


def branching_model(dtype: int = TensorProto.FLOAT) -> ModelProto:
    """An If whose branches hold an initialiser, a Constant and a Cast of the dtype; another domain; metadata."""
    weight = helper.make_tensor("inner", dtype, [2], [1.5, -0.25])
    constant = helper.make_tensor("value", dtype, [2], [3.0, 4.0])
    result = [helper.make_tensor_value_info("r", dtype, [2])]
    then = helper.make_graph([helper.make_node("Mul", ["x", "inner"], ["r"])], "then", [], result, [weight])
    other = helper.make_graph(
        [
            helper.make_node("Constant", [], ["c"], value=constant),
            helper.make_node("Cast", ["flags"], ["f"], to=dtype),
            helper.make_node("Add", ["c", "f"], ["r"]),
        ],
        "else",
        [],
        result,
    )
    model = model_of(
        [helper.make_node("If", ["which"], ["y"], then_branch=then, else_branch=other)],
        [
            helper.make_tensor_value_info("which", TensorProto.BOOL, []),
            helper.make_tensor_value_info("x", dtype, [2]),
            helper.make_tensor_value_info("flags", TensorProto.UINT8, [2]),
        ],
        [helper.make_tensor_value_info("y", dtype, [2])],
    )
    helper.set_model_props(model, {"model_checkpoint": "a/b", "leer": ""})
    return model


def custom_operator_model() -> ModelProto:
    """Operators of two domains that nobody knows, one of them twice."""
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"]
    nodes = [
        helper.make_node("Frobnicate", ["x"], ["a"], domain="com.example"),
        helper.make_node("Frobnicate", ["a"], ["b"], domain="com.example"),
        helper.make_node("LSTM", ["b"], ["c"], hidden_size=1),
        helper.make_node("Relu", ["c"], ["y"]),
    ]
    return model_of(nodes, value[:1], value[1:], opsets=[*OPSET, helper.make_opsetid("com.example", 3)])


def external_data_model(location: str = "weights.bin") -> ModelProto:
    """A model whose weight lies in another file."""
    model = linear_model()
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", "0"), ("length", "48")):
        tensor.external_data.add(key=key, value=value)
    return model


def stateful_model() -> ModelProto:
    """new_img in; `memory` fed back from `next_memory`."""
    dims = [1, 4]
    return model_of(
        [
            helper.make_node("Add", ["memory", "new_img"], ["next_memory"]),
            helper.make_node("Relu", ["next_memory"], ["outputs"]),
        ],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name in ("new_img", "memory")],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name in ("outputs", "next_memory")],
    )


SAMPLES: dict[str, Callable[[], ModelProto]] = {
    "linear": linear_model,
    "typed_data": typed_data_model,
    "branching": branching_model,
    "custom_operator": custom_operator_model,
    "external_data": external_data_model,
    "stateful": stateful_model,
}


def mirrored_models() -> list[Path]:
    """The real models in the folders that AUTOCLAVE_MIRRORS names; none on machines without such a folder."""
    folders = [Path(place.strip()) for place in os.environ.get("AUTOCLAVE_MIRRORS", "").split(",") if place.strip()]
    return [path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir()) if len(path.name) == 64]
