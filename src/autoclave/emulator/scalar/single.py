"""f32 arithmetic on bit patterns: denormal operands and results are flushed, NaN results are canonical.

Sums, products and quotients of two f32, and roots, are taken in binary64 and rounded again, which is exact rounding
because 53 >= 2 * 24 + 2.
"""

import math

from autoclave.emulator.scalar.elementary import cos, exp2, log2, sin
from autoclave.emulator.scalar.patterns import (
    INFINITY32,
    NAN32,
    ONE32,
    SIGN32,
    canonical32,
    flush32,
    is_nan32,
    round32,
    value32,
)


def add(a: int, b: int) -> int:
    """a + b."""
    return round32(value32(a) + value32(b))


def multiply(a: int, b: int) -> int:
    """a * b."""
    return round32(value32(a) * value32(b))


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
    if is_nan32(a):
        return canonical32(flush32(b))
    if is_nan32(b):
        return flush32(a)
    a, b = flush32(a), flush32(b)
    return a if (ordered(a) >= ordered(b)) is larger else b


def ordered(bits: int) -> int:
    """An integer that orders patterns as their values, -0 below +0; NaN not meant."""
    return bits if bits < SIGN32 else SIGN32 - 1 - bits


def saturate(a: int) -> int:
    """Clamped to [0, 1]; NaN stays a (canonical) NaN and -0 stays -0; flushes no denormal, which results are not."""
    if is_nan32(a):
        return NAN32
    if a > SIGN32:
        return 0
    return ONE32 if ONE32 < a < SIGN32 else a


def negate(a: int) -> int:
    """The source modifier (neg), of NaN too."""
    return a ^ SIGN32


def absolute(a: int) -> int:
    """The source modifier (abs)."""
    return a & (SIGN32 - 1)


def identity(a: int) -> int:
    """absneg.f without its modifiers: flushes and canonicalises."""
    return canonical32(flush32(a))


def sign(a: int) -> int:
    """-1, +1, a zero of the operand's sign, or +0 for NaN."""
    if is_nan32(a):
        return 0
    return a & SIGN32 | (ONE32 if a & INFINITY32 else 0)


def floor(a: int) -> int:
    """Rounded toward minus infinity; zeros keep their sign."""
    magnitude = truncate(a)
    if is_nan32(magnitude) or not a & SIGN32 or magnitude == flush32(a):
        return magnitude
    return round32(value32(magnitude) - 1.0)


def ceiling(a: int) -> int:
    """Rounded toward plus infinity; a negative fraction gives -0."""
    return negate(floor(negate(a))) if not is_nan32(a) else NAN32


def truncate(a: int) -> int:
    """Rounded toward zero, the sign kept."""
    a = identity(a)
    exponent = (a >> 23 & 0xFF) - 127
    if exponent < 0:
        return a & SIGN32
    return a if exponent >= 23 else a & ~(0x7FFFFF >> exponent)


def round_even(a: int) -> int:
    """Rounded to the nearest integer, ties to even, the sign kept."""
    a = identity(a)
    if a >> 23 & 0xFF >= 127 + 23:
        return a
    return a & SIGN32 | absolute(round32(float(round(value32(a)))))


def less(a: int, b: int) -> bool:
    """a < b; false for NaN."""
    return value32(a) < value32(b)


def less_equal(a: int, b: int) -> bool:
    """a <= b; false for NaN."""
    return value32(a) <= value32(b)


def equal(a: int, b: int) -> bool:
    """a == b, zeros of both signs equal; false for NaN."""
    return value32(a) == value32(b)


def rcp(a: int) -> int:
    """rcp: 1 / a; a zero gives the infinity of its sign."""
    value = value32(a)
    return round32(1.0 / value) if value else INFINITY32 | a & SIGN32


def sqrt(a: int) -> int:
    """sqrt: NaN below zero, -0 for -0."""
    value = value32(a)
    return round32(math.sqrt(value)) if value >= 0 else NAN32


def rsq(a: int) -> int:
    """rsq: 1 / sqrt(a), in binary64; -infinity for -0, NaN below zero."""
    value = value32(a)
    if value == 0:
        return INFINITY32 | a & SIGN32
    return round32(1.0 / math.sqrt(value)) if value > 0 else NAN32


__all__ = [
    "absolute",
    "add",
    "ceiling",
    "cos",
    "equal",
    "exp2",
    "floor",
    "identity",
    "less",
    "less_equal",
    "log2",
    "maximum",
    "minimum",
    "multiply",
    "multiply_add",
    "negate",
    "ordered",
    "rcp",
    "round_even",
    "rsq",
    "saturate",
    "sign",
    "sin",
    "sqrt",
    "truncate",
]
