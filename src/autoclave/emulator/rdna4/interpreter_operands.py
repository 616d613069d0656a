"""Operands of the interpreter: where an instruction's sources come from and where its results go.

Vector operands are read and written for some lanes at a time, a value each, in the order of the lanes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from autoclave.emulator.rdna4.instruction import (
    EXEC,
    NULL,
    SCC,
    Destination,
    Instruction,
    Literal32,
    Operand,
    Register,
    Source,
)
from autoclave.emulator.rdna4.lanewise.modifiers import absolute, negate
from autoclave.emulator.rdna4.machine import ALL_LANES, SCALAR_REGISTERS, VECTOR_REGISTERS, Lanes, Machine

ReadLanes = Callable[[Lanes], Sequence[int]]
WriteLanes = Callable[[Lanes, Sequence[int]], None]
Read = Callable[[], int]
Write = Callable[[int], None]

_WORD, _HALF = 0xFFFFFFFF, 0xFFFF
_HALF_TYPES = frozenset({"f16", "bf16", "u16", "i16", "b16", "u8x2"})
_DOUBLE_TYPES = frozenset({"f64", "u64", "i64", "b64"})
_QUADRUPLE_TYPE = "b128"


@dataclass(frozen=True, slots=True)
class Binder:
    """Binds the operands of `instruction` to `machine`."""

    machine: Machine
    instruction: Instruction

    def vector(self, register: Register, step: int = 0) -> list[int]:
        """The vector register `step` behind the named one."""
        return self.machine.vector(self._checked(register, step, VECTOR_REGISTERS))

    def scalar_number(self, register: Register, step: int = 0) -> int:
        """The place in `Machine.scalars` of the scalar register `step` behind the named one; all of null is null."""
        if register.number in (NULL, SCC):
            return register.number
        return self._checked(register, step, SCALAR_REGISTERS)

    def _checked(self, register: Register, step: int, limit: int) -> int:
        number = register.number + step
        if not 0 <= number < limit:
            self.unknown(f"names register {register.file}{number}; there are {limit}")
        return number

    def unknown(self, what: str) -> NoReturn:
        """Raise `UnknownInstruction` for this instruction."""
        self.machine.unknown(self.instruction.pc, f"{self.instruction.name} {what}")

    # Scalars

    def read(self, source: Source) -> Read:
        """A function that gives the bits of a scalar source, modifiers applied."""
        return _modified(self.read_plain(source.operand, source.type), source)

    def read_plain(self, operand: Operand, kind: str = "b32") -> Read:
        """A function that gives the bits of a scalar operand."""
        if isinstance(operand, Literal32):
            bits = operand.bits
            return lambda: bits
        scalars, number = self.machine.scalars, self.scalar_number(operand)
        if kind in _HALF_TYPES:
            shift = 16 if operand.high else 0
            return lambda: scalars[number] >> shift & _HALF
        if kind in _DOUBLE_TYPES and number != SCC:
            upper = self.scalar_number(operand, 1)
            return lambda: scalars[number] | scalars[upper] << 32
        return lambda: scalars[number]

    def write(self, destination: Destination) -> Write:
        """A function that writes a scalar result; EXEC never gets lanes without a thread, and null nothing."""
        machine, scalars = self.machine, self.machine.scalars
        register = destination.operand
        number = self.scalar_number(register)
        if number == NULL:
            return _write_nothing
        if destination.type in _DOUBLE_TYPES:
            lower = self.write(Destination(register, "b32"))
            upper = self.write(Destination(Register("s", self.scalar_number(register, 1)), "b32"))
            return lambda value: (lower(value & _WORD), upper(value >> 32))[0]
        if number == EXEC:

            def write_exec(value: int) -> None:
                scalars[EXEC] = value & machine.existing

            return write_exec

        def write(value: int) -> None:
            scalars[number] = value

        return write

    # Lanes

    def read_lanes(self, source: Source) -> ReadLanes:
        """A function that gives the bits of a source for each of some lanes, modifiers applied."""
        return _modified_lanes(self.read_plain_lanes(source.operand, source.type), source)

    def read_plain_lanes(self, operand: Operand, kind: str) -> ReadLanes:
        """A function that gives the bits of an operand for each of some lanes."""
        if kind == "mask":
            return _read_mask(self.read_plain(operand))
        if isinstance(operand, Literal32) or operand.file == "s":
            return _read_uniform(self.read_plain(operand, kind))
        if kind in _HALF_TYPES:
            return _read_half(self.vector(operand), 16 if operand.high else 0)
        if kind in _DOUBLE_TYPES:
            return _read_pair(self.vector(operand), self.vector(operand, 1))
        if kind == _QUADRUPLE_TYPE:
            return _read_several([self.vector(operand, at) for at in range(operand.count)])
        return _read_whole(self.vector(operand))

    def write_lanes(self, destination: Destination) -> WriteLanes:
        """A function that writes a value to each of some lanes; a mask gets 0 for all others."""
        register = destination.operand
        if register.file == "s":
            if destination.type != "mask":
                self.unknown(f"writes a value of each lane to a scalar register of type {destination.type}")
            return _write_mask(self.write(destination))
        if destination.type in _HALF_TYPES:
            return _write_half(self.vector(register), 16 if register.high else 0)
        if destination.type in _DOUBLE_TYPES:
            return _write_pair(self.vector(register), self.vector(register, 1))
        if destination.type == _QUADRUPLE_TYPE:
            return _write_several([self.vector(register, at) for at in range(register.count)])
        return _write_whole(self.vector(register))


def _write_nothing(value: int) -> None:
    pass


def modifiers(source: Source) -> Callable[[int], int] | None:
    """What ABS and NEG make of the bits of an operand of one value; None if they are off."""
    kind = source.type
    if source.absolute and source.negated:
        return lambda bits: negate(absolute(bits, kind), kind)
    if source.absolute:
        return lambda bits: absolute(bits, kind)
    return (lambda bits: negate(bits, kind)) if source.negated else None


def _modified(read: Read, source: Source) -> Read:
    modify = modifiers(source)
    if modify is None:
        return read
    change = modify
    return lambda: change(read())


def _modified_lanes(read: ReadLanes, source: Source) -> ReadLanes:
    modify = modifiers(source)
    if modify is None:
        return read
    change = modify
    return lambda lanes: [*map(change, read(lanes))]


def _read_uniform(read: Read) -> ReadLanes:
    return lambda lanes: [read()] * len(lanes)


def _read_mask(read: Read) -> ReadLanes:
    def read_lanes(lanes: Lanes) -> Sequence[int]:
        mask = read()
        return [mask >> lane & 1 for lane in lanes]

    return read_lanes


def _read_whole(register: list[int]) -> ReadLanes:
    return lambda lanes: register if lanes is ALL_LANES else [register[lane] for lane in lanes]


def _read_half(register: list[int], shift: int) -> ReadLanes:
    if shift:
        return lambda lanes: [register[lane] >> 16 for lane in lanes]
    return lambda lanes: [register[lane] & _HALF for lane in lanes]


def _read_pair(lower: list[int], upper: list[int]) -> ReadLanes:
    return lambda lanes: [lower[lane] | upper[lane] << 32 for lane in lanes]


def _read_several(registers: Sequence[list[int]]) -> ReadLanes:
    return lambda lanes: [sum(register[lane] << 32 * at for at, register in enumerate(registers)) for lane in lanes]


def _write_mask(write: Write) -> WriteLanes:
    def write_lanes(lanes: Lanes, values: Sequence[int]) -> None:
        write(sum(1 << lane for lane, value in zip(lanes, values, strict=True) if value))

    return write_lanes


def _write_whole(register: list[int]) -> WriteLanes:
    def write_lanes(lanes: Lanes, values: Sequence[int]) -> None:
        if lanes is ALL_LANES:
            register[:] = values
        else:
            for lane, value in zip(lanes, values, strict=True):
                register[lane] = value

    return write_lanes


def _write_half(register: list[int], shift: int) -> WriteLanes:
    kept = _HALF << (16 - shift)

    def write_lanes(lanes: Lanes, values: Sequence[int]) -> None:
        for lane, value in zip(lanes, values, strict=True):
            register[lane] = register[lane] & kept | value << shift

    return write_lanes


def _write_pair(lower: list[int], upper: list[int]) -> WriteLanes:
    def write_lanes(lanes: Lanes, values: Sequence[int]) -> None:
        for lane, value in zip(lanes, values, strict=True):
            lower[lane], upper[lane] = value & _WORD, value >> 32

    return write_lanes


def _write_several(registers: Sequence[list[int]]) -> WriteLanes:
    def write_lanes(lanes: Lanes, values: Sequence[int]) -> None:
        for at, register in enumerate(registers):
            for lane, value in zip(lanes, values, strict=True):
                register[lane] = value >> 32 * at & _WORD

    return write_lanes
