"""Operations of the wave interpreter across lanes, and products of matrices."""

import numpy as np
import pytest
from emulator.rdna4.wave_programs import ADDRESSES, in_lanes, ins, interpret, launch_of
from numpy.typing import NDArray

from autoclave.emulator.rdna4.instruction import Register, Source
from autoclave.emulator.rdna4.interpreter_lanes import swizzled_lane

HUNDREDS = [ins("v_add_nc_u32", "v2", "v0", 100)]
"""v2: the lane's number plus 100."""


def test_read_lane() -> None:
    program = [*HUNDREDS, ins("s_mov_b32", "s4", 33), ins("v_readlane_b32", "s5", "v2", "s4")]
    assert in_lanes(program, "s5", lanes=2) == [101, 101]  # 33 modulo 32


def test_read_lane_that_is_off() -> None:
    program = [*HUNDREDS, ins("s_mov_b32", "exec", 1), ins("v_readlane_b32", "s5", "v2", 3)]
    assert in_lanes(program, "s5", lanes=4) == [103] * 4


def test_read_first_lane() -> None:
    program = [*HUNDREDS, ins("s_mov_b32", "exec", 0b1100), ins("v_readfirstlane_b32", "s5", "v2")]
    assert in_lanes(program, "s5", lanes=4) == [102] * 4


def test_read_first_lane_of_none() -> None:
    program = [*HUNDREDS, ins("s_mov_b32", "exec", 0), ins("v_readfirstlane_b32", "s5", "v2")]
    assert in_lanes(program, "s5", lanes=4) == [100] * 4


def test_write_lane_whatever_exec_is() -> None:
    program = [ins("v_mov_b32", "v1", 1), ins("s_mov_b32", "exec", 0), ins("v_writelane_b32", "v1", 50, 2)]
    assert in_lanes(program, lanes=4) == [1, 1, 50, 1]


def test_permute_within_rows_of_16() -> None:
    # Selectors 0xf, 0xe, ..., 0 reverse a row.
    program = [*HUNDREDS, ins("s_mov_b32", "s4", 0x89ABCDEF), ins("s_mov_b32", "s5", 0x01234567)]
    reversed_rows = [*range(115, 99, -1), *range(131, 115, -1)]
    assert in_lanes([*program, ins("v_permlane16_b32", "v1", "v2", "s4", "s5")]) == reversed_rows
    assert (
        in_lanes([*program, ins("v_permlanex16_b32", "v1", "v2", "s4", "s5")])
        == reversed_rows[16:] + reversed_rows[:16]
    )


def test_permute_by_selectors_of_each_lane() -> None:
    program = [*HUNDREDS, ins("v_sub_nc_u32", "v3", 15, "v0"), ins("v_permlane16_var_b32", "v1", "v2", "v3")]
    assert in_lanes(program) == [*range(115, 99, -1), *range(131, 115, -1)]


def test_count_of_lanes_below() -> None:
    program = [ins("v_mbcnt_lo_u32_b32", "v1", 0b10110, 10), ins("v_mbcnt_hi_u32_b32", "v1", 0xFFFFFFFF, "v1")]
    assert in_lanes(program, lanes=6) == [10, 10, 11, 12, 12, 13]


def test_backward_permute_reads_zero_from_lanes_that_are_off() -> None:
    program = [
        *HUNDREDS,
        ins("v_mov_b32", "v1", 7),
        ins("v_sub_nc_u32", "v3", 3, "v0"),
        ins("v_lshlrev_b32", "v3", 2, "v3"),
    ]
    permute = ins("ds_bpermute_b32", "v1", "v3", "v2")
    assert in_lanes([*program, permute], lanes=4) == [103, 102, 101, 100]
    assert in_lanes([*program, ins("s_mov_b32", "exec", 0b0111), permute], lanes=4) == [0, 102, 101, 7]


