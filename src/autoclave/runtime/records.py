"""What a header says, by the names of docs/artifact-format.md. Spans are (offset, length) in the file, in bytes."""

from dataclasses import dataclass
from typing import Any

Span = tuple[int, int]
Size3 = tuple[int, int, int]
PartKey = str | tuple[int, int]

ITEMSIZE = {
    **dict.fromkeys(("bool", "int8", "uint8"), 1),
    **dict.fromkeys(("bfloat16", "float16", "int16", "uint16"), 2),
    **dict.fromkeys(("float32", "int32", "uint32"), 4),
    **dict.fromkeys(("float64", "int64", "uint64"), 8),
}
"""Bytes of an element, for each dtype."""


@dataclass(frozen=True)
class Target:
    """What a part runs on, in tinygrad's words."""

    device: str
    renderer: str
    arch: str


@dataclass(frozen=True)
class Parameter:
    """A formal argument of a kernel: `shape` is () for a pointer, (height, width, 4) for an image."""

    name: str
    slot: int
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Kernel:
    """A compiled program. `launch` has what its hardware needs besides the code."""

    name: str
    renderer: str
    lib: Span
    signature: tuple[Parameter, ...]
    globals: tuple[int, ...]
    outs: tuple[int, ...]
    ins: tuple[int, ...]
    launch: dict[str, Any]


@dataclass(frozen=True)
class Argument:
    """`nbytes` at `offset` of the part's buffer number `buffer`."""

    buffer: int
    offset: int
    nbytes: int
    dtype: str


@dataclass(frozen=True)
class Program:
    """A launch of kernel number `kernel`."""

    kernel: int
    global_size: Size3
    local_size: Size3
    args: tuple[Argument, ...]
    values: tuple[int, ...]


@dataclass(frozen=True)
class Copy:
    """A copy of `source` to `destination`, of the same size."""

    destination: Argument
    source: Argument


Call = Program | Copy


@dataclass(frozen=True)
class Buffer:
    """Memory of a part; a constant has its content at `data`."""

    kind: str
    nbytes: int
    data: Span | None
    name: str | None


@dataclass(frozen=True)
class Tensor:
    """An input or output: dense, row-major, at `offset` of buffer number `buffer`."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    buffer: int
    offset: int


@dataclass(frozen=True)
class Part:
    """An entry point. `key` is its name, or (width, height) of a camera for a warp."""

    key: PartKey
    target: Target
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    buffers: tuple[Buffer, ...]
    init: tuple[Call, ...]
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class Header:
    """All that an artifact says."""

    metadata: dict[str, Any]
    kernels: tuple[Kernel, ...]
    parts: tuple[Part, ...]


def key_text(key: PartKey) -> str:
    """A part's key as people write it: "run_policy", "1928x1208"."""
    return key if isinstance(key, str) else f"{key[0]}x{key[1]}"


def arguments(call: Call) -> tuple[Argument, ...]:
    """All memory that a call reads or writes."""
    return (call.destination, call.source) if isinstance(call, Copy) else call.args
