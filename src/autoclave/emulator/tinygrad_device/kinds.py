"""The devices of tinygrad's that can be emulated."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from autoclave.compiler.environment import mesa_library
from autoclave.errors import ToolchainError


@dataclass(frozen=True, slots=True)
class Kind:
    """A device. name: tinygrad's. target: what DEV is set to if it is not set. profile: whose flags artifacts are compiled with.

    module: tinygrad's module that has the device's class, `<name>Device`. load: finds what the device needs, and gives the class that
    takes its place, which has an attribute `settings`. Raises `ToolchainError` if something cannot be found.
    rounds: whether `Settings.nearest` is for it.
    """

    name: str
    target: str
    profile: str
    module: str
    load: Callable[[], Any]
    rounds: bool = False


def _qcom() -> Any:
    os.environ.setdefault("MESA_PATH", str(mesa_library()))
    from autoclave.emulator.tinygrad_device.qcom.device import EmulatedDevice

    return EmulatedDevice


def _amd() -> Any:
    from autoclave.emulator.tinygrad_device.amd.device import EmulatedDevice

    return EmulatedDevice


KINDS = {
    "QCOM": Kind("QCOM", "QCOM:IR3", "qcom", "tinygrad.runtime.ops_qcom", _qcom, rounds=True),
    "AMD": Kind("AMD", "AMD:LLVM", "chestnut", "tinygrad.runtime.ops_amd", _amd),
}
"""By name."""


def kind_of(device: str) -> Kind:
    """The device of this name. Raises `ToolchainError` if it is not emulated."""
    if device not in KINDS:
        raise ToolchainError(f"registering the emulated device {device}: there are {' and '.join(KINDS)} only")
    return KINDS[device]
