"""The device: memory of this process, and kernels that run on the emulator."""

import ctypes
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from tinygrad.device import Allocator, BufferSpec, Compiled, Program, TinyELF
from tinygrad.helpers import IMAGE
from tinygrad.renderer import nir

from autoclave.compiler.adapters.tinygrad_0_14_images import keep_float16_images
from autoclave.compiler.local_sizes import Size3, a630_max_threads, choose_local_size, workgroups
from autoclave.compiler.profiles import profile_for
from autoclave.emulator.a630.launch import bind_launch
from autoclave.emulator.jit import best_target
from autoclave.emulator.launch import Launch
from autoclave.emulator.memory import Bytes
from autoclave.emulator.program import LaunchStatistics
from autoclave.emulator.tinygrad_device import rounding
from autoclave.emulator.tinygrad_device.check import checked_run
from autoclave.emulator.tinygrad_device.kernel import device_kernel
from autoclave.emulator.tinygrad_device.settings import Settings
from autoclave.emulator.tinygrad_device.survey import Survey
from autoclave.emulator.tinygrad_device.translations import TranslatedKernel, Translations
from autoclave.emulator.translation import launch_shape
from autoclave.native.memory import aligned_bytes

INSTRUCTIONS_PER_SECOND = 256 * 710e6
"""What an a630 executes at most: 256 lanes at 710 MHz. Launches "take" as long as that, so that BEAM decides the same everywhere."""

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


class EmulatedProgram(Program):  # type: ignore[misc]
    """A kernel of the device, translated for each shape of launch when that is met."""

    def __init__(self, dev: "EmulatedDevice", obj: TinyELF) -> None:
        self._device = dev
        self._kernel = device_kernel(obj)
        self._translated: dict[Size3, TranslatedKernel] = {}

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
        code = self._kernel.code
        launch = bind_launch(code, groups, local, self._kernel.bind(bufs), self._kernel.words(vals))
        with self._device.survey.launch(code):
            statistics = self._run(launch)
        return statistics.instructions / INSTRUCTIONS_PER_SECOND if wait else None

    def _run(self, launch: Launch) -> LaunchStatistics:
        threads = self._device.settings.threads
        known = self._translated.get(launch.local_size)
        if known is not None:
            return known.run(launch, threads)
        kernel = self._translated[launch.local_size] = self._device.translations.kernel(launch_shape(launch))
        if not self._device.settings.check:
            return kernel.run(launch, threads)
        statistics, elements = checked_run(launch, lambda: kernel.run(launch, threads))
        self._device.survey.checked(elements)
        return statistics

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
        self.survey = Survey()
        self.translations = Translations(best_target(), self.settings.translations)
        keep_float16_images()
        renderer = rounding.IR3Renderer if self.settings.nearest else nir.IR3Renderer
        super().__init__(
            device, HostAllocator(self), [renderer], EmulatedProgram, arch=arch if IMAGE else arch.partition(",")[0]
        )

    def finalize(self) -> None:
        """At the end of the process: writes the survey, if there is to be one."""
        if self.settings.survey is not None:
            self.survey.write(self.settings.survey)


def _size3(size: Sequence[int]) -> Size3:
    x, y, z = (*size, 1, 1)[:3]
    return (int(x), int(y), int(z))
