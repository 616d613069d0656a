"""Records of a630 instructions: what a word says, and words that say nothing."""

import struct

import pytest
from emulator.a630_words import noise
from emulator.mesa_disassembly import is_instruction, mesa_texts
from hypothesis import given
from hypothesis import strategies as st

from autoclave.emulator.a630.decoder import decode, decode_kernel
from autoclave.emulator.a630.encoding.alu_sources import FLOAT_TABLE_BITS
from autoclave.emulator.a630.encoding.layout import Layout
from autoclave.emulator.a630.encoding.table import FORMS
from autoclave.emulator.a630.instruction import (
    Constant,
    Image,
    Immediate,
    Instruction,
    Register,
    Source,
    Synchronisation,
)
from autoclave.errors import ArtifactError, UnknownInstruction


def record(bits: int, category: int, name: str, **attributes: object) -> Instruction:
    return Instruction(0, bits, category, name, **attributes)  # type: ignore[arg-type]


def register(number: int, half: bool = False, **marks: bool) -> Source:
    return Source(Register(number, half), **marks)


ALL_COMPONENTS = 0b1111

RECORDS = (
    # (rpt3)mad.f32 r4.y, (r)r4.y, r9.y, (neg)(r)r10.y
    record(
        0x63928B11A0290011,
        3,
        "mad.f32",
        destinations=(Register(17),),
        sources=(register(17, repeated=True), register(37), register(41, negated=True, repeated=True)),
        repeat=3,
    ),
    # (sy)(rpt3)min.f r9.y, (r)r9.y, (1.0)
    record(
        0x50300B2528020025,
        2,
        "min.f",
        destinations=(Register(37),),
        sources=(register(37, repeated=True), Source(Immediate(0x3F800000, table=2))),
        repeat=3,
        synchronisation=Synchronisation(texture=True),
    ),
    # add.f hr0.z, hr0.z, hc8.y
    record(
        0x4000000210210002,
        2,
        "add.f",
        destinations=(Register(2, half=True),),
        sources=(register(2, half=True), Source(Constant(33, half=True))),
    ),
    # absneg.s r4.w, (abs)r2.z
    record(
        0x435000130000800A,
        2,
        "absneg.s",
        destinations=(Register(19),),
        sources=(register(10, absolute=True),),
    ),
    # cmps.u.lt hr0.x, r3.y, c4.x: a full comparison into a half register
    record(
        0x429040001010000D,
        2,
        "cmps.u",
        destinations=(Register(0, half=True),),
        sources=(register(13), Source(Constant(16))),
        condition="lt",
    ),
    # cmps.s.ge p0.x, r8.w, 3
    record(
        0x42B300F820030023,
        2,
        "cmps.s",
        destinations=(Register(248),),
        sources=(register(35), Source(Immediate(3))),
        condition="ge",
    ),
    # (nop3) add.s hr1.w, hr0.x, h(-1)
    record(
        0x4228080727FF0000,
        2,
        "add.s",
        destinations=(Register(7, half=True),),
        sources=(register(0, half=True), Source(Immediate(0xFFFF, half=True))),
        synchronisation=Synchronisation(nops=3),
    ),
    # (rpt2)bary.f (ei)r0.z, (r)0, r0.x
    record(
        0x47308A0200002000,
        2,
        "bary.f",
        destinations=(Register(2),),
        sources=(Source(Immediate(0), repeated=True), register(0)),
        repeat=2,
        extra=True,
    ),
    # shrg r3.w, 31, r3.w, r8.w
    record(
        0x6507840F0023301F,
        3,
        "shrg",
        destinations=(Register(15),),
        sources=(Source(Immediate(31)), register(15), register(35)),
    ),
    # cov.u16s32 r4.w, hr0.x
    record(
        0x2009401300000000,
        1,
        "cov",
        destinations=(Register(19),),
        sources=(register(0, half=True),),
        source_type="u16",
        type="s32",
    ),
    # mova a0.x, hr0.x
    record(
        0x201100F400000000,
        1,
        "mova",
        destinations=(Register(244),),
        sources=(register(0, half=True),),
        source_type="s16",
        type="s16",
    ),
    # swz.u32u32 r4.z, r4.y, r4.y, r4.z
    record(
        0x240CC01200111211,
        1,
        "swz",
        destinations=(Register(18), Register(17)),
        sources=(register(17), register(18)),
        source_type="u32",
        type="u32",
    ),
    # brao !p0.z, !p0.y, and the 5th instruction after it
    record(
        0x00D0602000000005,
        0,
        "brao",
        sources=(register(250, negated=True), register(249, negated=True)),
        target=5,
    ),
    record(0x01000000FFFFFEF6, 0, "jump", target=-266),
    # (sy)stib.b.typed.2d.f32.4.imm r4.z, r4.x, 0
    record(
        0xD022001210677A00,
        6,
        "stib.b",
        sources=(register(18), register(16)),
        type="f32",
        count=4,
        image=Image(0, flags=("imm",)),
        synchronisation=Synchronisation(texture=True),
    ),
    # isam.1d (f32)(xyzw)r4.z, r3.z, s#0, t#0
    record(
        0xA0001F120000001D,
        5,
        "isam",
        destinations=(Register(18),),
        sources=(register(14),),
        type="f32",
        image=Image(0, 0, ALL_COMPONENTS, 2, flags=("1d",)),
    ),
    # sam.s2en.nonuniform (f32)(xyzw)r1.w, r1.y, hr2.x: the register hr2.x names texture and sampler
    record(
        0xA0C81F078100000B,
        5,
        "sam",
        destinations=(Register(7),),
        sources=(register(5), register(8, half=True)),
        type="f32",
        image=Image(None, None, ALL_COMPONENTS, 2, flags=("s2en", "nonuniform")),
    ),
    # dsx (f32)(x)r0.z, r0.x
    record(
        0xA380110200000001,
        5,
        "dsx",
        destinations=(Register(2),),
        sources=(register(0),),
        type="f32",
        image=Image(None, None, 0b0001),
    ),
    # ldg.u16 hr3.z, g[r9.x], 1
    record(0xC004000E01890001, 6, "ldg", destinations=(Register(14, half=True),), sources=(register(36),), type="u16"),
    # ldp.u32 r36.w, p[r47.w+16], 2
    record(
        0xC086009302AFC021,
        6,
        "ldp",
        destinations=(Register(147),),
        sources=(register(191),),
        type="u32",
        offset=16,
        count=2,
    ),
    # stg.u32 g[r9.y], r26.y, 4
    record(0xC0C64B00048000D2, 6, "stg", sources=(register(37), register(105)), type="u32", count=4),
    # stg.a.u32 g[r2.x+((r1.x+1)<<2)], r5.x, 1
    record(
        0xC0D6110401800228,
        6,
        "stg.a",
        sources=(register(8), register(4), register(20)),
        type="u32",
        offset=1,
    ),
    # ldc.offset0.1.uniform r0.x, 0, r0.x
    record(
        0xC026000000C78040,
        6,
        "ldc",
        destinations=(Register(0),),
        sources=(Source(Immediate(0)), register(0)),
        modifiers=("uniform",),
    ),
    # (sy)atomic.max.untyped.1d.u32.1.l r0.w, l[r0.z], r0.w
    record(
        0xD5C6000303008001,
        6,
        "atomic.max",
        destinations=(Register(3),),
        sources=(register(2), register(3)),
        type="u32",
        image=Image(None, dimensions=1, typed=False),
        synchronisation=Synchronisation(texture=True),
    ),
    # fence.r.w
    record(0xE09A000000000000, 7, "fence", modifiers=("r", "w")),
)
"""Worked out from Mesa's texts, above each, and from the layouts of src/freedreno/isa/ir3-*.xml."""


