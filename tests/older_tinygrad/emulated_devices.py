"""The emulated GPUs as devices of tinygrad 0.13, whose programs are told name, binary and, for QCOM, the parameters' dtypes."""

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from tinygrad.device import Compiled
from tinygrad.dtype import ImageDType

from autoclave.artifact.model import Parameter
from autoclave.compiler.objects import amd_launch
from autoclave.compiler.renderers.ir3 import split_blob
from autoclave.emulator.a630 import launch as a630
from autoclave.emulator.launch import Bound, Launch, Size3
from autoclave.emulator.memory import Bytes
from autoclave.emulator.rdna4 import launch as gfx1200
from autoclave.emulator.tinygrad_device.allocator import HostAllocator
from autoclave.emulator.tinygrad_device.launcher import Emulation, Launcher
from autoclave.emulator.tinygrad_device.settings import Settings

Bind = Callable[[Size3, Size3, Sequence[Bytes], Sequence[int]], Launch]


def register(name: str) -> None:
    """Make tinygrad's device `name`, QCOM or AMD, the emulated one in this process, before it is opened."""
    setattr(importlib.import_module(f"tinygrad.runtime.ops_{name.lower()}"), f"{name}Device", _DEVICES[name])


class _Emulated(Compiled):
    """What both devices have in common."""

    arch_name: str
    bind: Any

    def __init__(self, device: str) -> None:
        self.emulation = Emulation.begun(Settings())
        super().__init__(device, HostAllocator(self), [], self._program, arch=self.arch_name)

    def _program(self, name: str, binary: bytes, *others: Any, runtimevars: dict[str, int]) -> Callable[..., None]:
        bind: Bind = type(self).bind(name, binary, *others)
        launcher = Launcher(self.emulation)

        def run(*buffers: Bytes, global_size: Size3, local_size: Size3, vals: tuple[int, ...] = ()) -> None:
            launcher.run(bind(global_size, local_size, buffers, vals))

        return run


class QCOMDevice(_Emulated):
    """The a630."""

    arch_name = "a630"

    @staticmethod
    def bind(name: str, binary: bytes, dtypes: Sequence[Any]) -> Bind:
        """How a kernel is launched; `dtypes` has, for each argument, the dtypes that it is bound as."""
        bound_as = [(number, dtype) for number, each in enumerate(dtypes) for _, dtype in each]
        parameters = [Parameter(f"data{number}", number, *_form(dtype)) for number, dtype in bound_as]
        code, fields = split_blob(binary, parameters)
        kernel = a630.kernel_code(name, code, fields)

        def launch(groups: Size3, threads: Size3, buffers: Sequence[Bytes], values: Sequence[int]) -> Launch:
            arguments = [Bound(buffers[each.slot], each.shape, each.dtype) for each in parameters]
            return a630.bind_launch(kernel, groups, threads, arguments, tuple(values))

        return launch


class AMDDevice(_Emulated):
    """The gfx1200."""

    arch_name = "gfx1200"

    @staticmethod
    def bind(name: str, binary: bytes) -> Bind:
        """How a kernel is launched."""
        kernel = gfx1200.kernel_code(name, binary, amd_launch(binary))

        def launch(groups: Size3, threads: Size3, buffers: Sequence[Bytes], values: Sequence[int]) -> Launch:
            arguments = [Bound(memory, (), "uint8") for memory in buffers]
            return gfx1200.bind_launch(kernel, groups, threads, arguments, tuple(values))

        return launch


_DEVICES = {"QCOM": QCOMDevice, "AMD": AMDDevice}


def _form(dtype: Any) -> tuple[str, tuple[int, ...]]:
    if not isinstance(dtype, ImageDType):
        return "uint8", ()
    return {2: "float16", 4: "float32"}[dtype.itemsize], tuple(dtype.shape)
