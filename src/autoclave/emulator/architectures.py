"""The emulated GPUs, by name and by tinygrad's name of the device."""

from functools import cache
from pathlib import Path

from autoclave.emulator.architecture import Architecture
from autoclave.emulator.devices import DEVICES
from autoclave.emulator.launch import KernelCode
from autoclave.errors import ArtifactError

_CORE_SOURCES = (
    "__init__.py",
    "architecture.py",
    "architectures.py",
    "devices.py",
    "elementary.py",
    "ir.py",
    "jit.py",
    "launch.py",
    "memory.py",
    "translation.py",
    "translator/*.py",
    "vector/*.py",
)


@cache
def architecture(name: str) -> Architecture:
    """The GPU of this name. Its package is imported only now, as no process needs all of them."""
    if name == "a630":
        from autoclave.emulator.a630.architecture import A630

        return A630
    if name == "gfx1200":
        from autoclave.emulator.rdna4.architecture import GFX1200

        return GFX1200
    raise KeyError(f"no emulated GPU is called {name!r}")


def architecture_of_device(device: str, doing: str) -> Architecture:
    """The GPU behind a device. Raises `ArtifactError`, which begins with what was being done, if it is not emulated."""
    if device not in DEVICES:
        raise ArtifactError(f"{doing}: it is compiled for {device}; the emulator is for {' and '.join(DEVICES)}")
    return architecture(DEVICES[device])


def architecture_of(kernel: KernelCode) -> Architecture:
    """The GPU that a kernel is for."""
    return architecture(kernel.architecture)


def translator_files(name: str) -> tuple[Path, ...]:
    """The source files that a GPU's host code follows from, in an order that is always the same."""
    emulator = Path(__file__).parent
    patterns = (*_CORE_SOURCES, *architecture(name).sources)
    return tuple(path for pattern in patterns for path in sorted(emulator.glob(pattern)))
