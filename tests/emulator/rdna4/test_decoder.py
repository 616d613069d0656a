"""Records of gfx1200 instructions: what words say, and words that say nothing."""

import random

import pytest
from emulator.rdna4.encoding_samples import assembled, random_code
from hypothesis import given
from hypothesis import strategies as st

from autoclave.emulator.rdna4.decoder import decode, decode_kernel
from autoclave.emulator.rdna4.encoder import encode
from autoclave.emulator.rdna4.encoding.form import parse
from autoclave.emulator.rdna4.encoding.table import FORMS
from autoclave.emulator.rdna4.instruction import (
    EXEC,
    NULL,
    VCC,
    Destination,
    Dpp,
    Instruction,
    Literal32,
    Register,
    Source,
)
from autoclave.errors import ArtifactError, UnknownInstruction


def v(number: int, count: int = 1, high: bool = False) -> Register:
    return Register("v", number, count, high)


def s(number: int, count: int = 1) -> Register:
    return Register("s", number, count)


def words(*values: int) -> bytes:
    return b"".join(value.to_bytes(4, "little") for value in values)


def record(code: bytes, name: str, encoding: str, to: tuple, of: tuple, **attributes: object) -> Instruction:
    destinations = tuple(Destination(register, type) for register, type in to)
    sources = tuple(each if isinstance(each, Source) else Source(*each) for each in of)
    return Instruction(0, len(code), name, encoding, destinations, sources, **attributes)  # type: ignore[arg-type]


MASK = (s(VCC), "mask")

RECORDS = {
    "v_cvt_f16_f32_e64 v0.h, v1": (
        words(0xD58A4000, 0x00000101),
        "v_cvt_f16_f32",
        "VOP3",
        ((v(0, high=True), "f16"),),
        ((v(1), "f32"),),
        {},
    ),
    "v_add_f16_e32 v0.h, v1.l, v2.h": (
        words(0x65010501),
        "v_add_f16",
        "VOP2",
        ((v(0, high=True), "f16"),),
        ((v(1), "f16"), (v(2, high=True), "f16")),
        {},
    ),
    "v_add_f64_e32 v[0:1], 0x40590000, v[2:3]": (
        words(0x040004FF, 0x40590000),
        "v_add_f64",
        "VOP2",
        ((v(0, 2), "f64"),),
        ((Literal32(0x4059000000000000, False, 0x40590000), "f64"), (v(2, 2), "f64")),
        {},
    ),
    "v_cmp_lt_i64_e32 vcc_lo, 0x80000000, v[0:1]": (
        words(0x7CA200FF, 0x80000000),
        "v_cmp_lt_i64",
        "VOPC",
        (MASK,),
        ((Literal32(0xFFFFFFFF80000000, False, 0x80000000), "i64"), (v(0, 2), "i64")),
        {},
    ),
    "s_mov_b64 s[0:1], 0x80000000": (
        words(0xBE8001FF, 0x80000000),
        "s_mov_b64",
        "SOP1",
        ((s(0, 2), "b64"),),
        ((Literal32(0x80000000, False, 0x80000000), "b64"),),
        {},
    ),
    "v_cmpx_lt_f32_e64 v0, v1": (
        words(0xD491007E, 0x00020300),
        "v_cmpx_lt_f32",
        "VOP3",
        ((s(EXEC), "mask"),),
        ((v(0), "f32"), (v(1), "f32")),
        {},
    ),
    "v_fma_mix_f32 v0, v1, v2, v3 op_sel_hi:[1,0,1]": (
        words(0xCC204000, 0x0C0E0501),
        "v_fma_mix_f32",
        "VOP3P",
        ((v(0), "f32"),),
        (
            Source(v(1), "f16", high_of_second=True),
            Source(v(2), "f32"),
            Source(v(3), "f16", high_of_second=True),
        ),
        {},
    ),
    "v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[12:15], v[0:7]": (
        words(0xCC404000, 0x1C021908),
        "v_wmma_f32_16x16x16_f16",
        "VOP3P",
        ((v(0, 8), "f32x8"),),
        (
            Source(v(8, 4), "f16x8"),
            Source(v(12, 4), "f16x8"),
            Source(v(0, 8), "f32x8"),
        ),
        {},
    ),
    "v_permlane16_b32 v0, v1, s2, s3 op_sel:[1,0]": (
        words(0xD65B0800, 0x000C0501),
        "v_permlane16_b32",
        "VOP3",
        ((v(0), "b32"),),
        ((v(1), "b32"), (s(2), "b32"), (s(3), "b32"), (v(0), "b32")),
        {"immediate": 1},
    ),
    "flat_atomic_add_u32 v[1:2], v0 th:TH_ATOMIC_NT scope:SCOPE_SYS": (
        words(0xEC0D407C, 0x002C0000, 0x00000001),
        "flat_atomic_add_u32",
        "FLAT",
        (),
        ((v(1, 2), "u64"), (v(0), "u32")),
        {"has_vector_address": True, "scope_or_policy": 3 | 2 << 2},
    ),
    "s_cbranch_execz -2": (
        words(0xBFA5FFFE),
        "s_cbranch_execz",
        "SOPP",
        (),
        (),
        {"immediate": -2, "target": -4},
    ),
}
"""By the text of which LLVM 20 assembles the code."""


