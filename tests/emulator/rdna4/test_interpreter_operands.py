"""Operands of the wave interpreter: halves, pairs, modifiers, masks, EXEC, pairs of operations, DPP."""

import numpy as np
import pytest
from emulator.rdna4.wave_programs import dual, in_lanes, ins

from autoclave.emulator.rdna4.instruction import Dpp, Register, Source


def half(value: float) -> int:
    return int(np.float16(value).view(np.uint16))


def single(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


def test_each_lane_computes_its_own() -> None:
    assert in_lanes([ins("v_mul_lo_u32", "v1", "v0", "v0")]) == [lane * lane for lane in range(32)]


def test_lanes_without_a_thread_do_nothing() -> None:
    # A workgroup of 4 threads: what lane 31 would see of the others is unaffected by what they would write.
    assert in_lanes([ins("v_add_nc_u32", "v1", "v0", 7)], lanes=4) == [7, 8, 9, 10]


def test_half_registers() -> None:
    program = [ins("v_mov_b32", "v2", 0x22221111), ins("v_mov_b32", "v1", 0xAAAABBBB)]
    low = [*program, ins("v_mov_b16", "v1", "v2.h", encoding="VOP3")]
    high = [*program, ins("v_mov_b16", "v1.h", "v2", encoding="VOP3")]
    assert in_lanes(low, lanes=1) == [0xAAAA2222]
    assert in_lanes(high, lanes=1) == [0x1111BBBB]


def test_pairs_of_registers() -> None:
    # (0x1_80000000 + lane) << 4
    program = [
        ins("v_add_nc_u32", "v2", "v0", 0x80000000),
        ins("v_mov_b32", "v3", 1),
        ins("v_lshlrev_b64", "v[4:5]", 4, "v[2:3]"),
    ]
    assert in_lanes([*program, ins("v_mov_b32", "v1", "v4")], lanes=2) == [0x00000000, 0x00000010]
    assert in_lanes([*program, ins("v_mov_b32", "v1", "v5")], lanes=2) == [0x18, 0x18]


def test_two_bytes_are_half_a_register() -> None:
    # (300, -5) as bytes: 255, 0
    program = [ins("v_mov_b32", "v1", 0x1111), ins("v_mov_b32", "v2", 300 | (0x10000 - 5) << 16)]
    assert in_lanes([*program, ins("v_sat_pk_u8_i16", "v1.h", "v2")], lanes=1) == [0x00FF1111]


def test_four_registers_together() -> None:
    # Of the word only the lowest byte is not 0 and counts: |0 - 1|, added to 10, 20, 30, 40.
    program = [ins("v_mov_b32", f"v{8 + at}", 10 * (at + 1)) for at in range(4)]
    program += [ins("v_mov_b32", f"v{2 + at}", 0) for at in range(2)]
    program += [ins("v_mqsad_u32_u8", "v[4:7]", "v[2:3]", 1, "v[8:11]")]
    assert [in_lanes(program, f"v{4 + at}", lanes=1)[0] for at in range(4)] == [11, 21, 31, 41]


@pytest.mark.parametrize(("text", "expected"), [("v2", -3.0), ("-v2", 3.0), ("|v2|", 3.0), ("-|v2|", -3.0)])
def test_modifiers_of_floats(text: str, expected: float) -> None:
    program = [ins("v_mov_b32", "v2", single(-3.0)), ins("v_add_f32", "v1", text, 0)]
    assert in_lanes(program, lanes=1) == [single(expected)]


def test_clamp_and_output_modifier() -> None:
    program = [ins("v_mov_b32", "v2", single(0.75)), ins("v_mov_b32", "v3", single(-1.5))]
    assert in_lanes([*program, ins("v_add_f32", "v1", "v2", 0, multiplier=1)], lanes=1) == [single(1.5)]
    assert in_lanes([*program, ins("v_add_f32", "v1", "v2", 0, multiplier=2, clamp=True)], lanes=1) == [single(1.0)]
    assert in_lanes([*program, ins("v_add_f32", "v1", "v3", 0, clamp=True)], lanes=1) == [0]


def test_clamp_of_integers_saturates() -> None:
    program = [ins("v_mov_b32", "v2", 0xFFFFFFF0), ins("v_add_nc_u32", "v1", "v2", 0x20, clamp=True)]
    assert in_lanes(program, lanes=1) == [0xFFFFFFFF]


def test_packed_halves_are_selected_and_negated() -> None:
    # v2 = (1, 2), v3 = (10, 20); swapped v2 with a negated upper result: (2 + 10, -1 + 20)
    swapped = Source(Register("v", 2), "f16x2", high=True, high_of_second=False, negated_second=True)
    program = [
        ins("v_mov_b32", "v2", half(1) | half(2) << 16),
        ins("v_mov_b32", "v3", half(10) | half(20) << 16),
        ins("v_pk_add_f16", "v1", swapped, "v3"),
    ]
    assert in_lanes(program, lanes=1) == [half(12) | half(19) << 16]


def test_mixed_precision_reads_halves_or_words() -> None:
    # v_fma_mix_f32: upper half of v2 (2) * the single v3 (1.5) + |lower half of v2| (|-1|)
    upper = Source(Register("v", 2, high=True), "f16", high=True, high_of_second=True)
    absolute = Source(Register("v", 2), "f16", absolute=True, high_of_second=True, negated_second=True)
    program = [
        ins("v_mov_b32", "v2", half(-1) | half(2) << 16),
        ins("v_mov_b32", "v3", single(1.5)),
        ins("v_fma_mix_f32", "v1", upper, "v3", absolute),
    ]
    assert in_lanes(program, lanes=1) == [single(4.0)]


def test_comparison_writes_a_mask_and_select_reads_it() -> None:
    program = [ins("v_cmp_gt_u32", "s4", 3, "v0"), ins("v_cndmask_b32", "v1", 10, 20, "s4")]
    assert in_lanes(program, lanes=5) == [20, 20, 20, 10, 10]
    assert in_lanes([*program, ins("v_mov_b32", "v1", "s4")], lanes=5) == [0b111] * 5


def test_comparison_writes_zeros_for_lanes_that_are_off() -> None:
    program = [ins("s_mov_b32", "exec", 0b0110), ins("v_cmp_lt_u32", "s4", "v0", 100), ins("v_mov_b32", "v1", "s4")]
    assert in_lanes(program, lanes=4) == [0, 0b0110, 0b0110, 0]


def test_carries() -> None:
    # 0xffffffff + lane carries from lane 1 on; 5 + 0 + carry
    program = [ins("v_add_co_u32", ("v2", "s4"), 0xFFFFFFFF, "v0"), ins("v_add_co_ci_u32", ("v1", "null"), 5, 0, "s4")]
    assert in_lanes(program, lanes=3) == [5, 6, 6]


def test_only_lanes_of_exec_are_written() -> None:
    program = [ins("v_mov_b32", "v1", 1), ins("s_mov_b32", "exec", 0b1010), ins("v_mov_b32", "v1", 2)]
    assert in_lanes(program, lanes=5) == [1, 2, 1, 2, 1]


def test_exec_has_no_lanes_without_a_thread() -> None:
    program = [ins("s_mov_b32", "exec", 0xFFFFFFFF), ins("v_mov_b32", "v1", "exec")]
    assert in_lanes(program, lanes=5) == [0b11111] * 5


def test_saveexec() -> None:
    program = [
        ins("v_mov_b32", "v1", 1),
        ins("s_mov_b32", "s4", 0b0110),
        ins("s_and_saveexec_b32", "s5", "s4"),
        ins("v_mov_b32", "v1", 2),
        ins("s_or_b32", "exec", "exec", "s5"),
        ins("v_add_nc_u32", "v1", "v1", 10),
    ]
    assert in_lanes(program, lanes=4) == [11, 12, 12, 11]


def test_comparison_into_exec() -> None:
    program = [ins("v_mov_b32", "v1", 1), ins("v_cmpx_eq_u32", (), 2, "v0"), ins("v_mov_b32", "v1", 5)]
    assert in_lanes(program, lanes=4) == [1, 1, 5, 1]


def test_a_pair_of_operations_reads_before_it_writes() -> None:
    # v2 and v3 exchange their values
    exchange = dual(
        ins("v_dual_mov_b32", "v2", "v3", encoding="VOPD"), ins("v_dual_mov_b32", "v3", "v2", encoding="VOPD")
    )
    program = [ins("v_mov_b32", "v2", 100), ins("v_mov_b32", "v3", 7), exchange, ins("v_sub_nc_u32", "v1", "v2", "v3")]
    assert in_lanes(program, lanes=1) == [(7 - 100) & 0xFFFFFFFF]


def test_old_destination_is_a_source() -> None:
    program = [ins("v_mov_b32", "v1", single(1)), ins("v_fmac_f32", "v1", single(2), "v1")]
    assert in_lanes(program, lanes=1) == [single(3)]


def test_scalars() -> None:
    program = [
        ins("s_mov_b32", "s4", 0xFFFFFFFF),
        ins("s_add_co_u32", "s5", "s4", 2),
        ins("s_cselect_b32", "s6", 10, 20),  # the sum carried
        ins("s_mov_b64", "s[8:9]", 3),
        ins("s_lshl_b64", "s[8:9]", "s[8:9]", 31),
        ins("s_add_co_u32", "s6", "s6", "s9"),
        ins("s_add_co_u32", "s6", "s6", "s5"),
        ins("s_movk_i32", "s7", immediate=-1),
        ins("s_addk_co_i32", "s7", immediate=-2),
        ins("s_sub_co_i32", "s6", "s6", "s7"),
    ]
    assert in_lanes([*program], "s6", lanes=1) == [10 + 1 + 1 + 3]


def test_null_reads_zero_and_swallows_writes() -> None:
    program = [ins("s_mov_b32", "null", 5), ins("s_add_co_u32", "s4", "null", 1)]
    assert in_lanes(program, "s4", lanes=1) == [1]


def quads(*lanes: int) -> int:
    """DPP_CTRL of a permutation within each four lanes."""
    return sum(lane << 2 * place for place, lane in enumerate(lanes))


_SHIFT_RIGHT = 0x111
"""DPP_CTRL: each lane reads the one below, within rows of 16."""


def with_dpp(control: int, exec_mask: int = 0xFFFFFFFF, lanes: int = 32, **fields: object) -> list[int]:
    """What v_mov with DPP makes of the lanes' numbers plus 100, in registers that hold 1."""
    dpp = Dpp(
        control,
        **(
            {"selectors": None, "row_mask": 15, "bank_mask": 15, "bound_control": False, "fetch_inactive": False}
            | fields
        ),
    )  # type: ignore[arg-type]
    program = [
        ins("v_add_nc_u32", "v2", "v0", 100),
        ins("v_mov_b32", "v1", 1),
        ins("s_mov_b32", "exec", exec_mask),
        ins("v_mov_b32", "v1", "v2", encoding="VOP1", dpp=dpp),
    ]
    return in_lanes(program, lanes=lanes)


def test_dpp_permutes_quads() -> None:
    assert with_dpp(quads(3, 2, 1, 0), lanes=8) == [103, 102, 101, 100, 107, 106, 105, 104]


def test_dpp_shift_leaves_lanes_without_a_source() -> None:
    assert with_dpp(_SHIFT_RIGHT)[:3] == [1, 100, 101]
    assert with_dpp(_SHIFT_RIGHT)[15:18] == [114, 1, 116]
    assert with_dpp(_SHIFT_RIGHT, bound_control=True)[15:18] == [114, 0, 116]


def test_dpp_of_lanes_that_are_off() -> None:
    on = 0b1100  # lanes 2 and 3 are on; 2 reads lane 1
    assert with_dpp(_SHIFT_RIGHT, on, lanes=4) == [1, 1, 1, 102]
    assert with_dpp(_SHIFT_RIGHT, on, lanes=4, bound_control=True) == [1, 1, 0, 102]
    assert with_dpp(_SHIFT_RIGHT, on, lanes=4, fetch_inactive=True) == [1, 1, 101, 102]


def test_dpp_masks_rows_and_banks() -> None:
    assert with_dpp(quads(0, 0, 0, 0), row_mask=0b10)[12:20] == [1, 1, 1, 1, 116, 116, 116, 116]
    assert with_dpp(quads(0, 0, 0, 0), bank_mask=0b0010, lanes=12) == [1] * 4 + [104] * 4 + [1] * 4


def test_dpp8() -> None:
    selectors = (7, 6, 5, 4, 3, 2, 1, 0)
    assert with_dpp(0, selectors=selectors, lanes=8) == [107, 106, 105, 104, 103, 102, 101, 100]
    assert with_dpp(0, 0b1000_0001, selectors=selectors, lanes=8) == [107, 1, 1, 1, 1, 1, 1, 100]
    assert with_dpp(0, 0b0000_0001, selectors=selectors, lanes=8) == [0, 1, 1, 1, 1, 1, 1, 1]
