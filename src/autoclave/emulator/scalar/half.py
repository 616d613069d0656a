"""f16 arithmetic on bit patterns: rounds to nearest even, flushes denormal operands and results, NaN results canonical.

Sums and products are exact in binary64, or rounded there innocuously (53 >= 2 * 11 + 2). Functions that f32 has too are
taken through f32, which holds every f16.
"""

from autoclave.emulator.scalar import single
from autoclave.emulator.scalar.conversion import half_to_single, narrow_nearest_even, narrow_toward_zero
from autoclave.emulator.scalar.patterns import (
    INFINITY16,
    NAN16,
    ONE16,
    SIGN16,
    canonical16,
    flush16,
    is_nan16,
    round16,
    value16,
)


def add(a: int, b: int) -> int:
    """a + b."""
    return round16(value16(a) + value16(b))


def multiply(a: int, b: int) -> int:
    """a * b."""
    return round16(value16(a) * value16(b))


def multiply_add(a: int, b: int, c: int) -> int:
    """a * b + c, not fused: the product is rounded and flushed first."""
    return add(multiply(a, b), c)


def maximum(a: int, b: int) -> int:
    """The larger; a number wins over a NaN; -0 is below +0."""
    return _chosen(a, b, larger=True)


def minimum(a: int, b: int) -> int:
    """The smaller; as `maximum`."""
    return _chosen(a, b, larger=False)


def _chosen(a: int, b: int, larger: bool) -> int:
    if is_nan16(a):
        return canonical16(flush16(b))
    if is_nan16(b):
        return flush16(a)
    a, b = flush16(a), flush16(b)
    return a if (ordered(a) >= ordered(b)) is larger else b


def ordered(bits: int) -> int:
    """An integer that orders patterns as their values, -0 below +0; NaN not meant."""
    return bits if bits < SIGN16 else SIGN16 - 1 - bits


def saturate(a: int) -> int:
    """Clamped to [0, 1]; NaN stays a (canonical) NaN and -0 stays -0."""
    if is_nan16(a):
        return NAN16
    if a > SIGN16:
        return 0
    return ONE16 if ONE16 < a < SIGN16 else a


def negate(a: int) -> int:
    """The source modifier (neg), of NaN too."""
    return a ^ SIGN16


def absolute(a: int) -> int:
    """The source modifier (abs)."""
    return a & (SIGN16 - 1)


def identity(a: int) -> int:
    """absneg.f without its modifiers: flushes and canonicalises."""
    return canonical16(flush16(a))


def sign(a: int) -> int:
    """-1, +1, a zero of the operand's sign, or +0 for NaN."""
    if is_nan16(a):
        return 0
    return a & SIGN16 | (ONE16 if a & INFINITY16 else 0)


def floor(a: int) -> int:
    """Rounded toward minus infinity; zeros keep their sign."""
    return narrow_nearest_even(single.floor(_operand(a)))


def ceiling(a: int) -> int:
    """Rounded toward plus infinity."""
    return narrow_nearest_even(single.ceiling(_operand(a)))


def truncate(a: int) -> int:
    """Rounded toward zero, the sign kept."""
    return narrow_nearest_even(single.truncate(_operand(a)))


def round_even(a: int) -> int:
    """Rounded to the nearest integer, ties to even."""
    return narrow_nearest_even(single.round_even(_operand(a)))


def less(a: int, b: int) -> bool:
    """a < b; false for NaN."""
    return value16(a) < value16(b)


def less_equal(a: int, b: int) -> bool:
    """a <= b; false for NaN."""
    return value16(a) <= value16(b)


def equal(a: int, b: int) -> bool:
    """a == b, zeros of both signs equal; false for NaN."""
    return value16(a) == value16(b)


def rcp(a: int) -> int:
    """rcp: in f32, then toward zero, as all of category 4."""
    return narrow_toward_zero(single.rcp(_operand(a)))


def sqrt(a: int) -> int:
    """sqrt."""
    return narrow_toward_zero(single.sqrt(_operand(a)))


def rsq(a: int) -> int:
    """hrsq."""
    return narrow_toward_zero(single.rsq(_operand(a)))


def exp2(a: int) -> int:
    """hexp2."""
    return narrow_toward_zero(single.exp2(_operand(a)))


def log2(a: int) -> int:
    """hlog2."""
    return narrow_toward_zero(single.log2(_operand(a)))


def sin(a: int) -> int:
    """sin."""
    return narrow_toward_zero(single.sin(_operand(a)))


def cos(a: int) -> int:
    """cos."""
    return narrow_toward_zero(single.cos(_operand(a)))


def _operand(a: int) -> int:
    """An operand as f32, flushed."""
    return half_to_single(flush16(a))
