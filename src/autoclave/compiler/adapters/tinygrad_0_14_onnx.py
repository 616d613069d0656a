"""ONNX for tinygrad 0.14 without copies: weights stay views of the mapped file.

tinygrad's own reader opens its file for writing and copies each weight to the device. This one gives each initialiser a
buffer of its own whose content is a slice of the file.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from tinygrad.dtype import DType, dtypes
from tinygrad.nn import onnx as tinygrad_onnx
from tinygrad.tensor import Tensor
from tinygrad.uop.ops import UOp

from autoclave.compiler.adapters.tinygrad_0_14_buffers import DEVICE, known_buffer
from autoclave.errors import SourceError
from autoclave.source.onnx_scanner import ModelSummary, Operator


@dataclass(frozen=True, slots=True)
class FileBytes:
    """A length-delimited field, as a slice of the file. tinygrad's parser asks for `data()`."""

    view: memoryview

    def data(self) -> memoryview:
        """The slice."""
        return self.view


class MappedReader(tinygrad_onnx.PBBufferedReader):  # type: ignore[misc]
    """tinygrad's protobuf primitives over a memoryview."""

    def __init__(self, content: memoryview) -> None:
        self.content, self.position, self.len = content, 0, content.nbytes

    def read(self, size: int) -> bytes:  # noqa: D102
        return bytes(self._take(size))

    def tell(self) -> int:  # noqa: D102
        return self.position

    def seek(self, offset: int, whence: int = 0) -> int:  # noqa: D102
        self.position = self.position + offset if whence == 1 else offset
        return self.position

    def read_delimited(self, use_tensor: bool = False) -> Any:  # noqa: D102
        view = self._take(self.decode_varint())
        return FileBytes(view) if use_tensor else bytes(view)

    def _take(self, size: int) -> memoryview:
        view = self.content[self.position : self.position + size]
        if view.nbytes != size:
            raise EOFError(f"the file ends {size - view.nbytes} bytes too early")
        self.position += size
        return view

    def __del__(self) -> None:
        pass


class MappedParser(tinygrad_onnx.OnnxPBParser):  # type: ignore[misc]
    """tinygrad's ONNX parser, with initialisers that are views of the file. `weights` lists their buffers by name."""

    def __init__(self, content: memoryview) -> None:
        self.reader = MappedReader(content)
        self.load_external_data = False
        self.weights: dict[str, UOp] = {}

    def _parse_TensorProto(self) -> dict[str, Any]:  # noqa: N802
        fields: dict[str, Any] = {"dims": [], "name": ""}
        for number, wire_type in self._parse_message(self._decode_end_pos()):
            self._read_tensor_field(fields, number, wire_type)
        if fields.get("data_location", 0) == 1:
            raise SourceError(
                f"initialiser {fields['name']!r} keeps its data in another file: store the data in the ONNX file itself"
            )
        dtype = tinygrad_onnx.OnnxDataType(fields["data_type"]).to_dtype()
        fields["parsed_tensor"] = self._tensor(fields["name"], _content(fields, dtype), dtype, tuple(fields["dims"]))
        return fields

    def _read_tensor_field(self, fields: dict[str, Any], number: int, wire_type: Any) -> None:
        packed = wire_type == tinygrad_onnx.WireType.LENGTH_DELIMITED
        match number:
            case 1:
                fields["dims"] += self.reader.read_packed_int64s() if packed else [self.reader.read_int64()]
            case 2:
                fields["data_type"] = self.reader.read_int64()
            case 4 | 10:
                fields["raw"] = (
                    fields.get("raw", b"") + bytes(self.reader.read_delimited())
                    if packed
                    else fields.get("raw", b"") + self.reader.read(4 if number == 4 else 8)
                )
            case 5 | 7 | 11:
                fields.setdefault("integers", []).extend(
                    self.reader.read_packed_int64s() if packed else [self.reader.read_int64()]
                )
            case 8:
                fields["name"] = self.reader.read_string()
            case 9:
                fields["raw"] = self.reader.read_bytes().view
            case 14:
                fields["data_location"] = self.reader.read_int64()
            case _:
                self.reader.skip_field(wire_type)

    def _tensor(self, name: str, content: memoryview, dtype: DType, shape: tuple[int, ...]) -> Tensor:
        count = content.nbytes // dtype.itemsize
        if shape == ():
            return Tensor(content.cast("B").cast(dtype.fmt)[0], device=DEVICE, dtype=dtype).reshape(())
        if count == 0:
            return Tensor([], device=DEVICE, dtype=dtype).reshape(shape)
        buffer = known_buffer(content, dtype)
        if name:
            self.weights[name] = buffer
        return Tensor(buffer).reshape(shape)


def _content(fields: Mapping[str, Any], dtype: DType) -> memoryview:
    """The bytes of a TensorProto, in whichever of its fields they are (onnx.proto3, message TensorProto)."""
    count = 1
    for size in fields["dims"]:
        count *= size
    content = memoryview(fields["raw"]) if "raw" in fields else _pack_integers(fields.get("integers", []), dtype)
    if content.nbytes != count * dtype.itemsize:
        raise SourceError(
            f"initialiser {fields['name']!r} should have {count * dtype.itemsize} bytes of {dtype.name}, but has {content.nbytes}"
        )
    return content


def _pack_integers(values: list[int], dtype: DType) -> memoryview:
    # float16 and bfloat16 travel as their 16 bits in int32_data.
    code = {dtypes.half: "H", dtypes.bfloat16: "H"}.get(dtype, dtype.fmt)
    mask = (1 << (8 * dtype.itemsize)) - 1
    wrapped = (
        [bool(value) for value in values]
        if code == "?"
        else [value & mask if code.isupper() else value for value in values]
    )
    return memoryview(struct.pack(f"<{len(values)}{code}", *wrapped))


def unsupported_operators(summary: ModelSummary) -> dict[str, int]:
    """Operators that tinygrad has no implementation of, "name (domain version)" with how many nodes use each."""
    return {
        f"{operator.op_type} ({operator.domain or tinygrad_onnx.Domain.ONNX.value} {summary.opsets.get(operator.domain, 1)})": count
        for operator, count in summary.operators.items()
        if not _is_supported(operator, summary.opsets.get(operator.domain, 1))
    }


def _is_supported(operator: Operator, version: int) -> bool:
    implementations = SimpleNamespace(onnx_ops=tinygrad_onnx.onnx_ops)
    try:
        opset = tinygrad_onnx.OpSetId(tinygrad_onnx.Domain.from_onnx(operator.domain), version)
        tinygrad_onnx.OnnxRunner._select_op(implementations, operator.op_type, opset)
    except (NotImplementedError, ValueError):
        return False
    return True
