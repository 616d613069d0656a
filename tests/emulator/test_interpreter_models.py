"""The interpreter on what tinygrad and Mesa compile, against ONNX Runtime."""

from pathlib import Path

import numpy as np
import onnxruntime
from compiler.compile_action import compile_model
from compiler.onnx_models import model_bytes, small_model, tensor, weights
from emulator.interpreted_artifact import interpret_artifact
from onnx import helper


def reference(model: bytes, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What ONNX Runtime gives."""
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def compare(directory: Path, model: bytes, inputs: dict[str, np.ndarray]) -> None:
    """Images hold f16 on this hardware, so results have some ten bits."""
    compiled = compile_model(directory, model, "qcom")
    assert compiled.code == 0, compiled.log
    found, expected = interpret_artifact(compiled.artifact, inputs), reference(model, inputs)
    for name, wanted in expected.items():
        np.testing.assert_allclose(found[name].astype(float), wanted.astype(float), rtol=2e-3, atol=5e-3)


def test_convolution_pooling_product_and_state(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    inputs = {
        "image": random.integers(0, 256, (1, 4, 16, 16), np.uint8),
        "memory": random.uniform(-1, 1, (1, 8)).astype(np.float16),
    }
    compare(tmp_path, small_model("float16"), inputs)


def test_functions_and_reductions(tmp_path: Path) -> None:
    node = helper.make_node
    nodes = [
        node("MatMul", ["x", "matrix"], ["product"]),
        node("Softmax", ["product"], ["softmax"], axis=-1),
        node("Sigmoid", ["product"], ["sigmoid"]),
        node("Exp", ["x"], ["exp"]),
        node("Abs", ["x"], ["abs"]),
        node("Sqrt", ["abs"], ["sqrt"]),
        node("Sin", ["x"], ["sin"]),
        node("ReduceMax", ["product"], ["largest"], axes=[1]),
    ]
    outputs = [tensor(name, "float32", [8, 24]) for name in ("softmax", "sigmoid")]
    outputs += [tensor(name, "float32", [8, 12]) for name in ("exp", "sqrt", "sin")]
    model = model_bytes(
        nodes,
        [tensor("x", "float32", [8, 12])],
        [*outputs, tensor("largest", "float32", [8, 1])],
        [weights("matrix", (12, 24), "float32")],
    )
    inputs = {"x": np.random.default_rng(2).uniform(-3, 3, (8, 12)).astype(np.float32)}
    compare(tmp_path, model, inputs)
