"""A launch of a gfx1200 kernel: its code, what its descriptor asks for, its argument block and buffers."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autoclave.emulator.launch import Bound, Launch, Size3
from autoclave.emulator.memory import BoundBuffer, guest_address
from autoclave.emulator.rdna4.code_object import DESCRIPTOR_BYTES, check_relocations, read_descriptor
from autoclave.errors import ArtifactError

ARCHITECTURE = "gfx1200"

MAX_PRIVATE_BYTES = 1 << 16
MAX_SHARED_BYTES = 1 << 16
MAX_ARGUMENT_BYTES = 1 << 12

FLOAT_MODE = 0xF0
"""Round to nearest even, denormals kept in all formats: the only float mode that the emulator knows."""

WAVE_32, ARGUMENT_POINTER = 1 << 10, 1 << 3
"""Of a descriptor's properties: waves of 32 lanes; the argument block's address is in the first two scalar registers."""

_WAVE = 32
_FLOAT_MODE_SHIFT = 12
_HALF_OVERFLOW = 1 << 26
"""FP16_OVFL: halves that overflow become the largest number."""

_UNKNOWN_SETTINGS = 0x7F006440
"""Of COMPUTE_PGM_RSRC2: trap handler, workgroup info, exceptions."""

_ARGUMENT_ALIGNMENT = 16
_POINTER_BYTES = 8


@dataclass(frozen=True, slots=True)
class KernelCode:
    """A gfx1200 kernel as an artifact stores it: `code`, and its launch fields, checked.

    argument_bytes: of the argument block: a pointer of 8 bytes for each argument, then values of 4 bytes.
    rsrc1, rsrc2, rsrc3, properties: as in its descriptor.
    """

    name: str
    code: bytes
    private_bytes: int
    shared_bytes: int
    argument_bytes: int
    rsrc1: int
    rsrc2: int
    rsrc3: int
    properties: int

    @property
    def architecture(self) -> str:
        """The GPU."""
        return ARCHITECTURE

    @property
    def buffers(self) -> int:
        """How many buffers a launch binds: one for each pointer that has room in the argument block, and the block itself."""
        return self.argument_bytes // _POINTER_BYTES + 1

    @property
    def image_slots(self) -> tuple[int, ...]:
        """None: images are not emulated."""
        return ()

    @property
    def texture_slots(self) -> tuple[int, ...]:
        """None: images are not emulated."""
        return ()

    @property
    def user_registers(self) -> int:
        """How many scalar registers a launch sets, from s0 up."""
        return self.rsrc2 >> 1 & 31

    def launch_fields(self) -> dict[str, Any]:
        """All of its launch fields, as an artifact stores them."""
        return {field: getattr(self, field) for field in _LIMITS}

    def translated_fields(self) -> dict[str, Any]:
        """Those that host code depends on."""
        return {"rsrc2": self.rsrc2, "properties": self.properties}


def kernel_of(launch: Launch) -> KernelCode:
    """The kernel of a launch that is known to be a gfx1200's."""
    assert isinstance(launch.kernel, KernelCode)
    return launch.kernel


def bind_launch(
    kernel: KernelCode, global_size: Size3, local_size: Size3, arguments: Sequence[Bound], values: Sequence[int] = ()
) -> Launch:
    """Bind `arguments`, one for each pointer, and the launch's 32-bit `values`. The argument block is the last buffer.

    Where the block has more room than these take, the buffers in between are empty. Raises `ArtifactError` if it has less.
    """
    pointers = kernel.buffers - 1
    needed = _POINTER_BYTES * len(arguments) + 4 * len(values)
    if needed > kernel.argument_bytes:
        raise ArtifactError(
            f"launching kernel {kernel.name!r}: {len(arguments)} arguments and {len(values)} values take {needed} bytes; "
            f"its argument block has {kernel.argument_bytes}"
        )
    memories = [argument.memory for argument in arguments]
    memories += [np.zeros(0, np.uint8)] * (pointers - len(arguments))
    addresses = [guest_address(slot) for slot in range(len(arguments))]
    block = struct.pack(f"<{len(addresses)}Q{len(values)}i", *addresses, *values)
    memories.append(np.frombuffer(block.ljust(_block_bytes(kernel), b"\0"), np.uint8))  # of bytes: not to be written
    buffers = tuple(BoundBuffer(guest_address(slot), memory) for slot, memory in enumerate(memories))
    registers = struct.pack("<Q", buffers[-1].address) if kernel.properties & ARGUMENT_POINTER else b""
    return Launch(kernel, global_size, local_size, registers, buffers)


