"""Float formats as bit patterns: values, rounding to nearest even with denormals kept, canonical NaN."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct
from typing import Final

_pack_integer16 = Struct("<H").pack
_pack_integer32 = Struct("<I").pack
_pack_integer64 = Struct("<Q").pack
_unpack_integer16 = Struct("<H").unpack
_unpack_integer32 = Struct("<I").unpack
_unpack_integer64 = Struct("<Q").unpack
_pack_float16 = Struct("<e").pack
_pack_float32 = Struct("<f").pack
_pack_float64 = Struct("<d").pack
_unpack_float16 = Struct("<e").unpack
_unpack_float32 = Struct("<f").unpack
_unpack_float64 = Struct("<d").unpack


def value16(bits: int) -> float:
    """The value of an f16."""
    value: float = _unpack_float16(_pack_integer16(bits))[0]
    return value


def value32(bits: int) -> float:
    """The value of an f32."""
    value: float = _unpack_float32(_pack_integer32(bits))[0]
    return value


def value64(bits: int) -> float:
    """The value of an f64."""
    value: float = _unpack_float64(_pack_integer64(bits))[0]
    return value


def value_bfloat(bits: int) -> float:
    """The value of a bf16: the upper half of an f32."""
    return value32(bits << 16)


def round16(value: float) -> int:
    """A binary64 as the nearest f16, ties to even; beyond the largest, infinity."""
    if value != value:
        return 0x7E00
    try:
        bits: int = _unpack_integer16(_pack_float16(value))[0]
    except OverflowError:
        return 0x7C00 if value > 0 else 0xFC00
    return bits


def round32(value: float) -> int:
    """A binary64 as the nearest f32."""
    if value != value:
        return 0x7FC00000
    try:
        bits: int = _unpack_integer32(_pack_float32(value))[0]
    except OverflowError:
        return 0x7F800000 if value > 0 else 0xFF800000
    return bits


def round64(value: float) -> int:
    """A binary64 as its pattern."""
    if value != value:
        return 0x7FF8000000000000
    bits: int = _unpack_integer64(_pack_float64(value))[0]
    return bits


def round_bfloat(value: float) -> int:
    """A binary64 as the nearest bf16."""
    if value != value:
        return 0x7FC0
    if math.isinf(value) or value == 0:
        return round32(value) >> 16
    unit = math.ldexp(1.0, max(math.frexp(value)[1], -125) - 8)
    rounded = math.copysign(round(value / unit) * unit, value)
    return round32(rounded) >> 16


@dataclass(frozen=True, slots=True)
class Format:
    """A binary floating-point format.

    precision: bits of the significand, the hidden one counted. bias: of the exponent field.
    value, rounded: from a pattern to its exact value, from a binary64 to the nearest pattern (NaN canonical).
    """

    name: str
    width: int
    precision: int
    bias: int
    value: Callable[[int], float]
    rounded: Callable[[float], int]

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.width - 1)

    @property
    def infinity(self) -> int:
        """The pattern of +infinity, which is also the mask of the exponent field."""
        return (self.sign - 1) >> (self.precision - 1) << (self.precision - 1)

    @property
    def nan(self) -> int:
        """The canonical NaN."""
        return self.infinity | 1 << (self.precision - 2)

    @property
    def one(self) -> int:
        """The pattern of 1."""
        return self.bias << (self.precision - 1)

    def is_nan(self, bits: int) -> bool:
        """Whether a pattern is a NaN."""
        return bits & (self.sign - 1) > self.infinity

    def exponent(self, bits: int) -> int:
        """The exponent field."""
        return (bits & self.infinity) >> (self.precision - 1)


F16: Final = Format("f16", 16, 11, 15, value16, round16)
BF16: Final = Format("bf16", 16, 8, 127, value_bfloat, round_bfloat)
F32: Final = Format("f32", 32, 24, 127, value32, round32)
F64: Final = Format("f64", 64, 53, 1023, value64, round64)

FORMATS: Final = {one.name: one for one in (F16, BF16, F32, F64)}
"""By the name that operand types have."""


def round_exactly(form: Format, negative: bool, significand: int, exponent: int) -> int:
    """significand * 2^exponent, rounded once to nearest even; a zero keeps the sign that is given."""
    sign = form.sign if negative else 0
    lowest = 2 - form.bias - form.precision
    shift = max(significand.bit_length() - form.precision, lowest - exponent)
    if shift > 0:
        kept = significand >> shift
        rest = (significand & ((1 << shift) - 1)) << 1
        if rest > 1 << shift or (rest == 1 << shift and kept & 1):
            kept += 1
    else:
        kept = significand << -shift
    # A carry out of the significand adds one to the exponent field, as it should.
    field = exponent + shift - lowest
    bits = (field << (form.precision - 1)) + kept if kept >> (form.precision - 1) else kept
    return sign | min(bits, form.infinity)


def parts(form: Format, bits: int) -> tuple[bool, int, int]:
    """(negative, significand, exponent) of a finite number: its magnitude is significand * 2^exponent."""
    field = form.exponent(bits)
    fraction = bits & ((1 << (form.precision - 1)) - 1)
    significand = fraction | 1 << (form.precision - 1) if field else fraction
    return bool(bits & form.sign), significand, max(field, 1) - form.bias - form.precision + 1
