"""What an artifact amounts to: counts and sizes per part, for people and for scripts."""

from collections import Counter
from dataclasses import dataclass
from typing import get_args

from autoclave.artifact.model import BufferKind, Header, Part, Program, Span, Target, TensorSpec


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """How many buffers of one kind a part has, and their size in bytes together."""

    kind: str
    count: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class KernelUse:
    """One kernel as a part uses it; `launches` per run, `init_launches` once at load; `code` in bytes."""

    index: int
    name: str
    renderer: str
    code: int
    launches: int
    init_launches: int


@dataclass(frozen=True, slots=True)
class Weight:
    """One constant: its ONNX name, or "#12" for the nameless buffer 12, and where its bytes are."""

    name: str
    buffer: int
    data: Span


@dataclass(frozen=True, slots=True)
class PartSummary:
    """One part. `launches` and `init_launches` count programs, `copies` and `init_copies` copies."""

    key: str | tuple[int, int]
    target: Target
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    memory: tuple[MemoryUse, ...]
    launches: int
    copies: int
    init_launches: int
    init_copies: int
    kernels: tuple[KernelUse, ...]
    weights: tuple[Weight, ...]


def summarize(header: Header) -> tuple[PartSummary, ...]:
    """A summary of each part of `header`, in the artifact's order; weights biggest first."""
    return tuple(_part_summary(part, header) for part in header.parts)


def weight_name(part: Part, number: int) -> str:
    """What to call buffer `number` of `part`: its ONNX name, or "#number"."""
    return part.buffers[number].name or f"#{number}"


def _part_summary(part: Part, header: Header) -> PartSummary:
    runs = Counter(call.kernel for call in part.calls if isinstance(call, Program))
    inits = Counter(call.kernel for call in part.init if isinstance(call, Program))
    return PartSummary(
        key=part.key,
        target=part.target,
        inputs=part.inputs,
        outputs=part.outputs,
        memory=_memory(part),
        launches=runs.total(),
        copies=len(part.calls) - runs.total(),
        init_launches=inits.total(),
        init_copies=len(part.init) - inits.total(),
        kernels=tuple(
            KernelUse(index, kernel.name, kernel.renderer, kernel.lib.length, runs[index], inits[index])
            for index, kernel in enumerate(header.kernels)
            if runs[index] or inits[index]
        ),
        weights=_weights(part),
    )


def _memory(part: Part) -> tuple[MemoryUse, ...]:
    kinds: tuple[str, ...] = get_args(BufferKind)
    sizes = {kind: [buffer.nbytes for buffer in part.buffers if buffer.kind == kind] for kind in kinds}
    return tuple(MemoryUse(kind, len(sizes[kind]), sum(sizes[kind])) for kind in kinds)


def _weights(part: Part) -> tuple[Weight, ...]:
    found = (
        Weight(weight_name(part, number), number, buffer.data)
        for number, buffer in enumerate(part.buffers)
        if buffer.data is not None
    )
    return tuple(sorted(found, key=lambda weight: (-weight.data.length, weight.buffer)))
