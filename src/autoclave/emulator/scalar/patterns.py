"""Bit patterns of f32 and f16, and how results become patterns: rounding, flush of denormals, canonical NaN.

The flush rule is that of "tiny after rounding": a result is flushed to a zero of its sign where the result rounded to
the format's precision with unbounded exponent lies below the smallest normal number. A value that this rounding takes up
to the smallest normal is kept. x86's flush-to-zero mode does the same.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final

NAN32: Final = 0x7FC00000
INFINITY32: Final = 0x7F800000
SIGN32: Final = 0x80000000
ONE32: Final = 0x3F800000

NAN16: Final = 0x7E00
INFINITY16: Final = 0x7C00
LARGEST16: Final = 0x7BFF
SIGN16: Final = 0x8000
ONE16: Final = 0x3C00

FLUSHED32: Final = 2.0**-126 - 2.0**-151
"""Magnitudes below it are flushed; itself it is the tie that rounds to the smallest normal, the even neighbour."""
FLUSHED16: Final = 2.0**-14 - 2.0**-26

_INTEGER32 = Struct("<I")
_FLOAT32 = Struct("<f")
_INTEGER16 = Struct("<H")
_FLOAT16 = Struct("<e")
_INTEGER64 = Struct("<Q")
_FLOAT64 = Struct("<d")

_pack_integer32: Callable[[int], bytes] = _INTEGER32.pack
_unpack_integer32 = _INTEGER32.unpack
_pack_float32: Callable[[float], bytes] = _FLOAT32.pack
_unpack_float32 = _FLOAT32.unpack
_pack_integer16: Callable[[int], bytes] = _INTEGER16.pack
_unpack_integer16 = _INTEGER16.unpack
_pack_float16: Callable[[float], bytes] = _FLOAT16.pack
_unpack_float16 = _FLOAT16.unpack


def value32(bits: int) -> float:
    """The value of an f32 operand, denormals flushed."""
    if not bits & INFINITY32:
        return -0.0 if bits & SIGN32 else 0.0
    value: float = _unpack_float32(_pack_integer32(bits))[0]
    return value


def exact32(bits: int) -> float:
    """The value of an f32, denormals kept."""
    value: float = _unpack_float32(_pack_integer32(bits))[0]
    return value


def round32(value: float) -> int:
    """A binary64 rounded to nearest even as an f32 pattern, flushed, NaN canonical."""
    if -FLUSHED32 < value < FLUSHED32:
        return SIGN32 if is_negative(value) else 0
    if value != value:
        return NAN32
    try:
        bits: int = _unpack_integer32(_pack_float32(value))[0]
    except OverflowError:
        return INFINITY32 | (SIGN32 if value < 0 else 0)
    return bits


def value16(bits: int) -> float:
    """The value of an f16 operand, denormals flushed."""
    if not bits & INFINITY16:
        return -0.0 if bits & SIGN16 else 0.0
    value: float = _unpack_float16(_pack_integer16(bits))[0]
    return value


def exact16(bits: int) -> float:
    """The value of an f16, denormals kept."""
    value: float = _unpack_float16(_pack_integer16(bits))[0]
    return value


def round16(value: float) -> int:
    """A binary64 rounded to nearest even as an f16 pattern, flushed, NaN canonical; beyond the largest: infinity."""
    if -FLUSHED16 < value < FLUSHED16:
        return SIGN16 if is_negative(value) else 0
    if value != value:
        return NAN16
    try:
        bits: int = _unpack_integer16(_pack_float16(value))[0]
    except OverflowError:
        return INFINITY16 | (SIGN16 if value < 0 else 0)
    return bits


def bits64(value: float) -> int:
    """The pattern of a binary64."""
    bits: int = _INTEGER64.unpack(_FLOAT64.pack(value))[0]
    return bits


def value64(bits: int) -> float:
    """The binary64 of a pattern."""
    value: float = _FLOAT64.unpack(_INTEGER64.pack(bits))[0]
    return value


def is_negative(value: float) -> bool:
    """Whether the sign bit is set, of zeros too."""
    return value < 0 or (value == 0 and bits64(value) >> 63 == 1)


def flush32(bits: int) -> int:
    """Denormals to the zero of their sign; all else as it is, NaN payloads too."""
    return bits if bits & INFINITY32 else bits & SIGN32


def flush16(bits: int) -> int:
    """As `flush32`."""
    return bits if bits & INFINITY16 else bits & SIGN16


def is_nan32(bits: int) -> bool:
    """Whether an f32 pattern is a NaN."""
    return bits & 0x7FFFFFFF > INFINITY32


def is_nan16(bits: int) -> bool:
    """Whether an f16 pattern is a NaN."""
    return bits & 0x7FFF > INFINITY16


def canonical32(bits: int) -> int:
    """Any NaN to the canonical one."""
    return NAN32 if bits & 0x7FFFFFFF > INFINITY32 else bits


def canonical16(bits: int) -> int:
    """Any NaN to the canonical one."""
    return NAN16 if bits & 0x7FFF > INFINITY16 else bits
