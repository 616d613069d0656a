"""ONNX models that compute what tests/native/cpu_artifacts.py's artifact computes."""

from pathlib import Path

import numpy as np
import onnx
from native.cpu_artifacts import SIZE, WEIGHTS
from onnx import TensorProto, helper, numpy_helper


def write_reference(path: Path, factor: float = 3.0, input_name: str = "x", output_name: str = "result") -> None:
    """Write a model of result = x * factor * WEIGHTS + pixels, in fp32."""
    weights = (WEIGHTS * np.float32(factor)).astype(np.float32).reshape(2, 4)
    graph = helper.make_graph(
        [
            helper.make_node("Mul", [input_name, "weights"], ["product"]),
            helper.make_node("Cast", ["pixels"], ["numbers"], to=TensorProto.FLOAT),
            helper.make_node("Reshape", ["numbers", "shape"], ["matrix"]),
            helper.make_node("Add", ["product", "matrix"], [output_name]),
        ],
        "reference",
        [
            helper.make_tensor_value_info("pixels", TensorProto.UINT8, [SIZE]),
            helper.make_tensor_value_info(input_name, TensorProto.FLOAT, [2, 4]),
        ],
        [helper.make_tensor_value_info(output_name, TensorProto.FLOAT, [2, 4])],
        [numpy_helper.from_array(weights, "weights"), numpy_helper.from_array(np.array([2, 4], np.int64), "shape")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString(deterministic=True))
