"""Types of operands: how wide they are, and which bits constants have in them."""

import re
import struct
from functools import cache

_TYPE = re.compile(r"(?P<base>[a-z]+)(?P<bits>\d+)(x(?P<elements>\d+))?")

FLOATS = frozenset({"f16", "f32", "f64", "bf16"})
"""Types that NEG, ABS and, of a result, CLAMP and OMOD are for."""


@cache
def width(name: str) -> int:
    """Bits of a type: 32 of "mask" (a wave has 32 lanes), 16 of "f16", 32 of "f16x2"."""
    if name == "mask":
        return 32
    found = _TYPE.fullmatch(name)
    if found is None:
        raise ValueError(f"{name!r} is no type of an operand")
    return int(found["bits"]) * int(found["elements"] or 1)


def registers(name: str) -> int:
    """Registers of 32 bits that an operand of this type takes."""
    return -(-width(name) // 32)


@cache
def base(name: str) -> str:
    """A type without its number of elements: "f16" of "f16x2"."""
    return name.split("x")[0]


def _patterns(form: str) -> tuple[int, ...]:
    values = (0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0)
    return tuple(int.from_bytes(struct.pack(form, value), "little") for value in values)


_F16 = (*_patterns("<e"), 0x3118)
_F32 = (*_patterns("<f"), 0x3E22F983)
_F64 = (*_patterns("<d"), 0x3FC45F306DC9C882)
_BF16 = tuple(bits >> 16 for bits in _F32)

FIRST_FLOAT = 240
LAST_FLOAT = 248
"""Codes of the inline constants 0.5, -0.5, 1, -1, 2, -2, 4, -4, 1/(2 pi)."""


@cache
def inline_constant(code: int, name: str) -> int:
    """The bits of inline constant `code` (128 to 208, 240 to 248) in an operand of this type.

    Integers are sign-extended to the operand's width. The constants 0.5 and so on are of the operand's float type; a
    16-bit integer, packed or not, takes what fits of the float of 32 bits. Packed halves have them in the lower half
    only. Of the matrices of WMMA, the bits are those of each element. (LLVM, AMDGPUBaseInfo.cpp, on inline operands.)
    """
    bits = width(element(name))
    if code < FIRST_FLOAT:
        return (code - 128 if code <= 192 else 192 - code) & ((1 << bits) - 1)
    table = {"f16": _F16, "bf16": _BF16}.get(base(name), _F64 if bits == 64 else _F32)
    return table[code - FIRST_FLOAT] & ((1 << bits) - 1)


def literal_constant(word: int, name: str) -> int:
    """The bits of the literal `word` in an operand of this type.

    Of 64 bits, a float has it as its upper half, a signed integer sign-extended, anything else zero-extended (the
    manual, "Literal constants").
    """
    bits = width(element(name))
    if bits < 64:
        return word & ((1 << bits) - 1)
    if base(name) == "f64":
        return word << 32
    return word | 0xFFFFFFFF << 32 if base(name) == "i64" and word >> 31 else word


@cache
def element(name: str) -> str:
    """The type that a constant has: of a matrix (more than two elements in several registers), that of one element."""
    return base(name) if registers(name) > 1 else name
