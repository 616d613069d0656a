"""gfx1200 machine code from records."""

import random
from dataclasses import replace

import pytest
from emulator.rdna4.encoding_samples import assembled, random_code

from autoclave.emulator.rdna4.decoder import decode
from autoclave.emulator.rdna4.encoder import encode
from autoclave.emulator.rdna4.encoding.table import FORMS
from autoclave.emulator.rdna4.instruction import Destination, Instruction, Literal32, Register, Source
from autoclave.errors import UnknownInstruction


def test_what_llvm_assembles_is_encoded_to_the_same_bytes() -> None:
    differing = [text for code, text in assembled() if encode(decode(code)) != code]

    assert differing == []


def test_random_fields_of_every_form_are_encoded_again() -> None:
    dice = random.Random(2)
    for form in FORMS:
        code = random_code(form, dice)
        try:
            found = decode(code)
        except UnknownInstruction:
            continue
        assert encode(found) == code[: found.size], found


@pytest.mark.parametrize(
    ("constant", "code"),
    [
        (Literal32(0x3F800000, True), "f2020006"),  # v_add_f32_e32 v0, 1.0, v1
        (Literal32(0x12345678, False), "ff02000678563412"),  # v_add_f32_e32 v0, 0x12345678, v1
    ],
)
def test_a_constant_without_its_code_is_encoded_by_its_bits(constant: Literal32, code: str) -> None:
    sources = (Source(constant, "f32"), Source(Register("v", 1), "f32"))
    add = Instruction(0, 0, "v_add_f32", "VOP2", (Destination(Register("v", 0), "f32"),), sources)

    assert encode(add).hex() == code


@pytest.mark.parametrize(
    "change",
    [
        {"name": "v_no_such_f32"},
        {"encoding": "SOP2"},
        {"sources": ()},
        {"destinations": (Destination(Register("v", 256), "f32"),)},
        {"clamp": True},  # VOP2 has no room for it
        {"immediate": 1},
    ],
)
def test_a_record_that_nothing_encodes_is_refused(change: dict[str, object]) -> None:
    add = decode(bytes.fromhex("f2020006"))

    with pytest.raises(UnknownInstruction):
        encode(replace(add, **change))  # type: ignore[arg-type]
