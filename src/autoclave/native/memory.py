"""Memory for native code and its buffers: executable but never at once writable, and aligned as kernels expect."""

import ctypes
import mmap
import os

import numpy as np
from numpy.typing import NDArray

from autoclave.errors import AutoclaveError
from autoclave.native.elf import LoadableObject

ALIGNMENT = 256
"""Every buffer starts at a multiple of this, as constants do in the artifact file."""

Bytes = NDArray[np.uint8]

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


class CodeMemory:
    """Holds loaded objects in one mapping: written first, then made readable and executable and no longer writable."""

    def __init__(self, objects: list[LoadableObject]) -> None:
        """Place and relocate `objects`. Raises `AutoclaveError` if the system forbids executable memory."""
        places: list[int] = []
        size = 0
        for loadable in objects:
            size += -size % max(loadable.alignment, 64)
            places.append(size)
            size += len(loadable.image)
        self._mapping = mmap.mmap(
            -1, max(size, 1), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ | mmap.PROT_WRITE
        )
        self._pin = ctypes.c_char.from_buffer(self._mapping)
        base = ctypes.addressof(self._pin)
        for place, loadable in zip(places, objects, strict=True):
            self._mapping[place : place + len(loadable.image)] = loadable.relocated(base + place)
        self._seal(base, max(size, 1))
        self.entries = tuple(base + place + loadable.entry for place, loadable in zip(places, objects, strict=True))
        """The address of each object's kernel, in the order of `objects`."""

    def _seal(self, base: int, size: int) -> None:
        if _libc.mprotect(base, size, mmap.PROT_READ | mmap.PROT_EXEC):
            reason = os.strerror(ctypes.get_errno())
            raise AutoclaveError(f"making {size} bytes of kernels executable: {reason}; this system forbids it")


def aligned_bytes(size: int, skew: int = 0, fill: int = 0) -> Bytes:
    """`size` bytes, each `fill`, that start `skew` bytes after a multiple of 4096."""
    room = np.empty(size + mmap.PAGESIZE + skew, np.uint8)
    start = -room.ctypes.data % mmap.PAGESIZE + skew
    memory = room[start : start + size]
    memory.fill(fill)
    return memory


def release_pages(memory: Bytes) -> None:
    """Give back the pages that lie wholly within `memory`, which is a file's mapping: they are read again when touched."""
    start, end = memory.ctypes.data, memory.ctypes.data + memory.size
    first, last = start + -start % mmap.PAGESIZE, end - end % mmap.PAGESIZE
    if first < last:
        _libc.madvise(first, last - first, mmap.MADV_DONTNEED)
