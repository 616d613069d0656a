"""Conversions between floats and integers, and packing of their results."""

import math
from collections.abc import Callable
from typing import Final

from autoclave.emulator.rdna4.lanewise.floats import add32
from autoclave.emulator.rdna4.lanewise.formats import F16, F32, F64, Format
from autoclave.emulator.rdna4.lanewise.operation import operations

Unary = Callable[[int], int]
Binary = Callable[[int, int], int]

BOUNDS: Final = {
    "i8": (-(1 << 7), (1 << 7) - 1),
    "u8": (0, (1 << 8) - 1),
    "i16": (-(1 << 15), (1 << 15) - 1),
    "u16": (0, (1 << 16) - 1),
    "i32": (-(1 << 31), (1 << 31) - 1),
    "u32": (0, (1 << 32) - 1),
}
"""Lowest and highest number of an integer type."""


def to_integer(form: Format, kind: str, integral: Callable[[float], int] = math.trunc) -> Unary:
    """An integer by `integral` (math.trunc: toward zero), saturated to its type; NaN gives 0."""
    lowest, highest = BOUNDS[kind]
    mask = highest - lowest

    def converted(a: int) -> int:
        if a & (form.sign - 1) >= form.infinity:
            return 0 if form.is_nan(a) else (lowest if a & form.sign else highest) & mask
        return max(lowest, min(highest, integral(form.value(a)))) & mask

    return converted


def from_integer(kind: str, form: Format) -> Unary:
    """The nearest float; beyond the largest, infinity."""
    lowest, highest = BOUNDS[kind]
    if lowest:
        sign = -lowest
        return lambda a: form.rounded(float((a ^ sign) - sign))
    return lambda a: form.rounded(float(a))


def between(source: Format, target: Format) -> Unary:
    """From one float format to another, to nearest even; NaN canonical."""
    return lambda a: target.rounded(source.value(a))


def half_toward_zero(a: int) -> int:
    """An f32 as f16, toward zero: beyond the largest f16 that; infinity stays."""
    if F32.is_nan(a):
        return F16.nan
    sign, magnitude = a >> 16 & 0x8000, a & 0x7FFFFFFF
    if magnitude >= F32.infinity:
        return sign | F16.infinity
    value = F32.value(magnitude)
    if value >= 65504.0:
        return sign | 0x7BFF
    bits = F16.rounded(value)
    return sign | (bits - 1 if F16.value(bits) > value else bits)


def normalised(form: Format, kind: str) -> Unary:
    """A number of [-1, 1], or [0, 1], to the whole range of an integer, to nearest even; NaN gives 0."""
    lowest, highest = BOUNDS[kind]

    def converted(a: int) -> int:
        value = form.value(a)
        if value != value:
            return 0
        return round(max(-1.0 if lowest else 0.0, min(1.0, value)) * highest) & 0xFFFF

    return converted


def saturated(source: str, target: str) -> Unary:
    """An integer saturated to a narrower type."""
    lowest, highest = BOUNDS[target]
    sign = -BOUNDS[source][0]
    return lambda a: max(lowest, min(highest, (a ^ sign) - sign)) & (highest - lowest)


def pair(convert: Unary) -> Binary:
    """Two results of 16 bits in a word, the first in the lower half."""
    return lambda a, b: convert(a) | convert(b) << 16


def _byte_of(number: int) -> Unary:
    return lambda a: F32.rounded(float(a >> 8 * number & 0xFF))


def _insert_byte(a: int, b: int, c: int) -> int:
    """Byte b of c becomes the f32 a as an unsigned byte."""
    shift = 8 * (b & 3)
    return c & ~(0xFF << shift) & 0xFFFFFFFF | _to_byte(a) << shift


_to_byte = to_integer(F32, "u8")
_floor_to_integer = to_integer(F32, "i32", math.floor)


def _saturated_bytes(a: int) -> int:
    to_byte = saturated("i16", "u8")
    return to_byte(a & 0xFFFF) | to_byte(a >> 16) << 8


CONVERSIONS: Final = operations(
    {
        "v_cvt_f16_f32": between(F32, F16),
        "v_cvt_f32_f16": between(F16, F32),
        "v_cvt_f32_f64": between(F64, F32),
        "v_cvt_f64_f32": between(F32, F64),
        **{
            f"v_cvt_{kind}_{form.name}": to_integer(form, kind)
            for form, kinds in ((F16, ("i16", "u16")), (F32, ("i32", "u32")), (F64, ("i32", "u32")))
            for kind in kinds
        },
        **{
            f"v_cvt_{form.name}_{kind}": from_integer(kind, form)
            for form, kinds in ((F16, ("i16", "u16")), (F32, ("i32", "u32")), (F64, ("i32", "u32")))
            for kind in kinds
        },
        **{f"v_cvt_f32_ubyte{number}": _byte_of(number) for number in range(4)},
        "v_cvt_floor_i32_f32": _floor_to_integer,
        "v_cvt_nearest_i32_f32": lambda a: _floor_to_integer(add32(a, 0x3F000000)),
        "v_cvt_off_f32_i4": lambda a: F32.rounded(((a & 15 ^ 8) - 8) / 16),
        "v_cvt_i32_i16": lambda a: (a & 0xFFFF ^ 0x8000) - 0x8000 & 0xFFFFFFFF,
        "v_cvt_u32_u16": lambda a: a & 0xFFFF,
        "v_cvt_norm_i16_f16": normalised(F16, "i16"),
        "v_cvt_norm_u16_f16": normalised(F16, "u16"),
        "v_cvt_pk_norm_i16_f16": pair(normalised(F16, "i16")),
        "v_cvt_pk_norm_u16_f16": pair(normalised(F16, "u16")),
        "v_cvt_pk_norm_i16_f32": pair(normalised(F32, "i16")),
        "v_cvt_pk_norm_u16_f32": pair(normalised(F32, "u16")),
        "v_cvt_pk_rtz_f16_f32": pair(half_toward_zero),
        "v_cvt_pk_i16_f32": pair(to_integer(F32, "i16")),
        "v_cvt_pk_u16_f32": pair(to_integer(F32, "u16")),
        "v_cvt_pk_i16_i32": pair(saturated("i32", "i16")),
        "v_cvt_pk_u16_u32": pair(saturated("u32", "u16")),
        "v_cvt_pk_u8_f32": _insert_byte,
        "v_sat_pk_u8_i16": _saturated_bytes,
        "v_pack_b32_f16": lambda a, b: a | b << 16,
    }
)
"""By name."""
