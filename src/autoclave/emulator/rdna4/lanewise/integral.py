"""Rounding to integral floats, fractional parts, exponents and significands, scaling by powers of two."""

import math
from collections.abc import Callable
from typing import Final

from autoclave.emulator.rdna4.lanewise.floats import Binary
from autoclave.emulator.rdna4.lanewise.formats import F16, F32, F64, Format, parts, round_exactly
from autoclave.emulator.rdna4.lanewise.operation import LaneOperation

Unary = Callable[[int], int]


def rounder(form: Format, integral: Callable[[float], int]) -> Unary:
    """An integral float by `integral` (math.floor, math.ceil, math.trunc, round); the sign is kept, of what becomes zero too."""
    sign, magnitude = form.sign, form.sign - 1
    largest_fractional = (form.bias + form.precision - 1) << (form.precision - 1)

    def to_integral(a: int) -> int:
        if a & magnitude >= largest_fractional:
            return form.nan if a & magnitude > form.infinity else a
        return a & sign | form.rounded(float(integral(form.value(a)))) & magnitude

    return to_integral


def fraction(form: Format) -> Unary:
    """a - floor(a), below 1: where the difference rounds to 1, the largest number below 1. Infinities give NaN."""

    def fractional(a: int) -> int:
        if a & (form.sign - 1) >= form.infinity:
            return form.nan
        value = form.value(a)
        # + 0.0 makes +0 of the -0 that is left of -0.
        return min(form.rounded(value - math.floor(value) + 0.0), form.one - 1)

    return fractional


def exponent_of(form: Format, width: int) -> Unary:
    """The e for which the magnitude is m * 2^e with 1/2 <= m < 1; 0 for zeros, infinities and NaN. Signed, of `width` bits."""

    def exponent(a: int) -> int:
        if a & (form.sign - 1) >= form.infinity:
            return 0
        return math.frexp(form.value(a))[1] & ((1 << width) - 1)

    return exponent


def significand_of(form: Format) -> Unary:
    """The number scaled to [1/2, 1), with its sign; zeros and infinities as they are."""

    def significand(a: int) -> int:
        if a & (form.sign - 1) >= form.infinity:
            return form.nan if form.is_nan(a) else a
        return form.rounded(math.frexp(form.value(a))[0])

    return significand


def scaler(form: Format, width: int) -> Binary:
    """a * 2^b, rounded once; b is signed, of `width` bits."""
    half = 1 << (width - 1)

    def scaled(a: int, b: int) -> int:
        if a & (form.sign - 1) >= form.infinity:
            return form.nan if form.is_nan(a) else a
        negative, significand, exponent = parts(form, a)
        # Any power beyond 2^+-3000 overflows or vanishes in every format.
        power = max(-3000, min(3000, (b ^ half) - half))
        return round_exactly(form, negative, significand, exponent + power)

    return scaled


def _operations(form: Format) -> dict[str, Callable[..., int]]:
    name = form.name
    return {
        f"v_floor_{name}": rounder(form, math.floor),
        f"v_ceil_{name}": rounder(form, math.ceil),
        f"v_trunc_{name}": rounder(form, math.trunc),
        f"v_rndne_{name}": rounder(form, round),
        f"v_fract_{name}": fraction(form),
        f"v_frexp_mant_{name}": significand_of(form),
        f"v_frexp_exp_{'i16' if form is F16 else 'i32'}_{name}": exponent_of(form, 16 if form is F16 else 32),
        f"v_ldexp_{name}": scaler(form, 16 if form is F16 else 32),
    }


INTEGRAL: Final = {
    name: LaneOperation(compute) for form in (F16, F32, F64) for name, compute in _operations(form).items()
}
"""By name."""
