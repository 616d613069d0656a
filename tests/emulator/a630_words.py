"""Words of the a630's instruction set, drawn from its forms: most are instructions, with all kinds of operands."""

import random
from collections.abc import Iterator

from autoclave.emulator.a630.decoder import decode
from autoclave.emulator.a630.encoding.form import Form
from autoclave.emulator.a630.encoding.table import FORMS
from autoclave.errors import UnknownInstruction

_ALU_KINDS = (0b000, 0b001, 0b010, 0b100, 0b101)
_WIDE_KINDS = (0b00, 0b01, 0b10, 0b11)
_EDGES = (0, 1, 2, 0xF4, 0xF5, 0xF8, 0xFC, 0xFF)
"""Among them a0.x, a1.x, p0.x and r63.x."""

_ADDRESS_TYPES = {0xF4: 4, 0xF5: 2}
"""Types of moves to a0.x and a1.x; with others they are plain moves."""


def instruction_words(category: int, count: int, seed: int) -> list[int]:
    """`count` words of a category that decode, from all of its forms in turn. The same seed gives the same words."""
    source = random.Random(seed)
    forms = [form for form in FORMS if form.category == category]
    drawn = (word for _ in iter(int, 1) for form in forms for word in _decodable(form, source))
    return [word for _, word in zip(range(count), drawn, strict=False)]


def noise(count: int, seed: int) -> list[int]:
    """Words of random bits, some with few bits set: noise has a bit without meaning in most instructions."""
    source = random.Random(seed)
    words = []
    for _ in range(count):
        word = source.getrandbits(64)
        for _ in range(source.randrange(3)):
            word &= source.getrandbits(64)
        words.append(word & ~(7 << 61) | source.getrandbits(3) << 61)
    return words


def _decodable(form: Form, source: random.Random) -> Iterator[int]:
    fields = {name: _field(name, mask, source) & mask for name, _, mask in form.layout.fields}
    if "mova" in form.names and fields["dst"] in _ADDRESS_TYPES and source.random() < 0.5:
        fields["type"] = fields["source_type"] = _ADDRESS_TYPES[fields["dst"]]
    word = form.layout.write(fields)
    try:
        decode(word)
    except UnknownInstruction:
        return
    yield word


def _field(name: str, mask: int, source: random.Random) -> int:
    """A value of a field, by what fields of that name and width hold; zero more often than chance has it."""
    if name == "target":
        return source.randrange(-100, 100)
    if mask.bit_length() == 16:
        return source.getrandbits(2) << 14 | source.choice(_ALU_KINDS) << 11 | _operand(source)
    if mask.bit_length() == 13 and name.startswith("src"):
        return source.choice(_WIDE_KINDS) << 11 | _operand(source)
    if source.random() < 0.3:
        return 0
    if mask == 0xFF and source.random() < 0.4:
        return source.choice(_EDGES)
    return source.getrandbits(mask.bit_length()) >> (16 if mask.bit_length() == 32 and source.random() < 0.5 else 0)


def _operand(source: random.Random) -> int:
    """11 bits: a small number, which may be a literal's index, a register, or any, which is a constant or an offset."""
    number = source.choice((source.randrange(12), source.getrandbits(8), source.getrandbits(11)))
    return number | (source.random() < 0.2) << 10
