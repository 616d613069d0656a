"""Workgroup sizes that tinygrad leaves open: it would try them out on the device, which here has a fixed rule.

A module of its own, since tinygrad takes a rewrite rule apart and refuses one that refers to anything but globals.
"""

from typing import Any

from tinygrad.engine import realize
from tinygrad.uop.ops import Ops, PatternMatcher, UPat

EMULATED: set[str] = set()
"""tinygrad's names of the devices that are emulated in this process."""


def keep_sizes_open(device: str) -> None:
    """Let programs of the emulated device reach it without a size; for all others nothing changes."""
    EMULATED.add(device)
    realize.pm_optimize_local_size = PatternMatcher([(_PROGRAM_CALL, _try_sizes)])


def _try_sizes(call: Any, prg: Any) -> Any:
    device = prg.device if isinstance(prg.device, str) else prg.device[0]
    return None if device.split(":")[0] in EMULATED else realize.optimize_local_size(call, prg)


_PROGRAM_CALL = UPat(Ops.CALL, src=(UPat(Ops.PROGRAM, name="prg"),), name="call", allow_any_len=True)
