"""Results worked out by hand, a few for each family of operations, and chains in which halves and floats stay unpacked."""

import struct
from dataclasses import replace

import numpy as np
import pytest
from emulator.rdna4.alu_harness import compiled, hosts, instruction

from autoclave.emulator.jit import HostTarget
from autoclave.emulator.rdna4.instruction import Destination, Instruction, Literal32, Register


def f32(number: float) -> int:
    """The pattern of an f32."""
    return int(struct.unpack("<I", struct.pack("<f", number))[0])


def f16(number: float) -> int:
    """The pattern of a half."""
    return int(struct.unpack("<H", struct.pack("<e", number))[0])


def f64(number: float) -> int:
    """The pattern of an f64."""
    return int(struct.unpack("<Q", struct.pack("<d", number))[0])


WORKED: list[tuple[str, tuple[int, ...], tuple[int, ...]]] = [
    # 0.1 + 0.2 is 0x3E99999A in f32; halves: 2048 + 1 is a tie, to even; 65504 + 16 is one, to infinity.
    ("v_add_f32", (f32(0.1), f32(0.2)), (0x3E99999A,)),
    ("v_add_f16", (f16(2048.0), f16(1.0)), (f16(2048.0),)),
    ("v_add_f16", (f16(65504.0), f16(16.0)), (0x7C00,)),
    # The smallest denormal is kept, and halved is a tie to zero.
    ("v_add_f32", (1, 1), (2,)),
    ("v_mul_f32", (1, f32(0.5)), (0,)),
    ("v_mul_f16", (1, f16(1.5)), (2,)),
    ("v_sub_f32", (0x7F800000, 0x7F800000), (0x7FC00000,)),
    ("v_subrev_f16", (f16(1.0), f16(3.0)), (f16(2.0),)),
    # (1 + 2^-12)^2 - 1 = 2^-11 + 2^-24, which a product rounded to f32 would have lost.
    ("v_fma_f32", (f32(1 + 2.0**-12), f32(1 + 2.0**-12), f32(-1.0)), (f32(2.0**-11 + 2.0**-24),)),
    # (1 + 2^-10)^2 = 1 + 2^-9 + 2^-20: with 2^-11 more it is just above a tie between halves.
    ("v_fma_f16", (f16(1 + 2.0**-10), f16(1 + 2.0**-10), f16(2.0**-11)), (f16(1 + 3 * 2.0**-10),)),
    ("v_max_num_f32", (0x7FC00001, f32(-1.0)), (f32(-1.0),)),
    ("v_max_num_f32", (0x80000000, 0), (0,)),
    ("v_minimum_f16", (0x7E01, f16(1.0)), (0x7E00,)),
    ("v_med3_num_f32", (f32(3.0), f32(1.0), f32(2.0)), (f32(2.0),)),
    ("v_rcp_f32", (f32(4.0),), (f32(0.25),)),
    ("v_rcp_f32", (1,), (0x7F800000,)),
    ("v_rcp_f16", (f16(2.0**-14),), (f16(16384.0),)),
    ("v_rsq_f32", (f32(16.0),), (f32(0.25),)),
    ("v_sqrt_f32", (f32(-1.0),), (0x7FC00000,)),
    ("v_exp_f32", (f32(-126.0),), (0x00800000,)),
    ("v_exp_f32", (f32(-127.0),), (0,)),
    ("v_log_f32", (f32(8.0),), (f32(3.0),)),
    ("v_sin_f32", (f32(0.25),), (f32(1.0),)),
    ("v_fract_f32", (f32(-0.25),), (f32(0.75),)),
    ("v_ldexp_f32", (f32(3.0), 2), (f32(12.0),)),
    ("v_ldexp_f32", (f32(1.0), -149 & 0xFFFFFFFF), (1,)),
    ("v_frexp_mant_f32", (f32(-10.0),), (f32(-0.625),)),
    ("v_frexp_exp_i32_f32", (f32(-10.0),), (4,)),
    ("v_frexp_exp_i32_f32", (1,), (-148 & 0xFFFFFFFF,)),
    ("v_mul_f64", (f64(0.1), f64(10.0)), (f64(1.0),)),
    ("v_cvt_f16_f32", (f32(65520.0),), (0x7C00,)),
    ("v_cvt_f16_f32", (0xFFC12345,), (0x7E00,)),
    ("v_cvt_f32_f16", (1,), (f32(2.0**-24),)),
    ("v_cvt_i32_f32", (f32(-2.75),), (-2 & 0xFFFFFFFF,)),
    ("v_cvt_u32_f32", (f32(-1.0),), (0,)),
    ("v_cvt_i32_f32", (0x7FC00000,), (0,)),
    ("v_cvt_pk_rtz_f16_f32", (f32(65535.0), f32(1 + 2.0**-11)), (0x3C007BFF,)),
    ("v_cvt_f32_ubyte2", (0x00FF0000,), (f32(255.0),)),
    ("v_cmp_nlt_f32", (0x7FC00000, 0), (1,)),
    ("v_cmp_lg_f16", (0x7E00, 0), (0,)),
    ("v_cmp_class_f32", (1, 1 << 7), (1,)),
    ("v_cmp_lt_i32", (-1 & 0xFFFFFFFF, 0), (1,)),
    ("v_cmp_lt_u32", (-1 & 0xFFFFFFFF, 0), (0,)),
    ("v_add_co_u32", (0xFFFFFFFF, 2), (1, 1)),
    ("v_add_co_ci_u32", (0xFFFFFFFF, 0, 1), (0, 1)),
    ("v_sub_co_ci_u32", (5, 5, 1), (0xFFFFFFFF, 1)),
    ("v_mad_co_u64_u32", (0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF), (0xFFFFFFFE00000000, 1)),
    ("v_mul_hi_i32", (-2 & 0xFFFFFFFF, 3), (0xFFFFFFFF,)),
    ("v_mul_u32_u24", (0xFF000003, 5), (15,)),
    ("v_bfe_i32", (0x00000F00, 8, 4), (0xFFFFFFFF,)),
    ("v_bfi_b32", (0xFF00FF00, 0x12345678, 0x9ABCDEF0), (0x12BC56F0,)),
    ("v_perm_b32", (0x44332211, 0x88776655, 0x07000C0D), (0x445500FF,)),
    ("v_alignbit_b32", (0x12345678, 0x9ABCDEF0, 8), (0x789ABCDE,)),
    ("v_lshl_add_u32", (3, 4, 5), (53,)),
    ("v_sad_u8", (0x01020304, 0x04030201, 10), (18,)),
    ("v_ashrrev_i16", (4, 0x8000), (0xF800,)),
    ("v_lshlrev_b64", (33, 1), (1 << 33,)),
    ("v_pk_add_f16", (f16(1.0) | f16(2.0) << 16, f16(0.5) | f16(0.25) << 16), (f16(1.5) | f16(2.25) << 16,)),
    ("v_pk_mul_lo_u16", (0x00020100, 0x80030101), (0x00060100,)),
    ("v_dot2_f32_f16", (f16(2.0) | f16(3.0) << 16, f16(5.0) | f16(7.0) << 16, f32(0.5)), (f32(31.5),)),
    ("v_dot4_u32_u8", (0x01020304, 0x05060708, 1), (71,)),
    # 1 / 3 by the steps: the quotient 0.33333334 with denominator 3 and numerator -1 gets the sign; 1 / 0 is infinite.
    ("v_div_fixup_f32", (f32(1 / 3), f32(3.0), f32(-1.0)), (f32(-1 / 3),)),
    ("v_div_fixup_f32", (0x7FC00000, 0, f32(1.0)), (0x7F800000,)),
    ("v_div_scale_f32", (f32(2.0**-100), f32(2.0**-100), f32(1.0)), (f32(2.0**-36), 1)),
    ("v_div_fmas_f32", (f32(1.0), f32(1.0), f32(2.0), 1), (f32(3 * 2.0**64),)),
]  # fmt: skip
"""Name, operands, results."""


