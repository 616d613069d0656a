"""Operands for tests of gfx1200's ALU operations: special and random bits of each type, the same in every run."""

import random
from collections.abc import Sequence

import numpy as np

from autoclave.emulator.rdna4.encoding.types import base, width

_F32 = (
    *(0, 1, 2, 0x7FFFFF, 0x800000, 0x800001, 0xFFFFFF, 0x1000000, 0x33000000, 0x33000001, 0x33800000, 0x387FC000),
    *(0x387FE000, 0x387FF000, 0x387FFFFF, 0x38800000, 0x38801000, 0x3E800000, 0x3EFFFFFF, 0x3F000000, 0x3F000001),
    *(0x3F3504F3, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x3F801000, 0x3F803000, 0x3FC00000, 0x40000000, 0x40200000),
    *(0x40490FDB, 0x42FC0000, 0x42FE0000, 0x43000000, 0x43160000, 0x437F0000, 0x477FE000, 0x477FEFFF, 0x477FF000),
    *(0x47800000, 0x4AFFFFFF, 0x4B000000, 0x4B000001, 0x4B800000, 0x4EFFFFFF, 0x4F000000, 0x4F7FFFFF, 0x4F800000),
    *(0x7E800000, 0x7F000000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FC12345, 0x7FFFFFFF),
)
_F16 = (
    *(0, 1, 2, 3, 0x1FF, 0x3FF, 0x400, 0x401, 0x7FF, 0x800, 0x1000, 0x2E66, 0x3118, 0x3400, 0x37FF, 0x3800, 0x3801),
    *(0x3BFF, 0x3C00, 0x3C01, 0x3E00, 0x4000, 0x4248, 0x4900, 0x5BFF, 0x6400, 0x6401, 0x7000, 0x77FF, 0x7800),
    *(0x7BFE, 0x7BFF, 0x7C00, 0x7C01, 0x7E00, 0x7E55, 0x7FFF),
)
_F64 = (
    *(0, 1, 0xFFFFFFFFFFFFF, 0x10000000000000, 0x10000000000001, 0x3FE0000000000000, 0x3FEFFFFFFFFFFFFF),
    *(0x3FF0000000000000, 0x3FF0000000000001, 0x3FF8000000000000, 0x4000000000000000, 0x4004000000000000),
    *(0x41DFFFFFFFC00000, 0x41E0000000000000, 0x41EFFFFFFFE00000, 0x41F0000000000000, 0x4330000000000000),
    *(0x4340000000000001, 0x47EFFFFFE0000000, 0x47EFFFFFF0000000, 0x36A0000000000000, 0x3690000000000001),
    *(0x3FF0000010000000, 0x7FDFFFFFFFFFFFFF, 0x7FE0000000000000, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000),
    *(0x7FF0000000000001, 0x7FF8000000000000, 0x7FF8123456789ABC),
)
_POSITIVE = {"f16": (16, _F16), "f32": (32, _F32), "f64": (64, _F64), "bf16": (16, tuple(bits >> 16 for bits in _F32))}


def _signed(bits: int, patterns: Sequence[int]) -> list[int]:
    return [*patterns, *(pattern | 1 << (bits - 1) for pattern in patterns)]


def _integers(bits: int) -> list[int]:
    ends = [0, 1, 2, 3, 7, 8, 15, 16, 17, 24, 31, 32, 33, 63, 64, 127, 128, 255, 256, 0x7FFF, 0x8000, 0xFFFF, 0x10000]
    ends += [
        1 << (bits - 1),
        (1 << (bits - 1)) - 1,
        (1 << bits) - 1,
        (1 << bits) - 2,
        0x5A5A5A5A,
        0x01234567,
        0x00FFFFFF,
    ]
    return sorted({end & ((1 << bits) - 1) for end in ends} | {-end & ((1 << bits) - 1) for end in ends[:12]})


def special(type_: str) -> list[int]:
    """Bits at which operations on this type change their ways."""
    if type_ == "mask":
        return [0, 1]
    bits, element = width(type_), base(type_)
    if bits == 32 and element in ("f16", "bf16"):
        halves = special(element)
        return [low | high << 16 for low, high in zip(halves, halves[7:] + halves[:7], strict=True)]
    return _signed(*_POSITIVE[type_]) if type_ in _POSITIVE else _integers(bits)


def drawn(type_: str, draw: random.Random) -> int:
    """Random bits, of floats mostly near 1 so that sums and products stay in range."""
    if type_ == "mask":
        return draw.getrandbits(1)
    bits, element = width(type_), base(type_)
    if bits == 32 and element in ("f16", "bf16"):
        return drawn(element, draw) | drawn(element, draw) << 16
    pattern = draw.getrandbits(bits)
    if element not in _POSITIVE:
        return pattern >> draw.randrange(bits)
    if draw.randrange(4) == 0:
        return pattern
    return int(near_one(element, pattern, draw.choice((1, 3, 12))))


def near_one(element: str, pattern: int, spread: int) -> int:
    """A float of any sign and fraction, with an exponent within `spread` of that of 1."""
    fraction = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}[element]
    bits = width(element)
    bias = {"f16": 15, "bf16": 127, "f32": 127, "f64": 1023}[element]
    exponent = bias - spread + (pattern >> fraction) % (2 * spread + 1)
    return pattern & 1 << (bits - 1) | exponent << fraction | pattern & (1 << fraction) - 1


def columns(types: Sequence[str], rows: int, seed: str) -> list[np.ndarray]:
    """Operands of these types: special ones against each other, then random ones, a few of them equal."""
    draw = random.Random(seed)
    table = []
    for row in range(rows):
        if row < rows // 2:
            table.append([draw.choice(special(type_)) for type_ in types])
        else:
            table.append([drawn(type_, draw) for type_ in types])
        if row % 16 == 15 and len(types) > 1 and types[0] == types[1]:
            table[-1][1] = table[-1][0]
    if len(types) == 1:
        table[: len(special(types[0]))] = [[bits] for bits in special(types[0])]
    kinds = [object if width(type_) > 64 else np.uint64 for type_ in types]
    return [np.array([line[index] for line in table], kind) for index, kind in enumerate(kinds)]
