"""Records back to words."""

from dataclasses import fields, replace

import pytest
from emulator.a630_sample import DRIVING_MODEL, EXPRESSIONS, OTHER_PROGRAMS
from emulator.a630_words import instruction_words
from hypothesis import given, settings
from hypothesis import strategies as st

from autoclave.emulator.a630.decoder import decode
from autoclave.emulator.a630.encoder import encode
from autoclave.emulator.a630.instruction import Constant, Image, Immediate, Instruction, Register, Source
from autoclave.errors import UnknownInstruction

SAMPLE = [word for word, _ in (*DRIVING_MODEL, *EXPRESSIONS, *OTHER_PROGRAMS)]

ADD = decode(0x4210000500000005)
"""add.u r1.y, r1.y, r0.x"""


@pytest.mark.parametrize("category", range(8))
def test_generated_words_come_back(category: int) -> None:
    words = instruction_words(category, 3000, seed=category)
    assert [encode(decode(word)) for word in words] == words


def test_met_words_come_back() -> None:
    assert [encode(decode(word)) for word in SAMPLE] == SAMPLE


def test_bits_of_the_record_do_not_matter() -> None:
    assert encode(replace(ADD, bits=0, destinations=(Register(6),))) == ADD.bits + (1 << 32)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "add.x"},
        {"sources": ()},
        {"destinations": ()},
        {"destinations": (Register(256),)},
        {"sources": (Source(Register(0)), Source(Register(0, half=True)))},
        {"sources": (Source(Register(0)), Source(Immediate(1 << 20)))},
        {"sources": (Source(Register(0)), Source(Constant(1 << 11)))},
        {"sources": (Source(Register(0)), Source(Register(1 << 9, relative=True)))},
        {"repeat": 4},
        {"repeat": -1},
        {"condition": "lt"},
        {"target": 3},
        {"image": Image(0)},
        {"modifiers": ("g",)},
    ],
)
def test_a_record_that_no_word_says_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(UnknownInstruction, match="cannot be encoded"):
        encode(replace(ADD, **change))  # type: ignore[arg-type]


ATTRIBUTES = [field.name for field in fields(Instruction) if field.name not in ("pc", "bits", "category")]


@settings(max_examples=300)
@given(st.sampled_from(SAMPLE), st.sampled_from(SAMPLE), st.sets(st.sampled_from(ATTRIBUTES), max_size=3))
def test_a_record_of_mixed_attributes_is_encoded_as_it_says_or_refused(one: int, other: int, names: set[str]) -> None:
    stranger = decode(other)
    mixed = replace(decode(one), **{name: getattr(stranger, name) for name in names})
    try:
        word = encode(mixed)
    except UnknownInstruction:
        return
    assert decode(word) == replace(mixed, bits=word)