@pytest.mark.parametrize("target", (hosts()[0], hosts()[-1]), ids=lambda target: target.cpu)
def test_results_worked_out_by_hand(target: HostTarget):
    rules = compiled([[instruction(name)] for name, _, _ in WORKED], 16, target)

    for number, (name, operands, wanted) in enumerate(WORKED):
        given = rules.run(number, [np.array([bits], np.uint64) for bits in operands])
        assert [hex(int(result[0])) for result in given] == [hex(bits) for bits in wanted], (name, operands)


def moved(name: str, destination: Register, *sources: Register | Literal32) -> Instruction:
    """An instruction on the registers that are named."""
    one = instruction(name)
    taken = tuple(replace(source, operand=operand) for source, operand in zip(one.sources, sources, strict=True))
    return replace(one, destinations=(Destination(destination, one.destinations[0].type),), sources=taken)


def v(number: int, high: bool = False) -> Register:
    """A vector register, or its upper half."""
    return Register("v", number, 1, high)


NAN_OF_MANY, A, B, LOW, HIGH, WORD, RESULT = 0xFFC12345, *(v(number) for number in (0, 4, 20, 21, 22, 40))


def through(*middle: Instruction) -> list[Instruction]:
    """Two f32, each converted to a half, and what is done with these."""
    return [
        moved("v_cvt_f16_f32", LOW, A),
        moved("v_cvt_f16_f32", HIGH, B),
        *middle,
    ]


