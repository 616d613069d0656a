"""Puts an emulated device in the place of tinygrad's own."""

import importlib

from autoclave.emulator.tinygrad_device.kinds import Kind
from autoclave.emulator.tinygrad_device.settings import Settings
from autoclave.errors import ToolchainError


def register(kind: Kind, settings: Settings) -> None:
    """See `autoclave.emulator.tinygrad_device.register`."""
    settings.require_possible()
    if settings.nearest and not kind.rounds:
        raise ToolchainError(
            f"registering the emulated device {kind.name}: it rounds to nearest already; drop `nearest`"
        )
    device = kind.load()
    from tinygrad.device import Device

    from autoclave.emulator.tinygrad_device.workgroup_sizes import keep_sizes_open

    own, name = importlib.import_module(kind.module), f"{kind.name}Device"
    opened = any(each.split(":")[0] == kind.name for each in Device._opened_devices)
    if opened and (getattr(own, name) is not device or device.settings != settings):
        raise ToolchainError(
            f"registering the emulated device: {kind.name} is in use already; register before the first tensor on it"
        )
    device.settings = settings
    # tinygrad looks a device up as the class of that name in its module, and remembers it.
    setattr(own, name, device)
    type(Device).get_class.cache_clear()
    keep_sizes_open(kind.name)
