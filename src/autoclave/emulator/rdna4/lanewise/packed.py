"""Operations on two halves of a word at a time, and sums of products (v_dot*).

Sources are words whose halves have been selected and negated already (`modifiers.packed_source`).
"""

import operator
from collections.abc import Callable
from typing import Final

from autoclave.emulator.rdna4.lanewise.floats import (
    add16,
    add32,
    add_bfloat,
    fused16,
    multiply16,
    multiply32,
    multiply_bfloat,
)
from autoclave.emulator.rdna4.lanewise.formats import F16, F32
from autoclave.emulator.rdna4.lanewise.integers import of_type, saturating, signed
from autoclave.emulator.rdna4.lanewise.operation import LaneOperation
from autoclave.emulator.rdna4.lanewise.ordering import choices

Number = Callable[..., int]


def halves(function: Number) -> Number:
    """The function of the lower halves and of the upper halves."""

    def computed(*sources: int) -> int:
        low = function(*(one & 0xFFFF for one in sources))
        return low | function(*(one >> 16 for one in sources)) << 16

    return computed


def _integers(kind: str, function: Number) -> LaneOperation:
    return LaneOperation(halves(of_type(kind, function)), saturated=halves(saturating(kind, function)))


def _shift(kind: str, function: Number) -> LaneOperation:
    """The amount comes first; it is not signed."""
    convert = (lambda a: signed(a, 16)) if kind == "i16" else (lambda a: a)
    return LaneOperation(halves(lambda amount, a: function(convert(a), amount & 15) & 0xFFFF))


def dot2(product: Callable[[int, int], int], add: Callable[[int, int], int]) -> Callable[[int, int, int], int]:
    """c + a0 * b0, and to that a1 * b1; every product and every sum is rounded."""
    return lambda a, b, c: add(add(c, product(a & 0xFFFF, b & 0xFFFF)), product(a >> 16, b >> 16))


def _product_of_halves(a: int, b: int) -> int:
    """In f32, which holds it exactly."""
    return F32.rounded(F16.value(a) * F16.value(b))


def _product_of_bfloats(a: int, b: int) -> int:
    """Rounded to f32, which only its smallest and largest products need."""
    return multiply32(a << 16, b << 16)


def unsigned_dot(width: int) -> Number:
    """c and the products of the unsigned parts of `width` bits; not cut."""
    mask = (1 << width) - 1
    return lambda a, b, c: c + sum((a >> i & mask) * (b >> i & mask) for i in range(0, 32, width))


def signed_dot(width: int) -> Number:
    """c, signed, and the products of parts of `width` bits, signed as the first two arguments say; not cut."""
    mask = (1 << width) - 1

    def part(a: int, shift: int, is_signed: bool) -> int:
        return signed(a >> shift, width) if is_signed else a >> shift & mask

    def computed(signed_a: bool, signed_b: bool, a: int, b: int, c: int) -> int:
        return signed(c, 32) + sum(part(a, i, signed_a) * part(b, i, signed_b) for i in range(0, 32, width))

    return computed


def _unsigned_dot(width: int) -> LaneOperation:
    number = unsigned_dot(width)
    return LaneOperation(
        lambda *sources: number(*sources) & 0xFFFFFFFF, saturated=lambda *sources: min(number(*sources), 0xFFFFFFFF)
    )


def _signed_dot(width: int) -> LaneOperation:
    number, half = signed_dot(width), 1 << 31
    return LaneOperation(
        lambda *sources: number(*sources) & 0xFFFFFFFF,
        takes="signs",
        saturated=lambda *sources: max(-half, min(half - 1, number(*sources))) & 0xFFFFFFFF,
    )


_DOT2_HALVES: Final = dot2(_product_of_halves, add32)
_DOT2_BFLOATS: Final = dot2(_product_of_bfloats, add32)

PACKED: Final[dict[str, LaneOperation]] = {
    "v_pk_add_f16": LaneOperation(halves(add16)),
    "v_pk_mul_f16": LaneOperation(halves(multiply16)),
    "v_pk_fma_f16": LaneOperation(halves(fused16)),
    "v_pk_fmac_f16": LaneOperation(halves(fused16)),
    **{
        f"v_pk_{name}_f16": LaneOperation(halves(choices(F16)[f"v_{name}_f16"]))
        for name in ("min_num", "max_num", "minimum", "maximum")
    },
    **{
        f"v_pk_{name}_{kind}": _integers(kind, function)
        for kind in ("i16", "u16")
        for name, function in (("add", operator.add), ("sub", operator.sub), ("mad", lambda a, b, c: a * b + c))
    },
    **{
        f"v_pk_{name}_{kind}": LaneOperation(halves(of_type(kind, function)))
        for kind in ("i16", "u16")
        for name, function in (("min", min), ("max", max))
    },
    "v_pk_mul_lo_u16": LaneOperation(halves(of_type("u16", operator.mul))),
    "v_pk_lshlrev_b16": _shift("u16", operator.lshift),
    "v_pk_lshrrev_b16": _shift("u16", operator.rshift),
    "v_pk_ashrrev_i16": _shift("i16", operator.rshift),
    **dict.fromkeys(("v_dot2_f32_f16", "v_dot2acc_f32_f16"), LaneOperation(_DOT2_HALVES)),
    **dict.fromkeys(("v_dot2_f32_bf16", "v_dot2acc_f32_bf16"), LaneOperation(_DOT2_BFLOATS)),
    "v_dot2_f16_f16": LaneOperation(dot2(multiply16, add16)),
    "v_dot2_bf16_bf16": LaneOperation(dot2(multiply_bfloat, add_bfloat)),
    "v_dot4_u32_u8": _unsigned_dot(8),
    "v_dot8_u32_u4": _unsigned_dot(4),
    "v_dot4_i32_iu8": _signed_dot(8),
    "v_dot8_i32_iu4": _signed_dot(4),
}
"""By name."""
