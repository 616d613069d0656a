"""Bytes of an artifact that belong to nothing: there may only be zeros between sections."""

from collections.abc import Iterator

from autoclave.artifact.layout import PREAMBLE_SIZE
from autoclave.artifact.model import Span
from autoclave.artifact.reader import Artifact
from autoclave.artifact.validate import sections

_CHUNK = 1 << 20


def find_stray_byte(artifact: Artifact) -> int | None:
    """The offset of the first byte that is not zero though it is in no section; None if there is none."""
    for gap in _gaps(artifact):
        for start in range(gap.offset, gap.offset + gap.length, _CHUNK):
            piece = bytes(artifact.read(Span(start, min(_CHUNK, gap.offset + gap.length - start))))
            rest = piece.lstrip(b"\0")
            if rest:
                return start + len(piece) - len(rest)
    return None


def _gaps(artifact: Artifact) -> Iterator[Span]:
    at = PREAMBLE_SIZE
    spans = sorted({(span.offset, span.length) for _, span in sections(artifact.header)})
    for offset, length in (*spans, (artifact.preamble.header_offset, 0)):
        if offset > at:
            yield Span(at, offset - at)
        at = offset + length
