"""Merging artifacts: the parts of all of them in one file, with equal sections and equal kernels once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from autoclave.artifact.model import Buffer, Call, Kernel, Part, Program, Span
from autoclave.artifact.reader import Artifact
from autoclave.artifact.writer import ArtifactWriter
from autoclave.canonical import canonical_json

Spans = Mapping[Span, Span]
"""Where the sections of one artifact lie in the merged one."""


@dataclass(frozen=True, slots=True)
class Merged:
    """Kernels and parts of all artifacts, in their order."""

    kernels: tuple[Kernel, ...]
    parts: tuple[Part, ...]


def merge_artifacts(artifacts: Sequence[Artifact], writer: ArtifactWriter) -> Merged:
    """Write all sections of `artifacts` into `writer`: the weights of all, then the code of all, in the order of each file.

    The first artifact's weights lie where they lie in its own file, so that the two files have large pieces in common.
    """
    weights = [_copy_weights(artifact, writer) for artifact in artifacts]
    kernels = _Kernels(writer)
    parts: list[Part] = []
    for artifact, spans in zip(artifacts, weights, strict=True):
        numbers = [kernels.add(artifact, kernel) for kernel in artifact.header.kernels]
        parts += [_moved_part(part, spans, numbers) for part in artifact.header.parts]
    return Merged(tuple(kernels.kernels), tuple(parts))


def _copy_weights(artifact: Artifact, writer: ArtifactWriter) -> Spans:
    buffers = (buffer for part in artifact.header.parts for buffer in part.buffers)
    spans = sorted({buffer.data for buffer in buffers if buffer.data is not None}, key=lambda span: span.offset)
    return {span: writer.add_weight(artifact.read(span)) for span in spans}


class _Kernels:
    """The kernels of the merged artifact. Two are one if they have the same code and all else is equal."""

    def __init__(self, writer: ArtifactWriter) -> None:
        self.kernels: list[Kernel] = []
        self._writer = writer
        self._numbers: dict[tuple[object, ...], int] = {}

    def add(self, artifact: Artifact, kernel: Kernel) -> int:
        """The number of `kernel`, whose code is in `artifact`."""
        moved = replace(kernel, lib=self._writer.add_blob(artifact.read(kernel.lib)))
        fields = (moved.name, moved.renderer, moved.lib, moved.signature, moved.globals, moved.outs, moved.ins)
        key = (*fields, canonical_json(moved.launch))
        if key not in self._numbers:
            self._numbers[key] = len(self.kernels)
            self.kernels.append(moved)
        return self._numbers[key]


def _moved_part(part: Part, spans: Spans, numbers: Sequence[int]) -> Part:
    return replace(
        part,
        buffers=tuple(_moved_buffer(buffer, spans) for buffer in part.buffers),
        init=tuple(_moved_call(call, numbers) for call in part.init),
        calls=tuple(_moved_call(call, numbers) for call in part.calls),
    )


def _moved_buffer(buffer: Buffer, spans: Spans) -> Buffer:
    return buffer if buffer.data is None else replace(buffer, data=spans[buffer.data])


def _moved_call(call: Call, numbers: Sequence[int]) -> Call:
    return replace(call, kernel=numbers[call.kernel]) if isinstance(call, Program) else call
