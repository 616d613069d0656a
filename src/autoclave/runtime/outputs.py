"""What goes into a part and comes out of it: plain bytes, numpy arrays, or outputs of another part, which stay on the device."""

import sys
from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

from .errors import InputError, LoadError, StaleOutput
from .records import ITEMSIZE, Tensor

if TYPE_CHECKING:
    from .device import Device

_FORMATS = {
    "bool": "?",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "float16": "e",
    "float32": "f",
    "int32": "il",
    "uint32": "IL",
    "float64": "d",
    "int64": "lq",
    "uint64": "LQ",
}
"""The letters by which Python's buffers name each dtype; those that have none (bfloat16) are given as bytes."""


class Output:
    """An output of a part's last run. It is on the device until it is read, and gone when the part runs again."""

    def __init__(self, tensor: Tensor, device: "Device", memory: Any, is_fresh: Callable[[], bool]) -> None:
        """Made by `LoadedPart.run`. `memory` is the device's; `is_fresh` tells whether the part has not run since."""
        self.name, self.dtype, self.shape = tensor.name, tensor.dtype, tensor.shape
        self.nbytes = nbytes(tensor)
        self.device = device
        self._memory = memory
        self._is_fresh = is_fresh

    @property
    def memory(self) -> Any:
        """The device's buffer. Raises `StaleOutput` if the part has run again."""
        if not self._is_fresh():
            raise StaleOutput(f"output {self.name!r}: its part has run again; read it, or pass it on, before")
        return self._memory

    def tobytes(self) -> bytes:
        """The output's bytes, dense and row-major. Waits for the device. Raises `StaleOutput`."""
        return bytes(self.device.read(self.memory, self.nbytes))

    def numpy(self) -> Any:
        """The output as a fresh numpy array. Raises as `tobytes`, and `LoadError` for a dtype that numpy lacks."""
        import numpy

        if self.dtype not in _FORMATS:
            raise LoadError(f"output {self.name!r} is {self.dtype}, which numpy lacks; use tobytes")
        return numpy.frombuffer(self.device.read(self.memory, self.nbytes), self.dtype).reshape(self.shape)


def nbytes(tensor: Tensor) -> int:
    """The size of `tensor`."""
    return prod(tensor.shape) * ITEMSIZE[tensor.dtype]


def input_bytes(tensor: Tensor, value: Any) -> memoryview:
    """The bytes of `value` for the input `tensor`: a writable, flat view, of a copy if need be.

    Raises `InputError` if it is an array of another dtype or shape, or bytes of another size.
    """
    try:
        view = memoryview(value)
    except TypeError:
        raise InputError(f"input {tensor.name!r} is a {type(value).__name__}; give an array or its bytes") from None
    raw = view.format == "B" and view.ndim == 1
    if not raw and (view.shape != tensor.shape or not _has_dtype(view, tensor.dtype)):
        raise InputError(
            f"input {tensor.name!r} is {list(view.shape or ())} of {view.format!r}, expected {list(tensor.shape)} of {tensor.dtype}"
        )
    if view.nbytes != nbytes(tensor):
        raise InputError(f"input {tensor.name!r} has {view.nbytes} bytes, expected {nbytes(tensor)}")
    flat = view.cast("B") if view.c_contiguous and view.ndim != 0 else memoryview(bytearray(view.tobytes()))
    return memoryview(bytearray(flat)) if flat.readonly else flat


def check_output(tensor: Tensor, output: Output) -> None:
    """Raise `InputError` unless `output` can be given for the input `tensor`."""
    if (output.dtype, output.shape) != (tensor.dtype, tensor.shape):
        raise InputError(
            f"input {tensor.name!r}: the output {output.name!r} is {output.dtype} {list(output.shape)}, "
            f"expected {tensor.dtype} {list(tensor.shape)}"
        )


def put_output(device: "Device", memory: Any, output: Output) -> None:
    """Copy `output` to `memory` of `device`, which may be another device than the output's."""
    if output.device is device:
        device.copy(memory, output.memory, output.nbytes)
    else:
        device.write(memory, memoryview(output.device.read(output.memory, output.nbytes)))


def _has_dtype(view: memoryview, dtype: str) -> bool:
    letter = view.format.lstrip("@=" + ("<" if sys.byteorder == "little" else ">"))
    return letter in tuple(_FORMATS.get(dtype, "")) and view.itemsize == ITEMSIZE[dtype]
