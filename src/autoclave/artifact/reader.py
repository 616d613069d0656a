"""Opening an artifact: everything is checked before use, and sections are mapped, never copied."""

import hashlib
import mmap
import os
import stat
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from types import TracebackType

from autoclave.artifact.codec import decode_header
from autoclave.artifact.layout import PREAMBLE_SIZE, Preamble
from autoclave.artifact.model import Header, Part, Span
from autoclave.artifact.validate import validate_header
from autoclave.errors import ArtifactError

_CHUNK = 1 << 20


def open_artifact(path: str | os.PathLike[str]) -> "Artifact":
    """Open the artifact at `path` and check its preamble and header.

    Takes at most twice the file's size plus 16 MB of memory, whatever the file holds; sections are not touched.
    Raises `ArtifactError` for anything but a well-formed artifact.
    """
    file = Path(path)
    descriptor = _open_regular(file)
    try:
        size = os.fstat(descriptor).st_size
        preamble = Preamble.unpack(_read_exactly(descriptor, 0, min(size, PREAMBLE_SIZE)), size)
        data = _read_exactly(descriptor, preamble.header_offset, preamble.header_length)
        header = decode_header(data, size)
        validate_header(header, preamble.header_offset)
        return Artifact(file, descriptor, size, preamble, header)
    except ArtifactError as error:
        os.close(descriptor)
        raise ArtifactError(f"{file}: {error}") from None
    except BaseException:
        os.close(descriptor)
        raise


class Artifact:
    """An open artifact. Close it, or use it as a context manager; views that `read` gave out stay valid.

    The file must not be cut short while it is open, as with any mapped file: replace files, never write into them.
    """

    def __init__(self, path: Path, descriptor: int, size: int, preamble: Preamble, header: Header) -> None:
        self.path = path
        self.size = size
        """Bytes of the file."""
        self.preamble = preamble
        self.header = header
        self._descriptor: int | None = descriptor
        self._map: mmap.mmap | None = None

    def read(self, span: Span) -> memoryview:
        """A read-only view of a section; no byte is copied. `ArtifactError` if it is not within the file."""
        if span.offset < 0 or span.length < 0 or span.offset + span.length > self.size:
            raise ArtifactError(
                f"{self.path}: {span.length} bytes at {span.offset} are not within its {self.size} bytes"
            )
        if self._map is None:
            self._map = mmap.mmap(self._opened(), self.size, access=mmap.ACCESS_READ)
        return memoryview(self._map)[span.offset : span.offset + span.length]

    def sha256(self) -> str:
        """The file's sha256 in hex: the artifact's identity. Read in pieces, not through the mapping."""
        digest = hashlib.sha256()
        offset = 0
        while piece := os.pread(self._opened(), _CHUNK, offset):
            digest.update(piece)
            offset += len(piece)
        return digest.hexdigest()

    def part(self, key: str | tuple[int, int]) -> Part:
        """The part with this key ("1928x1208" stands for (1928, 1208)); `ArtifactError` with near names if none."""
        parts = {key_text(part.key): part for part in self.header.parts}
        wanted = key_text(key)
        if wanted not in parts:
            near = get_close_matches(wanted, parts)
            hint = f"; did you mean {near[0]}?" if near else f"; it has {', '.join(parts)}"
            raise ArtifactError(f"{self.path}: there is no part {wanted}{hint}")
        return parts[wanted]

    def close(self) -> None:
        """Close the file. A mapping with views outstanding lives until they are gone."""
        if self._map is not None:
            with suppress(BufferError):
                self._map.close()
            self._map = None
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> "Artifact":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def _opened(self) -> int:
        if self._descriptor is None:
            raise ValueError(f"{self.path} is closed")
        return self._descriptor


def key_text(key: str | tuple[int, int]) -> str:
    """A part's key as people write it: "run_policy", or "1928x1208" for a warp."""
    return key if isinstance(key, str) else f"{key[0]}x{key[1]}"


def _open_regular(file: Path) -> int:
    """Open `file` without ever waiting for it: a FIFO or a device must not hang or act on being opened."""
    try:
        _refuse_irregular(os.stat(file), file)
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ArtifactError(f"{file}: cannot be opened: {reason}") from error
    try:
        _refuse_irregular(os.fstat(descriptor), file)
    except ArtifactError:
        os.close(descriptor)
        raise
    return descriptor


def _refuse_irregular(status: os.stat_result, file: Path) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ArtifactError(f"{file}: not a regular file; expected an artifact")


def _read_exactly(descriptor: int, offset: int, length: int) -> bytes:
    try:
        data = os.pread(descriptor, length, offset)
    except OSError as error:
        raise ArtifactError(f"cannot be read: {error.strerror}") from error
    if len(data) != length:
        raise ArtifactError(f"the file is cut short: {len(data)} bytes at {offset}, expected {length}")
    return data
