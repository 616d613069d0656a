"""Conversions between f32, f16 and integers, on bit patterns; integers are Python's, patterns are unsigned.

`narrow_*` round an ALU result to a half destination (NaN canonical); `single_to_half_*` are `cov` (NaN quiet, its top ten
payload bits kept). Both flush a result that is below the smallest normal f16 after rounding to eleven bits. Toward zero
saturates to the largest finite number, infinities stay; to nearest even, and away from zero, overflow is infinity.
"""

import math
from collections.abc import Callable

from autoclave.emulator.scalar.patterns import (
    INFINITY16,
    INFINITY32,
    LARGEST16,
    NAN16,
    NAN32,
    SIGN32,
    exact16,
    exact32,
    is_nan16,
    is_nan32,
    round16,
    round32,
    value32,
)


def half_to_single(a: int) -> int:
    """Exact, denormals included; a NaN keeps sign and payload and becomes quiet."""
    if is_nan16(a):
        return (a & 0x8000) << 16 | NAN32 | (a & 0x3FF) << 13
    if a & INFINITY16 == INFINITY16:
        return (a & 0x8000) << 16 | INFINITY32
    return round32(exact16(a))


def narrow_toward_zero(a: int) -> int:
    """An f32 ALU result to a half destination."""
    if is_nan32(a):
        return NAN16
    sign, magnitude = a >> 16 & 0x8000, a & 0x7FFFFFFF
    if magnitude == INFINITY32:
        return sign | INFINITY16
    if magnitude < 0x38800000:
        return sign
    return sign | min(magnitude - (112 << 23) >> 13, LARGEST16)


def narrow_nearest_even(a: int) -> int:
    """An f32 that stands for the result of an f16 operation to f16."""
    return round16(value32(a))


def single_to_half_toward_zero(a: int) -> int:
    """cov.f32f16 without a rounding."""
    return _half_nan(a) if is_nan32(a) else narrow_toward_zero(a)


def single_to_half_nearest_even(a: int) -> int:
    """cov.f32f16 (even)."""
    return _half_nan(a) if is_nan32(a) else narrow_nearest_even(a)


def single_to_half_toward_positive(a: int) -> int:
    """cov.f32f16 (pos)."""
    return _away_from_zero(a) if a < SIGN32 else single_to_half_toward_zero(a)


def single_to_half_toward_negative(a: int) -> int:
    """cov.f32f16 (neg)."""
    return _away_from_zero(a) if a >= SIGN32 else single_to_half_toward_zero(a)


def _away_from_zero(a: int) -> int:
    if is_nan32(a):
        return _half_nan(a)
    sign, magnitude = a >> 16 & 0x8000, a & 0x7FFFFFFF
    if magnitude <= 0x387FE000:
        return sign
    return sign | min(magnitude - (112 << 23) + 0x1FFF >> 13, INFINITY16)


def _half_nan(a: int) -> int:
    return a >> 16 & 0x8000 | NAN16 | a >> 13 & 0x3FF


def single_to_integer_toward_zero(a: int, lowest: int, highest: int) -> int:
    """Truncated and saturated to [lowest, highest]; NaN gives 0. The result is signed."""
    return _to_integer(a, math.trunc, lowest, highest)


def single_to_integer_nearest_even(a: int, lowest: int, highest: int) -> int:
    """Rounded to the nearest, ties to even, and saturated; NaN gives 0."""
    return _to_integer(a, round, lowest, highest)


def single_to_integer_toward_positive(a: int, lowest: int, highest: int) -> int:
    """Rounded up and saturated; NaN gives 0."""
    return _to_integer(a, math.ceil, lowest, highest)


def single_to_integer_toward_negative(a: int, lowest: int, highest: int) -> int:
    """Rounded down and saturated; NaN gives 0."""
    return _to_integer(a, math.floor, lowest, highest)


def _to_integer(a: int, rounding: Callable[[float], int], lowest: int, highest: int) -> int:
    """An f32, denormals too: rounding up makes 1 of the smallest."""
    if is_nan32(a):
        return 0
    if a & 0x7FFFFFFF == INFINITY32:
        return lowest if a & SIGN32 else highest
    return max(lowest, min(highest, rounding(exact32(a))))


def integer_to_single_toward_zero(value: int) -> int:
    """A signed or unsigned integer of up to 32 bits, toward zero."""
    magnitude = abs(value)
    excess = max(magnitude.bit_length() - 24, 0)
    return (SIGN32 if value < 0 else 0) | round32(float(magnitude >> excess << excess))


def integer_to_single_nearest_even(value: int) -> int:
    """To nearest even."""
    return round32(float(value))


def integer_to_single_toward_positive(value: int) -> int:
    """Upward."""
    return integer_to_single_toward_zero(value) if value < 0 else _integer_away_from_zero(value)


def integer_to_single_toward_negative(value: int) -> int:
    """Downward."""
    return _integer_away_from_zero(value) if value < 0 else integer_to_single_toward_zero(value)


def _integer_away_from_zero(value: int) -> int:
    magnitude = abs(value)
    excess = max(magnitude.bit_length() - 24, 0)
    rounded = -(-magnitude >> excess) << excess
    return (SIGN32 if value < 0 else 0) | round32(float(rounded))


def integer_to_half_toward_zero(value: int) -> int:
    """Toward zero, saturating to the largest finite f16."""
    return narrow_toward_zero(integer_to_single_toward_zero(value))


def integer_to_half_nearest_even(value: int) -> int:
    """To nearest even; beyond the largest f16: infinity."""
    return round16(float(value))


def integer_to_half_toward_positive(value: int) -> int:
    """Upward; beyond the largest f16: infinity."""
    return single_to_half_toward_positive(integer_to_single_toward_positive(value))


def integer_to_half_toward_negative(value: int) -> int:
    """Downward; below the lowest f16: -infinity."""
    return single_to_half_toward_negative(integer_to_single_toward_negative(value))
