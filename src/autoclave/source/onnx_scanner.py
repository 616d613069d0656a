"""The structure of an ONNX file, read in place from a read-only mapping with no dependency.

    with open_model(path) as model:
        model.summary.inputs                           names, dtypes and dimensions
        model.data(model.summary.initializers[0])      the bytes of the first weight

Weights are never copied: an initialiser carries where its data lies in the file. Whatever the file holds, scanning
ends, recursion is bounded by `MAX_DEPTH`, and memory by the limits below; anything wrong raises `SourceError` with the
offset and what was being read there. Field numbers are onnx.proto's.
"""

import math
import mmap
import os
import struct
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from autoclave.errors import SourceError
from autoclave.source.onnx_types import (
    DOUBLE_DATA,
    ELEMENT_TYPES,
    FLOAT_DATA,
    INT32_DATA,
    INT64_DATA,
    STRING_DATA,
    UINT64_DATA,
    ElementType,
)
from autoclave.source.protobuf_wire import (
    Field,
    Message,
    WireType,
    count_packed_varints,
    fields,
    packed_varints,
)

MAX_DEPTH = 16
"""Subgraphs inside subgraphs, and types inside types."""
MAX_RANK = 32
MAX_NAME_BYTES = 4096
MAX_METADATA_BYTES = 4 << 20
MAX_INITIALIZERS = 100_000
MAX_VALUES = 4096
"""Graph inputs, and graph outputs."""
MAX_ENTRIES = 1024
"""Operator sets, metadata properties, local functions, distinct operators, references to external data."""

_TYPED_FIELDS = {FLOAT_DATA, INT32_DATA, STRING_DATA, INT64_DATA, DOUBLE_DATA, UINT64_DATA}
_FIXED_FIELDS = {FLOAT_DATA: 4, DOUBLE_DATA: 8}
"""Typed data fields whose values have a fixed number of bytes."""
_SINGLE_VALUE = {FLOAT_DATA: WireType.FIXED32, DOUBLE_DATA: WireType.FIXED64, STRING_DATA: WireType.BYTES}
"""How a single value of a typed data field is encoded; VARINT for the others."""


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator's domain ("" is ONNX's own) and type."""

    domain: str
    op_type: str

    def __str__(self) -> str:
        return f"{self.domain}::{self.op_type}" if self.domain else self.op_type


@dataclass(frozen=True, slots=True)
class ValueInfo:
    """A graph input or output.

    `kind` is "tensor", "sparse_tensor", "sequence", "map", "optional" or "unknown". `dtype` is the element type's name.
    `dims` is `None` if the rank is unknown; a dimension is a number, the name of an axis, or `None` if it has neither.
    """

    name: str
    kind: str = "unknown"
    dtype: str | None = None
    dims: tuple[int | str | None, ...] | None = None


@dataclass(frozen=True, slots=True)
class Initializer:
    """A weight.

    `data` is the (offset, length) in the file of its raw little-endian data, or `None` when the elements are stored as
    typed fields of the tensor message, which spans `message` (offset, length). `OnnxFile.data` reads either.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    data: tuple[int, int] | None
    message: tuple[int, int]
    nbytes: int


@dataclass(frozen=True, slots=True)
class ExternalData:
    """A tensor whose data lies in another file, at `location` relative to the model."""

    tensor: str
    location: str


@dataclass(frozen=True)
class ModelSummary:
    """What an ONNX file declares.

    `inputs` are all declared inputs; models before IR version 4 list their weights among them, `fed_inputs` does not.
    `operators` counts nodes, those of subgraphs and local functions included. `initializers` are the main graph's, in
    file order; `subgraph_initializers` those of subgraphs.
    """

    size: int
    ir_version: int
    producer: str
    opsets: dict[str, int]
    metadata: dict[str, str]
    graph_name: str
    inputs: tuple[ValueInfo, ...]
    outputs: tuple[ValueInfo, ...]
    initializers: tuple[Initializer, ...]
    subgraph_initializers: tuple[Initializer, ...]
    operators: dict[Operator, int]
    functions: tuple[Operator, ...]
    external: tuple[ExternalData, ...]

    @property
    def fed_inputs(self) -> tuple[ValueInfo, ...]:
        """The inputs that a caller must provide: those without an initialiser of the same name."""
        given = {initializer.name for initializer in self.initializers}
        return tuple(value for value in self.inputs if value.name not in given)

    @property
    def node_count(self) -> int:
        """Nodes of the graph, of its subgraphs and of local functions."""
        return sum(self.operators.values())


