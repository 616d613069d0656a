"""A launch of an a630 kernel: its code, its constant file, and the buffers and images that are bound to it."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autoclave.emulator.launch import Bound, Launch, Size3
from autoclave.emulator.memory import BoundBuffer, BoundImage, guest_address
from autoclave.errors import ArtifactError

ARCHITECTURE = "a630"

MAX_CONSTANT_VECTORS = 512
"""Size of the a630's constant file, in vectors of four 32-bit words (docs/artifact-format.md: `constant_length`)."""

MAX_IMAGE_SIDE = 1 << 14
"""Pixels, as on the a630. Host code relies on it: a pixel's number has to fit in 31 bits."""

MAX_PRIVATE_BYTES = 1 << 16
MAX_SHARED_BYTES = 1 << 15
WORKGROUP_SIZE_AT = 32
"""Bytes from the start of the driver's parameters to the sides of the workgroup."""

ISAM_MODE = "gl"
"""How the hardware is set up for isam by tinygrad, and the only way that the emulator knows."""


@dataclass(frozen=True, slots=True)
class KernelCode:
    """An a630 kernel as an artifact stores it: `code` of 8 bytes an instruction, and its launch fields, checked.

    Equal kernels that are bound to images of the same formats translate to the same host code.
    """

    name: str
    code: bytes
    private_bytes: int
    shared_bytes: int
    work_group_id: int
    local_invocation_id: int
    merged_registers: bool
    double_threadsize: bool
    constant_length: int
    arguments_offset: int
    immediates_offset: int
    immediates: tuple[int, ...]
    driver_params_offset: int | None
    driver_params_size: int
    buffer_slots: tuple[int, ...]
    image_slots: tuple[int, ...]
    texture_slots: tuple[int, ...]
    constant_demotion: bool

    @property
    def architecture(self) -> str:
        """The GPU."""
        return ARCHITECTURE

    @property
    def buffers(self) -> int:
        """How many buffers a launch binds."""
        return len(self.buffer_slots)

    def launch_fields(self) -> dict[str, Any]:
        """All of its launch fields, as an artifact stores them."""
        return {field: getattr(self, field) for field in (*_PLAIN_FIELDS, *_LIST_FIELDS)}

    def translated_fields(self) -> dict[str, Any]:
        """Those that host code depends on."""
        return {field: getattr(self, field) for field in _TRANSLATED_FIELDS}


def kernel_of(launch: Launch) -> KernelCode:
    """The kernel of a launch that is known to be an a630's."""
    assert isinstance(launch.kernel, KernelCode)
    return launch.kernel


def bind_launch(
    kernel: KernelCode, global_size: Size3, local_size: Size3, arguments: Sequence[Bound], values: Sequence[int] = ()
) -> Launch:
    """Bind `arguments`, one for each parameter of the kernel's signature, and the launch's 32-bit `values`.

    Raises `ArtifactError` if a slot names no argument, an image is not one, or the constants do not fit.
    """
    buffers = tuple(
        BoundBuffer(guest_address(slot), _argument(kernel, arguments, index).memory)
        for slot, index in enumerate(kernel.buffer_slots)
    )
    return Launch(
        kernel,
        global_size,
        local_size,
        _constant_file(kernel, local_size, buffers, values),
        buffers,
        tuple(_image(kernel, _argument(kernel, arguments, index)) for index in kernel.image_slots),
        tuple(_image(kernel, _argument(kernel, arguments, index)) for index in kernel.texture_slots),
    )


def _argument(kernel: KernelCode, arguments: Sequence[Bound], index: int) -> Bound:
    if not 0 <= index < len(arguments):
        raise ArtifactError(f"launching kernel {kernel.name!r}: slot of parameter {index}, it has {len(arguments)}")
    return arguments[index]


def _image(kernel: KernelCode, argument: Bound) -> BoundImage:
    itemsize = {"float16": 2, "float32": 4}.get(argument.dtype)
    if len(argument.shape) != 3 or argument.shape[2] != 4 or itemsize is None:
        raise ArtifactError(
            f"launching kernel {kernel.name!r}: {argument.dtype} {list(argument.shape)} bound as an image; "
            f"an image is float16 or float32 [height, width, 4]"
        )
    height, width = argument.shape[:2]
    if max(height, width) > MAX_IMAGE_SIDE:
        raise ArtifactError(
            f"launching kernel {kernel.name!r}: an image of {width} x {height}; a side has at most {MAX_IMAGE_SIDE} pixels"
        )
    if height * width * 4 * itemsize > argument.memory.size:
        raise ArtifactError(
            f"launching kernel {kernel.name!r}: an image of {width} x {height} in {argument.memory.size} bytes"
        )
    return BoundImage(argument.memory, width, height, argument.dtype)


