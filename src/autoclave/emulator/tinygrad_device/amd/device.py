"""The device: LLVM's compiler for gfx1200, and kernels that run on the emulator."""

from collections.abc import Sequence
from math import prod
from typing import Any

from tinygrad.device import Compiled, Program, TinyELF

from autoclave.compiler.profiles import profile_for
from autoclave.emulator.launch import MAX_THREADS, Size3
from autoclave.emulator.memory import Bytes
from autoclave.emulator.tinygrad_device.allocator import HostAllocator
from autoclave.emulator.tinygrad_device.amd.kernel import device_kernel
from autoclave.emulator.tinygrad_device.amd.renderer import AMDLLVMRenderer
from autoclave.emulator.tinygrad_device.launcher import Emulation, Launcher
from autoclave.emulator.tinygrad_device.settings import Settings

INSTRUCTIONS_PER_SECOND = 2048 * 2.53e9
"""What a gfx1200 executes at most: 32 compute units of 64 lanes at 2.53 GHz. Launches "take" as long as that, so that BEAM
decides the same everywhere."""

# tinygrad publishes no types.


class EmulatedProgram(Program):  # type: ignore[misc]
    """A kernel of the device."""

    def __init__(self, dev: "EmulatedDevice", obj: TinyELF) -> None:
        self._kernel = device_kernel(obj)
        self._launcher = Launcher(dev.emulation)

    def __call__(
        self,
        *bufs: Bytes,
        global_size: Sequence[int] = (1, 1, 1),
        local_size: Sequence[int] | None = (1, 1, 1),
        vals: Sequence[int] = (),
        wait: bool = False,
        **others: Any,
    ) -> float | None:
        """Run all of `global_size` workgroups of `local_size` threads. Returns the emulated seconds if they are waited for.

        Raises `EmulationError` for what the kernel must not do, and `RuntimeError`, as tinygrad's own device, for a
        workgroup that a gfx1200 cannot hold.
        """
        launch = self._kernel.launch(_size3(global_size), self._workgroup(local_size), bufs, vals)
        statistics = self._launcher.run(launch)
        return statistics.instructions / INSTRUCTIONS_PER_SECOND if wait else None

    def _workgroup(self, local_size: Sequence[int] | None) -> Size3:
        name = self._kernel.code.name
        if local_size is None:
            raise RuntimeError(f"launching kernel {name!r}: its workgroups have no size; unset NOLOCALS")
        local = _size3(local_size)
        if prod(local) > MAX_THREADS:
            raise RuntimeError(f"launching kernel {name!r}: workgroups of {local} threads; a gfx1200 has {MAX_THREADS}")
        return local


class EmulatedDevice(Compiled):  # type: ignore[misc]
    """tinygrad's AMD without the hardware: LLVM for gfx1200, and the emulator to run what it makes."""

    settings = Settings()
    """Those of `register`."""

    def __init__(self, device: str) -> None:
        self.emulation = Emulation.begun(self.settings)
        arch = profile_for("chestnut").target.arch
        super().__init__(device, HostAllocator(self), [AMDLLVMRenderer], EmulatedProgram, arch=arch)

    def finalize(self) -> None:
        """At the end of the process: writes the survey, if there is to be one."""
        self.emulation.finish()


def _size3(size: Sequence[int]) -> Size3:
    x, y, z = (*size, 1, 1)[:3]
    return (int(x), int(y), int(z))
