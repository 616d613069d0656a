"""The state of the interpreter: registers of one thread, memory of its workgroup, and what the launch binds."""

import struct
from typing import NoReturn

from autoclave.emulator.a630.instruction import ADDRESS_REGISTER, PREDICATE_REGISTER
from autoclave.emulator.a630.launch import MAX_CONSTANT_VECTORS, KernelCode
from autoclave.emulator.launch import Launch, Size3
from autoclave.emulator.memory import BUFFER_STRIDE
from autoclave.emulator.overlay import Origin, Overlay, View
from autoclave.emulator.scalar.conversion import single_to_half_nearest_even as demoted_half
from autoclave.errors import MemoryFault, UnknownInstruction

REGISTERS = 256
"""Components of a register file that an instruction can name: r0.x to r63.w."""


class Machine:
    """One thread of a kernel at a time.

    The lists are bound into the compiled instructions, so they are only ever changed in place.

    registers, halves: the full and half files; a0.x and p0.x live in `registers` at whatever width they are named. With
        merged registers `halves` is unused: hrN.c is half of a full register.
    constants: the constant file's 32-bit words. half_constants: what hcN.c reads as an integer; demoted: as a float, if
        the kernel demotes constants, for those numbers that were asked for.
    region: inside predt or predf, whether p0.x was set where the region began; None outside.
    """

    def __init__(self, kernel: KernelCode) -> None:
        self.kernel = kernel
        self.registers = [0] * REGISTERS
        self.halves = [0] * REGISTERS
        words = 4 * MAX_CONSTANT_VECTORS
        self.constants = [0] * words
        self.half_constants = [0] * (words if kernel.constant_demotion else 2 * words)
        self.demoted = [0] * words
        self._demoted_numbers: set[int] = set()
        self.buffers: dict[int, View] = {}
        self.images: list[View] = []
        self.textures: list[View] = []
        self.overlay = Overlay()
        self.shared = bytearray(kernel.shared_bytes)
        self.private = bytearray(kernel.private_bytes)
        self.workgroup: Size3 = (0, 0, 0)
        self.thread = 0
        self.region: bool | None = None

    def bind(self, launch: Launch, overlay: Overlay) -> None:
        """Make the launch's constants, buffers and images those of the machine; stores go to `overlay`."""
        self.overlay = overlay
        file = launch.constants.ljust(16 * MAX_CONSTANT_VECTORS, b"\0")
        self.constants[:] = struct.unpack(f"<{len(file) // 4}I", file)
        halves = struct.unpack(f"<{len(file) // 2}H", file)
        self.half_constants[:] = halves[::2] if self.kernel.constant_demotion else halves
        for number in self._demoted_numbers:
            self.demote(number)
        self.buffers.clear()
        for slot, buffer in enumerate(launch.buffers):
            self.buffers[buffer.address // BUFFER_STRIDE] = View(buffer.memory, f"buffer {slot}", buffer.address)
        for views, bound, kind in ((self.images, launch.images, "image"), (self.textures, launch.textures, "texture")):
            views[:] = [View(image.memory, f"{kind} {slot}", image=image) for slot, image in enumerate(bound)]

    def demote(self, number: int) -> int:
        """See to it that `demoted` has constant `number`, in this launch and in later ones; returns `number`."""
        self._demoted_numbers.add(number)
        self.demoted[number] = demoted_half(self.constants[number])
        return number

    def start_workgroup(self, workgroup: Size3) -> None:
        """Clear what the threads of a workgroup share."""
        self.workgroup = workgroup
        self.shared[:] = bytes(len(self.shared))

    @property
    def threads(self) -> int:
        """One at a time."""
        return 1

    def start(self, local_size: Size3, unit: int) -> None:
        """Registers and private memory as the thread `unit` finds them: zeros, but for its coordinates."""
        self.thread = unit
        self.region = None
        self.registers[:] = [0] * REGISTERS
        self.halves[:] = [0] * REGISTERS
        self.private[:] = bytes(len(self.private))
        width, height, _ = local_size
        self._place(self.kernel.work_group_id, self.workgroup)
        self._place(self.kernel.local_invocation_id, (unit % width, unit // width % height, unit // (width * height)))

    def _place(self, register: int, coordinates: Size3) -> None:
        if register + len(coordinates) <= ADDRESS_REGISTER:
            self.registers[register : register + len(coordinates)] = coordinates

    def save(self) -> "ThreadState":
        """The thread's state, to be resumed behind a barrier."""
        return self.thread, self.region, self.registers[:], self.halves[:], bytes(self.private)

    def resume(self, state: "ThreadState") -> None:
        """Continue a thread that was saved."""
        self.thread, self.region, self.registers[:], self.halves[:], self.private[:] = state

    def store(self, view: View, offset: int, size: int, value: int, pc: int) -> None:
        """Write an element of `size` bytes, which has to lie within `view`."""
        if not view.writable:
            self.fault(pc, f"writes to {view.name}, which is read-only", view.address + offset)
        self.overlay.store(Origin(view, offset, size, pc, self.workgroup, self.thread), value)

    def place(self, pc: int) -> str:
        """Where an instruction is executed, for errors."""
        return f"kernel {self.kernel.name!r}, pc {pc}, workgroup {self.workgroup}, thread {self.thread}"

    def fault(self, pc: int, what: str, address: int) -> NoReturn:
        """Raise `MemoryFault` for the current thread."""
        raise MemoryFault(f"{self.place(pc)}: {what} (address {address:#x})")

    def unknown(self, pc: int, what: str) -> NoReturn:
        """Raise `UnknownInstruction` for an instruction of this kernel, whoever executes it."""
        raise UnknownInstruction(f"kernel {self.kernel.name!r}, pc {pc}: {what}")

    def predicate(self, component: int) -> bool:
        """Whether p0.x, y, z or w is set."""
        return self.registers[PREDICATE_REGISTER + component] != 0


ThreadState = tuple[int, bool | None, list[int], list[int], bytes]
"""Thread, region, full registers, half registers, private memory."""