class OnnxFile:
    """An open ONNX file: its summary, and access to its weights. Made by `open_model`."""

    def __init__(self, view: memoryview, summary: ModelSummary) -> None:
        self.summary = summary
        self._view = view

    def data(self, initializer: Initializer) -> memoryview:
        """The little-endian bytes of a weight; a view of the file where it holds raw data.

        A view keeps the file mapped as long as it lives. Raises `SourceError` for strings and damaged typed data.
        """
        if initializer.data is not None:
            offset, length = initializer.data
            return self._view[offset : offset + length]
        start, length = initializer.message
        message = Message(self._view, start, start + length, f"initialiser {initializer.name!r}")
        return memoryview(_typed_bytes(message, initializer))


@contextmanager
def open_model(path: Path) -> Iterator[OnnxFile]:
    """Map and scan the file `path`.

    Raises `SourceError` if it cannot be opened, or is not a complete ONNX model.
    """
    view = _map(path)
    yield OnnxFile(view, scan(view, str(path)))


def _map(path: Path) -> memoryview:
    """Map a file; the mapping goes when the last view of it does."""
    try:
        with path.open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                raise SourceError(f"{path}: the file is empty, expected an ONNX model")
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except OSError as error:
        raise SourceError(f"{path}: cannot be opened: {error.strerror}") from error


def scan_model(path: Path) -> ModelSummary:
    """The summary of the ONNX file `path`; raises as `open_model` does."""
    with open_model(path) as model:
        return model.summary


def scan(data: memoryview, name: str) -> ModelSummary:
    """Scan an ONNX model in memory; `name` is how errors call it."""
    try:
        return _Scanner(data).model()
    except SourceError as error:
        raise SourceError(f"{name}: not a complete ONNX model: {error}") from None


