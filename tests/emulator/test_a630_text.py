"""Instructions as text, held against Mesa's own disassembler: the one that `autoclave disasm` runs."""

import json
import subprocess
import sys
from collections.abc import Sequence

import pytest
from compiler.compile_action import action_environment
from emulator import a630_kernels
from emulator.a630_sample import DRIVING_MODEL, EXPRESSIONS, OTHER_PROGRAMS
from emulator.a630_words import instruction_words
from emulator.mesa_disassembly import LEAD, differing, is_instruction, mesa_texts, spaced

from autoclave.emulator.a630.decoder import decode
from autoclave.emulator.a630.encoder import encode
from autoclave.emulator.a630.encoding.table import FORMS
from autoclave.emulator.a630.instruction import Constant, Immediate, Instruction
from autoclave.emulator.a630.text import text
from autoclave.errors import UnknownInstruction


@pytest.mark.parametrize("sample", [DRIVING_MODEL, EXPRESSIONS, OTHER_PROGRAMS], ids=["model", "expressions", "others"])
def test_met_words_are_printed_as_mesa_prints_them(sample: Sequence[tuple[int, str]]) -> None:
    assert [spaced(decode(word)) for word, _ in sample] == [printed for _, printed in sample]
    assert mesa_texts([word for word, _ in sample]) == [printed for _, printed in sample]


def test_compiled_kernels_are_printed_as_mesa_prints_them() -> None:
    done = subprocess.run(
        [sys.executable, a630_kernels.__file__], env=action_environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    kernels = [bytes.fromhex(code) for code in json.loads(done.stdout)]
    assert len(kernels) >= 100
    assert differing([("kernel", code) for code in kernels]) == []


MESA_COMPLAINS = {"dp2acc", "dp4acc", "wmm", "wmm.accu"}
"""With a constant as a source, Mesa prints "no field 'IMMED_ENCODING'" after the right text: its description does not
say there, as it does elsewhere, that such sources are no numbers."""


@pytest.mark.parametrize("category", range(8))
def test_generated_words_are_printed_as_mesa_prints_them(category: int) -> None:
    words = instruction_words(category, 3000, seed=category)
    instructions = [decode(word, pc) for pc, word in enumerate(words, LEAD)]
    differing = []
    for instruction, printed in zip(instructions, mesa_texts(words), strict=True):
        if instruction.name in MESA_COMPLAINS and not is_instruction(printed):
            printed = printed.partition(" ; ")[0]
        if spaced(instruction) != printed:
            differing.append((hex(instruction.bits), spaced(instruction), printed))
    assert differing == []


@pytest.mark.parametrize("category", range(8))
def test_generated_words_cover_all_mnemonics(category: int) -> None:
    names = {decode(word).name for word in instruction_words(category, 3000, seed=category)}
    assert names == {name for form in FORMS if form.category == category for name in form.names}


@pytest.mark.parametrize(("category", "numbers", "tables"), [(2, True, True), (3, True, False), (4, True, True)])
def test_generated_words_cover_all_kinds_of_operands(category: int, numbers: bool, tables: bool) -> None:
    operands = [s.operand for word in instruction_words(category, 3000, seed=category) for s in decode(word).sources]
    for half in (False, True):
        alike = [operand for operand in operands if operand.half == half]
        assert {(type(o), o.relative) for o in alike if not isinstance(o, Immediate)} >= {
            (type(o), o.relative) for o in operands if not isinstance(o, Immediate)
        }
        assert any(isinstance(o, Constant) and o.relative for o in alike)
        assert any(isinstance(o, Immediate) and o.table is None for o in alike) == numbers
        assert any(isinstance(o, Immediate) and o.table is not None for o in alike) == tables


INDISTINCT = {
    "(rptN) of dp2acc and dp4acc": (0x6681C8028002A003 & ~(0b11 << 40) & ~(1 << 43) & ~(1 << 15), 1 << 40),
    "(r) of the third source beside (nopN)": (0x640188020002E003, 1 << 29),
    "(r) of a literal that is moved elsewhere than to a0.x": (0x2048800200000000, 1 << 43),
    "the type of dsxpp.1 and dsypp.1, but for its width": (0xA600110500000001, 0b010 << 44),
}
"""Where Mesa prints nothing: a word, and the bits that change the record and not the text."""


@pytest.mark.parametrize("what", INDISTINCT)
def test_a_record_says_what_mesa_does_not_print(what: str) -> None:
    word, bits = INDISTINCT[what]
    one, other = decode(word, LEAD), decode(word | bits, LEAD + 1)
    printed = mesa_texts([word, word | bits])
    assert encode(one) != encode(other)
    assert [spaced(one), spaced(other)] == printed
    assert printed[0] == printed[1]


UNPRINTED_WIDTH = {
    "ldl": 0xC0460098049B0001,
    "ldlw": 0xC286000302808011,
    "ldlv": 0xC7C6001103C00000,
    "stl": 0xC106D5000480010C,
    "stlw": 0xC2C2110004800006,
    "stp": 0xC1460D0002800034,
    "stc": 0xC702002001800000,
}
"""Mesa prints the registers that these load or store without "h", whatever the type says; those of the record have it."""

TYPE_BITS = 0b111 << 49
U16 = 0b010 << 49


@pytest.mark.parametrize("name", UNPRINTED_WIDTH)
def test_a_narrow_type_is_in_half_registers_though_mesa_prints_full_ones(name: str) -> None:
    word = UNPRINTED_WIDTH[name] & ~TYPE_BITS | U16
    instruction = decode(word, LEAD)
    assert (instruction.name, instruction.type) == (name, "u16")
    data = instruction.destinations or (instruction.sources[-1].operand,)
    assert [operand.half for operand in data] == [True]
    assert [spaced(instruction)] == mesa_texts([word])
    assert "hr" not in spaced(instruction)


def test_mova_repeats_its_mark_as_mesa_does() -> None:
    word = 0x201100F400000000 | 1 << 43
    assert spaced(decode(word)) == "mova a0.x, (r)(r)hr0.x"
    assert mesa_texts([word]) == ["mova a0.x, (r)(r)hr0.x"]


def test_a_branch_out_of_the_kernel_at_its_start_is_printed_as_a_distance() -> None:
    back = 0x0080_0000_FFFF_FFFD
    assert text(decode(back, 3)) == "br p0.x, #l0"
    assert text(decode(back, 2)) == "br p0.x, #-3"


def test_an_unknown_mnemonic_has_no_text() -> None:
    with pytest.raises(UnknownInstruction, match="no a630 instruction is called 'add.x'"):
        text(Instruction(0, 0, 2, "add.x"))