def test_forward_permute() -> None:
    # Lanes 0 and 1 send to lane 1, lane 2 to lane 0.
    program = [
        *HUNDREDS,
        ins("v_mov_b32", "v3", 4),
        ins("v_cmp_eq_u32", "vcc", 2, "v0"),
        ins("v_cndmask_b32", "v3", "v3", 0, "vcc"),
        ins("ds_permute_b32", "v1", "v3", "v2"),
    ]
    assert in_lanes(program, lanes=3) == [102, 101, 0]


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (0x8000 | 0b00_01_10_11, [3, 2, 1, 0, 7, 6, 5, 4]),  # quads reversed
        (0x001F | 1 << 10, [1, 0, 3, 2, 5, 4, 7, 6]),  # xor 1
        (0x0018 | 2 << 5, [2, 2, 2, 2, 2, 2, 2, 2]),  # the third of each eight
        (0xC000 | 1 << 5, [1, 2, 3, 4, 5, 6, 7, 8]),  # rotated by one
        (0xC400 | 1 << 5, [31, 0, 1, 2, 3, 4, 5, 6]),  # the other way
        (0xE000, [0, 16, 8, 24, 4, 20, 12, 28]),  # bits reversed
    ],
)
def test_swizzle(offset: int, expected: list[int]) -> None:
    assert [swizzled_lane(offset, lane) for lane in range(8)] == expected
    assert in_lanes([*HUNDREDS, ins("ds_swizzle_b32", "v1", "v2", immediate=offset)])[:8] == [
        100 + at for at in expected
    ]


def test_swap() -> None:
    program = [ins("v_mov_b32", "v1", 5), *HUNDREDS, ins("v_swap_b32", ("v1", "v2"), "v2", encoding="VOP1")]
    assert in_lanes(program, "v1", lanes=2) == [100, 101]
    assert in_lanes(program, "v2", lanes=2) == [5, 5]


# Matrices: the layout is that of tinygrad's tensor cores and of LLVM's tests, worked out here by index.


