"""Memory as a kernel sees it: buffers at made-up addresses, which say nothing of where they lie on the host."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

BUFFER_STRIDE = 1 << 36
"""Guest addresses from one buffer's start to the next one's: more than any buffer (4 GiB) and the largest stray offset."""


@dataclass(frozen=True, slots=True)
class BoundBuffer:
    """A plain buffer of a launch: `memory`, flat bytes on the host, appears to the kernel at `address`."""

    address: int
    memory: Bytes


@dataclass(frozen=True, slots=True)
class BoundImage:
    """A 2D image of a launch: `height` rows of `width` pixels of four components, without padding between rows."""

    memory: Bytes
    width: int
    height: int
    dtype: str


def guest_address(slot: int) -> int:
    """Where the buffer in `slot` (from 0) begins. No buffer is at 0, so a null pointer always faults."""
    return (slot + 1) * BUFFER_STRIDE
