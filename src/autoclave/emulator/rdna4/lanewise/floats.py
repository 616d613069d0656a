"""Sums, products and fused products of floats, each rounded once, and the operations made of them."""

from collections.abc import Callable
from typing import Final

from autoclave.emulator.rdna4.lanewise.formats import (
    BF16,
    F16,
    F32,
    F64,
    Format,
    parts,
    round64,
    round_exactly,
    value64,
)
from autoclave.emulator.rdna4.lanewise.operation import operations

Binary = Callable[[int, int], int]
Ternary = Callable[[int, int, int], int]


def adder(form: Format) -> Binary:
    """a + b. In f16 and f32 the binary64 sum is rounded again, which is exact because 53 >= 2 * 24 + 2."""
    value, rounded = form.value, form.rounded
    return lambda a, b: rounded(value(a) + value(b))


def subtracter(form: Format) -> Binary:
    """a - b."""
    value, rounded = form.value, form.rounded
    return lambda a, b: rounded(value(a) - value(b))


def multiplier(form: Format) -> Binary:
    """a * b."""
    value, rounded = form.value, form.rounded
    return lambda a, b: rounded(value(a) * value(b))


def sum_to_odd(a: float, b: float) -> float:
    """a + b in binary64, rounded to odd: to any precision of at most 51 bits it rounds again as the exact sum would.

    The error of the sum is a binary64 itself and found exactly, as long as nothing overflows.
    """
    total = a + b
    second = total - a
    error = (a - (total - second)) + (b - second)
    if error == 0 or error != error:
        return total
    bits = round64(total)
    if bits & 1:
        return total
    return value64(bits + 1 if (error > 0) == (total > 0) else bits - 1)


def fuser(form: Format) -> Ternary:
    """a * b + c, rounded once. In f64 by integers; below, the product is exact in binary64 and the sum rounded to odd."""
    if form is F64:
        return fused64
    value, rounded = form.value, form.rounded
    return lambda a, b, c: rounded(sum_to_odd(value(a) * value(b), value(c)))


def fused_exactly(form: Format, a: int, b: int, c: int, scale: int = 0) -> int:
    """(a * b + c) * 2^scale of any format, rounded once."""
    magnitude = form.sign - 1
    if max(a & magnitude, b & magnitude) >= form.infinity:
        return form.rounded(form.value(a) * form.value(b) + form.value(c))
    if c & magnitude >= form.infinity:
        return form.rounded(form.value(c))
    a_negative, a_significand, a_exponent = parts(form, a)
    b_negative, b_significand, b_exponent = parts(form, b)
    c_negative, c_significand, c_exponent = parts(form, c)
    product = -a_significand * b_significand if a_negative != b_negative else a_significand * b_significand
    addend = -c_significand if c_negative else c_significand
    exponent = min(a_exponent + b_exponent, c_exponent)
    total = (product << (a_exponent + b_exponent - exponent)) + (addend << (c_exponent - exponent))
    # An exact zero is +0, unless both terms are -0.
    negative = total < 0 or (total == 0 and c_negative and a_negative != b_negative and not product and not addend)
    return round_exactly(form, negative, abs(total), exponent + scale)


def fused64(a: int, b: int, c: int) -> int:
    """a * b + c in f64."""
    return fused_exactly(F64, a, b, c)


def dx9_multiplier(value: Callable[[int], float], multiply: Binary) -> Binary:
    """A product that is +0 where a factor is zero, of NaN and infinity too."""
    return lambda a, b: multiply(a, b) if value(a) != 0 and value(b) != 0 else 0


def _dx9_fused(a: int, b: int, c: int) -> int:
    if F32.value(a) != 0 and F32.value(b) != 0:
        return fused32(a, b, c)
    return F32.rounded(F32.value(c))


def _mullit(a: int, b: int, c: int) -> int:
    """A product, or minus the largest number where b is that, -infinity or NaN, or c is not above zero."""
    if b in (_LOWEST32, 0xFF800000) or F32.is_nan(b) or not F32.value(c) > 0:
        return _LOWEST32
    return multiply32(a, b)


_LOWEST32: Final = 0xFF7FFFFF

add16, add32, add64 = adder(F16), adder(F32), adder(F64)
subtract16, subtract32, subtract64 = subtracter(F16), subtracter(F32), subtracter(F64)
multiply16, multiply32, multiply64 = multiplier(F16), multiplier(F32), multiplier(F64)
fused16, fused32 = fuser(F16), fuser(F32)
add_bfloat, multiply_bfloat, fused_bfloat = adder(BF16), multiplier(BF16), fuser(BF16)


def fused_mixed_half(a: int, b: int, c: int) -> int:
    """a * b + c of f32, rounded once, to f16."""
    return F16.rounded(sum_to_odd(F32.value(a) * F32.value(b), F32.value(c)))


def reversed_operands(function: Binary) -> Binary:
    """The function of its operands the other way round (v_sub*rev)."""
    return lambda a, b: function(b, a)


FLOATS: Final = operations(
    {
        "v_add_f16": add16,
        "v_sub_f16": subtract16,
        "v_subrev_f16": reversed_operands(subtract16),
        "v_mul_f16": multiply16,
        "v_add_f32": add32,
        "v_sub_f32": subtract32,
        "v_subrev_f32": reversed_operands(subtract32),
        "v_mul_f32": multiply32,
        "v_mul_dx9_zero_f32": dx9_multiplier(F32.value, multiply32),
        "v_mullit_f32": _mullit,
        "v_add_f64": add64,
        "v_mul_f64": multiply64,
        **dict.fromkeys(("v_fma_f16", "v_fmac_f16", "v_fmamk_f16", "v_fmaak_f16"), fused16),
        **dict.fromkeys(("v_fma_f32", "v_fmac_f32", "v_fmamk_f32", "v_fmaak_f32", "v_fma_mix_f32"), fused32),
        **dict.fromkeys(("v_fma_mixlo_f16", "v_fma_mixhi_f16"), fused_mixed_half),
        "v_fma_dx9_zero_f32": _dx9_fused,
        "v_fma_f64": fused64,
    }
)
"""By name."""
