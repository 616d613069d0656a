"""Between the fields of an instruction and the attributes of its record: what all encodings have in common."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any, Protocol

from autoclave.emulator.rdna4.encoding.form import FIXED, Form, Slot
from autoclave.emulator.rdna4.encoding.layout import Fields, Reserved
from autoclave.emulator.rdna4.encoding.operands import (
    FIRST_CONSTANT,
    FIRST_VECTOR,
    LAST_INTEGER,
    LITERAL,
    code_of,
    constant,
    literal_of,
    narrow_vector_register,
    scalar_register,
    scalar_source,
    vector_register,
)
from autoclave.emulator.rdna4.encoding.types import FIRST_FLOAT, LAST_FLOAT, width
from autoclave.emulator.rdna4.instruction import M0, Destination, Instruction, Operand, Register, Source

Record = dict[str, Any]
"""Attributes of an `Instruction`, by name."""


@dataclass(slots=True)
class Words:
    """An instruction's words: fields, and of what follows them a literal, or the fields of a DPP word.

    selectors: whether the DPP word is DPP8. narrow: bit 7 of a 16-bit vector operand selects its upper half.
    """

    fields: Fields = field(default_factory=dict)
    literal: int | None = None
    dpp: Fields | None = None
    selectors: bool = False
    narrow: bool = False


class Codec(Protocol):
    """Both directions for one family of encodings. Both raise `Reserved` where there is no such instruction."""

    def read(self, form: Form, words: Words, pc: int) -> Record:
        """Attributes that `words` say."""

    def write(self, form: Form, instruction: Instruction) -> Words:
        """The words that say the attributes."""


def read_operand(slot: Slot, words: Words, high: bool = False) -> Operand:
    """The operand in `slot`; `high`: the upper half of a 16-bit one."""
    if slot.kind == "fixed":
        return scalar_register(FIXED[slot.place], slot.type)
    if slot.kind == "literal":
        return constant(LITERAL, slot.type, words.literal or 0)
    code = words.fields[slot.place]
    if slot.kind == "vector":
        return _vector(code, slot.type, words.narrow, high or slot.high)
    if not _may_be(slot.kind, code):
        raise Reserved(f"operand {code} as a {slot.kind}")
    if code >= FIRST_VECTOR:
        return _vector(code - FIRST_VECTOR, slot.type, words.narrow, high)
    return scalar_source(code, slot.type, words.literal or 0, high)


@cache
def _may_be(kind: str, code: int) -> bool:
    """Whether a slot of this kind can hold what `code` stands for."""
    vector, integer = code >= FIRST_VECTOR, FIRST_CONSTANT <= code <= LAST_INTEGER
    inline = integer or FIRST_FLOAT <= code <= LAST_FLOAT
    return {
        "source": True,
        "scalar source": not vector,
        "vector source": vector,
        "inline source": vector or inline,
        "lane": code < FIRST_CONSTANT or inline,
        "scalar": code < FIRST_CONSTANT,
        "address": code < M0,
        "m0 or inline": code == M0 or integer,
    }[kind]


def _vector(code: int, type: str, narrow: bool, high: bool) -> Register:
    return narrow_vector_register(code, type) if narrow else vector_register(code, type, high)


def write_operand(slot: Slot, operand: Operand, type: str, words: Words) -> None:
    """Set the field of `slot` to `operand` of this type, and the literal if it is one."""
    if slot.kind == "fixed":
        return
    if isinstance(operand, Register):
        code = operand.number
        if operand.file == "v":
            code |= int(words.narrow and operand.high) << 7 | (FIRST_VECTOR if "source" in slot.kind else 0)
    else:
        code = code_of(operand, type)
        if code == LITERAL:
            words.literal = literal_of(operand, type)
    if slot.kind != "literal":
        words.fields[slot.place] = code


def read_destinations(form: Form, words: Words, high: bool = False) -> tuple[Destination, ...]:
    """The form's destinations; `high`: whether 16-bit ones are upper halves."""
    return tuple(_destination(read_operand(slot, words, high), slot.type) for slot in form.destinations)


def write_destinations(form: Form, destinations: Sequence[Destination], words: Words) -> None:
    """Set the fields of all destinations. `Reserved` if there are too few or too many."""
    if len(form.destinations) != len(destinations):
        raise Reserved(f"{len(destinations)} destinations, {form.name} has {len(form.destinations)}")
    for slot, destination in zip(form.destinations, destinations, strict=True):
        write_operand(slot, destination.operand, destination.type, words)


def write_sources(slots: Sequence[Slot], sources: Sequence[Source], words: Words) -> None:
    """Set the fields of `slots`. `Reserved` if there are too few or too many sources."""
    if len(slots) != len(sources):
        raise Reserved(f"{len(sources)} sources, expected {len(slots)}")
    for slot, source in zip(slots, sources, strict=True):
        write_operand(slot, source.operand, source.type, words)


def unused(form: Form, words: Words, places: Sequence[str]) -> None:
    """`Reserved` if fields among `places` that the form does not use are not zero."""
    used = {slot.place for slot in (*form.destinations, *form.sources)}
    for place in places:
        if place not in used and words.fields[place]:
            raise Reserved(f"field {place} set, which {form.name} lacks")


def is_half(type: str) -> bool:
    """Whether an operand of this type is one half of a register."""
    return width(type) == 16


@cache
def _destination(operand: Operand, type: str) -> Destination:
    if not isinstance(operand, Register):
        raise Reserved("a constant as the destination")
    return Destination(operand, type)


@lru_cache(maxsize=1 << 16)
def source(
    operand: Operand,
    type: str,
    negated: bool = False,
    absolute: bool = False,
    high: bool = False,
    high_of_second: bool = False,
    negated_second: bool = False,
) -> Source:
    """A `Source`, of which equal ones are the same object."""
    return Source(operand, type, negated, absolute, high, high_of_second, negated_second)
