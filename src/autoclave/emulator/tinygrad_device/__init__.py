"""Emulated GPUs as tinygrad's devices, QCOM and AMD, so that any tinygrad program runs on them.

    from autoclave.emulator.tinygrad_device import register

    register()                                  # QCOM, before it is used for the first time
    register(device="AMD")                      # likewise; one process may use both
    Tensor([1, 2, 3], device="QCOM") + 1        # or set DEV=QCOM:IR3 or DEV=AMD:LLVM for all of the process

Scripts and test suites run unchanged: `python -m autoclave.emulator.tinygrad_device`. For tinygrad 0.14 with Mesa's compiler
(tinymesa) for QCOM, with LLVM (llvmlite) for AMD. This package, unlike the rest of the emulator, uses tinygrad and the compiler's
knowledge of it.
"""

from autoclave.emulator.tinygrad_device.settings import Settings

__all__ = ["Settings", "register"]


def register(settings: Settings | None = None, device: str = "QCOM") -> None:
    """Make `device`, one of `kinds.KINDS`, the emulated one in this process. tinygrad is imported here, not before.

    May be called again, with the same settings. Raises `ToolchainError` if there is no such device, it is in use already, its compiler
    cannot be found, or the settings cannot be met.
    """
    from autoclave.emulator.tinygrad_device.kinds import kind_of
    from autoclave.emulator.tinygrad_device.registration import register as register_device

    register_device(kind_of(device), settings or Settings())
