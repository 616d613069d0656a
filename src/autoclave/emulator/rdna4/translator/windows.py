"""Where a block's global accesses lie on the host, found out once for all accesses with the same address registers.

Kernels load and store many times from the same registers, each time with another offset. A window is the registers' addresses, and whether all of
them, with every offset that the block adds to them, lie in one buffer: then an access is `base + offset + its own offset` in each lane, without any
check. Where they do not, each access looks up each lane's address (`window_functions`). What a window holds lies in memory, and accesses
are calls: a kernel has hundreds of them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from autoclave.emulator.ir import Value, constant
from autoclave.emulator.rdna4.instruction import Instruction, Register
from autoclave.emulator.rdna4.translator.effects import changes_exec
from autoclave.emulator.rdna4.translator.wave import Wave

_ROOMS = 16
"""Windows of a block that are known at once."""

_OUTS = 4
"""Places that loads deliver to, in turn."""

FAULTED_LABEL = "access_faulted"
"""The block that a failed access leaves by."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Places in a window's memory, in bytes, by lanes of a wave: offsets from the base, both halves of addresses, then numbers."""

    lanes: int

    @property
    def low(self) -> int:
        """Lower halves of addresses; offsets from `base` come before."""
        return 4 * self.lanes

    @property
    def high(self) -> int:
        """Upper halves."""
        return 8 * self.lanes

    @property
    def base(self) -> int:
        """The buffer's start on the host."""
        return 12 * self.lanes

    @property
    def near(self) -> int:
        """Whether all lanes that are on lie in that buffer (i32)."""
        return self.base + 8

    @property
    def stride(self) -> int:
        """How far each lane's offset is from the one before (i32), -1 if that differs or a lane is off."""
        return self.base + 12

    @property
    def mask(self) -> int:
        """The lanes that are on (i32)."""
        return self.base + 16

    @property
    def size(self) -> int:
        """Of the memory."""
        return self.base + 64


