"""Moves, selections, shifts, bit fields and other operations that know of no numbers."""

from collections.abc import Callable
from typing import Final

from autoclave.emulator.rdna4.lanewise.integers import signed
from autoclave.emulator.rdna4.lanewise.operation import LaneOperation, operations

_WORD: Final = 0xFFFFFFFF


def identity(a: int) -> int:
    """A move."""
    return a


def select(a: int, b: int, mask: int) -> int:
    """b where the lane's bit is set, else a."""
    return b if mask else a


def left(width: int) -> Callable[[int, int], int]:
    """A shift to the left by an amount modulo the width."""
    mask = (1 << width) - 1
    return lambda a, amount: a << (amount & width - 1) & mask


def right(width: int) -> Callable[[int, int], int]:
    """A shift to the right that brings zeros in."""
    return lambda a, amount: a >> (amount & width - 1)


def right_signed(width: int) -> Callable[[int, int], int]:
    """A shift to the right that brings the sign in."""
    mask = (1 << width) - 1
    return lambda a, amount: signed(a, width) >> (amount & width - 1) & mask


def reversed_operands(function: Callable[[int, int], int]) -> Callable[[int, int], int]:
    """The amount comes first (v_lshlrev)."""
    return lambda a, b: function(b, a)


def reversed_bits(width: int) -> Callable[[int], int]:
    """The bits in the opposite order."""
    return lambda a: int(f"{a:0{width}b}"[::-1], 2)


def leading_zeros(width: int) -> Callable[[int], int]:
    """How many zeros are above the highest one; -1 if there is no one."""
    return lambda a: width - a.bit_length() if a else _WORD


def trailing_zeros(a: int) -> int:
    """How many zeros are below the lowest one; -1 if there is no one."""
    return (a & -a).bit_length() - 1 if a else _WORD


def leading_signs(width: int) -> Callable[[int], int]:
    """How many of the highest bits are as the highest; -1 if all are."""
    mask = (1 << width) - 1

    def count(a: int) -> int:
        changes = a ^ mask if a >> (width - 1) else a
        return width - changes.bit_length() if changes else _WORD

    return count


def extract(a: int, offset: int, width: int) -> int:
    """`width` bits from `offset` on, both modulo 32."""
    return a >> (offset & 31) & ((1 << (width & 31)) - 1)


def extract_signed(a: int, offset: int, width: int) -> int:
    """The same of a signed number, its highest bit extended; a width of 0 gives 0."""
    width &= 31
    return signed(signed(a, 32) >> (offset & 31), width) & _WORD if width else 0


def permute(a: int, b: int, selectors: int) -> int:
    """Each byte of the result by a selector: 0 to 7 a byte of b, then a; 8 to 11 the sign of byte 1, 3, 5, 7; 12 zero; else ones."""
    data = a << 32 | b
    result = 0
    for shift in (0, 8, 16, 24):
        selector = selectors >> shift & 0xFF
        if selector < 8:
            byte = data >> 8 * selector & 0xFF
        elif selector < 12:
            byte = 0xFF if data >> 16 * (selector - 8) + 15 & 1 else 0
        else:
            byte = 0 if selector == 12 else 0xFF
        result |= byte << shift
    return result


def _masked_count_low(lane: int, a: int, b: int) -> int:
    """b and how many of the mask's bits belong to lanes below."""
    return (a & ((1 << min(lane, 32)) - 1)).bit_count() + b & _WORD


def _masked_count_high(lane: int, a: int, b: int) -> int:
    """The same of the lanes from 32 on, of which a wave has none."""
    return (a & ((1 << max(lane - 32, 0)) - 1)).bit_count() + b & _WORD


def _swap(a: int, b: int) -> tuple[int, int]:
    return a, b


BITS: Final = operations(
    {
        "v_mov_b32": identity,
        "v_mov_b16": identity,
        "v_swap_b32": _swap,
        "v_swap_b16": _swap,
        "v_cndmask_b32": select,
        "v_cndmask_b16": select,
        "v_not_b32": lambda a: a ^ _WORD,
        "v_not_b16": lambda a: a ^ 0xFFFF,
        "v_and_b32": lambda a, b: a & b,
        "v_or_b32": lambda a, b: a | b,
        "v_xor_b32": lambda a, b: a ^ b,
        "v_xnor_b32": lambda a, b: a ^ b ^ _WORD,
        "v_and_b16": lambda a, b: a & b,
        "v_or_b16": lambda a, b: a | b,
        "v_xor_b16": lambda a, b: a ^ b,
        "v_or3_b32": lambda a, b, c: a | b | c,
        "v_xor3_b32": lambda a, b, c: a ^ b ^ c,
        "v_and_or_b32": lambda a, b, c: a & b | c,
        "v_lshlrev_b16": reversed_operands(left(16)),
        "v_lshlrev_b32": reversed_operands(left(32)),
        "v_lshlrev_b64": reversed_operands(left(64)),
        "v_lshrrev_b16": reversed_operands(right(16)),
        "v_lshrrev_b32": reversed_operands(right(32)),
        "v_lshrrev_b64": reversed_operands(right(64)),
        "v_ashrrev_i16": reversed_operands(right_signed(16)),
        "v_ashrrev_i32": reversed_operands(right_signed(32)),
        "v_ashrrev_i64": reversed_operands(right_signed(64)),
        "v_lshl_add_u32": lambda a, b, c: (a << (b & 31)) + c & _WORD,
        "v_add_lshl_u32": lambda a, b, c: a + b << (c & 31) & _WORD,
        "v_lshl_or_b32": lambda a, b, c: a << (b & 31) & _WORD | c,
        "v_xad_u32": lambda a, b, c: (a ^ b) + c & _WORD,
        "v_bfe_u32": extract,
        "v_bfe_i32": extract_signed,
        "v_bfi_b32": lambda a, b, c: a & b | ~a & c,
        "v_bfm_b32": lambda a, b: (1 << (a & 31)) - 1 << (b & 31) & _WORD,
        "v_alignbit_b32": lambda a, b, c: (a << 32 | b) >> (c & 31) & _WORD,
        "v_alignbyte_b32": lambda a, b, c: (a << 32 | b) >> 8 * (c & 3) & _WORD,
        "v_perm_b32": permute,
        "v_bfrev_b32": reversed_bits(32),
        "v_clz_i32_u32": leading_zeros(32),
        "v_ctz_i32_b32": trailing_zeros,
        "v_cls_i32": leading_signs(32),
        "v_bcnt_u32_b32": lambda a, b: a.bit_count() + b & _WORD,
    }
) | {
    "v_mbcnt_lo_u32_b32": LaneOperation(_masked_count_low, takes="lane"),
    "v_mbcnt_hi_u32_b32": LaneOperation(_masked_count_high, takes="lane"),
}
"""By name."""
