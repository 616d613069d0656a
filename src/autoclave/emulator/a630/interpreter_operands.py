"""Operands of the interpreter: where an instruction's sources come from and where its results go.

Most operands are a place in one of the machine's lists (`Cell`); the others are read and written by a function.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from autoclave.emulator.a630.instruction import ADDRESS_REGISTER, Constant, Immediate, Instruction, Operand, Register
from autoclave.emulator.a630.machine import REGISTERS, Machine

Cell = tuple[list[int], int]
"""A list and an index in it."""

Read = Callable[[], int]
Write = Callable[[int], None]

_HALF = 0xFFFF


@dataclass(frozen=True, slots=True)
class Binder:
    """Binds the operands of `instruction` to `machine`. `floating`: its half constants are demoted as floats."""

    machine: Machine
    instruction: Instruction
    floating: bool = False

    def cell(self, operand: Operand, step: int = 0) -> Cell | None:
        """Where the operand `step` behind the named one lies; None if it takes more to read it."""
        if isinstance(operand, Immediate):
            return [operand.bits], 0
        if operand.relative:
            return None
        number = self._checked(operand, operand.number + step)
        return self._constant(operand, number) if isinstance(operand, Constant) else self._register(operand, number)

    def read(self, operand: Operand, step: int = 0) -> Read:
        """A function that gives the operand's bits."""
        if not isinstance(operand, Immediate) and operand.relative:
            return self._read_relative(operand, operand.number + step)
        place = self.cell(operand, step)
        if place is None:
            assert isinstance(operand, Register)
            return _read_merged(self.machine.registers, operand.number + step)
        values, at = place
        return lambda: values[at]

    def write(self, register: Register, step: int = 0) -> Write:
        """A function that writes the register; what it is given has to fit the register's width."""
        if register.relative:
            return self._write_relative(register, register.number + step)
        place = self.cell(register, step)
        if place is None:
            return _write_merged(self.machine.registers, register.number + step)
        values, at = place

        def write(value: int) -> None:
            values[at] = value

        return write

    def _checked(self, operand: Register | Constant, number: int) -> int:
        limit = len(self._file(operand)) if isinstance(operand, Constant) else REGISTERS
        if not 0 <= number < limit:
            self.machine.unknown(self.instruction.pc, f"names register or constant {number}; there are {limit}")
        return number

    def _file(self, operand: Constant) -> list[int]:
        return self.machine.half_constants if operand.half else self.machine.constants

    def _constant(self, operand: Constant, number: int) -> Cell:
        if operand.half and self.floating and self.machine.kernel.constant_demotion:
            return self.machine.demoted, self.machine.demote(number)
        return self._file(operand), number

    def _register(self, operand: Register, number: int) -> Cell | None:
        if number >= ADDRESS_REGISTER or not operand.half:
            return self.machine.registers, number
        return None if self.machine.kernel.merged_registers else (self.machine.halves, number)

    def _read_relative(self, operand: Register | Constant, offset: int) -> Read:
        plain = replace(operand, relative=False)
        limit = ADDRESS_REGISTER if isinstance(operand, Register) else len(self._file(operand))
        known: dict[int, Read] = {}

        def read() -> int:
            number = self._relative_number(offset, limit)
            if number not in known:
                known[number] = self.read(replace(plain, number=number))
            return known[number]()

        return read

    def _write_relative(self, register: Register, offset: int) -> Write:
        known: dict[int, Write] = {}

        def write(value: int) -> None:
            number = self._relative_number(offset, ADDRESS_REGISTER)
            if number not in known:
                known[number] = self.write(Register(number, register.half))
            known[number](value)

        return write

    def _relative_number(self, offset: int, limit: int) -> int:
        """The number that a0.x + `offset` means; a0.x is a signed number of 16 bits."""
        number = offset + ((self.machine.registers[ADDRESS_REGISTER] & _HALF) ^ 0x8000) - 0x8000
        if not 0 <= number < limit:
            self.machine.fault(self.instruction.pc, f"names register or constant {number} of {limit} by a0.x", number)
        return number


def _read_merged(registers: list[int], number: int) -> Read:
    at, shift = number >> 1, 16 * (number & 1)
    return lambda: registers[at] >> shift & _HALF


def _write_merged(registers: list[int], number: int) -> Write:
    at, shift = number >> 1, 16 * (number & 1)
    kept = _HALF << (16 - shift)

    def write(value: int) -> None:
        registers[at] = registers[at] & kept | value << shift

    return write
