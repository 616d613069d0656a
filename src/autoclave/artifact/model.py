"""What an artifact says, as frozen dataclasses: the header of format 1 (docs/artifact-format.md).

Offsets and lengths are bytes. A `Span` counts from the start of the artifact file; an `Argument` counts from the
start of its buffer. Indices count from 0 within the list they refer to.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

BufferKind = Literal["input", "constant", "persistent", "arena", "output"]


@dataclass(frozen=True, slots=True)
class Span:
    """A section of the artifact file: `length` bytes at `offset`."""

    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Target:
    """The device that a part runs on, in tinygrad's words: ("QCOM", "IR3", "a630,IMAGE_PITCH_ALIGNMENT=64")."""

    device: str
    renderer: str
    arch: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """One formal argument of a kernel: `shape` is () for a plain pointer and (height, width, 4) for an image."""

    name: str
    slot: int
    dtype: str
    shape: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Kernel:
    """One compiled program. `launch` holds what its hardware needs besides the code (docs/artifact-format.md)."""

    name: str
    renderer: str
    lib: Span
    signature: tuple[Parameter, ...]
    globals: tuple[int, ...]
    outs: tuple[int, ...]
    ins: tuple[int, ...]
    launch: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Argument:
    """One actual argument: `nbytes` at `offset` of the part's buffer number `buffer`."""

    buffer: int
    offset: int
    nbytes: int
    dtype: str


@dataclass(frozen=True, slots=True)
class Program:
    """Launch kernel number `kernel`; `args` follow its `globals`, `values` its bound scalar variables."""

    kernel: int
    global_size: tuple[int, int, int]
    local_size: tuple[int, int, int]
    args: tuple[Argument, ...]
    values: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy `source` to `destination`, which have the same size."""

    destination: Argument
    source: Argument


Call = Program | Copy


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory of a part. `data` is the content (kind "constant" only); `name` is the ONNX name, if it has one."""

    kind: BufferKind
    nbytes: int
    data: Span | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """An input or output: dense, row-major, at `offset` of buffer number `buffer`."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    buffer: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """One entry point. `key` is a name such as "run", or (camera width, camera height) for a warp."""

    key: str | tuple[int, int]
    target: Target
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    buffers: tuple[Buffer, ...]
    init: tuple[Call, ...]
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Header:
    """All that an artifact says besides its sections' bytes."""

    metadata: dict[str, Any]
    kernels: tuple[Kernel, ...]
    parts: tuple[Part, ...]
