"""float16 inputs that an a630 reads as images: kernels compile, keep the ONNX's types, and store what they should."""

from pathlib import Path

import pytest
from compiler.compile_action import Compiled, compile_model
from compiler.onnx_models import half_largest_product_model, half_maximum_model, half_state_model

from autoclave.artifact.disassembly.a630 import decode
from autoclave.artifact.reader import open_artifact

# What the state meets first: a computed float16 feature, or a float16 constant on its way there.
_OPERATORS = ["Concat", "Mul", "Clip", "Softmax", "LayerNormalization", "Erf", "Where"]


@pytest.mark.parametrize("operator", _OPERATORS)
def test_a_float16_image_meets_other_float16_values(tmp_path: Path, operator: str) -> None:
    result = compile_model(tmp_path, half_state_model(operator), "qcom")

    assert result.code == 0, result.log
    with open_artifact(result.artifact) as artifact:
        part = artifact.header.parts[0]
        assert [(each.name, each.shape, each.dtype) for each in part.inputs] == [
            ("x", (1, 1, 64), "float16"),
            ("state", (1, 7, 64), "float16"),
        ]
        assert [(each.name, each.dtype) for each in part.outputs] == [("answer", "float16")]
        assert any(kernel.launch["texture_slots"] for kernel in artifact.header.kernels)


def test_local_memory_for_float16_is_written_as_float16(tmp_path: Path) -> None:
    result = compile_model(tmp_path, half_maximum_model(), "qcom")

    assert result.code == 0, result.log
    stores = [text for text in _instructions(result) if "stl." in text]
    assert stores
    assert all("stl.u16" in text for text in stores)


def test_float16_products_are_rounded_wherever_they_are_computed(tmp_path: Path) -> None:
    """Else a product would not equal the largest one, which a kernel before has rounded and stored."""
    result = compile_model(tmp_path, half_largest_product_model(), "qcom")

    assert result.code == 0, result.log
    products = [text for text in _instructions(result) if "mul.f" in text]
    assert len(products) >= 2
    assert all("mul.f hr" in text for text in products)


def _instructions(result: Compiled) -> list[str]:
    with open_artifact(result.artifact) as artifact:
        kernels = [(kernel.name, bytes(artifact.read(kernel.lib))) for kernel in artifact.header.kernels]
    return [instruction.text for kernel in decode(kernels) for instruction in kernel]
