"""The state of the interpreter: registers of one wave, memory of its workgroup, and what the launch binds."""

import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

from autoclave.emulator.launch import Launch, Size3
from autoclave.emulator.memory import BUFFER_STRIDE
from autoclave.emulator.overlay import Origin, Overlay, View
from autoclave.emulator.rdna4.instruction import EXEC, TTMP
from autoclave.emulator.rdna4.launch import KernelCode
from autoclave.errors import MemoryFault, UnknownInstruction

WAVE = 32
"""Lanes of a wave."""

VECTOR_REGISTERS = 256
SCALAR_REGISTERS = 128
_SCALAR_CELLS = 256
"""SCC is read as an operand of its number, which is above those of registers."""

_USER_REGISTERS = 16
_WORKGROUP_X, _WORKGROUP_YZ = TTMP + 9, TTMP + 7
_X_ENABLED, _Y_ENABLED, _Z_ENABLED = (1 << bit for bit in (7, 8, 9))
_THREAD_SIDES_SHIFT, _THREAD_SIDE_BITS = 11, 10
"""COMPUTE_PGM_RSRC2: which workgroup numbers are set up; in bits 11 and 12 how many sides of the thread's number v0 holds."""

Lanes = tuple[int, ...]
"""Numbers of lanes, ascending."""

ALL_LANES: Lanes = tuple(range(WAVE))
_ALL = (1 << WAVE) - 1


@lru_cache(maxsize=4096)
def lanes_of(mask: int) -> Lanes:
    """The lanes in a mask: `ALL_LANES` itself if it is full."""
    return ALL_LANES if mask == _ALL else tuple(lane for lane in ALL_LANES if mask >> lane & 1)


@dataclass(frozen=True, slots=True)
class WaveState:
    """A wave that waits at a barrier."""

    wave: int
    existing: int
    scalars: list[int]
    vectors: dict[int, list[int]]
    private: list[bytes]


class Machine:
    """One wave of a kernel at a time.

    The lists are bound into the compiled instructions, so they are only ever changed in place.

    scalars: scalar registers by number, the special ones too; null, which is never written, and SCC are among them.
    existing: a mask of the wave's lanes that have a thread. EXEC never has others.
    shared: the workgroup's LDS. private: scratch memory, of each lane.
    """

    def __init__(self, kernel: KernelCode) -> None:
        self.kernel = kernel
        self.scalars = [0] * _SCALAR_CELLS
        self._vectors: dict[int, list[int]] = {0: [0] * WAVE}
        self.buffers: dict[int, View] = {}
        self.overlay = Overlay()
        self.shared = bytearray(kernel.shared_bytes)
        self.private = [bytearray(kernel.private_bytes) for _ in ALL_LANES]
        self.workgroup: Size3 = (0, 0, 0)
        self.wave = 0
        self.existing = 0
        self._user_registers: tuple[int, ...] = ()

    def vector(self, number: int) -> list[int]:
        """The 32 values of a vector register. Those that no instruction names do not exist."""
        return self._vectors.setdefault(number, [0] * WAVE)

    def bind(self, launch: Launch, overlay: Overlay) -> None:
        """Make the launch's registers and buffers those of the machine; stores go to `overlay`."""
        self.overlay = overlay
        words = launch.constants[: 4 * _USER_REGISTERS]
        self._user_registers = struct.unpack(f"<{len(words) // 4}I", words[: len(words) // 4 * 4])
        self.buffers.clear()
        for slot, buffer in enumerate(launch.buffers):
            self.buffers[buffer.address // BUFFER_STRIDE] = View(buffer.memory, f"buffer {slot}", buffer.address)

    def start_workgroup(self, workgroup: Size3) -> None:
        """Clear what the waves of a workgroup share."""
        self.workgroup = workgroup
        self.shared[:] = bytes(len(self.shared))

    def start(self, local_size: Size3, wave: int) -> None:
        """Registers and private memory as a wave finds them: zeros, but for what the kernel's descriptor asks for."""
        width, height, depth = local_size
        threads = range(WAVE * wave, min(WAVE * (wave + 1), width * height * depth))
        self.wave, self.existing = wave, (1 << len(threads)) - 1
        for register in self._vectors.values():
            register[:] = [0] * WAVE
        for memory in self.private:
            memory[:] = bytes(len(memory))
        self.scalars[:] = [0] * _SCALAR_CELLS
        self.scalars[: len(self._user_registers)] = self._user_registers
        self.scalars[EXEC] = self.existing
        self._place_workgroup()
        self.vector(0)[: len(threads)] = [self._thread_number(local_size, thread) for thread in threads]

    @property
    def threads(self) -> int:
        """Threads of the current wave."""
        return self.existing.bit_count()

    def _place_workgroup(self) -> None:
        enabled, (x, y, z) = self.kernel.rsrc2, self.workgroup
        self.scalars[_WORKGROUP_X] = x if enabled & _X_ENABLED else 0
        self.scalars[_WORKGROUP_YZ] = (y if enabled & _Y_ENABLED else 0) | (z << 16 if enabled & _Z_ENABLED else 0)

    def _thread_number(self, local_size: Size3, thread: int) -> int:
        """What v0 holds at first: x | y << 10 | z << 20, as far as the kernel asks for them."""
        width, height, _ = local_size
        number = thread % width, thread // width % height, thread // (width * height)
        sides = (self.kernel.rsrc2 >> _THREAD_SIDES_SHIFT & 3) + 1
        return sum(at << _THREAD_SIDE_BITS * side for side, at in enumerate(number[:sides]))

    def save(self) -> WaveState:
        """The wave's state, to be resumed behind a barrier."""
        vectors = {number: register[:] for number, register in self._vectors.items()}
        return WaveState(self.wave, self.existing, self.scalars[:], vectors, [bytes(one) for one in self.private])

    def resume(self, state: WaveState) -> None:
        """Continue a wave that was saved."""
        self.wave, self.existing, self.scalars[:] = state.wave, state.existing, state.scalars
        for number, register in state.vectors.items():
            self._vectors[number][:] = register
        for memory, saved in zip(self.private, state.private, strict=True):
            memory[:] = saved

    def thread(self, lane: int) -> int:
        """The number of the thread in a lane of the current wave."""
        return WAVE * self.wave + lane

    def store(self, view: View, offset: int, size: int, value: int, pc: int, lane: int) -> None:
        """Write `size` bytes, which have to lie within `view`."""
        if not view.writable:
            self.fault(pc, lane, f"writes to {view.name}, which is read-only", view.address + offset)
        self.overlay.store(Origin(view, offset, size, pc, self.workgroup, self.thread(lane)), value)

    def place(self, pc: int, lane: int = 0) -> str:
        """Where an instruction is executed, for errors."""
        return f"kernel {self.kernel.name!r}, pc {pc}, workgroup {self.workgroup}, thread {self.thread(lane)}"

    def fault(self, pc: int, lane: int, what: str, address: int) -> NoReturn:
        """Raise `MemoryFault` for a lane of the current wave."""
        raise MemoryFault(f"{self.place(pc, lane)}: {what} (address {address:#x})")

    def unknown(self, pc: int, what: str) -> NoReturn:
        """Raise `UnknownInstruction` for an instruction of this kernel, whoever executes it."""
        raise UnknownInstruction(f"kernel {self.kernel.name!r}, pc {pc}: {what}")
