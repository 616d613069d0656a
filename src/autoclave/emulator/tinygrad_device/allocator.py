"""Memory of an emulated device: that of this process."""

import ctypes
from typing import Any

import numpy as np
from tinygrad.device import Allocator, BufferSpec

from autoclave.emulator.memory import Bytes
from autoclave.native.memory import aligned_bytes

# tinygrad publishes no types.


class HostAllocator(Allocator):  # type: ignore[misc]
    """Buffers are flat numpy arrays of bytes; fresh ones are zero."""

    def _alloc(self, size: int, options: BufferSpec) -> Bytes:
        if options.external_ptr is not None:
            return np.frombuffer((ctypes.c_uint8 * size).from_address(options.external_ptr), np.uint8)
        return aligned_bytes(size)

    def _copyin(self, dest: Bytes, src: memoryview) -> None:
        dest[:] = np.frombuffer(src, np.uint8)

    def _copyout(self, dest: memoryview, src: Bytes) -> None:
        np.frombuffer(dest, np.uint8)[:] = src

    def _as_buffer(self, src: Bytes) -> memoryview:
        return memoryview(src)

    def _offset(self, buf: Bytes, size: int, offset: int) -> Bytes:
        return buf[offset : offset + size]

    def _transfer(self, dest: Bytes, src: Bytes, sz: int, src_dev: Any, dest_dev: Any) -> None:
        dest[:sz] = src[:sz]