@pytest.mark.parametrize("text", RECORDS)
def test_an_encoding_is_decoded_to_its_record(text: str) -> None:
    code, name, encoding, to, of, attributes = RECORDS[text]

    assert decode(code) == record(code, name, encoding, to, of, **attributes)


def test_a_first_source_of_another_lane_says_which() -> None:
    # v_add_f32_dpp v0, -v1, |v2| row_shr:1 row_mask:0xf bank_mask:0xe bound_ctrl:1
    found = decode(words(0x060004FA, 0xFE991101))

    assert found.dpp == Dpp(0x111, None, 0xF, 0xE, True, False)
    assert found.sources == (Source(v(1), "f32", negated=True), Source(v(2), "f32", absolute=True))


def test_the_two_operations_of_a_pair_are_records_of_their_own() -> None:
    # v_dual_mov_b32 v6, 0 :: v_dual_and_b32 v3, 15, v0
    found = decode(words(0xCA240080, 0x0602008F))

    assert found.name == "v_dual"
    assert found.dual is not None
    assert found.dual[0].sources == (Source(Literal32(0, True, 128), "b32"),)
    assert [operation.destinations[0].operand for operation in found.dual] == [v(6), v(3)]
    assert found.dual[1].sources == (Source(Literal32(15, True, 143), "u32"), Source(v(0), "u32"))


@pytest.mark.parametrize(
    ("name", "word", "bits"),
    [
        ("v_pk_add_f16", 0xCC0F4000, 0x3C00),  # a half of 1 below, nothing above
        ("v_pk_add_u16", 0xCC0A4000, 0x3F800000),  # the float of 32 bits
        ("v_add_nc_u16", 0xD7030000, 0),  # what the low 16 bits of that are
        ("v_fma_f64", 0xD6140000, 0x3FF0000000000000),
    ],
)
def test_an_inline_constant_of_one_has_the_bits_that_its_operand_sees(name: str, word: int, bits: int) -> None:
    third = 0x100 << 18 if "fma" in name else 0
    found = decode(words(word, (0x18000000 if "pk" in name else 0) | third | 0x100 << 9 | 242))

    assert found.name == name
    assert found.sources[0].operand == Literal32(bits, True, 242)


def test_null_as_the_scalar_base_means_an_address_in_vector_registers() -> None:
    # global_load_b32 v0, v[1:2], off
    found = decode(words(0xEE05007C, 0, 1))

    assert (found.has_vector_address, found.has_scalar_base) == (True, False)
    assert found.sources == (Source(v(1, 2), "u64"),)


def test_padding_after_the_last_end_is_no_instruction() -> None:
    code = words(0xBF800000, 0xBFB00000, 0xBF9F0000, 0xBF9F0000, 0)

    assert [instruction.name for instruction in decode_kernel(code)] == ["s_nop", "s_endpgm"]


