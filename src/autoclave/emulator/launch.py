"""A launch of a kernel on any of the emulated GPUs: its code, its constants, and the buffers and images that are bound to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from autoclave.emulator.memory import BoundBuffer, BoundImage, Bytes
from autoclave.errors import EmulationError

Size3 = tuple[int, int, int]

MAX_THREADS = 1024
"""Threads of a workgroup, as docs/artifact-format.md limits them."""

MAX_CONSTANT_BYTES = 1 << 13
"""Of what a launch hands to all of its threads besides buffers: the constant file of an a630 is the largest."""


class KernelCode(Protocol):
    """What the emulators have to know of a kernel of any GPU. Each GPU's package has a record of its own, frozen and hashable."""

    def __hash__(self) -> int: ...

    @property
    def architecture(self) -> str:
        """The GPU: a name of `autoclave.emulator.architectures`."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def code(self) -> bytes:
        """Its instructions."""

    @property
    def private_bytes(self) -> int:
        """Memory of each thread."""

    @property
    def shared_bytes(self) -> int:
        """Memory of each workgroup."""

    @property
    def buffers(self) -> int:
        """How many buffers a launch binds: slots from 0, see `memory.guest_address`."""

    @property
    def image_slots(self) -> tuple[int, ...]:
        """Which parameter of the signature each image is; none on most GPUs."""

    @property
    def texture_slots(self) -> tuple[int, ...]:
        """Which parameter of the signature each texture is; none on most GPUs."""

    def launch_fields(self) -> Mapping[str, Any]:
        """All else that it is, as JSON knows it: `Architecture.unpacked_kernel` makes the kernel of it again."""

    def translated_fields(self) -> Mapping[str, Any]:
        """Those of its launch fields that host code depends on, besides `code`, `buffers` and the bytes of memory."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One launch, ready to run: `global_size` workgroups of `local_size` threads.

    constants: what all threads find in constants or registers, of the GPU's own layout. buffers: by slot. images and
    textures: what kernels write and read as images, by slot.
    """

    kernel: KernelCode
    global_size: Size3
    local_size: Size3
    constants: bytes
    buffers: tuple[BoundBuffer, ...]
    images: tuple[BoundImage, ...] = ()
    textures: tuple[BoundImage, ...] = ()


@dataclass(frozen=True, slots=True)
class Bound:
    """One actual argument: its bytes on the host, and, if its parameter is an image, (height, width, 4) and the dtype."""

    memory: Bytes
    shape: tuple[int, ...]
    dtype: str


def thread_count(launch: Launch) -> int:
    """Threads of a workgroup."""
    width, height, depth = launch.local_size
    return width * height * depth


def check_workgroup(launch: Launch, workgroup: Size3) -> None:
    """Raise `EmulationError` unless the launch has this workgroup."""
    if not all(0 <= at < size for at, size in zip(workgroup, launch.global_size, strict=True)):
        raise EmulationError(
            f"kernel {launch.kernel.name!r}: there is no workgroup {workgroup} in a launch of {launch.global_size}"
        )
