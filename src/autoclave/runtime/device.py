"""A device of tinygrad's as the loader uses it: memory, copies and programs, through the device's own allocator and programs."""

from typing import Any

from . import host
from .errors import DeviceError
from .interface import Interface, Launch
from .records import Kernel, Target

_RENDERERS = {"CPU": ("LLVM",), "QCOM": ("IR3",), "AMD": ("LLVM", "HIP")}
"""For each device whose artifacts this loader runs, whose binaries it takes."""


class Device:
    """An opened device."""

    def __init__(self, name: str, interface: Interface) -> None:
        """Open tinygrad's device `name` ("QCOM", "AMD:1"). Raises `DeviceError`."""
        self.name = name
        self._interface = interface
        self._opened = interface.open(name)
        self._memory = self._opened.allocator
        self._is_host = name == "CPU"

    def require(self, target: Target) -> None:
        """Raise `DeviceError` unless code for `target` runs on this device."""
        kind = self.name.partition(":")[0]
        if target.device != kind or target.renderer not in _RENDERERS.get(kind, ()):
            raise DeviceError(
                f"code for {target.device} made by {target.renderer} does not run on {self.name} by this loader"
            )
        machine, _, level = target.arch.partition(",")
        found = str(self._opened.arch).partition(",")[0]
        if machine != found:
            raise DeviceError(f"code for {target.device} {machine} does not run on this one, which is {found}")
        if self._is_host:
            host.require_level(level)

    def allocate(self, nbytes: int) -> Any:
        """`nbytes` of the device's memory, of any content. Raises `DeviceError` if there is not so much."""
        try:
            return self._memory.alloc(max(nbytes, 1))
        except MemoryError as error:
            raise DeviceError(f"{self.name}: {error}") from error

    def free(self, memory: Any, nbytes: int) -> None:
        """Give back what `allocate` gave."""
        self._memory.free(memory, max(nbytes, 1))

    def view(self, memory: Any, offset: int, nbytes: int) -> Any:
        """A part of `memory`."""
        return self._memory._offset(memory, nbytes, offset)

    def write(self, memory: Any, data: memoryview) -> None:
        """Copy `data`, which is writable and flat, to `memory`, after all that was launched before."""
        if self._is_host:
            self.synchronize()
            self._memory._as_buffer(memory)[: len(data)] = data
        else:
            self._memory._copyin(memory, data)

    def read(self, memory: Any, nbytes: int) -> bytearray:
        """The content of `memory`, which has `nbytes`, after all that was launched before."""
        self.synchronize()
        if self._is_host:
            return bytearray(self._memory._as_buffer(memory)[:nbytes])
        data = bytearray(nbytes)
        self._memory._copyout(memoryview(data), memory)
        return data

    def copy(self, destination: Any, source: Any, nbytes: int) -> None:
        """Copy `nbytes` from one place of this device to another, by its copy engine if it has one."""
        if not self._is_host and self._memory.supports_transfer and hasattr(self._memory, "_transfer"):
            self._memory._transfer(destination, source, nbytes, src_dev=self._opened, dest_dev=self._opened)
        else:
            self.write(destination, memoryview(self.read(source, nbytes)))

    def program(self, target: Target, kernel: Kernel, code: bytes, values: int) -> Launch:
        """`kernel`, whose launches have that many `values`, ready to be launched. Raises `DeviceError` or `FormatError`."""
        try:
            return self._interface.program(self._opened, target, kernel, code, values)
        except (RuntimeError, MemoryError, AssertionError, NotImplementedError) as error:
            raise DeviceError(f"{self.name} does not take the kernel {kernel.name!r}: {error}") from error

    def synchronize(self) -> None:
        """Wait until all that was launched is done."""
        self._opened.synchronize()
