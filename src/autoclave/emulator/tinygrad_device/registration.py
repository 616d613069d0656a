"""Puts the emulated device in the place of tinygrad's own."""

import os

from autoclave.compiler.environment import mesa_library
from autoclave.emulator.tinygrad_device.settings import Settings
from autoclave.errors import ToolchainError


def register(settings: Settings) -> None:
    """See `autoclave.emulator.tinygrad_device.register`."""
    os.environ.setdefault("MESA_PATH", str(mesa_library()))
    from tinygrad.device import Device
    from tinygrad.runtime import ops_qcom

    from autoclave.emulator.tinygrad_device.device import EmulatedDevice
    from autoclave.emulator.tinygrad_device.workgroup_sizes import EMULATED, keep_sizes_open

    opened = any(name.split(":")[0] == EMULATED for name in Device._opened_devices)
    if opened and (ops_qcom.QCOMDevice is not EmulatedDevice or EmulatedDevice.settings != settings):
        raise ToolchainError(
            f"registering the emulated device: {EMULATED} is in use already; register before the first tensor on it"
        )
    EmulatedDevice.settings = settings
    # tinygrad looks a device up as the class of that name in its module, and remembers it.
    ops_qcom.QCOMDevice = EmulatedDevice
    type(Device).get_class.cache_clear()
    keep_sizes_open()
