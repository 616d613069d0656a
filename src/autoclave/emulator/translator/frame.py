"""The memory that host code and its caller share. Offsets are bytes.

A launch block holds what a launch binds; host code only reads it:

    0       groups in x, y, z       u32 each
    64      constants               8192 bytes, of the GPU's own layout
    8256    buffers                 32 bytes each: address on the host (u64), size (u64), size that may be written (u64), 0
    then    images, textures        16 bytes each: address on the host (u64), width (u32), height (u32)

A thread block belongs to one host thread:

    0       instructions left, for one thread of the GPU each     i64
    8       always 0                                              i64
    16      fault: kind, pc, lane, vector                         i32 each
    32      fault: workgroup                                      i64
    40      fault: address                                        u64
    48      fault: bytes                                          u64
    56      step that failed, its status                          i32 each (see `driver`)
    64      always 0, a pixel of an image outside of its bounds   16 bytes
    128     scratch: see `Scratch`
"""

from dataclasses import dataclass

from autoclave.emulator.launch import MAX_CONSTANT_BYTES

CONSTANTS_AT = 64
BUFFERS_AT = CONSTANTS_AT + MAX_CONSTANT_BYTES
BUFFER_BYTES = 32
IMAGE_BYTES = 16

LEFT_AT = 0
ZERO_AT = 8
FAULT_AT = 16
WORKGROUP_AT = 32
ADDRESS_AT = 40
BYTES_AT = 48
STEP_AT = 56
STATUS_AT = 60
BLACK_AT = 64
SCRATCH_AT = 128

DONE, FAULTED, EXHAUSTED = 0, 1, 2
"""What a kernel's host code returns."""

GLOBAL_FAULT, READ_ONLY_FAULT, SHARED_FAULT, REGISTER_FAULT, PRIVATE_FAULT = 1, 2, 3, 4, 5
"""Kinds of faults."""


def images_at(buffers: int) -> int:
    """Where the table of images begins, behind that of so many buffers."""
    return BUFFERS_AT + BUFFER_BYTES * buffers


def launch_bytes(buffers: int, images: int) -> int:
    """The size of a launch block; `images` are images and textures."""
    return images_at(buffers) + IMAGE_BYTES * images


@dataclass(frozen=True, slots=True)
class Scratch:
    """Places in a thread block for what one workgroup needs, from its start.

    spilled: registers and masks of kernels that are too large for LLVM to make values of them. states: of each vector, where
    it resumes (i32). frames: of each vector, `frame_bytes` for its registers at a barrier.
    private: of each vector, `private_bytes` for all of its lanes.
    """

    shared_bytes: int
    private_bytes: int
    frame_bytes: int
    vectors: int
    spilled_bytes: int = 0

    @property
    def shared(self) -> int:
        """Shared memory."""
        return SCRATCH_AT

    @property
    def spilled(self) -> int:
        """Registers and masks of large kernels."""
        return _aligned(self.shared + self.shared_bytes)

    @property
    def states(self) -> int:
        """Where each vector resumes."""
        return _aligned(self.spilled + self.spilled_bytes)

    @property
    def private(self) -> int:
        """Private memory, vector by vector."""
        return _aligned(self.states + 4 * self.vectors)

    @property
    def frames(self) -> int:
        """Frames, vector by vector."""
        return self.private + self.private_bytes * self.vectors

    @property
    def end(self) -> int:
        """The size of the thread block."""
        return self.frames + self.frame_bytes * self.vectors


def _aligned(offset: int) -> int:
    return offset + -offset % 64
