"""Tensors that exist only while they are written: reproducible weights and the streaming ONNX writer.

A model's weights may be larger than half the memory, so no tensor's bytes are kept: each is generated when its turn to
be written comes, and dropped. The bytes depend on the seed and the tensor's name alone. Only integer operations, IEEE
multiplication and IEEE rounding are used, and of numpy's generators only PCG64's raw integers, whose stream numpy
promises never to change (its distribution methods carry no such promise).
"""

import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from onnx import GraphProto, ModelProto, TensorProto

_VALUES_PER_BLOCK = 1 << 22
"""Values generated at once: 8 MiB of raw integers, whatever the tensor's size."""

_DTYPES = {
    "float16": (TensorProto.FLOAT16, "<f2"),
    "float32": (TensorProto.FLOAT, "<f4"),
    "int64": (TensorProto.INT64, "<i8"),
}

_MODEL_GRAPH_FIELD = 7
_GRAPH_INITIALIZER_FIELD = 5
_TENSOR_RAW_DATA_FIELD = 9


@dataclass(frozen=True)
class RandomTensor:
    """A weight of uniformly distributed values between `-bound` and `bound`, around `centre`, rounded to `dtype`."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    bound: float
    centre: float
    seed: int

    @property
    def nbytes(self) -> int:
        """Size of the tensor's data in bytes."""
        return _count(self.shape) * np.dtype(_DTYPES[self.dtype][1]).itemsize

    def blocks(self) -> Iterator[bytes]:
        """Yield the tensor's little-endian data, piece by piece."""
        generator = np.random.PCG64([self.seed, zlib.crc32(self.name.encode())])
        step, centre = np.float32(self.bound / 2**15), np.float32(self.centre)
        left = _count(self.shape)
        while left:
            values = min(left, _VALUES_PER_BLOCK)
            raw = generator.random_raw(-(-values // 4)).astype("<u8", copy=False).view("<i2")[:values]
            yield (raw.astype(np.float32) * step + centre).astype(_DTYPES[self.dtype][1]).tobytes()
            left -= values


@dataclass(frozen=True)
class FixedTensor:
    """A small tensor whose values are given."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    data: bytes

    @property
    def nbytes(self) -> int:
        """Size of the tensor's data in bytes."""
        return len(self.data)

    def blocks(self) -> Iterator[bytes]:
        """Yield the tensor's little-endian data."""
        yield self.data


Tensor = RandomTensor | FixedTensor


def write_model(path: Path, model: ModelProto, tensors: Iterable[Tensor]) -> None:
    """Write `model`, which has no initialisers, to `path` with `tensors` as its initialisers, in their order.

    The file equals what `model.SerializeToString(deterministic=True)` would give with the tensors inside, but at no
    time is more than one block of one tensor in memory. Written to a temporary file beside `path`, then renamed.
    """
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("wb") as file:
        _write_model(file, model, list(tensors))
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _write_model(file: BinaryIO, model: ModelProto, tensors: list[Tensor]) -> None:
    before, after = _split(model.graph, _GRAPH_INITIALIZER_FIELD)
    headers = [_tensor_header(tensor) for tensor in tensors]
    sizes = [len(header) + tensor.nbytes for header, tensor in zip(headers, tensors, strict=True)]
    graph_size = len(before) + len(after) + sum(_field_size(_GRAPH_INITIALIZER_FIELD, size) for size in sizes)
    model_before, model_after = _split_model(model)
    file.write(model_before + _tag(_MODEL_GRAPH_FIELD) + _varint(graph_size) + before)
    for tensor, header, size in zip(tensors, headers, sizes, strict=True):
        file.write(_tag(_GRAPH_INITIALIZER_FIELD) + _varint(size) + header)
        for block in tensor.blocks():
            file.write(block)
    file.write(after + model_after)


def _split(graph: GraphProto, field: int) -> tuple[bytes, bytes]:
    """Serialise the fields of `graph` below and above the number `field`, each in ascending order."""
    before, after = GraphProto(), GraphProto()
    before.CopyFrom(graph)
    after.CopyFrom(graph)
    for descriptor, _ in graph.ListFields():
        (after if descriptor.number < field else before).ClearField(descriptor.name)
    return before.SerializeToString(deterministic=True), after.SerializeToString(deterministic=True)


def _split_model(model: ModelProto) -> tuple[bytes, bytes]:
    """Serialise the fields of `model` below and above its graph."""
    before, after = ModelProto(), ModelProto()
    before.CopyFrom(model)
    after.CopyFrom(model)
    for descriptor, _ in model.ListFields():
        if descriptor.number >= _MODEL_GRAPH_FIELD:
            before.ClearField(descriptor.name)
        if descriptor.number <= _MODEL_GRAPH_FIELD:
            after.ClearField(descriptor.name)
    return before.SerializeToString(deterministic=True), after.SerializeToString(deterministic=True)


def _tensor_header(tensor: Tensor) -> bytes:
    """Everything of a TensorProto up to the bytes of `raw_data`, which is the last field of those used."""
    proto = TensorProto(dims=tensor.shape, data_type=_DTYPES[tensor.dtype][0], name=tensor.name)
    fields: bytes = proto.SerializeToString(deterministic=True)
    return fields + _tag(_TENSOR_RAW_DATA_FIELD) + _varint(tensor.nbytes)


def _field_size(field: int, payload: int) -> int:
    return len(_tag(field)) + len(_varint(payload)) + payload


def _tag(field: int) -> bytes:
    """The tag of a length-delimited field."""
    return _varint(field << 3 | 2)


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count
