"""Where things are in an artifact file, and how large they may be (docs/artifact-format.md)."""

import struct
from dataclasses import dataclass

from autoclave.errors import ArtifactError

MAGIC = b"AUTOCLAV"
FORMAT = 1
ALIGNMENT = 256
"""Every section and the header start at a multiple of this many bytes."""

PREAMBLE_SIZE = 4096
MAX_HEADER_SIZE = 16 << 20
"""Bytes of the header's JSON."""

MAX_PARTS = 64
MAX_UNBACKED_SIZE = 4 << 30
"""Bytes of all buffers that have no data in the file: what a loader has to allocate beyond the file's own size."""

MAX_INTEGER = (1 << 53) - 1
"""The largest integer in a header: what every JSON reader holds exactly."""

_FIELDS = struct.Struct("<8sIQQ")


@dataclass(frozen=True, slots=True)
class Preamble:
    """Where the header is: `header_length` bytes at `header_offset` of the file."""

    header_offset: int
    header_length: int

    def pack(self) -> bytes:
        """The preamble's 4096 bytes."""
        return _FIELDS.pack(MAGIC, FORMAT, self.header_offset, self.header_length).ljust(PREAMBLE_SIZE, b"\0")

    @staticmethod
    def unpack(data: bytes, file_size: int) -> "Preamble":
        """Read the first `PREAMBLE_SIZE` bytes of a file of `file_size` bytes; raises `ArtifactError`."""
        if not data:
            raise ArtifactError("the file is empty; expected an artifact")
        if not data.startswith(MAGIC):
            raise ArtifactError(f"not an artifact: it starts with {data[:8]!r}, expected {MAGIC!r}{_looks_like(data)}")
        if len(data) < PREAMBLE_SIZE:
            raise ArtifactError(f"the file is cut short: {len(data)} bytes, but the preamble alone has {PREAMBLE_SIZE}")
        _, version, offset, length = _FIELDS.unpack_from(data)
        if version != FORMAT:
            raise ArtifactError(f"format {version} is unknown: this version of Autoclave reads format {FORMAT}")
        if any(data[_FIELDS.size :]):
            raise ArtifactError(f"preamble: bytes {_FIELDS.size} to {PREAMBLE_SIZE} must be zero")
        if offset < PREAMBLE_SIZE or offset % ALIGNMENT:
            raise ArtifactError(
                f"preamble: header offset {offset} is not a multiple of {ALIGNMENT} from {PREAMBLE_SIZE} on"
            )
        if not 0 < length <= MAX_HEADER_SIZE:
            raise ArtifactError(f"preamble: header length {length} is not between 1 and {MAX_HEADER_SIZE}")
        if offset + length != file_size:
            raise ArtifactError(
                f"the header must end the file: it ends at byte {offset + length}, but the file has {file_size} bytes"
                + ("; the file is cut short" if offset + length > file_size else "")
            )
        return Preamble(offset, length)


def _looks_like(data: bytes) -> str:
    for start, kind in _OTHER_KINDS:
        if data.startswith(start):
            return f" ({kind})"
    return ""


_OTHER_KINDS = (
    (b"version https://git-lfs", "a Git LFS pointer: run `git lfs pull`, or fetch the file itself"),
    (b"\x80", "a Python pickle: Autoclave never loads those"),
    (b"<", "an HTML or XML page: the download failed"),
    (b"\x28\xb5\x2f\xfd", "zstandard data, perhaps a check file"),
    (b"{", "JSON, perhaps a provenance statement"),
)


def align(offset: int) -> int:
    """The first multiple of `ALIGNMENT` that is not below `offset`."""
    return -(-offset // ALIGNMENT) * ALIGNMENT
