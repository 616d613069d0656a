"""The emulated a630 as tinygrad's device QCOM, so that any tinygrad program runs on it.

    from autoclave.emulator.tinygrad_device import register

    register()                                  # before QCOM is used for the first time
    Tensor([1, 2, 3], device="QCOM") + 1        # or set DEV=QCOM for all of the process

Scripts and test suites run unchanged: `python -m autoclave.emulator.tinygrad_device`. For tinygrad 0.14 with Mesa's compiler
(tinymesa). This package, unlike the rest of the emulator, uses tinygrad and the compiler's knowledge of it.
"""

from autoclave.emulator.tinygrad_device.settings import Settings

__all__ = ["Settings", "register"]


def register(settings: Settings | None = None) -> None:
    """Make QCOM the emulated device in this process. tinygrad is imported here, not before.

    May be called again, with the same settings. Raises `ToolchainError` if QCOM is in use already, or Mesa cannot be found.
    """
    from autoclave.emulator.tinygrad_device.registration import register as register_device

    register_device(settings or Settings())
