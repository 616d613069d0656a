"""What an adapter hands over: a model's kernels, launches and buffers in plain data, free of tinygrad's types."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from autoclave.artifact.model import Parameter


@dataclass(frozen=True, slots=True)
class CapturedBuffer:
    """`nbytes` of memory. `data` is its content if it is known before any kernel runs; `name` its ONNX initialiser."""

    nbytes: int
    dtype: str
    data: memoryview | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class CapturedKernel:
    """One compiled program. `code` is what the hardware executes, `launch` what it needs besides.

    `global_size` counts workgroups if `local_size` is given; else it counts threads, and the workgroup is still to be chosen.
    """

    name: str
    code: bytes
    signature: tuple[Parameter, ...]
    globals: tuple[int, ...]
    outs: tuple[int, ...]
    ins: tuple[int, ...]
    global_size: tuple[int, int, int]
    local_size: tuple[int, int, int] | None
    launch: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CapturedCall:
    """Run kernel number `kernel` on `buffers`, one per entry of its `globals`; None copies buffer 1 to buffer 0."""

    kernel: int | None
    buffers: tuple[int, ...]
    reads: frozenset[int]
    writes: frozenset[int]
    values: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CapturedTensor:
    """A graph input or output: the whole of a buffer."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    buffer: int


@dataclass(frozen=True, slots=True)
class Capture:
    """A whole model: `calls` in an order that respects their dependencies."""

    buffers: tuple[CapturedBuffer, ...]
    kernels: tuple[CapturedKernel, ...]
    calls: tuple[CapturedCall, ...]
    inputs: tuple[CapturedTensor, ...]
    outputs: tuple[CapturedTensor, ...]