def _constant_file(
    kernel: KernelCode, local_size: Size3, buffers: Sequence[BoundBuffer], values: Sequence[int]
) -> bytes:
    """The whole constant file of `MAX_CONSTANT_VECTORS`, zero where nothing is set."""
    file = bytearray(MAX_CONSTANT_VECTORS * 16)
    addresses = struct.pack(f"<{len(buffers)}Q", *(buffer.address for buffer in buffers))
    _place(kernel, file, kernel.arguments_offset, addresses + struct.pack(f"<{len(values)}i", *values))
    _place(kernel, file, kernel.immediates_offset, struct.pack(f"<{len(kernel.immediates)}I", *kernel.immediates))
    if kernel.driver_params_offset is not None:
        sides = struct.pack("<3I", *local_size)
        _place(kernel, file, kernel.driver_params_offset + WORKGROUP_SIZE_AT, sides)
    return bytes(file)


def _place(kernel: KernelCode, file: bytearray, offset: int, data: bytes) -> None:
    if not 0 <= offset <= len(file) - len(data):
        raise ArtifactError(
            f"launching kernel {kernel.name!r}: {len(data)} bytes at {offset} of a constant file of {len(file)}"
        )
    file[offset : offset + len(data)] = data


def kernel_code(name: str, code: bytes, launch: Mapping[str, Any]) -> KernelCode:
    """A stored kernel's code and launch fields. Raises `ArtifactError` if a field is missing or out of range."""
    try:
        fields: dict[str, Any] = {field: launch[field] for field in _PLAIN_FIELDS}
        fields |= {field: tuple(launch[field]) for field in _LIST_FIELDS}
        kernel = KernelCode(name=name, code=bytes(code), **fields)
        isam_mode = launch.get("isam_mode", ISAM_MODE)
    except (KeyError, TypeError) as error:
        raise ArtifactError(f"kernel {name!r}: launch field {error} is missing or of a wrong type") from None
    if isam_mode != ISAM_MODE:
        raise ArtifactError(f"kernel {name!r}: isam_mode is {isam_mode!r}; the emulator knows {ISAM_MODE!r} only")
    _check_ranges(kernel)
    return kernel


_PLAIN_FIELDS = (
    "private_bytes",
    "shared_bytes",
    "work_group_id",
    "local_invocation_id",
    "merged_registers",
    "double_threadsize",
    "constant_length",
    "arguments_offset",
    "immediates_offset",
    "driver_params_offset",
    "driver_params_size",
    "constant_demotion",
)
_LIST_FIELDS = ("immediates", "buffer_slots", "image_slots", "texture_slots")
_TRANSLATED_FIELDS = ("work_group_id", "local_invocation_id", "merged_registers", "constant_demotion")


def _check_ranges(kernel: KernelCode) -> None:
    for field, limit in _LIMITS.items():
        value = getattr(kernel, field)
        if not _is_within(value, limit) and (value is not None or field != "driver_params_offset"):
            raise ArtifactError(f"kernel {kernel.name!r}: {field} is {value!r}, expected 0 to {limit}")
    for field in _FLAGS:
        if type(value := getattr(kernel, field)) is not bool:
            raise ArtifactError(f"kernel {kernel.name!r}: {field} is {value!r}, expected true or false")
    for field in _LIST_FIELDS:
        limit = MAX_WORD if field == "immediates" else MAX_SLOT
        if not all(_is_within(value, limit) for value in getattr(kernel, field)):
            raise ArtifactError(f"kernel {kernel.name!r}: {field} has something else than numbers from 0 to {limit}")
    if len(kernel.code) % 8 or not kernel.code:
        raise ArtifactError(
            f"kernel {kernel.name!r}: {len(kernel.code)} bytes of code, expected whole instructions of 8"
        )


def _is_within(value: object, limit: int) -> bool:
    return type(value) is int and 0 <= value <= limit


MAX_WORD = (1 << 32) - 1
MAX_SLOT = (1 << 16) - 1
_CONSTANT_BYTES = 16 * MAX_CONSTANT_VECTORS

_LIMITS = {
    "private_bytes": MAX_PRIVATE_BYTES,
    "shared_bytes": MAX_SHARED_BYTES,
    "work_group_id": 0xFF,
    "local_invocation_id": 0xFF,
    "constant_length": MAX_CONSTANT_VECTORS,
    "arguments_offset": _CONSTANT_BYTES,
    "immediates_offset": _CONSTANT_BYTES,
    "driver_params_offset": _CONSTANT_BYTES,
    "driver_params_size": _CONSTANT_BYTES,
}
"""The largest value of each number, from 0 up; the driver's parameters may have no offset."""

_FLAGS = ("merged_registers", "double_threadsize", "constant_demotion")