@dataclass(slots=True)
class Windows:
    """Emits accesses in a kernel. used: functions that the module has to define, as ("load" | "store" | "open", bytes).

    known: windows of the current block, by what they were made of, with the range of offsets that they are good for.
    """

    wave: Wave
    used: set[tuple[str, int]] = field(default_factory=set)
    upcoming: Sequence[Instruction] = ()
    known: dict[tuple[str, ...], tuple[Value, int, int]] = field(default_factory=dict)
    rooms: list[Value] = field(default_factory=list)
    outs: list[Value] = field(default_factory=list)
    turn: int = 0
    out_turn: int = 0

    def begin(self) -> None:
        """At a block's start."""
        self.known.clear()

    def load(self, instruction: Instruction, address: Sequence[Value], size: int) -> list[Value]:
        """`size` bytes at each lane's address: integers of 8, 16 or 32 bits, several if it is more."""
        wave, ir = self.wave, self.wave.ir
        window = self._window(instruction, address, size, writing=False)
        if len(self.outs) <= self.out_turn:
            self.outs.append(ir.alloca(f"[{max(16, 4 * wave.lanes)} x i32]"))
        out = self.outs[self.out_turn]
        self.out_turn = (self.out_turn + 1) % _OUTS
        self._call("load", size, window, instruction.immediate, out)
        element = f"i{8 * min(size, 4)}"
        count = max(1, size // 4)
        return [ir.load(ir.offset(out, 4 * wave.lanes * step), wave.type(element), 64) for step in range(count)]

    def store(self, instruction: Instruction, address: Sequence[Value], size: int, values: Sequence[Value]) -> None:
        """Inverse of `load`, in the lanes that are on."""
        wave, ir = self.wave, self.wave.ir
        window = self._window(instruction, address, size, writing=True)
        if not self.outs:
            self.outs.append(ir.alloca(f"[{max(16, 4 * wave.lanes)} x i32]"))
        out = self.outs[0]
        for step, value in enumerate(values):
            ir.store(wave.vector(value), ir.offset(out, 4 * wave.lanes * step), 64)
        self._call("store", size, window, instruction.immediate, out)

    def _call(self, kind: str, size: int, window: Value, offset: int, out: Value) -> None:
        ir = self.wave.ir
        self.used.add((kind, size))
        bad = ir.emit(
            f"call i1 @{function_name(kind, size)}(ptr %launch, ptr %thread, ptr {window.text}, i64 {offset}, "
            f"ptr {out.text}, i32 {self.wave.pc})",
            "i1",
        )
        fine = ir.name("fine")
        ir.branch(bad, FAULTED_LABEL, fine, unlikely=True)
        ir.label(fine)

    def _window(self, instruction: Instruction, address: Sequence[Value], size: int, writing: bool) -> Value:
        wave, ir = self.wave, self.wave.ir
        on = wave.mask_of_memory
        key = ("w" if writing else "r", *(part.text for part in address), "" if on is None else on.text)
        lowest, highest = instruction.immediate, instruction.immediate + size
        if key in self.known:
            window, first, last = self.known[key]
            if first <= lowest and highest <= last:
                return window
        lowest, highest = _range(instruction, size, self.upcoming)
        window = self._room()
        layout = Layout(wave.lanes)
        low, high = self._halves(address)
        ir.store(low, ir.offset(window, layout.low), 4)
        ir.store(high, ir.offset(window, layout.high), 4)
        mask = constant(-1, "i32") if on is None else wave.scalars.bits_of(on)
        self.used.add(("open", int(writing)))
        ir.effect(
            f"call void @{function_name('open', int(writing))}(ptr %launch, ptr {window.text}, "
            f"i32 {wave.existing(mask).text}, i64 {lowest}, i64 {highest - lowest})"
        )
        self.known[key] = window, lowest, highest
        return window

    def _halves(self, address: Sequence[Value]) -> tuple[Value, Value]:
        """Of an address in two registers, or a base of 64 bits and an offset of 32."""
        wave, ir = self.wave, self.wave.ir
        first, second = address
        if first.type == "i64":
            offset = ir.convert("zext", wave.vector(second), "i64")
            return wave.split(ir.binary("add", wave.vector(first), offset))
        return wave.vector(first), wave.vector(second)

    def _room(self) -> Value:
        if len(self.rooms) <= self.turn:
            self.rooms.append(self.wave.ir.alloca(f"[{Layout(self.wave.lanes).size} x i8]"))
        room = self.rooms[self.turn]
        self.turn = (self.turn + 1) % _ROOMS
        for key in [key for key, (window, _, _) in self.known.items() if window == room]:
            del self.known[key]
        return room


def function_name(kind: str, size: int) -> str:
    """Of a function of `window_functions`."""
    return f"autoclave.{kind}.{size}"


_ACCESS = re.compile(r"(global|flat)_(?P<kind>load|store)_(d16_|d16_hi_)?[bui](?P<bits>\d+)")


def _range(instruction: Instruction, size: int, upcoming: Sequence[Instruction]) -> tuple[int, int]:
    """From the lowest to the highest offset that the block adds to an access's address, before a register of it changes."""
    wanted, kind = address_registers(instruction), "store" if "_store_" in instruction.name else "load"
    lowest, highest = instruction.immediate, instruction.immediate + size
    before = instruction
    for other in upcoming:
        if changes_exec(before) or _changes(before, wanted):
            break
        access = _ACCESS.fullmatch(other.name)
        if access is not None and access["kind"] == kind and address_registers(other) == wanted:
            lowest = min(lowest, other.immediate)
            highest = max(highest, other.immediate + int(access["bits"]) // 8)
        before = other
    return lowest, highest


def address_registers(instruction: Instruction) -> tuple[Register, ...]:
    """The registers that an access's address is in."""
    found = []
    if instruction.has_vector_address:
        found.append(instruction.sources[0].operand)
    if instruction.has_scalar_base:
        found.append(instruction.sources[-1].operand)
    return tuple(operand for operand in found if isinstance(operand, Register))


def _changes(instruction: Instruction, registers: Sequence[Register]) -> bool:
    for part in instruction.dual or (instruction,):
        for destination in part.destinations:
            for register in registers:
                written, first = destination.operand, register.number
                if (
                    written.file == register.file
                    and written.number < first + max(register.count, 2)
                    and first < written.number + written.count
                ):
                    return True
    return False