@pytest.mark.parametrize("word", [0x0000FFBB, 0xFFFFFFBB])  # as assemblers and as compilers write it
def test_a_literal_of_a_negative_half_may_be_extended(word: int) -> None:
    code = words(0xD7050002, 0x000208FF, word)  # v_mul_lo_u16 v2, -69, v4

    found = decode(code, 0)

    assert isinstance(found.sources[0].operand, Literal32)
    assert found.sources[0].operand.bits == 0xFFBB
    assert encode(found) == code


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (words(0xBFBD0000), "no operation 61 in SOPP"),
        (words(0xBE8001FF), "cut short"),  # s_mov_b64 s[0:1], and no literal
        (words(0xD5810000, 0x20000101), "signs"),  # v_mov_b32_e64 v0, -v1
        (words(0xD5811000, 0x00000101), "half"),  # v_mov_b32_e64 with OPSEL
        (words(0xD7050002, 0x000208FF, 0x0001FFBB), "literal 0x1ffbb"),  # v_mul_lo_u16 v2, 0x1ffbb, v4
        (words(0xD5320002, 0x000208FF, 0xFFFFBC00), "literal 0xffffbc00"),  # v_add_f16 of a float that is extended
        (words(0xBE800105), "scalar register 5 as an operand of 2"),  # s_mov_b64 s[0:1], s[5:6]
        (words(0xF400A080, 0xF8000000), "scalar register 2 as an operand of 3"),  # s_load_b96 s[2:4], s[0:1], 0x0
        (words(0xD0000000, 0), "no"),  # images and what else is not for compute kernels
    ],
)
def test_what_no_instruction_is_is_refused_with_a_reason(code: bytes, reason: str) -> None:
    with pytest.raises(UnknownInstruction, match=reason):
        decode(code)


def test_an_error_names_kernel_pc_and_words() -> None:
    with pytest.raises(UnknownInstruction, match=r"kernel 'r_8', pc 4: .* bf9e0001"):
        decode_kernel(words(0xBF800000, 0xBF9E0001), "r_8")


def test_code_of_parts_of_words_is_refused() -> None:
    with pytest.raises(ArtifactError, match="whole words"):
        decode_kernel(b"\0\0\0", "r_8")


@given(st.lists(st.integers(0, (1 << 32) - 1), max_size=8))
def test_any_words_are_decoded_or_refused(values: list[int]) -> None:
    try:
        instructions = decode_kernel(words(*values))
    except UnknownInstruction:
        return
    assert all(instruction.size > 0 for instruction in instructions)


def test_random_fields_of_every_form_are_decoded_or_refused() -> None:
    dice = random.Random(1)
    for form in FORMS:
        for _ in range(3):
            code = random_code(form, dice)
            try:
                found = decode(code)
            except UnknownInstruction:
                continue
            assert found.encoding == form.encoding


def test_every_form_has_an_encoding_that_llvm_knows() -> None:
    known = {(found.encoding, found.name) for found in map(decode, (code for code, _ in assembled()))}
    pairs = {operation.name for code, _ in assembled() for operation in decode(code).dual or ()}

    assert {(form.encoding, form.name) for form in FORMS if form.encoding != "VOPD"} <= known
    assert {form.name for form in FORMS if form.encoding == "VOPD"} == pairs


def test_a_kernels_addresses_are_those_of_its_instructions() -> None:
    codes = [code for code, _ in assembled()]

    found = decode_kernel(b"".join(codes))

    assert [instruction.size for instruction in found] == [len(code) for code in codes]
    assert [instruction.pc for instruction in found] == [sum(map(len, codes[:n])) for n in range(len(codes))]


def test_no_register_is_named_null() -> None:
    # s_load_b32 s0, s[2:3], 0x4: an offset in a register would be a second source
    found = decode(words(0xF4000001, NULL << 25 | 4))

    assert found.sources == (Source(s(2, 2), "u64"),)
    assert found.immediate == 4


def test_no_two_forms_share_an_encoding_and_an_opcode() -> None:
    opcodes = {("VOP3" if form.encoding == "VOP3SD" else form.encoding, form.opcode) for form in FORMS}

    assert len(opcodes) == len(FORMS)


@pytest.mark.parametrize("row", ["v_no_opcode f32 = f32", "1 v_add_f32 f32 = f32 ; no_such_flag"])
def test_a_row_that_is_no_form_is_refused(row: str) -> None:
    with pytest.raises(ValueError, match="VOP1 row"):
        parse("VOP1", row)
