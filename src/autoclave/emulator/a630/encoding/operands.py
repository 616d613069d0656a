"""Operands in their bits: registers, constants and immediates, as each category has room for them.

A slot is one operand's place. It reads the operand from the fields and writes it back; `half` says from the fields
whether the operand is a half register.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from autoclave.emulator.a630.encoding.layout import Fields, Reserved, signed, unsigned
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

FLOAT_TABLE = (
    0.0,
    0.5,
    1.0,
    2.0,
    2.718281828459045,
    3.141592653589793,
    0.3183098861837907,
    0.6931471805599453,
    1.4426950408889634,
    0.3010299956639812,
    3.321928094887362,
    4.0,
)
"""FLUT: 0, 1/2, 1, 2, e, pi, 1/pi, 1/log2(e), log2(e), 1/log2(10), log2(10), 4 (ir3-common.xml, #flut)."""

FLOAT_TABLE_BITS = tuple(
    (struct.unpack("<I", struct.pack("<f", value))[0], struct.unpack("<H", struct.pack("<e", value))[0])
    for value in FLOAT_TABLE
)
"""Patterns of `FLOAT_TABLE` as f32 and as f16, rounded to the nearest (as Mesa's ir3_flut matches them)."""


def full(fields: Fields) -> bool:
    """The operand is never a half register."""
    return False


_CACHED = 1 << 14
"""Operands that are kept; a model's kernels have some thousands of different ones."""


@lru_cache(_CACHED)
def register(number: int, half: bool = False, relative: bool = False) -> Register:
    """The register with this number."""
    return Register(number, half, relative)


@lru_cache(_CACHED)
def register_source(number: int, half: bool, negated: bool = False, repeated: bool = False) -> Source:
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
    """A register in 8 bits, with bits for (neg) and (r) if they are named."""

    field: str
    half: Half = full
    negated: str | None = None
    repeated: str | None = None

    def read(self, fields: Fields) -> Source:
        negated = bool(self.negated and fields[self.negated])
        return register_source(fields[self.field], self.half(fields), negated, _repeats(self.repeated, fields))

    def write(self, source: Source, fields: Fields) -> None:
        fields[self.field] = register_number(source.operand)
        if self.negated:
            fields[self.negated] = int(source.negated)
        _set_repeats(self.repeated, source, fields)


@dataclass(frozen=True)
class Literal:
    """A number without a sign."""

    field: str

    def read(self, fields: Fields) -> Source:
        return Source(Immediate(fields[self.field]))

    def write(self, source: Source, fields: Fields) -> None:
        fields[self.field] = _literal(source.operand)


@dataclass(frozen=True)
class Implied:
    """A register that the form reads without naming it."""

    number: int

    def read(self, fields: Fields) -> Source:
        return register_source(self.number, False)

    def write(self, source: Source, fields: Fields) -> None:
        if register_number(source.operand) != self.number:
            raise Reserved(f"{source} in place of register {self.number}")


@dataclass(frozen=True)
class GprOrLiteral:
    """A register, or a number without a sign if the bit `literal` is set (ir3-cat6.xml, #cat6-src)."""

    field: str
    literal: str

    def read(self, fields: Fields) -> Source:
        value = fields[self.field]
        return Source(Immediate(value)) if fields[self.literal] else register_source(value, False)

    def write(self, source: Source, fields: Fields) -> None:
        fields[self.literal] = int(isinstance(source.operand, Immediate))
        fields[self.field] = _literal(source.operand) if fields[self.literal] else register_number(source.operand)


def _literal(operand: Operand) -> int:
    if not isinstance(operand, Immediate) or operand.table is not None:
        raise Reserved(f"{operand} in a place for a number")
    return operand.bits


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
        return register_source(PREDICATE_REGISTER + fields[self.component], False, bool(fields[self.inverted]))

    def write(self, source: Source, fields: Fields) -> None:
        fields[self.component] = register_number(source.operand) - PREDICATE_REGISTER
        fields[self.inverted] = int(source.negated)


@dataclass(frozen=True)
class Multi:
    """A source of 16 bits, of any kind, with (neg) and (abs) (ir3-common.xml, #multisrc).

    Where only the low `bits` are encoded, the others are `kind`: category 1 says it elsewhere. shares_nops: the bit of
    (r) belongs to (nopN) where nothing repeats.
    """

    field: str
    half: Half
    repeated: str
    shares_nops: bool = True
    bits: int = 16
    kind: int = 0

    def read(self, fields: Fields) -> Source:
        return _read_multi(self.kind | fields[self.field], self.half(fields), _repeats_shared(self, fields))

    def write(self, source: Source, fields: Fields) -> None:
        value = _write_multi(source) ^ self.kind
        if value >> self.bits:
            raise Reserved(f"{source} in {self.bits} bits")
        fields[self.field] = value
        _set_repeats_shared(self, source, fields)


CONSTANT_KIND = 0b010 << 11
"""`Multi.kind` of constants; that of registers is 0."""


@lru_cache(_CACHED)
def _read_multi(value: int, half: bool, repeated: bool) -> Source:
    last = False
    operand: Operand
    kind = value >> 11 & 0b111
    if kind == 0b000 and not value & 0x300:
        operand, last = Register(value & 0xFF, half), bool(value & 0x400)
    elif kind == 0b001:
        operand = _relative(value & 0x7FF, half)
    elif kind == 0b010:
        operand = Constant(value & 0x7FF, half)
    elif kind == 0b100:
        operand = Immediate(signed(value & 0x7FF, 11) & (0xFFFF if half else 0xFFFFFFFF), half)
    elif kind == 0b101:
        operand = _float(value & 0x3FF, bool(value & 0x400), half)
    else:
        raise Reserved(f"source {value:#06x}")
    return Source(operand, bool(value >> 14 & 1), bool(value >> 15), repeated, last)


def _write_multi(source: Source) -> int:
    operand = source.operand
    value = source.negated << 14 | source.absolute << 15 | source.last << 10
    if isinstance(operand, Immediate) and operand.table is not None:
        return value | 0b101 << 11 | operand.half << 10 | operand.table
    if isinstance(operand, Immediate):
        width = 16 if operand.half else 32
        return value | 0b100 << 11 | unsigned(signed(operand.bits, width), 11)
    if operand.relative:
        return value | 0b001 << 11 | _relative_bits(operand)
    if isinstance(operand, Constant):
        return value | 0b010 << 11 | _constant_number(operand)
    return value | register_number(operand)


def _float(index: int, table_of_halves: bool, half: bool) -> Immediate:
    """An entry of `FLOAT_TABLE`. The entry's width is encoded beside that of the sources: they have to agree."""
    if index >= len(FLOAT_TABLE) or table_of_halves != half:
        raise Reserved(f"float literal {index} of {'half' if table_of_halves else 'full'} width")
    return Immediate(FLOAT_TABLE_BITS[index][half], half, index)


def _relative(value: int, half: bool) -> Operand:
    """r<a0.x + N> or c<a0.x + N>: ten bits of N, and one that is set for constants."""
    kind = Constant if value & 0x400 else Register
    return kind(signed(value & 0x3FF, 10), half, True)


def _relative_bits(operand: Register | Constant) -> int:
    return isinstance(operand, Constant) << 10 | unsigned(operand.number, 10)


def _constant_number(operand: Constant) -> int:
    if not 0 <= operand.number < 1 << 11:
        raise Reserved(f"{operand} in a place for a constant")
    return operand.number


@dataclass(frozen=True)
class Wide:
    """Sources 1 and 3 of category 3, 13 bits: registers, and constants or numbers of 12 bits by opcode (#cat3-src)."""

    field: str
    half: Half
    negated: str | None
    repeated: str
    numbers: bool = False
    shares_nops: bool = True

    def read(self, fields: Fields) -> Source:
        negated = bool(self.negated and fields[self.negated])
        half, repeated = self.half(fields), _repeats_shared(self, fields)
        return _read_wide(fields[self.field], half, self.numbers, negated, repeated)

    def write(self, source: Source, fields: Fields) -> None:
        fields[self.field] = _write_wide(source, self.numbers)
        if self.negated:
            fields[self.negated] = int(source.negated)
        _set_repeats_shared(self, source, fields)


@lru_cache(_CACHED)
def _read_wide(value: int, half: bool, numbers: bool, negated: bool, repeated: bool) -> Source:
    last = False
    operand: Operand
    if value >> 12 and numbers:
        operand = Immediate(value & 0xFFF, half)
    elif value >> 11 == 0b10:
        operand = Constant(value & 0x7FF, half)
    elif value >> 11 == 0b01:
        operand = _relative(value & 0x7FF, half)
    elif value >> 11 == 0b00 and not value & 0x300:
        operand, last = Register(value & 0xFF, half), bool(value & 0x400)
    else:
        raise Reserved(f"source {value:#06x}")
    return Source(operand, negated, False, repeated, last)


def _write_wide(source: Source, numbers: bool) -> int:
    operand = source.operand
    if isinstance(operand, Immediate):
        if not numbers or operand.bits >= 1 << 12:
            raise Reserved(f"{operand} in a place for no such number")
        return 1 << 12 | operand.bits
    if operand.relative:
        return 0b01 << 11 | _relative_bits(operand)
    if isinstance(operand, Constant):
        return 1 << 12 | _constant_number(operand)
    return source.last << 10 | register_number(operand)


def _repeats(field: str | None, fields: Fields) -> bool:
    return bool(field and fields[field])


def _set_repeats(field: str | None, source: Source, fields: Fields) -> None:
    if field:
        fields[field] = int(source.repeated)


def _repeats_shared(slot: "Multi | Wide | NarrowGpr", fields: Fields) -> bool:
    """Whether a source has (r): where its bit may be a part of (nopN), only if the instruction repeats."""
    return bool(fields[slot.repeated]) and (not slot.shares_nops or fields["repeat"] != 0)


def _set_repeats_shared(slot: "Multi | Wide | NarrowGpr", source: Source, fields: Fields) -> None:
    if not slot.shares_nops or fields["repeat"]:
        fields[slot.repeated] = int(source.repeated)


@dataclass(frozen=True)
class NarrowGpr:
    """Source 2 of category 3: a register in 8 bits."""

    field: str
    half: Half
    negated: str | None
    repeated: str
    shares_nops: bool = True

    def read(self, fields: Fields) -> Source:
        negated = bool(self.negated and fields[self.negated])
        return register_source(fields[self.field], self.half(fields), negated, _repeats_shared(self, fields))

    def write(self, source: Source, fields: Fields) -> None:
        fields[self.field] = register_number(source.operand)
        if self.negated:
            fields[self.negated] = int(source.negated)
        _set_repeats_shared(self, source, fields)


@dataclass(frozen=True)
class Sources:
    """A form's sources, all of which are always there."""

    slots: tuple[Slot, ...]

    def read(self, fields: Fields, record: Record) -> None:
        record["sources"] = tuple([slot.read(fields) for slot in self.slots])

    def write(self, instruction: Instruction, fields: Fields) -> None:
        if len(instruction.sources) != len(self.slots):
            raise Reserved(f"{len(instruction.sources)} sources, expected {len(self.slots)}")
        for slot, source in zip(self.slots, instruction.sources, strict=True):
            slot.write(source, fields)


@dataclass(frozen=True)
class Destinations:
    """The registers that an instruction writes."""

    fields: tuple[str, ...] = ("dst",)
    half: Half = full

    def read(self, fields: Fields, record: Record) -> None:
        half = self.half(fields)
        record["destinations"] = tuple([register(fields[field], half) for field in self.fields])

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
