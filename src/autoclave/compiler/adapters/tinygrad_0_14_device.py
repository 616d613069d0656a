"""tinygrad 0.14's NULL device as a device that is not there: kernels are compiled for it and never run."""

from typing import Any

from tinygrad.device import Allocator, Device, Program

from autoclave.compiler.adapters.tinygrad_0_14_buffers import DEVICE
from autoclave.compiler.adapters.tinygrad_0_14_images import keep_float16_images
from autoclave.compiler.host_memory import HostMemory
from autoclave.compiler.profiles import HardwareProfile
from autoclave.compiler.renderers import hip
from autoclave.errors import CompileError


def install_null_device(profile: HardwareProfile) -> None:
    """Let tinygrad compile for `profile` on its NULL device, with the memory of this module."""
    device = Device[DEVICE]
    if profile.renderer == "llvm":
        from autoclave.compiler.renderers import llvm20

        device.renderers = [*device.renderers, *llvm20.RENDERERS]
    if profile.renderer == "hip":
        hip.keep_matrix_products_whole()
    device.allocator = _HostAllocator(device)
    device.runtime_t = _NullProgram
    keep_float16_images()


class _HostAllocator(Allocator):  # type: ignore[misc]
    """Memory of the NULL device: see `HostMemory`."""

    def _alloc(self, size: int, options: Any) -> HostMemory:
        return HostMemory(size)

    def _copyin(self, dest: HostMemory, src: memoryview) -> None:
        dest.write(src)

    def _copyout(self, dest: memoryview, src: HostMemory) -> None:
        dest[:] = src.read()

    def _transfer(self, dest: HostMemory, src: HostMemory, sz: int, src_dev: Any, dest_dev: Any) -> None:
        dest.write(src.read()[:sz])

    def _offset(self, buf: HostMemory, size: int, offset: int) -> HostMemory:
        return buf.view(size, offset)


class _NullProgram(Program):  # type: ignore[misc]
    """A kernel that cannot run. Only reading a value while compiling would run one, and the value would be rubbish."""

    def __init__(self, dev: Any, obj: Any) -> None:
        self.name = obj.name

    def __call__(self, *bufs: HostMemory, **launch: Any) -> float:
        raise CompileError(
            f"compiling the model needs the result of the kernel {self.name}, and no kernel runs while compiling; "
            "the ONNX file computes a shape or an index from data: export it with constant shapes"
        )
