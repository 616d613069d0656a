"""Float arithmetic for the evaluator of the manual's pseudo-code: by fractions and decimals, and slow."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

PRECISION = {"F16": 11, "F32": 24, "F64": 53, "BF16": 8}
BIAS = {"F16": 15, "F32": 127, "F64": 1023, "BF16": 127}
WIDTH = {"F16": 16, "F32": 32, "F64": 64, "BF16": 16}


@dataclass(frozen=True)
class Number:
    """A float: its format and its pattern."""

    form: str
    bits: int

    @property
    def fraction_bits(self) -> int:
        return PRECISION[self.form] - 1

    @property
    def negative(self) -> bool:
        return bool(self.bits >> (WIDTH[self.form] - 1))

    @property
    def field(self) -> int:
        """The exponent field."""
        return self.bits >> self.fraction_bits & (1 << (WIDTH[self.form] - PRECISION[self.form])) - 1

    @property
    def fraction_field(self) -> int:
        return self.bits & (1 << self.fraction_bits) - 1

    @property
    def highest_field(self) -> int:
        return (1 << (WIDTH[self.form] - PRECISION[self.form])) - 1

    @property
    def is_nan(self) -> bool:
        return self.field == self.highest_field and self.fraction_field != 0

    @property
    def is_infinite(self) -> bool:
        return self.field == self.highest_field and self.fraction_field == 0

    @property
    def is_signalling(self) -> bool:
        return self.is_nan and not self.fraction_field >> (self.fraction_bits - 1)

    @property
    def is_denormal(self) -> bool:
        return self.field == 0 and self.fraction_field != 0

    @property
    def exact(self) -> Fraction:
        """The value of a finite number."""
        significand = self.fraction_field | (1 << self.fraction_bits if self.field else 0)
        scale = max(self.field, 1) - BIAS[self.form] - self.fraction_bits
        value = Fraction(significand) * Fraction(2) ** scale
        return -value if self.negative else value

    def with_bits(self, bits: int) -> "Number":
        return Number(self.form, bits)


def nan(form: str) -> Number:
    infinity = infinite(form, False).bits
    return Number(form, infinity | 1 << (PRECISION[form] - 2))


def infinite(form: str, negative: bool) -> Number:
    bits = ((1 << (WIDTH[form] - PRECISION[form])) - 1) << (PRECISION[form] - 1)
    return Number(form, bits | (1 << (WIDTH[form] - 1) if negative else 0))


def largest(form: str, negative: bool) -> Number:
    return Number(form, infinite(form, negative).bits - 1)


def rounded(form: str, value: Fraction, negative_zero: bool = False, toward_zero: bool = False) -> Number:
    """A fraction to the nearest number, ties to even, or toward zero."""
    sign = 1 << (WIDTH[form] - 1)
    if value == 0:
        return Number(form, sign if negative_zero else 0)
    negative, magnitude = value < 0, abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if Fraction(2) ** exponent > magnitude:
        exponent -= 1
    exponent = max(exponent, 1 - BIAS[form])
    unit = Fraction(2) ** (exponent - PRECISION[form] + 1)
    count = math.floor(magnitude / unit) if toward_zero else round(magnitude / unit)
    bits = (exponent + BIAS[form] - 1 << PRECISION[form] - 1) + count
    if bits >= infinite(form, False).bits:
        return largest(form, negative) if toward_zero else infinite(form, negative)
    return Number(form, bits | (sign if negative else 0))


def convert(form: str, a: Number, toward_zero: bool = False) -> Number:
    """Between formats; a NaN keeps sign, payload as far as it fits, and whether it signals."""
    if a.form == form:
        return a
    if a.is_nan:
        shift = PRECISION[form] - PRECISION[a.form]
        payload = a.fraction_field << shift if shift >= 0 else a.fraction_field >> -shift
        return Number(form, infinite(form, a.negative).bits | (payload or 1))
    if a.is_infinite:
        return infinite(form, a.negative)
    return rounded(form, a.exact, a.negative, toward_zero)


def fused(form: str, a: Number, b: Number, c: Number) -> Number:
    """a * b + c, rounded once."""
    if a.is_nan or b.is_nan or c.is_nan:
        return nan(form)
    negative = a.negative != b.negative
    if a.is_infinite or b.is_infinite:
        other = b if a.is_infinite else a
        if (not other.is_infinite and other.exact == 0) or (c.is_infinite and c.negative != negative):
            return nan(form)
        return infinite(form, negative)
    if c.is_infinite:
        return infinite(form, c.negative)
    product = a.exact * b.exact
    both_negative_zero = product == 0 and c.exact == 0 and negative and c.negative
    return rounded(form, product + c.exact, both_negative_zero)


def add(form: str, a: Number, b: Number) -> Number:
    return fused(form, a, rounded(a.form, Fraction(1)), b)


def multiply(form: str, a: Number, b: Number) -> Number:
    result = fused(form, a, b, Number(form, 0))
    if not result.is_nan and result.bits << 1 & (1 << WIDTH[form]) - 1 == 0 and a.negative != b.negative:
        return result.with_bits(1 << (WIDTH[form] - 1))
    return result


def divide(form: str, a: Number, b: Number) -> Number:
    negative = a.negative != b.negative
    if a.is_nan or b.is_nan or (a.is_infinite and b.is_infinite):
        return nan(form)
    if a.is_infinite:
        return infinite(form, negative)
    if b.is_infinite:
        return rounded(form, Fraction(0), negative)
    if b.exact == 0:
        return nan(form) if a.exact == 0 else infinite(form, negative)
    return rounded(form, a.exact / b.exact, negative)


def square_root(a: Number) -> Number:
    if a.is_nan or (a.negative and (a.is_infinite or a.exact != 0)):
        return nan(a.form)
    if a.is_infinite or a.exact == 0:
        return a
    # Scaled so that the integer root has more bits than any format; a rest makes it odd, which decides ties.
    value = a.exact
    shift = 2 * (140 + max(0, value.denominator.bit_length() - value.numerator.bit_length()))
    scaled = (value.numerator << shift) // value.denominator
    root = math.isqrt(scaled)
    exact = root * root == scaled and (value.numerator << shift) % value.denominator == 0
    return rounded(a.form, Fraction(2 * root + (0 if exact else 1), 2) / 2 ** (shift // 2))


def floor(a: Number) -> Number:
    if a.is_nan or a.is_infinite:
        return a
    return rounded(a.form, Fraction(math.floor(a.exact)), a.negative)


def truncate(a: Number) -> Number:
    if a.is_nan or a.is_infinite:
        return a
    return rounded(a.form, Fraction(math.trunc(a.exact)), a.negative)


def to_integer(a: Number, lowest: int, highest: int) -> int:
    if a.is_nan:
        return 0
    if a.is_infinite:
        return lowest if a.negative else highest
    return max(lowest, min(highest, math.trunc(a.exact)))


def compare(a: Number, b: Number) -> int | None:
    """-1, 0, 1; None if unordered."""
    if a.is_nan or b.is_nan:
        return None
    first, second = _ordered(a), _ordered(b)
    return (first > second) - (first < second)


def _ordered(a: Number) -> Fraction:
    return (Fraction(-(2**2000)) if a.negative else Fraction(2**2000)) if a.is_infinite else a.exact


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def by_decimal(form: str, value: Fraction, function: Callable[[Decimal], Decimal]) -> Number:
    """A function of a finite number, by 120 digits, rounded once."""
    with localcontext() as context:
        context.prec = 120
        context.Emax, context.Emin = 10**6, -(10**6)
        result = function(_decimal(value))
        return rounded(form, Fraction(result), result.is_signed())


def power_of_two(a: Number) -> Number:
    """2 to the power of a."""
    if a.is_nan:
        return nan(a.form)
    if a.is_infinite or abs(a.exact) > 2000:
        return Number(a.form, 0) if a.negative else infinite(a.form, False)
    return by_decimal(a.form, a.exact, lambda x: (x * Decimal(2).ln()).exp())


def logarithm(a: Number) -> Number:
    if a.is_nan or (a.negative and (a.is_infinite or a.exact != 0)):
        return nan(a.form)
    if a.is_infinite:
        return a
    if a.exact == 0:
        return infinite(a.form, True)
    if a.exact == 1:
        return Number(a.form, 0)
    return by_decimal(a.form, a.exact, lambda x: x.ln() / Decimal(2).ln())


def _sine(x: Decimal) -> Decimal:
    term = total = x
    n = 1
    while abs(term) > Decimal(10) ** -110 * abs(x) and term:
        term *= -x * x / ((n + 1) * (n + 2))
        total += term
        n += 2
    return total


def _pi() -> Decimal:
    """Machin's formula."""

    def inverse_tangent(n: int) -> Decimal:
        total, power, k = Decimal(0), Decimal(1) / n, 1
        while power > Decimal(10) ** -125:
            total += power / k if k % 4 == 1 else -power / k
            power /= n * n
            k += 2
        return total

    return 16 * inverse_tangent(5) - 4 * inverse_tangent(239)


def sine_of_turns(a: Number) -> Number:
    """sin(2 pi a), rounded once."""
    if a.is_nan or a.is_infinite:
        return nan(a.form)
    left = a.exact - round(a.exact)
    if left in (Fraction(1, 2), Fraction(-1, 2), 0):
        return rounded(a.form, Fraction(0), a.negative)
    if left in (Fraction(1, 4), Fraction(-1, 4)):
        return rounded(a.form, left * 4)
    return by_decimal(a.form, left, lambda x: _sine(2 * _pi() * x))


def cosine_of_turns(a: Number) -> Number:
    """cos(2 pi a), rounded once."""
    if a.is_nan or a.is_infinite:
        return nan(a.form)
    left = a.exact - round(a.exact) + Fraction(1, 4)
    if left - round(left) in (Fraction(1, 2), Fraction(-1, 2), 0):
        return Number(a.form, 0)
    if left in (Fraction(1, 4), Fraction(3, 4), Fraction(-1, 4)):
        return rounded(a.form, Fraction(1) if left == Fraction(1, 4) else Fraction(-1))
    return by_decimal(a.form, left, lambda x: _sine(2 * _pi() * x))
