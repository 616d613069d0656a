"""Operands in their bits: registers and plain numbers. `alu_sources` has those of categories 1 to 4.

A slot is the place of one source. It reads the source from the fields and writes it back; `half` says from the fields
whether it is a half register.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from autoclave.emulator.a630.encoding.layout import Fields, Reserved
from autoclave.emulator.a630.encoding.parts import Record, Width
from autoclave.emulator.a630.instruction import (
    PREDICATE_REGISTER,
    Constant,
    Immediate,
    Instruction,
    Operand,
    Register,
    Source,
)

Half = Callable[[Fields], bool]

CACHED_OPERANDS = 1 << 14
"""Operands that are kept, by kind; a model's kernels have some thousands of different ones."""


def full(fields: Fields) -> bool:
    """The operand is never a half register."""
    return False


def half(fields: Fields) -> bool:
    """The operand is always a half register."""
    return True


@lru_cache(CACHED_OPERANDS)
def register(number: int, half: bool = False, relative: bool = False) -> Register:
    """The register with this number."""
    return Register(number, half, relative)


@lru_cache(CACHED_OPERANDS)
def register_source(number: int, half: bool = False, negated: bool = False, repeated: bool = False) -> Source:
    """A source that is the register with this number."""
    return Source(Register(number, half), negated, repeated=repeated)


def register_number(operand: Operand) -> int:
    """The 8 bits of a register that is named directly. `Reserved` if `operand` is something else."""
    if not isinstance(operand, Register) or operand.relative or not 0 <= operand.number < 256:
        raise Reserved(f"{operand} in a place for a register")
    return operand.number


class Slot(Protocol):
    """A source's place."""

    def read(self, fields: Fields) -> Source:
        """The source that `fields` hold."""

    def write(self, source: Source, fields: Fields) -> None:
        """Put `source` into `fields`."""


@dataclass(frozen=True)
class Gpr:
    """A register in 8 bits."""

    field: str
    half: Half = full

    def read(self, fields: Fields) -> Source:
        return register_source(fields[self.field], self.half(fields))

    def write(self, source: Source, fields: Fields) -> None:
        fields[self.field] = register_number(source.operand)


@dataclass(frozen=True)
class Implied:
    """A register that the form reads without naming it."""

    number: int

    def read(self, fields: Fields) -> Source:
        return register_source(self.number)

    def write(self, source: Source, fields: Fields) -> None:
        if register_number(source.operand) != self.number:
            raise Reserved(f"{source} in place of register {self.number}")


@dataclass(frozen=True)
class Literal:
    """A number without a sign."""

    field: str

    def read(self, fields: Fields) -> Source:
        return Source(Immediate(fields[self.field]))

    def write(self, source: Source, fields: Fields) -> None:
        operand = source.operand
        if not isinstance(operand, Immediate) or operand.table is not None:
            raise Reserved(f"{operand} in a place for a number")
        fields[self.field] = operand.bits


class GprOrLiteral:
    """A register, or a number without a sign if the bit `literal` is set (ir3-cat6.xml, #cat6-src)."""

    def __init__(self, field: str, literal: str) -> None:
        self._literal = literal
        self._slots = (Gpr(field), Literal(field))

    def read(self, fields: Fields) -> Source:
        return self._slots[fields[self._literal]].read(fields)

    def write(self, source: Source, fields: Fields) -> None:
        fields[self._literal] = int(isinstance(source.operand, Immediate))
        self._slots[fields[self._literal]].write(source, fields)


@dataclass(frozen=True)
class ConstantTarget:
    """What stc and ldg.k write, 9 bits: c[N], or c[a1.x + N] (ir3-cat6.xml, #const-dst)."""

    field: str

    def read(self, fields: Fields) -> Source:
        value = fields[self.field]
        return Source(Constant(value & 0xFF, relative=bool(value >> 8)))

    def write(self, source: Source, fields: Fields) -> None:
        operand = source.operand
        if not isinstance(operand, Constant) or not 0 <= operand.number < 256:
            raise Reserved(f"{operand} in a place for a constant that is written")
        fields[self.field] = operand.number | operand.relative << 8


@dataclass(frozen=True)
class Predicate:
    """A component of p0, and a bit that inverts it (ir3-cat0.xml)."""

    component: str
    inverted: str

    def read(self, fields: Fields) -> Source:
        return register_source(PREDICATE_REGISTER + fields[self.component], negated=bool(fields[self.inverted]))

    def write(self, source: Source, fields: Fields) -> None:
        fields[self.component] = register_number(source.operand) - PREDICATE_REGISTER
        fields[self.inverted] = int(source.negated)


@dataclass(frozen=True)
class Sources:
    """A form's sources, all of which are always there."""

    slots: tuple[Slot, ...]

    def read(self, fields: Fields, record: Record) -> None:
        record["sources"] = tuple([slot.read(fields) for slot in self.slots])

    def write(self, instruction: Instruction, fields: Fields) -> None:
        for slot, source in zip(self.slots, instruction.sources, strict=True):
            slot.write(source, fields)


@dataclass(frozen=True)
class Destinations:
    """The registers that an instruction writes."""

    fields: tuple[str, ...] = ("dst",)
    half: Half = full

    def read(self, fields: Fields, record: Record) -> None:
        is_half = self.half(fields)
        record["destinations"] = tuple([register(fields[field], is_half) for field in self.fields])

    def write(self, instruction: Instruction, fields: Fields) -> None:
        for field, destination in zip(self.fields, instruction.destinations, strict=True):
            fields[field] = register_number(destination)


@dataclass(frozen=True)
class RelativeDestination:
    """A destination that is r<a0.x + N>, N without a sign, if the bit `relative` is set (ir3-cat1.xml, #cat1-dst)."""

    half: Half = full

    def read(self, fields: Fields, record: Record) -> None:
        record["destinations"] = (register(fields["dst"], self.half(fields), bool(fields["relative"])),)

    def write(self, instruction: Instruction, fields: Fields) -> None:
        (destination,) = instruction.destinations
        fields["dst"], fields["relative"] = destination.number, int(destination.relative)


@dataclass(frozen=True)
class ConvertedDestination:
    """A destination that is of the sources' width unless the bit `conv` is set; p0 has no width (#dest-half)."""

    width: Width

    def read(self, fields: Fields, record: Record) -> None:
        number, convert = fields["dst"], bool(fields["conv"])
        if number >= PREDICATE_REGISTER:
            if convert:
                raise Reserved("a conversion to a predicate")
            record["destinations"] = (register(number),)
            return
        record["destinations"] = (register(number, self.width.half(fields) != convert),)

    def write(self, instruction: Instruction, fields: Fields) -> None:
        (destination,) = instruction.destinations
        fields["dst"] = register_number(destination)
        if destination.number < PREDICATE_REGISTER:
            fields["conv"] = int(self.width.half(fields) != destination.half)
