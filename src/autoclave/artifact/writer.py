"""Writing an artifact: same content, same bytes; the file appears whole or not at all."""

import hashlib
import os
import secrets
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from autoclave.artifact.codec import decode_header, encode_header
from autoclave.artifact.layout import PREAMBLE_SIZE, Preamble, align
from autoclave.artifact.model import Header, Span
from autoclave.artifact.validate import validate_header
from autoclave.errors import ArtifactError

if TYPE_CHECKING:  # new in Python 3.12; devices have 3.11
    from collections.abc import Buffer

_CHUNK = 1 << 20


class ArtifactWriter:
    """Writes one artifact to `path`: all weights, then all blobs, then `finish`. Use it as a context manager.

        with ArtifactWriter(path) as writer:
            weights = [writer.add_weight(data) for data in initialisers]
            code = writer.add_blob(library)
            sha256 = writer.finish(Header(...))

    Sections go to a temporary file beside `path` as they are added; `finish` makes it durable and renames it. Leaving
    the block without `finish`, by an error or otherwise, removes the temporary file and leaves `path` as it was.
    Raises `ArtifactError` when the disk refuses or when the header breaks a rule of the format.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._temporary = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}.tmp")
        self._descriptor: int | None = None
        self._end = PREAMBLE_SIZE
        self._known: dict[bytes, Span] = {}
        self._has_blobs = False

    def __enter__(self) -> "ArtifactWriter":
        if self.path.is_dir():
            raise ArtifactError(f"{self.path}: is a directory; expected the name of a file to write")
        try:
            self._descriptor = os.open(self._temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise self._failure(error) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
            self._temporary.unlink(missing_ok=True)

    def add_weight(self, data: "Buffer") -> Span:
        """Add a weight's bytes (any C-contiguous buffer) and say where they are; equal bytes are stored once.

        Call it in the order of the ONNX initialisers and before any `add_blob`, so that a weight's place depends on the
        ONNX alone (`ValueError` otherwise).
        """
        if self._has_blobs:
            raise ValueError(f"{self.path}: weights must be added before blobs")
        return self._add(data)

    def add_blob(self, data: "Buffer") -> Span:
        """Add a kernel's code or another blob and say where it is; equal bytes are stored once."""
        self._has_blobs = True
        return self._add(data)

    def finish(self, header: Header) -> str:
        """Check and write the header, make the file durable and rename it to `path`; returns its sha256 in hex."""
        encoded = encode_header(header)
        preamble = Preamble(align(self._end), len(encoded))
        try:
            self._check(encoded, preamble)
            self._write(encoded, preamble.header_offset)
            self._write(preamble.pack(), 0)
            os.fsync(self._opened())
            sha256 = self._digest()
            os.close(self._opened())
            self._descriptor = None
            self._publish()
        except OSError as error:
            self._temporary.unlink(missing_ok=True)
            raise self._failure(error) from error
        return sha256

    def _add(self, data: "Buffer") -> Span:
        view = memoryview(data)
        view = view.cast("B") if view.nbytes else view
        if not view.nbytes:
            raise ValueError(f"{self.path}: a section may not be empty")
        digest = hashlib.sha256(view).digest()
        if digest not in self._known:
            span = Span(align(self._end), view.nbytes)
            try:
                self._write(view, span.offset)
            except OSError as error:
                raise self._failure(error) from error
            self._end = span.offset + span.length
            self._known[digest] = span
        return self._known[digest]

    def _check(self, encoded: bytes, preamble: Preamble) -> None:
        """What a reader would refuse is not written."""
        size = preamble.header_offset + preamble.header_length
        try:
            Preamble.unpack(preamble.pack(), size)
            validate_header(decode_header(encoded, size), preamble.header_offset)
        except ArtifactError as error:
            raise ArtifactError(f"writing {self.path}: {error}") from None

    def _write(self, data: "Buffer", offset: int) -> None:
        view = memoryview(data)
        while view.nbytes:
            written = os.pwrite(self._opened(), view[:_CHUNK], offset)
            view, offset = view[written:], offset + written

    def _digest(self) -> str:
        digest = hashlib.sha256()
        offset = 0
        while piece := os.pread(self._opened(), _CHUNK, offset):
            digest.update(piece)
            offset += len(piece)
        return digest.hexdigest()

    def _publish(self) -> None:
        os.replace(self._temporary, self.path)
        directory = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    def _opened(self) -> int:
        if self._descriptor is None:
            raise ValueError(f"{self.path}: the writer is not open")
        return self._descriptor

    def _failure(self, error: OSError) -> ArtifactError:
        return ArtifactError(f"writing {self.path}: {error.strerror}")
