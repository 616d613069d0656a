"""tinygrad's binary of a gfx1200 kernel, as the emulator takes it."""

from collections.abc import Sequence
from dataclasses import dataclass

from tinygrad.device import TinyELF
from tinygrad.dtype import DType

from autoclave.compiler.objects import amd_launch
from autoclave.emulator.launch import Bound, Launch, Size3
from autoclave.emulator.memory import Bytes
from autoclave.emulator.rdna4.launch import KernelCode, bind_launch, kernel_code
from autoclave.emulator.tinygrad_device.values import value_words


@dataclass(frozen=True, slots=True)
class DeviceKernel:
    """code: the kernel. pointers, variables: the dtypes of its parameters, those that are buffers and the scalars."""

    code: KernelCode
    pointers: tuple[DType, ...]
    variables: tuple[DType, ...]

    def launch(self, groups: Size3, local: Size3, buffers: Sequence[Bytes], values: Sequence[int]) -> Launch:
        """A launch of `groups` workgroups of `local` threads on `buffers`, one for each pointer."""
        arguments = [Bound(memory, (), dtype.name) for memory, dtype in zip(buffers, self.pointers, strict=True)]
        return bind_launch(self.code, groups, local, arguments, value_words(self.variables, values, len(buffers)))


def device_kernel(binary: TinyELF) -> DeviceKernel:
    """What tinygrad hands to a device for one kernel. Raises `CompileError` or `ArtifactError` if it cannot be launched."""
    return DeviceKernel(
        kernel_code(binary.name, binary.lib, amd_launch(binary.lib)),
        tuple(dtype for _, _, dtype, shape in binary.signature if shape != ()),
        tuple(dtype for _, _, dtype, shape in binary.signature if shape == ()),
    )