@pytest.mark.parametrize("expected", RECORDS, ids=lambda expected: expected.name)
def test_a_word_says_what_its_text_says(expected: Instruction) -> None:
    assert decode(expected.bits) == expected


def test_a_relative_operand_has_a_signed_offset() -> None:
    # add.f r0.x, r<a0.x + -3>, c<a0.x + 16>
    instruction = decode(0x40100000_0C100BFD)
    assert [source.operand for source in instruction.sources] == [
        Register(-3, relative=True),
        Constant(16, relative=True),
    ]


def test_float_literals_have_the_patterns_that_mesa_matches_them_with() -> None:
    """src/freedreno/ir3/ir3_cp.c and ir3.h of Mesa: e, pi, 1/pi, 1/log2(e), log2(e), 1/log2(10), log2(10)."""
    assert [full for full, _ in FLOAT_TABLE_BITS[4:11]] == [
        0x402DF854,
        0x40490FDB,
        0x3EA2F983,
        0x3F317218,
        0x3FB8AA3B,
        0x3E9A209B,
        0x40549A78,
    ]
    assert [half for _, half in FLOAT_TABLE_BITS[4:11]] == [0x4170, 0x4248, 0x3518, 0x398C, 0x3DC5, 0x34D1, 0x42A5]


def test_a_kernel_is_decoded_to_its_last_word() -> None:
    code = struct.pack("<4Q", 0x0080000000000002, 0, 0x0300000000000000, 0)
    instructions = decode_kernel(code, "kernel")
    assert [(instruction.pc, instruction.name) for instruction in instructions] == [
        (0, "br"),
        (1, "nop"),
        (2, "end"),
        (3, "nop"),
    ]


