"""tinygrad's binary of an a630 kernel, as the emulator takes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tinygrad.device import TinyELF
from tinygrad.dtype import DType, dtypes
from tinygrad.helpers import is_image_shape

from autoclave.artifact.model import Parameter
from autoclave.compiler.renderers.ir3 import split_blob
from autoclave.emulator.a630.launch import KernelCode, kernel_code
from autoclave.emulator.launch import Bound
from autoclave.emulator.memory import Bytes
from autoclave.emulator.tinygrad_device.values import value_words

_IMAGE_DTYPES = {dtypes.half: "float16", dtypes.float: "float32"}


@dataclass(frozen=True, slots=True)
class DeviceKernel:
    """code: the kernel. fields: its launch fields, as an artifact stores them.
    pointers: its parameters that are buffers or images; several may take the same argument.
    arguments: for each of them, which of the launch's buffers it takes.
    variables: the dtypes of its scalar parameters.
    """

    code: KernelCode
    fields: Mapping[str, Any]
    pointers: tuple[Parameter, ...]
    arguments: tuple[int, ...]
    variables: tuple[DType, ...]

    def bind(self, buffers: Sequence[Bytes]) -> list[Bound]:
        """The actual arguments of a launch on `buffers`, one for each of the kernel's pointers."""
        return [
            Bound(buffers[number], parameter.shape, parameter.dtype)
            for parameter, number in zip(self.pointers, self.arguments, strict=True)
        ]

    def words(self, values: Sequence[int]) -> tuple[int, ...]:
        """The variables' `values` as they follow the addresses in the constant file."""
        return value_words(self.variables, values, len(self.code.buffer_slots))


def device_kernel(binary: TinyELF) -> DeviceKernel:
    """What tinygrad hands to a device for one kernel. Raises `CompileError` or `ArtifactError` if it cannot be launched."""
    pointers = tuple(
        Parameter(name or f"data{slot}", slot, _IMAGE_DTYPES.get(dtype, dtype.name), _image_shape(shape))
        for name, slot, dtype, shape in binary.signature
        if shape != ()
    )
    slots = sorted({parameter.slot for parameter in pointers})
    code, launch = split_blob(binary.lib, pointers)
    return DeviceKernel(
        kernel_code(binary.name, code, launch),
        launch,
        pointers,
        tuple(slots.index(parameter.slot) for parameter in pointers),
        tuple(dtype for _, _, dtype, shape in binary.signature if shape == ()),
    )


def _image_shape(shape: tuple[Any, ...]) -> tuple[int, ...]:
    """(height, width, 4) of an image, () of plain memory."""
    return tuple(int(size) for size in shape) if is_image_shape(shape) else ()
