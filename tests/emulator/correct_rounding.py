"""Elementary functions in rational arithmetic of some 400 bits, and exact rounding of rationals: what the emulator is held against.

Nothing here comes from the library: pi is Machin's formula, ln 2 is 2 atanh(1/3), the functions are their Taylor series.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import isqrt

BITS = 400
ONE = 1 << BITS
"""Fixed point: integers in units of 2^-400."""


def _inverse_tangent(n: int) -> int:
    total, power, k = 0, ONE // n, 0
    while power:
        total += (-1) ** k * (power // (2 * k + 1))
        power //= n * n
        k += 1
    return total


def _ln2() -> int:
    total, power, k = 0, 2 * ONE // 3, 0
    while power:
        total += power // (2 * k + 1)
        power //= 9
        k += 1
    return total


PI = Fraction(16 * _inverse_tangent(5) - 4 * _inverse_tangent(239), ONE)
LN2 = Fraction(_ln2(), ONE)


def fixed(x: Fraction) -> int:
    """In units of 2^-400, truncated."""
    return x.numerator * ONE // x.denominator


def exp2(x: Fraction) -> Fraction:
    """2 to the power of x."""
    whole = x.numerator // x.denominator
    angle = fixed((x - whole) * LN2)
    total, term, k = 0, ONE, 0
    while term:
        total += term
        k += 1
        term = term * angle // (k * ONE)
    return Fraction(total, ONE) * Fraction(2) ** whole


def log2(x: Fraction) -> Fraction:
    """The binary logarithm of a positive number: 2 atanh((m - 1) / (m + 1)) / ln 2, m near 1."""
    whole = x.numerator.bit_length() - x.denominator.bit_length()
    m = x / Fraction(2) ** whole
    if m > Fraction(4, 3):
        m, whole = m / 2, whole + 1
    ratio = (m - 1) / (m + 1)
    s = fixed(ratio)
    square = s * s // ONE
    total, power, k = 0, s, 0
    while power not in (0, -1):
        total += power // (2 * k + 1)
        power = power * square // ONE
        k += 1
    return whole + 2 * Fraction(total, ONE) / LN2


def _series(angle: Fraction, first: int) -> Fraction:
    """sin (first = 1) or cos (first = 0) of a small angle."""
    scale = 1
    r = fixed(angle)
    square = r * r // ONE
    total, term, k = 0, (r if first else ONE), first
    while term not in (0, -1):
        total += scale * term
        term = term * square // (ONE * (k + 1) * (k + 2))
        k, scale = k + 2, -scale
    return Fraction(total, ONE)


def sin(x: Fraction) -> Fraction:
    """The sine of an angle in radians."""
    return _turned(x, 0)


def cos(x: Fraction) -> Fraction:
    """The cosine of an angle in radians."""
    return _turned(x, 1)


def _turned(x: Fraction, quarters: int) -> Fraction:
    """sin(x + quarters * pi/2)."""
    nearest = round(x / (PI / 2))
    rest = x - nearest * (PI / 2)
    quadrant = (nearest + quarters) & 3
    value = _series(rest, 1 - (quadrant & 1))
    return -value if quadrant & 2 else value


def rsq(x: Fraction) -> Fraction:
    """1 / sqrt(x)."""
    return 1 / sqrt(x)


def sqrt(x: Fraction) -> Fraction:
    """The root, to 400 bits behind its leading one or more."""
    shift = BITS + 200
    return Fraction(isqrt((x.numerator << 2 * shift) // x.denominator), 1 << shift)


def rcp(x: Fraction) -> Fraction:
    """1 / x."""
    return 1 / x


FUNCTIONS: dict[str, Callable[[Fraction], Fraction]] = {
    "exp2": exp2,
    "log2": log2,
    "sin": sin,
    "cos": cos,
    "rsq": rsq,
    "sqrt": sqrt,
    "rcp": rcp,
}


def value32(bits: int) -> Fraction:
    """The exact value of a finite f32 pattern."""
    return _value(bits, 8, 23)


def value16(bits: int) -> Fraction:
    """The exact value of a finite f16 pattern."""
    return _value(bits, 5, 10)


def _value(bits: int, exponent_bits: int, fraction_bits: int) -> Fraction:
    exponent = bits >> fraction_bits & (1 << exponent_bits) - 1
    fraction = bits & (1 << fraction_bits) - 1
    bias = (1 << exponent_bits - 1) - 1
    significand = fraction + (1 << fraction_bits if exponent else 0)
    value = significand * Fraction(2) ** (max(exponent, 1) - bias - fraction_bits)
    return -value if bits >> exponent_bits + fraction_bits else value


def nearest32(x: Fraction) -> int:
    """To nearest even as f32, unbounded exponent first: below the smallest normal a zero, beyond the largest infinity."""
    return _rounded(x, 8, 23, toward_zero=False)


def nearest16(x: Fraction) -> int:
    """As `nearest32`, f16."""
    return _rounded(x, 5, 10, toward_zero=False)


def toward_zero32(x: Fraction) -> int:
    """Toward zero: saturates to the largest finite f32."""
    return _rounded(x, 8, 23, toward_zero=True)


def toward_zero16(x: Fraction) -> int:
    """As `toward_zero32`, f16."""
    return _rounded(x, 5, 10, toward_zero=True)


def _rounded(x: Fraction, exponent_bits: int, fraction_bits: int, toward_zero: bool) -> int:
    sign = (1 << exponent_bits + fraction_bits) if x < 0 else 0
    x = abs(x)
    if x == 0:
        return sign
    exponent = exponent_of(x)
    scaled = x / Fraction(2) ** (exponent - fraction_bits)
    significand = scaled.numerator // scaled.denominator if toward_zero else round(scaled)
    if significand >> fraction_bits + 1:
        significand, exponent = significand >> 1, exponent + 1
    bias = (1 << exponent_bits - 1) - 1
    if exponent < 1 - bias:
        return sign
    if exponent > bias:
        infinity = (1 << exponent_bits) - 1 << fraction_bits
        return sign | (infinity - 1 if toward_zero else infinity)
    return sign | exponent + bias << fraction_bits | significand & (1 << fraction_bits) - 1


def exponent_of(x: Fraction) -> int:
    """The e with 2^e <= x < 2^(e + 1)."""
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    return exponent if Fraction(2) ** exponent <= x else exponent - 1


@cache
def correct32(name: str, bits: int) -> int:
    """The correctly rounded f32 result of a function at a finite normal pattern inside its domain."""
    return nearest32(FUNCTIONS[name](value32(bits)))