def test_an_unknown_word_is_named_with_its_kernel_and_place() -> None:
    code = struct.pack("<2Q", 0, 0xFFFFFFFFFFFFFFFF)
    with pytest.raises(UnknownInstruction, match="kernel 'r_4', pc 1: no a630 instruction .* 0xffffffffffffffff"):
        decode_kernel(code, "r_4")


def test_code_that_ends_within_an_instruction_is_refused() -> None:
    with pytest.raises(ArtifactError, match="kernel 'r_4': a630 code of 12 bytes is not whole instructions"):
        decode_kernel(bytes(12), "r_4")


@pytest.mark.parametrize("bits", [-1, 1 << 64])
def test_a_number_that_is_no_word_is_refused(bits: int) -> None:
    with pytest.raises(UnknownInstruction, match="not a word of 64 bits"):
        decode(bits)


def test_every_form_refuses_every_bit_that_it_does_not_know() -> None:
    for form in FORMS:
        for position in range(64):
            if form.layout.zero >> position & 1:
                with pytest.raises(UnknownInstruction):
                    decode(form.layout.match | 1 << position)


@given(st.integers(0, (1 << 64) - 1))
def test_any_word_is_an_instruction_or_refused(bits: int) -> None:
    try:
        assert decode(bits).bits == bits
    except UnknownInstruction as error:
        assert f"{bits:#018x}" in str(error)


@given(st.binary(max_size=64))
def test_any_bytes_are_a_kernel_or_refused(code: bytes) -> None:
    try:
        assert len(decode_kernel(code, "noise")) * 8 == len(code)
    except (UnknownInstruction, ArtifactError) as error:
        assert "kernel 'noise'" in str(error)


REFUSED = {
    "a float literal that is not in the table": (0x4000064160002820, "float literal 32 of full width"),
    "a float literal of another width than the sources": (0x4040902100A82802, "float literal 2 of full width"),
    "a condition without a name": (0x40E71E3AD63C15ED, "condition number 7"),
    "a half literal of more than 16 bits": (0x2840000001000000, "half literal 0x1000000"),
    "a conversion to a predicate": (0x7E64C4F8CD98D158, "a conversion to a predicate"),
    "an image bound in a way without a name": (0xC8337800AC6652C0, "mode 3"),
    "a base where no descriptors lie below it": (0xD03600A0FC47800E, "a base without descriptors below it"),
    "an offset of zero where there is another form for it": (0xA020028002000000, "offset 0"),
    "a shuffle without a name": (0xC6E400D693000000, "mode is 0"),
    "a bit of (nopN) in an instruction that repeats": (0x5358F5C0000097AB, "r2 of an instruction that repeats"),
    "a bit that no text shows": (0x0000000000000001, "sets bits 0x1 that nop lacks"),
}
"""Words that Mesa prints without complaint, and that are refused all the same: nobody says what they do."""


@pytest.mark.parametrize("what", REFUSED)
def test_words_that_mesa_prints_are_refused_if_nothing_says_what_they_do(what: str) -> None:
    bits, reason = REFUSED[what]
    assert is_instruction(mesa_texts([bits])[0])
    with pytest.raises(UnknownInstruction) as refusal:
        decode(bits)
    assert reason in str(refusal.value)


REASONS = (
    "float literal",
    "condition number",
    "half literal",
    "a conversion to a predicate",
    "with mode ",
    "a base without descriptors",
    "offset 0",
    "an offset of nothing",
    "mode is ",
    "of an instruction that repeats",
    "sets bits ",
)


def test_noise_that_mesa_takes_for_instructions_is_taken_so_or_refused_for_a_named_reason() -> None:
    words = noise(20000, seed=630)
    printed = {word: text for word, text in zip(words, mesa_texts(words), strict=True) if is_instruction(text)}
    reasons = []
    for word in printed:
        try:
            decode(word)
        except UnknownInstruction as refusal:
            reasons.append(str(refusal))
    assert len(printed) > 1000
    assert len(reasons) < len(printed) / 4
    assert [reason for reason in reasons if not any(known in reason for known in REASONS)] == []


@pytest.mark.parametrize(
    ("row", "problem"),
    [("010 sy", "4 bits"), (f"{'0' * 60} name:5", "65 bits"), (f"{'0' * 62} a a", "unlike names"), ("0 ?", "'\\?'")],
)
def test_a_layout_that_is_not_64_bits_is_refused(row: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Layout.parse(row)
