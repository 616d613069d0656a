"""Weights of an ONNX file as views of it, in whichever field of the tensor message they are stored."""

import mmap
from pathlib import Path

import numpy as np
import onnx
import pytest
from compiler.onnx_models import model_bytes, tensor
from onnx import TensorProto, helper, numpy_helper
from tinygrad.tensor import Tensor
from tinygrad.uop.ops import buffers

from autoclave.compiler.adapters.tinygrad_0_14_onnx import MappedParser
from autoclave.errors import SourceError


def parse(weight: onnx.TensorProto) -> MappedParser:
    content = model_bytes(
        [helper.make_node("Identity", ["x"], ["y"])],
        [tensor("x", "float32", [1])],
        [tensor("y", "float32", [1])],
        [weight],
    )
    parser = MappedParser(memoryview(content))
    parser.parse()
    return parser


def stored(parser: MappedParser, name: str) -> bytes:
    return bytes(buffers[parser.weights[name]]._buf.read())


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "uint8", "int8", "int32", "int64", "bool"])
def test_raw_data_is_kept_as_it_is(dtype: str) -> None:
    values = np.array([[0, 1, 2], [3, 100, 1]]).astype(dtype)

    assert stored(parse(numpy_helper.from_array(values, "w")), "w") == values.tobytes()


@pytest.mark.parametrize(
    ("kind", "dtype", "values"),
    [
        (TensorProto.FLOAT, "float32", [0.5, -1.25, 3e38]),
        (TensorProto.DOUBLE, "float64", [0.5, -1.25, 1e300]),
        (TensorProto.INT64, "int64", [-1, 0, 2**62]),
        (TensorProto.INT32, "int32", [-1, 0, 2**31 - 1]),
        (TensorProto.INT8, "int8", [-128, 0, 127]),
        (TensorProto.UINT8, "uint8", [0, 200, 255]),
        (TensorProto.BOOL, "bool", [True, False, True]),
        (TensorProto.FLOAT16, "float16", [0.5, -1.25, 65504.0]),
    ],
)
def test_typed_fields_give_the_same_bytes_as_raw_data(kind: int, dtype: str, values: list[float]) -> None:
    typed = helper.make_tensor("w", kind, [len(values)], values)
    assert not typed.raw_data

    assert stored(parse(typed), "w") == np.array(values, dtype).tobytes()


def test_a_weight_is_a_view_of_the_mapped_file(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    values = np.arange(1 << 16, dtype=np.float32)
    path.write_bytes(model_bytes([], [], [], [numpy_helper.from_array(values, "w")]))
    with path.open("r+b") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_WRITE)
    parser = MappedParser(memoryview(mapped))
    parser.parse()
    at = mapped.find(values.tobytes())

    mapped[at : at + 4] = np.float32(7).tobytes()

    assert stored(parser, "w")[:4] == np.float32(7).tobytes()
    del parser


def test_a_weight_that_is_too_short_is_refused() -> None:
    weight = numpy_helper.from_array(np.zeros(4, np.float32), "w")
    weight.raw_data = weight.raw_data[:-1]

    with pytest.raises(SourceError, match="initialiser 'w' should have 16 bytes of float, but has 15"):
        parse(weight)


def test_data_in_another_file_is_refused() -> None:
    weight = numpy_helper.from_array(np.zeros(4, np.float32), "w")
    weight.ClearField("raw_data")
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="weights.bin")

    with pytest.raises(SourceError, match="initialiser 'w' keeps its data in another file"):
        parse(weight)


def test_a_scalar_becomes_a_constant_of_the_graph() -> None:
    parser = MappedParser(
        memoryview(model_bytes([], [], [], [numpy_helper.from_array(np.array(0.5, np.float16), "w")]))
    )

    value = parser.parse()["graph"]["initializer"][0]["parsed_tensor"]

    assert isinstance(value, Tensor)
    assert value.shape == ()
    assert not parser.weights
