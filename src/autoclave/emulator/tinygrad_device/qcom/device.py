"""The device: Mesa's compiler, and kernels that run on the emulator."""

from collections.abc import Sequence
from math import prod
from typing import Any

from tinygrad.device import Compiled, Program, TinyELF
from tinygrad.helpers import IMAGE
from tinygrad.renderer import nir

from autoclave.compiler.adapters.tinygrad_0_14_images import keep_float16_images
from autoclave.compiler.local_sizes import Size3, a630_max_threads, choose_local_size, workgroups
from autoclave.compiler.profiles import profile_for
from autoclave.emulator.a630.launch import bind_launch
from autoclave.emulator.memory import Bytes
from autoclave.emulator.tinygrad_device.allocator import HostAllocator
from autoclave.emulator.tinygrad_device.launcher import Emulation, Launcher
from autoclave.emulator.tinygrad_device.qcom import rounding
from autoclave.emulator.tinygrad_device.qcom.kernel import device_kernel
from autoclave.emulator.tinygrad_device.settings import Settings

INSTRUCTIONS_PER_SECOND = 256 * 710e6
"""What an a630 executes at most: 256 lanes at 710 MHz. Launches "take" as long as that, so that BEAM decides the same everywhere."""

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
        local_size: Sequence[int] | None = None,
        vals: Sequence[int] = (),
        wait: bool = False,
        **others: Any,
    ) -> float | None:
        """Run all of `global_size` workgroups. Without a local size they are threads, and workgroups follow from the fixed rule.

        Returns the emulated seconds if they are waited for. Raises `EmulationError` for what the kernel must not do, and
        `RuntimeError`, as tinygrad's own device, for a workgroup that the registers do not suffice for.
        """
        groups, local = self._launch_size(_size3(global_size), local_size)
        launch = bind_launch(self._kernel.code, groups, local, self._kernel.bind(bufs), self._kernel.words(vals))
        statistics = self._launcher.run(launch)
        return statistics.instructions / INSTRUCTIONS_PER_SECOND if wait else None

    def _launch_size(self, size: Size3, local_size: Sequence[int] | None) -> tuple[Size3, Size3]:
        if local_size is None:
            local = choose_local_size(size, self._kernel.fields)
            return workgroups(size, local), local
        local = _size3(local_size)
        most = a630_max_threads(self._kernel.fields)
        if prod(local) > most:
            raise RuntimeError(
                f"launching kernel {self._kernel.code.name!r}: workgroups of {local} threads; the registers of an a630 suffice for {most}"
            )
        return size, local


class EmulatedDevice(Compiled):  # type: ignore[misc]
    """tinygrad's QCOM without the hardware: Mesa's compiler for the a630, and the emulator to run what it makes."""

    settings = Settings()
    """Those of `register`."""

    def __init__(self, device: str) -> None:
        arch = profile_for("qcom").target.arch
        self.emulation = Emulation.begun(self.settings)
        keep_float16_images()
        renderer = rounding.IR3Renderer if self.settings.nearest else nir.IR3Renderer
        super().__init__(
            device, HostAllocator(self), [renderer], EmulatedProgram, arch=arch if IMAGE else arch.partition(",")[0]
        )

    def finalize(self) -> None:
        """At the end of the process: writes the survey, if there is to be one."""
        self.emulation.finish()


def _size3(size: Sequence[int]) -> Size3:
    x, y, z = (*size, 1, 1)[:3]
    return (int(x), int(y), int(z))
