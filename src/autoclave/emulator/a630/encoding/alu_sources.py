"""Sources of arithmetic, categories 1 to 4: registers, constants, numbers and float literals in 16 or fewer bits."""

import struct
from dataclasses import dataclass
from functools import lru_cache

from autoclave.emulator.a630.encoding.layout import Fields, Reserved, signed, unsigned
from autoclave.emulator.a630.encoding.operands import CACHED_OPERANDS, Half, register_number, register_source
from autoclave.emulator.a630.instruction import Constant, Immediate, Operand, Register, Source

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
"""Patterns of `FLOAT_TABLE` as f32 and as f16, rounded to the nearest."""

CONSTANT_KIND = 0b010 << 11
"""`Multi.kind` of constants; that of registers is 0."""


@dataclass(frozen=True)
class Repetition:
    """The bit of (r). Where `shares_nops`, it belongs to (nopN) unless the instruction repeats."""

    field: str
    shares_nops: bool = True

    def read(self, fields: Fields) -> bool:
        return bool(fields[self.field]) and (not self.shares_nops or fields["repeat"] != 0)

    def write(self, source: Source, fields: Fields) -> None:
        if not self.shares_nops or fields["repeat"]:
            fields[self.field] = int(source.repeated)


@dataclass(frozen=True)
class Multi:
    """A source of 16 bits, of any kind, with (neg) and (abs) (ir3-common.xml, #multisrc).

    Where only the low `bits` are encoded, the others are `kind`: category 1 says it elsewhere.
    """

    field: str
    half: Half
    repetition: Repetition
    bits: int = 16
    kind: int = 0

    def read(self, fields: Fields) -> Source:
        return _read_multi(self.kind | fields[self.field], self.half(fields), self.repetition.read(fields))

    def write(self, source: Source, fields: Fields) -> None:
        value = _write_multi(source) ^ self.kind
        if value >> self.bits:
            raise Reserved(f"{source} in {self.bits} bits")
        fields[self.field] = value
        self.repetition.write(source, fields)


@lru_cache(CACHED_OPERANDS)
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
        return value | 0b100 << 11 | unsigned(signed(operand.bits, 16 if operand.half else 32), 11)
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
    """Sources 1 and 3 of category 3, 13 bits: registers, and constants or, by opcode, numbers (#cat3-src)."""

    field: str
    half: Half
    negated: str | None
    repetition: Repetition
    numbers: bool

    def read(self, fields: Fields) -> Source:
        negated = bool(self.negated and fields[self.negated])
        repeated = self.repetition.read(fields)
        return _read_wide(fields[self.field], self.half(fields), self.numbers, negated, repeated)

    def write(self, source: Source, fields: Fields) -> None:
        fields[self.field] = _write_wide(source, self.numbers)
        if self.negated:
            fields[self.negated] = int(source.negated)
        self.repetition.write(source, fields)


@lru_cache(CACHED_OPERANDS)
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


@dataclass(frozen=True)
class Narrow:
    """Source 2 of category 3: a register in 8 bits."""

    field: str
    half: Half
    negated: str | None
    repetition: Repetition

    def read(self, fields: Fields) -> Source:
        negated = bool(self.negated and fields[self.negated])
        return register_source(fields[self.field], self.half(fields), negated, self.repetition.read(fields))

    def write(self, source: Source, fields: Fields) -> None:
        fields[self.field] = register_number(source.operand)
        if self.negated:
            fields[self.negated] = int(source.negated)
        self.repetition.write(source, fields)
