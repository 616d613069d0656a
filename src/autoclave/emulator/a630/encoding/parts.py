"""What fields say about an instruction, in both directions: a form lists the parts that make up its record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from autoclave.emulator.a630.encoding.layout import Fields, Reserved, signed, unsigned
from autoclave.emulator.a630.instruction import Image, Immediate, Instruction, Synchronisation

Record = dict[str, Any]
"""Attributes of an `Instruction`, by name."""


class Part(Protocol):
    """Attributes of the record that some fields encode. Both directions raise `Reserved` where there is no such value."""

    def read(self, fields: Fields, record: Record) -> None:
        """Add to `record` what `fields` say."""

    def write(self, instruction: Instruction, fields: Fields) -> None:
        """Set the fields that encode it; parts earlier in a form have set theirs."""


@dataclass(frozen=True)
class Scheduling:
    """The marks (sy), (ss), (jp), (ul) and (eq), as far as a form has them, and (nopN).

    nops: categories 2 and 3 have no room for (nopN); where nothing repeats, the bits of (r) of the first two sources
    hold N (ir3-common.xml, #cat2-cat3-nop-encoding).
    """

    marks: tuple[str, ...]
    nops: bool = False

    def read(self, fields: Fields, record: Record) -> None:
        nops = fields["r1"] | fields["r2"] << 1 if self.nops and not fields["repeat"] else 0
        record["synchronisation"] = _synchronisation(tuple(mark for mark in self.marks if fields[mark]), nops)

    def write(self, instruction: Instruction, fields: Fields) -> None:
        marks = instruction.synchronisation
        for mark in self.marks:
            fields[mark] = int(getattr(marks, MARKS[mark]))
        if self.nops and not instruction.repeat:
            fields["r1"], fields["r2"] = marks.nops & 1, marks.nops >> 1


MARKS = {"sy": "texture", "ss": "shader", "jp": "jump_target", "ul": "unlock", "eq": "end_quad"}
"""Attributes of `Synchronisation` by Mesa's marks, in its order."""


@lru_cache
def _synchronisation(marks: tuple[str, ...], nops: int) -> Synchronisation:
    return Synchronisation(**{MARKS[mark]: True for mark in marks}, nops=nops)


@dataclass(frozen=True)
class Flag:
    """A bit that is a boolean attribute."""

    field: str
    attribute: str

    def read(self, fields: Fields, record: Record) -> None:
        record[self.attribute] = bool(fields[self.field])

    def write(self, instruction: Instruction, fields: Fields) -> None:
        fields[self.field] = int(getattr(instruction, self.attribute))


@dataclass(frozen=True)
class Number:
    """A field that is a number; `bits` is its width if it is of two's complement."""

    field: str
    attribute: str
    bits: int = 0
    nonzero: bool = False

    def read(self, fields: Fields, record: Record) -> None:
        value = fields[self.field]
        if self.nonzero and not value:
            raise Reserved(f"{self.attribute} 0, where another form is without one")
        record[self.attribute] = signed(value, self.bits) if self.bits else value

    def write(self, instruction: Instruction, fields: Fields) -> None:
        value = getattr(instruction, self.attribute)
        fields[self.field] = unsigned(value, self.bits) if self.bits else value


@dataclass(frozen=True)
class SplitNumber:
    """A number of which `low` holds the low bits (`low_bits` of them) and `high` the rest; `bits` as in `Number`."""

    low: str
    high: str
    attribute: str
    low_bits: int
    bits: int = 0

    def read(self, fields: Fields, record: Record) -> None:
        value = fields[self.high] << self.low_bits | fields[self.low]
        record[self.attribute] = signed(value, self.bits) if self.bits else value

    def write(self, instruction: Instruction, fields: Fields) -> None:
        value = getattr(instruction, self.attribute)
        value = unsigned(value, self.bits) if self.bits else value
        fields[self.high], fields[self.low] = divmod(value, 1 << self.low_bits)


@dataclass(frozen=True)
class Scaled:
    """A field N that stands for (N + 1) times `unit`."""

    field: str
    attribute: str
    unit: int = 1

    def read(self, fields: Fields, record: Record) -> None:
        record[self.attribute] = (fields[self.field] + 1) * self.unit

    def write(self, instruction: Instruction, fields: Fields) -> None:
        steps, rest = divmod(getattr(instruction, self.attribute), self.unit)
        if rest:
            raise Reserved(f"{self.attribute} is no multiple of {self.unit}")
        fields[self.field] = steps - 1


@dataclass(frozen=True)
class Power:
    """A field N that stands for `first << N`."""

    field: str
    attribute: str
    first: int

    def read(self, fields: Fields, record: Record) -> None:
        record[self.attribute] = self.first << fields[self.field]

    def write(self, instruction: Instruction, fields: Fields) -> None:
        value = getattr(instruction, self.attribute)
        power = (value // self.first).bit_length() - 1
        if power < 0 or self.first << power != value:
            raise Reserved(f"{self.attribute} is {value}")
        fields[self.field] = power


@dataclass(frozen=True)
class Choice:
    """A field that picks one of `values`; what lies beyond them is reserved."""

    field: str
    attribute: str
    values: Sequence[str | None]

    def read(self, fields: Fields, record: Record) -> None:
        value = fields[self.field]
        if value >= len(self.values):
            raise Reserved(f"{self.attribute} number {value}")
        record[self.attribute] = self.values[value]

    def write(self, instruction: Instruction, fields: Fields) -> None:
        value = getattr(instruction, self.attribute)
        if value not in self.values:
            raise Reserved(f"{self.attribute} is {value!r}")
        fields[self.field] = self.values.index(value)


@dataclass(frozen=True)
class Modifiers:
    """Fields that each put a word into `modifiers`, or none ("" in the mapping). What is not in a mapping is reserved."""

    choices: tuple[tuple[str, Mapping[int, str]], ...]

    def read(self, fields: Fields, record: Record) -> None:
        words = []
        for field, values in self.choices:
            if fields[field] not in values:
                raise Reserved(f"{field} is {fields[field]}")
            words.append(values[fields[field]])
        record["modifiers"] = tuple(word for word in words if word)

    def write(self, instruction: Instruction, fields: Fields) -> None:
        for field, values in self.choices:
            found = [value for value, word in values.items() if word in instruction.modifiers]
            default = [value for value, word in values.items() if not word]
            if not found + default:
                raise Reserved(f"modifiers {instruction.modifiers} say nothing of {field}")
            fields[field] = (found + default)[0]


@dataclass(frozen=True)
class Idle:
    """A bit that says something of (nopN) only, and has to be zero where the instruction repeats."""

    field: str

    def read(self, fields: Fields, record: Record) -> None:
        if fields["repeat"] and fields[self.field]:
            raise Reserved(f"{self.field} of an instruction that repeats")

    def write(self, instruction: Instruction, fields: Fields) -> None:
        """Nothing: `Scheduling` writes it."""


def flag_modifier(field: str) -> tuple[str, Mapping[int, str]]:
    """A bit that is named like the modifier it stands for."""
    return field, {0: "", 1: field}


def image_of(instruction: Instruction) -> Image:
    """The instruction's image; `Reserved` if it has none."""
    if instruction.image is None:
        raise Reserved("no image")
    return instruction.image


class Width:
    """Whether an instruction's sources are full registers, by its opcode: `full` if every one, None if a field says so."""

    def __init__(self, full: bool | None = None, field: str = "full") -> None:
        self.full = full
        self.field = field

    def half(self, fields: Fields) -> bool:
        """Whether sources are half registers."""
        return not (fields[self.field] if self.full is None else self.full)

    def read(self, fields: Fields, record: Record) -> None:
        """Nothing of its own: the operands say it."""

    def write(self, instruction: Instruction, fields: Fields) -> None:
        if self.full is None:
            fields[self.field] = int(not _half(instruction))


def _half(instruction: Instruction) -> bool:
    operands = [source.operand for source in instruction.sources]
    registers = [operand for operand in operands if not isinstance(operand, Immediate)]
    return any(operand.half for operand in (registers or operands)[:1])
