"""Registers and constants that are named by a0.x: r<a0.x + n>, c<a0.x + n>.

A kernel that names registers so keeps all of them in two arrays, since LLVM cannot make values of those.
"""

from dataclasses import dataclass

from autoclave.emulator.a630.instruction import ADDRESS_REGISTER, Constant, Register
from autoclave.emulator.a630.launch import MAX_CONSTANT_VECTORS
from autoclave.emulator.a630.translator.content import Content
from autoclave.emulator.a630.translator.lanes import Lanes
from autoclave.emulator.ir import Value, constant, lanes_of, numbers, vector
from autoclave.emulator.translator.faults import Exits, refuse
from autoclave.emulator.translator.frame import CONSTANTS_AT, REGISTER_FAULT

_WORDS = 4 * MAX_CONSTANT_VECTORS


@dataclass(frozen=True, slots=True)
class Indirect:
    """Reads and writes by a0.x. A number that there is not is a fault."""

    lanes: Lanes
    exits: Exits
    merged: bool
    demotion: bool

    def read(self, operand: Register | Constant, floating: bool) -> Content:
        """What the operand holds."""
        return self._register(operand) if isinstance(operand, Register) else self._constant(operand, floating)

    def write(self, register: Register, content: Content) -> None:
        """Let the register, each lane's own, hold `content`."""
        lanes, ir = self.lanes, self.lanes.ir
        bits = lanes.vector(lanes.bits(content))
        number = lanes.vector(self._number(register.number, ADDRESS_REGISTER))
        lanes.flush_all()
        if register.half and self.merged:
            word, shift = self._half_place(number)
            kept = ir.gather(word, vector(lanes.lanes, "i32"), 4, lanes.all_lanes())
            cleared = ir.binary("and", kept, ir.invert(ir.binary("shl", constant(0xFFFF, kept.type), shift)))
            bits = ir.binary("or", cleared, ir.binary("shl", ir.convert("zext", bits, "i32"), shift))
            ir.scatter(bits, word, 4, lanes.all_lanes())
        else:
            ir.scatter(bits, self._place(number, register.half), 2 if register.half else 4, lanes.all_lanes())

    def _number(self, offset: int, limit: int) -> Value:
        """a0.x, a signed number of 16 bits, and the offset."""
        lanes, ir = self.lanes, self.lanes.ir
        address = ir.convert("trunc", lanes.bits(lanes.read(Register(ADDRESS_REGISTER))), "i16")
        number = ir.with_constant("add", ir.convert("sext", address, "i32"), offset)
        wild = ir.compare("uge", number, constant(limit, number.type))
        if lanes_of(wild.type) is not None and lanes.mask is not None:
            wild = ir.binary("and", wild, lanes.mask)
        refuse(lanes, self.exits, wild, number, REGISTER_FAULT, 0)
        return number

    # Registers

    def _register(self, register: Register) -> Content:
        lanes, ir = self.lanes, self.lanes.ir
        number = lanes.vector(self._number(register.number, ADDRESS_REGISTER))
        lanes.flush_all()
        if register.half and self.merged:
            word, shift = self._half_place(number)
            bits = ir.binary("lshr", ir.gather(word, vector(lanes.lanes, "i32"), 4, lanes.all_lanes()), shift)
            return Content(half=True, bits=ir.convert("trunc", bits, "i16"), opaque=True)
        type_ = vector(lanes.lanes, "i16" if register.half else "i32")
        bits = ir.gather(self._place(number, register.half), type_, 2 if register.half else 4, lanes.all_lanes())
        return Content(half=register.half, bits=bits, opaque=True)

    def _place(self, number: Value, half: bool) -> Value:
        """Where each lane's register lies."""
        lanes, ir = self.lanes, self.lanes.ir
        index = ir.with_constant("mul", number, lanes.lanes)
        index = ir.binary("add", index, numbers(range(lanes.lanes), "i32"))
        return ir.offset(lanes.files.array(half), index, "i16" if half else "i32")

    def _half_place(self, number: Value) -> tuple[Value, Value]:
        """The full register that a merged half is part of, and by how much it is shifted in it."""
        ir = self.lanes.ir
        shift = ir.with_constant("shl", ir.with_constant("and", number, 1), 4)
        return self._place(ir.with_constant("lshr", number, 1), half=False), shift

    # Constants

    def _constant(self, operand: Constant, floating: bool) -> Content:
        lanes = self.lanes
        halves = operand.half and not self.demotion
        number = self._number(operand.number, 2 * _WORDS if halves else _WORDS)
        bits = self._load(number, "i16" if halves else "i32", 2 if halves else 4)
        if operand.half and self.demotion:
            return lanes.demoted(bits, floating)
        return Content(half=operand.half, bits=bits, opaque=True)

    def _load(self, number: Value, element: str, size: int) -> Value:
        lanes, ir = self.lanes, self.lanes.ir
        base = ir.offset(Value("%launch", "ptr"), CONSTANTS_AT)
        place = ir.offset(base, ir.convert("zext", number, "i64"), element)
        if lanes_of(number.type) is None:
            return ir.load(place, element, size)
        return ir.gather(place, vector(lanes.lanes, element), size, lanes.all_lanes())