def lanes_of_rows(matrix: NDArray[np.uint16]) -> NDArray[np.uint16]:
    """A matrix of 16 rows as lanes hold A: lane l, element i is row l % 16, column 8 * (l / 16) + i."""
    return np.array([[matrix[lane % 16, 8 * (lane // 16) + at] for at in range(8)] for lane in range(32)], matrix.dtype)


def product(
    name: str, a: NDArray[np.float32], b: NDArray[np.float32], c: NDArray[np.float32] | None, negated: bool = False
) -> NDArray[np.float32]:
    """D of a WMMA of matrices whose elements fit the types of `name`."""
    _, to, _, of = name.removeprefix("v_").split("_")
    words = [packed(lanes_of_rows(encoded(a, of))), packed(lanes_of_rows(encoded(np.ascontiguousarray(b.T), of)))]
    if c is not None:
        accumulator = lanes_of_rows(encoded(np.ascontiguousarray(c.T), to))
        words.append(accumulator if to == "f32" else packed(accumulator))
    data = np.concatenate([np.ascontiguousarray(one).view(np.uint32) for one in words], axis=1)
    width = data.shape[1]
    output = np.zeros((32, 8 if to == "f32" else 4), np.uint32)
    results = output.shape[1]
    a_source: str | Source = "v[8:11]"
    if negated:
        a_source = Source(Register("v", 8, 4), "f16x8", negated=True, negated_second=True)
    accumulated: str | int = 0 if c is None else f"v[16:{15 + results}]"
    program = [
        *ADDRESSES,
        ins("v_mul_lo_u32", "v1", "v0", 4 * width),
        *(ins("global_load_b32", f"v{8 + at}", "v1", "s[102:103]", immediate=4 * at) for at in range(width)),
        ins(name, f"v[32:{31 + results}]", a_source, "v[12:15]", accumulated),
        ins("v_mul_lo_u32", "v1", "v0", 4 * results),
        *(ins("global_store_b32", (), "v1", f"v{32 + at}", "s[100:101]", immediate=4 * at) for at in range(results)),
    ]
    interpret(launch_of(program, [output, data]))
    elements = output.view(np.uint16).reshape(32, 8) if to != "f32" else output
    bits = np.array([[elements[column + 16 * (row // 8), row % 8] for column in range(16)] for row in range(16)])
    return decoded(bits, to)


def encoded(matrix: NDArray[np.float32], kind: str) -> NDArray[np.uint16]:
    if kind == "f16":
        return matrix.astype(np.float16).view(np.uint16)
    bits = matrix.astype(np.float32).view(np.uint32)
    return bits if kind == "f32" else (bits >> 16).astype(np.uint16)  # type: ignore[return-value]


def decoded(bits: NDArray[np.uint16], kind: str) -> NDArray[np.float32]:
    if kind == "f16":
        return bits.astype(np.uint16).view(np.float16).astype(np.float32)
    return (bits.astype(np.uint32) << (16 if kind == "bf16" else 0)).astype(np.uint32).view(np.float32)


def packed(halves: NDArray[np.uint16]) -> NDArray[np.uint32]:
    return np.ascontiguousarray(halves).view(np.uint32)


def integers(seed: int) -> NDArray[np.float32]:
    """Small integers: sums of their products are exact in all types but for the last rounding."""
    return np.random.default_rng(seed).integers(-4, 5, (16, 16)).astype(np.float32)


@pytest.mark.parametrize(
    "name",
    ["v_wmma_f32_16x16x16_f16", "v_wmma_f32_16x16x16_bf16", "v_wmma_f16_16x16x16_f16", "v_wmma_bf16_16x16x16_bf16"],
)
def test_product_of_matrices(name: str) -> None:
    a, b, c = integers(1), integers(2), integers(3)
    assert np.abs(a @ b + c).max() < 256  # exact in bf16
    assert np.array_equal(product(name, a, b, c), a @ b + c)


def test_product_without_an_accumulator() -> None:
    a, b = integers(4), integers(5)
    assert np.array_equal(product("v_wmma_f32_16x16x16_f16", a, b, None), a @ b)


def test_negated_matrix() -> None:
    a, b = integers(4), integers(5)
    assert np.array_equal(product("v_wmma_f32_16x16x16_f16", a, b, None, negated=True), -(a @ b))


def test_products_are_added_one_after_the_other_with_one_rounding_each() -> None:
    # 2^24 + 1 rounds back to 2^24 each time: one after the other, sixteen ones are lost; sixteen at once would not be.
    a, b, c = np.ones((16, 16), np.float32), np.ones((16, 16), np.float32), np.full((16, 16), 2.0**24, np.float32)
    assert np.array_equal(product("v_wmma_f32_16x16x16_f16", a, b, c), c)
    # With a first product of 2 the next one makes a tie that goes up to 2^24 + 4; there the others are lost again.
    a[:, 0] = 2.0
    assert np.array_equal(product("v_wmma_f32_16x16x16_f16", a, b, c), c + 4)


def test_halves_of_the_result_are_rounded_once_at_the_end() -> None:
    # 2048 + 16 * 1: each sum is exact in f32; in f16 2048 + 1 would round back to 2048 every time.
    ones, c = np.ones((16, 16), np.float32), np.full((16, 16), 2048, np.float32)
    assert np.array_equal(product("v_wmma_f16_16x16x16_f16", ones, ones, c), c + 16)


def test_not_a_number_is_canonical() -> None:
    a, b = integers(1), integers(2)
    a[3, 5] = np.nan
    found = product("v_wmma_f32_16x16x16_f16", a, b, None)
    assert {int(bits) for bits in found[3].view(np.uint32)} == {0x7FC00000}
    assert not np.isnan(np.delete(found, 3, axis=0)).any()


def test_matrices_of_subnormal_halves() -> None:
    tiny = np.full((16, 16), 2.0**-24, np.float32)
    assert np.array_equal(product("v_wmma_f32_16x16x16_f16", tiny, tiny, None), np.full((16, 16), 16 * 2.0**-48))