@dataclass
class _Scanner:
    """The state of one scan. Methods are named after the messages of onnx.proto."""

    data: memoryview
    ir_version: int = 0
    producer: str = ""
    graph_name: str = ""
    opsets: dict[str, int] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    inputs: list[ValueInfo] = field(default_factory=list)
    outputs: list[ValueInfo] = field(default_factory=list)
    initializers: list[Initializer] = field(default_factory=list)
    subgraph_initializers: list[Initializer] = field(default_factory=list)
    operators: Counter[Operator] = field(default_factory=Counter)
    functions: list[Operator] = field(default_factory=list)
    external: list[ExternalData] = field(default_factory=list)
    graphs: int = 0

    def model(self) -> ModelSummary:
        message = Message(self.data, 0, len(self.data), "the model")
        for item in fields(message, {7: "the graph"}):
            match item.number:
                case 1:
                    self.ir_version = item.integer("ir_version")
                case 2:
                    self.producer = item.text("producer_name", MAX_NAME_BYTES)
                case 7:
                    self.main_graph(item)
                case 8:
                    self.operator_set(item)
                case 14:
                    self.metadata_property(item)
                case 25:
                    self.function(item.nested("a local function"))
        self._require_parts(message)
        return ModelSummary(
            size=len(self.data),
            ir_version=self.ir_version,
            producer=self.producer,
            opsets=self.opsets,
            metadata=self.metadata,
            graph_name=self.graph_name,
            inputs=tuple(self.inputs),
            outputs=tuple(self.outputs),
            initializers=tuple(self.initializers),
            subgraph_initializers=tuple(self.subgraph_initializers),
            operators=dict(self.operators),
            functions=tuple(self.functions),
            external=tuple(self.external),
        )

    def _require_parts(self, message: Message) -> None:
        parts = {
            "ir_version": self.ir_version,
            "opset_import": self.opsets,
            "graph": self.graphs,
            "outputs": self.outputs,
        }
        missing = [name for name, value in parts.items() if not value]
        if missing:
            raise message.fail(message.end, f"it has no {', no '.join(missing)}: truncated, or not an ONNX model")

    def main_graph(self, item: Field) -> None:
        self.graphs += 1
        if self.graphs > 1:
            raise item.message.fail(item.offset, "a second graph, expected one")
        self.graph(item.nested("the graph"), depth=0)

    def graph(self, message: Message, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise message.fail(message.start, f"subgraphs are nested more than {MAX_DEPTH} deep")
        initializers = self.subgraph_initializers if depth else self.initializers
        for item in fields(message):
            match item.number:
                case 1:
                    self.node(item.nested("a node"), depth)
                case 2 if not depth:
                    self.graph_name = item.text("the graph's name", MAX_NAME_BYTES)
                case 5:
                    self._append(initializers, self.tensor(item.nested("an initialiser")), MAX_INITIALIZERS, item)
                case 11 if not depth:
                    self._append(self.inputs, _value_info(item.nested("a graph input")), MAX_VALUES, item)
                case 12 if not depth:
                    self._append(self.outputs, _value_info(item.nested("a graph output")), MAX_VALUES, item)
                case 15:
                    self.sparse_tensor(item.nested("a sparse initialiser"))

    def node(self, message: Message, depth: int) -> None:
        op_type, domain = "", ""
        for item in fields(message):
            match item.number:
                case 4:
                    op_type = item.text("a node's op_type", MAX_NAME_BYTES)
                case 5:
                    self.attribute(item.nested("a node's attribute"), depth)
                case 7:
                    domain = item.text("a node's domain", MAX_NAME_BYTES)
        if not op_type:
            raise message.fail(message.end, "the node has no op_type")
        self.operators[Operator(_domain(domain), op_type)] += 1
        if len(self.operators) > MAX_ENTRIES:
            raise message.fail(message.start, f"more than {MAX_ENTRIES} different operators")

    def attribute(self, message: Message, depth: int) -> None:
        for item in fields(message):
            match item.number:
                case 5 | 10:
                    self.tensor(item.nested("an attribute's tensor"))
                case 6 | 11:
                    self.graph(item.nested("a subgraph"), depth + 1)
                case 22 | 23:
                    self.sparse_tensor(item.nested("an attribute's sparse tensor"))

    def sparse_tensor(self, message: Message) -> None:
        for item in fields(message):
            if item.number in (1, 2):
                self.tensor(item.nested("a sparse tensor's part"))

    def tensor(self, message: Message) -> Initializer:
        tensor = _Tensor(message)
        if tensor.is_external and len(self.external) < MAX_ENTRIES:
            self.external.append(ExternalData(tensor.name, tensor.location))
        return tensor.initializer()

    def function(self, message: Message) -> None:
        name, domain = "", ""
        for item in fields(message):
            match item.number:
                case 1:
                    name = item.text("a function's name", MAX_NAME_BYTES)
                case 7:
                    self.node(item.nested("a function's node"), depth=0)
                case 10:
                    domain = item.text("a function's domain", MAX_NAME_BYTES)
        if len(self.functions) >= MAX_ENTRIES:
            raise message.fail(message.start, f"more than {MAX_ENTRIES} local functions")
        self.functions.append(Operator(_domain(domain), name))

    def operator_set(self, item: Field) -> None:
        domain, version = "", 0
        for part in fields(item.nested("an operator set")):
            match part.number:
                case 1:
                    domain = part.text("an operator set's domain", MAX_NAME_BYTES)
                case 2:
                    version = part.integer("an operator set's version")
        self.opsets[_domain(domain)] = version
        if len(self.opsets) > MAX_ENTRIES:
            raise item.message.fail(item.offset, f"more than {MAX_ENTRIES} operator sets")

    def metadata_property(self, item: Field) -> None:
        key, value = _string_pair(item.nested("a metadata property"), MAX_METADATA_BYTES)
        self.metadata[key] = value
        if len(self.metadata) > MAX_ENTRIES:
            raise item.message.fail(item.offset, f"more than {MAX_ENTRIES} metadata properties")

    @staticmethod
    def _append[T](items: list[T], value: T, limit: int, item: Field) -> None:
        if len(items) >= limit:
            raise item.message.fail(item.offset, f"more than {limit} of them")
        items.append(value)


class _Tensor:
    """The fields of one TensorProto, checked against each other."""

    def __init__(self, message: Message) -> None:
        self.message = message
        self.name = ""
        self.number = 0
        self.dims: list[int] = []
        self.raw: tuple[int, int] | None = None
        self.typed: Counter[int] = Counter()
        self.location = ""
        self.is_external = False
        for item in fields(message):
            self._read(item)

    def _read(self, item: Field) -> None:
        match item.number:
            case 1:
                self._read_dims(item)
            case 2:
                self.number = item.integer("a tensor's data_type")
            case 8:
                self.name = item.text("a tensor's name", MAX_NAME_BYTES)
            case 9:
                payload = item.nested("raw_data")
                self.raw = (payload.start, payload.size)
            case 13:
                key, value = _string_pair(item.nested("a reference to external data"), MAX_NAME_BYTES)
                if key == "location":
                    self.location = value
            case 14:
                self.is_external = item.integer("a tensor's data_location") == 1
            case number if number in _TYPED_FIELDS:
                self.typed[number] += _typed_count(item)

    def _read_dims(self, item: Field) -> None:
        packed = item.wire_type is WireType.BYTES
        count = count_packed_varints(item.nested("dims")) if packed else 1
        if len(self.dims) + count > MAX_RANK:
            raise self.message.fail(item.offset, f"a tensor of more than {MAX_RANK} dimensions")
        self.dims.extend(map(_signed, packed_varints(item.nested("dims"))) if packed else [item.integer("dims")])

    def initializer(self) -> Initializer:
        """The tensor as an initialiser. Raises `SourceError` if its data does not fit its shape and type."""
        element = ELEMENT_TYPES.get(self.number)
        where = self.message
        if element is None:
            raise where.fail(where.start, f"tensor {self.name!r} has the unknown data_type {self.number}")
        if any(dim < 0 for dim in self.dims):
            raise where.fail(where.start, f"tensor {self.name!r} has a negative dimension: {self.dims}")
        count = math.prod(self.dims)
        nbytes = -(-count * element.bits // 8)
        if not self.is_external:
            self._check_data(element, count, nbytes)
        data = self.raw if self.raw is not None and not self.is_external else None
        return Initializer(self.name, element.name, tuple(self.dims), data, (where.start, where.size), nbytes)

    def _check_data(self, element: ElementType, count: int, nbytes: int) -> None:
        expected, unit = math.ceil(count * element.typed_width), "values"
        came = self.typed[element.typed_field]
        if self.raw is not None:
            expected, unit, came = nbytes, "bytes", self.raw[1]
        if came != expected:
            shape = "x".join(map(str, self.dims)) or "scalar"
            problem = f"tensor {self.name!r} ({element.name}, {shape}) has {came} {unit} of data, expected {expected}"
            raise self.message.fail(self.message.start, problem)


def _typed_count(item: Field) -> int:
    """How many values one occurrence of a typed data field holds: many if packed, else one."""
    single = _SINGLE_VALUE.get(item.number, WireType.VARINT)
    if item.wire_type not in (single, WireType.BYTES):
        raise item.message.fail(item.offset, f"typed data encoded as {item.wire_type.name}, expected {single.name}")
    if item.wire_type is single:
        return 1
    payload = item.nested("a tensor's typed data")
    if item.number in _FIXED_FIELDS:
        width = _FIXED_FIELDS[item.number]
        if payload.size % width:
            raise item.message.fail(item.offset, f"typed data of {payload.size} bytes, expected a multiple of {width}")
        return payload.size // width
    return count_packed_varints(payload)


_ELEMENT_BY_NAME = {element.name: element for element in ELEMENT_TYPES.values()}


def _typed_bytes(message: Message, initializer: Initializer) -> bytes:
    """Turn typed data into the raw little-endian bytes that it stands for."""
    element = _ELEMENT_BY_NAME[initializer.dtype]
    if element.typed_field == STRING_DATA:
        raise message.fail(message.start, "strings have no raw bytes")
    size = max(1, element.bits // 8)
    result = bytearray()
    for item in fields(message):
        if item.number != element.typed_field:
            continue
        if item.number in _FIXED_FIELDS:
            result += message.data[item.start : item.end]
        elif item.wire_type is WireType.BYTES:
            for value in packed_varints(item.nested("a tensor's typed data")):
                result += value.to_bytes(8, "little")[:size]
        else:
            result += item.value.to_bytes(8, "little")[:size]
    return bytes(result)


def _value_info(message: Message) -> ValueInfo:
    name, value = "", ValueInfo("")
    for item in fields(message):
        match item.number:
            case 1:
                name = item.text("a value's name", MAX_NAME_BYTES)
            case 2:
                value = _type(item.nested("a value's type"))
    return ValueInfo(name, value.kind, value.dtype, value.dims)


_TYPE_KINDS = {1: "tensor", 4: "sequence", 5: "map", 8: "sparse_tensor", 9: "optional"}


def _type(message: Message) -> ValueInfo:
    """The type of a value without its name; what is inside sequences, maps and optionals is not looked at."""
    value = ValueInfo("")
    for item in fields(message):
        kind = _TYPE_KINDS.get(item.number)
        if kind in ("tensor", "sparse_tensor"):
            value = _tensor_type(item.nested("a tensor's type"), kind)
        elif kind:
            value = ValueInfo("", kind)
    return value


def _tensor_type(message: Message, kind: str) -> ValueInfo:
    dtype: str | None = None
    dims: tuple[int | str | None, ...] | None = None
    for item in fields(message):
        match item.number:
            case 1:
                number = item.integer("an element type")
                if number not in ELEMENT_TYPES:
                    raise message.fail(item.offset, f"unknown element type {number}")
                dtype = ELEMENT_TYPES[number].name
            case 2:
                dims = _shape(item.nested("a tensor's shape"))
    return ValueInfo("", kind, dtype, dims)


def _shape(message: Message) -> tuple[int | str | None, ...]:
    dims: list[int | str | None] = []
    for item in fields(message):
        if item.number == 1:
            dims.append(_dimension(item.nested("a dimension")))
        if len(dims) > MAX_RANK:
            raise message.fail(item.offset, f"a shape of more than {MAX_RANK} dimensions")
    return tuple(dims)


def _dimension(message: Message) -> int | str | None:
    dim: int | str | None = None
    for item in fields(message):
        match item.number:
            case 1:
                dim = item.integer("dim_value")
            case 2:
                dim = item.text("dim_param", MAX_NAME_BYTES) or None
    return dim


def _string_pair(message: Message, limit: int) -> tuple[str, str]:
    key, value = "", ""
    for item in fields(message):
        match item.number:
            case 1:
                key = item.text("a key", MAX_NAME_BYTES)
            case 2:
                value = item.text("a value", limit)
    return key, value


def _domain(domain: str) -> str:
    """ONNX's own domain has two spellings."""
    return "" if domain == "ai.onnx" else domain


def _signed(value: int) -> int:
    return struct.unpack("<q", struct.pack("<Q", value))[0] if value >> 63 else value