PACKED = moved("v_pack_b32_f16", WORD, LOW, HIGH)

CHAINS = {
    "packed": (through(moved("v_pack_b32_f16", RESULT, LOW, HIGH)), 0x40003C00),
    "packed and taken apart": (through(PACKED, moved("v_lshrrev_b32", RESULT, Literal32(16, True), WORD)), 0x4000),
    "shifted up": (through(moved("v_lshlrev_b32", RESULT, Literal32(16, True), LOW)), 0x3C000000),
    "crossed": (through(PACKED, moved("v_perm_b32", RESULT, WORD, WORD, Literal32(0x05040706, False))), 0x3C004000),
    "aligned": (through(PACKED, moved("v_alignbit_b32", RESULT, LOW, WORD, Literal32(16, True))), 0x3C004000),
    "cut": (through(PACKED, moved("v_and_b32", RESULT, Literal32(0xFFFF0000, False), WORD)), 0x40000000),
    "inserted": (through(PACKED, moved("v_bfi_b32", RESULT, Literal32(0xFFFF, False), HIGH, WORD)), 0x40004000),
    "copied": (through(PACKED, moved("v_mov_b32", v(23), WORD), moved("v_mov_b32", RESULT, v(23))), 0x40003C00),
    "bytes crossed": (through(PACKED, moved("v_perm_b32", RESULT, WORD, WORD, Literal32(0x04050607, False))), 0x003C0040),
    "summed up": (
        through(PACKED, moved("v_lshrrev_b32", v(23), Literal32(16, True), WORD), moved("v_add_f16", v(24), v(23), WORD),
                moved("v_cvt_f32_f16", RESULT, v(24))),
        f32(3.0),
    ),
    "one half replaced": (through(PACKED, moved("v_add_f16", v(22, True), LOW, LOW), moved("v_mov_b32", RESULT, WORD)), 0x40003C00),
    "chosen": (through(moved("v_cndmask_b32", RESULT, LOW, HIGH, Literal32(0xFFFFFFFF, True))), 0x4000),
}  # fmt: skip
"""From 1.0 and 2.0."""


@pytest.mark.parametrize("name", CHAINS)
def test_halves_stay_what_they_are_wherever_they_are_moved(name: str):
    chain, wanted = CHAINS[name]
    rules = compiled([[_loaded(), *chain]], 8, hosts()[-1])

    (given,) = rules.run(0, [np.array([f32(number)], np.uint64) for number in (1.0, 2.0)])

    assert hex(int(given[0])) == hex(wanted)


def _loaded() -> Instruction:
    """An instruction that reads both operands, so that they are loaded, and changes nothing that is looked at."""
    return moved("v_xor_b32", v(30), A, B)


def test_a_nan_becomes_canonical_where_its_bits_are_looked_at():
    nan = Literal32(NAN_OF_MANY, False)
    sum_ = [_loaded(), moved("v_add_f32", LOW, A, nan)]
    looked_at = [*sum_, moved("v_xor_b32", RESULT, LOW, Literal32(0, True))]
    chosen = [*sum_, moved("v_cndmask_b32", RESULT, LOW, Literal32(0xFFFFFFC0, False), Literal32(0xFFFFFFFF, True))]
    moved_only = [_loaded(), moved("v_mov_b32", LOW, nan), moved("v_mov_b32", RESULT, LOW)]
    rules = compiled([looked_at, chosen, moved_only], 8, hosts()[-1])

    results = [rules.run(number, [np.array([0], np.uint64)] * 2)[0][0] for number in range(3)]

    # An integer that looks like a NaN stays one when it is chosen, and a move looks at nothing.
    assert [hex(int(bits)) for bits in results] == ["0x7fc00000", "0xffffffc0", hex(NAN_OF_MANY)]
