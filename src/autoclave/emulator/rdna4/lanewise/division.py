"""The steps of a division of f32 and f64, and its repair.

A quotient n / d is computed as: scale d and n (v_div_scale, twice), estimate 1 / d, refine it by fused products, sum up and
scale back (v_div_fmas), put in what is no number, and the sign (v_div_fixup).
"""

from collections.abc import Callable
from typing import Final

from autoclave.emulator.rdna4.lanewise.floats import fused_exactly
from autoclave.emulator.rdna4.lanewise.formats import F16, F32, F64, Format, parts, round_exactly
from autoclave.emulator.rdna4.lanewise.operation import LaneOperation

_FAR: Final = {"f32": 96, "f64": 768}
"""From which difference of exponents on a quotient is near the ends of the format."""
_SCALE: Final = {"f32": 64, "f64": 128}
_TINY_NUMERATOR: Final = {"f32": 24, "f64": 53}
"""Up to this exponent field, a numerator's last bits would be lost in the products."""


def division_scaler(form: Format) -> Callable[[int, int, int], tuple[int, int]]:
    """(value, denominator, numerator) to the value, scaled, and whether the quotient has to be scaled back.

    The value is the denominator or the numerator. NaN where either is a zero.
    """
    far, scale, tiny = _FAR[form.name], _SCALE[form.name], _TINY_NUMERATOR[form.name]
    magnitude = form.sign - 1

    def scaled(value: int, denominator: int, numerator: int) -> tuple[int, int]:
        of_denominator, of_numerator = form.exponent(denominator), form.exponent(numerator)
        difference = of_numerator - of_denominator
        is_denominator = value == denominator
        flag, power = 0, 0
        if difference >= far:
            flag, power = 1, scale if is_denominator else 0
        elif of_denominator == 0:
            power = scale
        elif of_denominator >= 2 * form.bias - 1:
            # The reciprocal would be a denormal.
            flag = 1 if difference <= -far else 0
            power = 0 if flag and not is_denominator else -scale
        elif difference <= -far:
            flag, power = 1, 0 if is_denominator else scale
        elif of_numerator <= tiny:
            power = scale
        if not denominator & magnitude or not numerator & magnitude or value & magnitude > form.infinity:
            return form.nan, flag
        if value & magnitude == form.infinity:
            return value, flag
        negative, significand, exponent = parts(form, value)
        return round_exactly(form, negative, significand, exponent + power), flag

    return scaled


def division_sum(form: Format) -> Callable[[int, int, int, int], int]:
    """a * b + c; with the flag set times a power of two: up where c is 2 or more, else down. Rounded once, after that."""
    scale = _SCALE[form.name]

    def summed(a: int, b: int, c: int, flag: int) -> int:
        power = 0 if not flag else scale if form.exponent(c) > form.bias else -scale
        return fused_exactly(form, a, b, c, power)

    return summed


def division_fixer(form: Format) -> Callable[[int, int, int], int]:
    """(quotient, denominator, numerator) to the quotient: what division by IEEE gives of zeros, infinities and NaN; the sign."""
    magnitude = form.sign - 1
    # A half division has no scaling, so that its quotient has nothing to repair at the ends.
    has_ends = form is not F16

    def fixed(quotient: int, denominator: int, numerator: int) -> int:
        sign = (denominator ^ numerator) & form.sign
        n, d = numerator & magnitude, denominator & magnitude
        if n > form.infinity or d > form.infinity or (n == 0 and d == 0) or (n == d == form.infinity):
            return form.nan
        if d == 0 or n == form.infinity:
            return sign | form.infinity
        if n == 0 or d == form.infinity:
            return sign
        if not has_ends:
            return form.nan if form.is_nan(quotient) else sign | quotient & magnitude
        if form.exponent(numerator) - form.exponent(denominator) < -(form.bias + form.precision - 1):
            return sign
        return sign | min(quotient & magnitude, form.infinity)

    return fixed


DIVISION: Final = {
    **{f"v_div_scale_{form.name}": LaneOperation(division_scaler(form)) for form in (F32, F64)},
    **{f"v_div_fmas_{form.name}": LaneOperation(division_sum(form)) for form in (F32, F64)},
    **{f"v_div_fixup_{form.name}": LaneOperation(division_fixer(form)) for form in (F16, F32, F64)},
}
"""By name."""
