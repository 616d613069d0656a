"""Buffers of tinygrad 0.14's NULL device: those whose content is known while compiling, and graph inputs, whose is not."""

from tinygrad.device import Buffer
from tinygrad.dtype import DType
from tinygrad.uop.ops import UOp, buffers

from autoclave.compiler.host_memory import HostMemory

DEVICE = "NULL"


def known_buffer(content: memoryview, dtype: DType) -> UOp:
    """A buffer of the NULL device that holds `content`, which is not copied."""
    count = content.nbytes // dtype.itemsize
    uop = UOp.new_buffer(DEVICE, count, dtype)
    buffers[uop] = Buffer(DEVICE, count, dtype, opaque=HostMemory.of_file(content)).ref(1)
    return uop


def unknown_buffer(count: int, dtype: DType) -> UOp:
    """A buffer of the NULL device whose content is not known while compiling: a graph input."""
    uop = UOp.new_buffer(DEVICE, count, dtype)
    buffers[uop] = Buffer(DEVICE, count, dtype, opaque=HostMemory(count * dtype.itemsize)).ref(1)
    return uop


def known_content(buffer: UOp) -> memoryview | None:
    """What is in a buffer of the NULL device; None if only a kernel writes it."""
    memory = buffers.get(buffer)
    if memory is None or not memory.is_initialized():
        return None
    opaque = memory._buf
    if isinstance(opaque, HostMemory):
        return opaque.read() if opaque.is_known else None
    content: memoryview = memory.as_memoryview(allow_zero_copy=True)
    return content.cast("B")