def _block_bytes(kernel: KernelCode) -> int:
    """Bytes of the argument block: compilers read all of the aligned words that it touches."""
    return -(-kernel.argument_bytes // _ARGUMENT_ALIGNMENT) * _ARGUMENT_ALIGNMENT


def kernel_code(name: str, lib: bytes, launch: Mapping[str, Any]) -> KernelCode:
    """The kernel in the code object `lib`, with an artifact's launch fields.

    Raises `ArtifactError` if a field is missing, out of range or at odds with the descriptor in `lib`, or asks for
    something that is not emulated.
    """
    code_offset = _number(name, launch, "code_offset", len(lib))
    code_length = _number(name, launch, "code_length", len(lib) - code_offset)
    descriptor_offset = _number(name, launch, "descriptor_offset", len(lib) - DESCRIPTOR_BYTES)
    if launch.get("wave") != _WAVE:
        raise ArtifactError(
            f"kernel {name!r}: wave is {launch.get('wave')!r}; the emulator knows waves of {_WAVE} only"
        )
    kernel = unpacked_kernel(name, lib[code_offset : code_offset + code_length], launch)
    try:
        check_relocations(lib)
        descriptor = read_descriptor(lib, descriptor_offset)
    except ArtifactError as error:
        raise ArtifactError(f"kernel {name!r}: {error}") from None
    for field, value in kernel.launch_fields().items():
        if getattr(descriptor, field) != value:
            said = getattr(descriptor, field)
            raise ArtifactError(f"kernel {name!r}: {field} is {value:#x}, its descriptor says {said:#x}")
    return kernel


def unpacked_kernel(name: str, code: bytes, fields: Mapping[str, Any]) -> KernelCode:
    """The kernel of this code and these `KernelCode.launch_fields()`. Raises `ArtifactError` as `kernel_code` does."""
    numbers = {field: _number(name, fields, field, limit) for field, limit in _LIMITS.items()}
    if not code or len(code) % 4:
        raise ArtifactError(f"kernel {name!r}: {len(code)} bytes of code, expected whole words of 4")
    kernel = KernelCode(name, bytes(code), **numbers)
    for wrong, reason in _refusals(kernel):
        if wrong:
            raise ArtifactError(f"kernel {name!r}: {reason}")
    return kernel


def _refusals(kernel: KernelCode) -> tuple[tuple[bool, str], ...]:
    """What the emulator does not know, each with whether the kernel asks for it."""
    mode = kernel.rsrc1 >> _FLOAT_MODE_SHIFT & 0xFF
    pointer = bool(kernel.properties & ARGUMENT_POINTER)
    return (
        (mode != FLOAT_MODE, f"float mode {mode:#x}; the emulator knows {FLOAT_MODE:#x} only"),
        (bool(kernel.rsrc1 & _HALF_OVERFLOW), "halves that overflow to the largest number (FP16_OVFL)"),
        (not kernel.properties & WAVE_32, "waves of 64 lanes; the emulator knows waves of 32 only"),
        (bool(kernel.properties & ~(WAVE_32 | ARGUMENT_POINTER)), f"unknown properties {kernel.properties:#x}"),
        (bool(kernel.rsrc2 & _UNKNOWN_SETTINGS), f"unknown settings in rsrc2, {kernel.rsrc2:#x}"),
        (kernel.rsrc2 >> 11 & 3 == 3, f"an unknown layout of thread numbers in rsrc2, {kernel.rsrc2:#x}"),
        (
            kernel.user_registers != 2 * pointer,
            f"{kernel.user_registers} scalar registers to be set, its properties name {2 * pointer}",
        ),
    )


def _number(name: str, fields: Mapping[str, Any], field: str, limit: int) -> int:
    value = fields.get(field)
    if type(value) is not int or not 0 <= value <= limit:
        raise ArtifactError(f"kernel {name!r}: {field} is {value!r}, expected a number from 0 to {limit}")
    return value


_MAX_WORD = (1 << 32) - 1

_LIMITS = {
    "private_bytes": MAX_PRIVATE_BYTES,
    "shared_bytes": MAX_SHARED_BYTES,
    "argument_bytes": MAX_ARGUMENT_BYTES,
    "rsrc1": _MAX_WORD,
    "rsrc2": _MAX_WORD,
    "rsrc3": _MAX_WORD,
    "properties": 0xFFFF,
}
"""The largest value of each launch field, from 0 up."""
