"""The interpreters of the emulated GPUs, by the GPU's name."""

from functools import cache

from autoclave.emulator.interpretation import Interpretation
from autoclave.emulator.launch import KernelCode


@cache
def interpretation(architecture: str) -> Interpretation:
    """Of the GPU of this name. Its package is imported only now, as no process needs all of them."""
    if architecture == "a630":
        from autoclave.emulator.a630.interpretation import A630

        return A630
    if architecture == "gfx1200":
        from autoclave.emulator.rdna4.interpretation import GFX1200

        return GFX1200
    raise KeyError(f"no emulated GPU is called {architecture!r}")


def interpretation_of(kernel: KernelCode) -> Interpretation:
    """Of the GPU that a kernel is for."""
    return interpretation(kernel.architecture)
