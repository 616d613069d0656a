"""Operands and modifiers where one implementation was once wrong: both, by values worked out by hand."""

import numpy as np
import pytest
from emulator.rdna4.translated_waves import BEST, assert_agree, program_of, run
from emulator.rdna4.wave_programs import ADDRESSES, dual, ins, interpret, launch_of

from autoclave.emulator.launch import Launch
from autoclave.emulator.rdna4.instruction import Instruction
from autoclave.errors import UnknownInstruction

Program = list[Instruction | str]

SET_SCC = ins("s_cmp_eq_u32", (), 0, 0)


def launched(program: Program) -> tuple[Launch, np.ndarray]:
    """A launch of four threads that stores v1 and v2 of each."""
    output = np.zeros((4, 2), np.uint32)
    whole: Program = [
        *ADDRESSES,
        ins("v_lshlrev_b32", "v250", 3, "v0"),
        *program,
        ins("global_store_b32", (), "v250", "v1", "s[100:101]"),
        ins("global_store_b32", (), "v250", "v2", "s[100:101]", immediate=4),
    ]
    return launch_of(whole, [output, np.zeros(4, np.uint32)], local_size=(4, 1, 1)), output


def results(*program: Instruction | str) -> list[int]:
    """What v1 and v2 hold behind a program, by both implementations."""
    launch, output = launched([*program])
    assert_agree(launch, [BEST])
    run(launch)
    assert (output == output[0]).all()
    return [int(word) for word in output[0]]


@pytest.mark.parametrize(
    ("name", "others", "expected"),
    [
        ("v_add_f32", [0], [1, 0]),  # the smallest denormal
        ("v_add_nc_u32", [5], [6, 0]),
        ("v_not_b16", [], [0xFFFE, 0]),
        ("v_add_f64", [0], [1, 0]),
        ("v_pk_add_u16", [0x00070005], [0x00070006, 0]),
        ("v_cvt_f32_u32", [], [0x3F800000, 0]),
    ],
)
def test_scc_is_one_as_an_operand_of_any_type(name: str, others: list[int], expected: list[int]) -> None:
    to = "v[1:2]" if name.endswith("64") else "v1"
    assert results(SET_SCC, ins(name, to, "scc", *others)) == expected


def test_scc_of_64_bits_is_extended_by_zeros() -> None:
    read = [ins("v_mov_b32", "v1", "s4"), ins("v_mov_b32", "v2", "s5")]
    assert results(SET_SCC, ins("s_mov_b64", "s[4:5]", "scc"), *read) == [1, 0]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [({}, 0x3F000000), ({"multiplier": 1}, 0x3F800000), ({"multiplier": 2, "clamp": True}, 0x3F800000)],
    ids=["plain", "times 2", "times 4, at most 1"],
)
def test_scalar_floats_have_output_modifiers(fields: dict[str, int], expected: int) -> None:
    rcp = ins("v_s_rcp_f32", "s4", 0x40000000, **fields)  # 1 / 2
    assert results(rcp, ins("v_mov_b32", "v1", "s4"))[0] == expected


def test_scaled_operand_of_a_division_is_clamped() -> None:
    three = 0x40400000
    assert results(ins("v_div_scale_f32", ("v1", "vcc"), three, three, three, clamp=True))[0] == 0x3F800000


def test_packed_conversion_is_clamped_by_halves() -> None:
    convert = ins("v_cvt_pk_rtz_f16_f32", "v1", 0x40000000, "v3", encoding="VOP3", clamp=True)  # 2, -1
    assert results(ins("v_mov_b32", "v3", 0xBF800000), convert)[0] == 0x00003C00


def test_nan_halves_are_canonical_for_who_reads_them_as_one_single() -> None:
    # 0 * infinity of both halves is NaN. Read as a single in another block, the word is a number, whose bits matter.
    program: Program = [
        ins("v_mov_b32", "v3", 0x7C007C00),
        ins("v_pk_fma_f16", "v1", 0, "v3", 0),
        ins("s_cmp_eq_u32", (), 0, 1),
        ins("s_cbranch_scc1", target=0),
        dual(
            ins("v_dual_add_f32", "v1", 0x80000000, "v1", encoding="VOPD"),
            ins("v_dual_mov_b32", "v2", 0, encoding="VOPD"),
        ),
        "behind",
    ]
    assert results(*program)[0] == 0x7E007E00


def test_exchange_with_the_other_half_of_a_larger_wave_leaves_what_was_there() -> None:
    program: Program = [
        ins("v_mov_b32", "v1", 7),
        "again",
        ins("v_permlane64_b32", "v1", "v2"),
        ins("s_cmp_eq_u32", (), 0, 1),
        ins("s_cbranch_scc1", target=0),
    ]
    assert results(*program)[0] == 7


def test_two_bytes_leave_the_other_half_of_their_register() -> None:
    program: Program = [
        ins("v_mov_b32", "v1", 0x12340000),
        "again",
        ins("v_sat_pk_u8_i16", "v1", 0x0005FFFF),
        ins("s_cmp_eq_u32", (), 0, 1),
        ins("s_cbranch_scc1", target=0),
    ]
    assert results(*program)[0] == 0x12340500


def test_null_of_64_bits_leaves_the_register_that_follows_it() -> None:
    program: Program = [
        ins("s_mov_b32", "m0", 7),
        "again",
        ins("s_ashr_i64", "null", 0, 0),
        ins("s_cbranch_scc1", target=0),
        ins("v_mov_b32", "v1", "m0"),
    ]
    assert results(*program)[0] == 7


def test_null_of_64_bits_reads_zeros() -> None:
    program = [ins("s_mov_b32", "m0", 7), ins("v_mqsad_pk_u16_u8", "v[1:2]", "v[4:5]", "v6", "null")]
    assert results(*program) == [0, 0]


CLAMPED = [
    ins("v_mul_u32_u24", "v1", "v2", "v3", encoding="VOP3", clamp=True),
    ins("v_sad_u8", "v1", "v2", "v3", "v4", clamp=True),
    ins("v_add_co_u32", ("v1", "vcc"), "v2", "v3", clamp=True),
    ins("v_mad_co_u64_u32", ("v[4:5]", "vcc"), "v2", "v3", "v[6:7]", clamp=True),
    ins("v_pk_lshlrev_b16", "v1", "v2", "v3", clamp=True),
]


@pytest.mark.parametrize("instruction", CLAMPED, ids=lambda one: one.name)
def test_integers_that_the_manual_does_not_let_saturate_have_no_rule_with_clamp(instruction: Instruction) -> None:
    launch, _ = launched([instruction])
    with pytest.raises(UnknownInstruction, match=rf"{instruction.name} with CLAMP"):
        interpret(launch)
    with pytest.raises(UnknownInstruction, match=rf"{instruction.name} with CLAMP"):
        program_of(launch)


def test_packed_floats_have_no_rule_with_an_output_multiplier() -> None:
    launch, _ = launched([ins("v_cvt_pk_rtz_f16_f32", "v1", "v2", "v3", encoding="VOP3", multiplier=1)])
    with pytest.raises(UnknownInstruction, match="v_cvt_pk_rtz_f16_f32 with OMOD"):
        interpret(launch)
    with pytest.raises(UnknownInstruction, match="v_cvt_pk_rtz_f16_f32 with OMOD"):
        program_of(launch)
