"""An artifact's file: opened with care, its header read and checked, its sections mapped."""

import hashlib
import json
import mmap
import os
import stat
import struct
from pathlib import Path
from typing import Any

from .errors import FormatError
from .records import Header, Span
from .rules import ALIGNMENT, PREAMBLE_SIZE, check_rules
from .schema import read_header

MAGIC = b"AUTOCLAV"
FORMAT = 1
"""The format version that this loader knows."""

MAX_HEADER_SIZE = 16 << 20

_PREAMBLE = struct.Struct("<8sIQQ")
_COST = {b"{": 300, b"[": 100, b",": 56, b":": 40}
_COST_OF_TEXT = {1: 6, 2: 10, 4: 18}
_ALLOWANCE = 12 << 20


class ArtifactFile:
    """An open artifact; use it as a context manager. It must be replaced, never changed in place, while it is open."""

    def __init__(self, path: Path) -> None:
        """Open the artifact at `path`. Raises `FormatError` for anything but a well-formed one."""
        self.path = path
        self._descriptor = _open_regular(path)
        try:
            size = os.fstat(self._descriptor).st_size
            offset, length = _read_preamble(os.pread(self._descriptor, PREAMBLE_SIZE, 0), size)
            self.header = _parse(os.pread(self._descriptor, length, offset), size)
            check_rules(self.header, offset)
            # A private mapping: nobody writes, but tinygrad takes the addresses of writable memory alone.
            self._map = mmap.mmap(self._descriptor, size, access=mmap.ACCESS_COPY)
        except FormatError as error:
            os.close(self._descriptor)
            raise FormatError(f"{path}: {error}") from None
        except BaseException:
            os.close(self._descriptor)
            raise

    def sha256(self) -> str:
        """The sha256 of the whole file, in hex."""
        digest, offset = hashlib.sha256(), 0
        while piece := os.pread(self._descriptor, 1 << 20, offset):
            digest.update(piece)
            offset += len(piece)
        return digest.hexdigest()

    def read(self, span: Span) -> memoryview:
        """A view of a section; it must be released before the file is closed."""
        offset, length = span
        return memoryview(self._map)[offset : offset + length]

    def __enter__(self) -> "ArtifactFile":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)
        try:
            self._map.close()
        except BufferError:
            pass  # a view is still in use, in the traceback of an error: it goes with that


def _open_regular(path: Path) -> int:
    """Open `path` without waiting, and only if it is a regular file."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise FormatError(f"{path}: not a regular file; expected an artifact")
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError) as error:
        raise FormatError(f"{path}: cannot be opened: {error}") from error


def _read_preamble(data: bytes, size: int) -> tuple[int, int]:
    """Offset and length of the header."""
    if not data.startswith(MAGIC):
        raise FormatError(f"not an artifact: it starts with {data[:8]!r}, expected {MAGIC!r}")
    if len(data) < PREAMBLE_SIZE:
        raise FormatError(f"cut short: {len(data)} bytes, but the preamble alone has {PREAMBLE_SIZE}")
    _, version, offset, length = _PREAMBLE.unpack_from(data)
    if version != FORMAT:
        raise FormatError(f"format {version} is unknown; this loader reads format {FORMAT}: update it")
    if any(data[_PREAMBLE.size :]):
        raise FormatError("the rest of the preamble is not zero")
    if offset < PREAMBLE_SIZE or offset % ALIGNMENT or not 0 < length <= MAX_HEADER_SIZE or offset + length != size:
        raise FormatError(f"a header of {length} bytes at {offset} does not end the file of {size} bytes: cut short?")
    return offset, length


def _parse(data: bytes, size: int) -> Header:
    """The header, if parsing it takes no more memory than the file may ask for, and it is canonical JSON."""
    width = 1 if data.isascii() else 2 if max(data) < 0xF0 else 4
    cost = len(data) * _COST_OF_TEXT[width] + sum(data.count(token) * each for token, each in _COST.items())
    if cost > 2 * size + _ALLOWANCE:
        raise FormatError(f"parsing the header may take {cost} bytes of memory, too many for a file of {size} bytes")
    try:
        value = json.loads(data.decode(), parse_constant=_refuse)
        spelled = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        raise FormatError(f"the header is not JSON in UTF-8: {error}") from None
    if spelled != data:
        raise FormatError("the header is not canonical JSON")
    return read_header(value)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")
