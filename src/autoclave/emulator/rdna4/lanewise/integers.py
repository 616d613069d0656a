"""Sums, products, minima and comparisons of integers; sums of differences. All is exact modulo the width."""

import operator
from collections.abc import Callable
from typing import Final

from autoclave.emulator.rdna4.lanewise.operation import LaneOperation

Number = Callable[..., int]


def signed(a: int, width: int) -> int:
    """The lowest `width` bits as a signed number."""
    half = 1 << (width - 1)
    return (a & (2 * half - 1) ^ half) - half


def of_type(kind: str, function: Number) -> Number:
    """The function of integers of one type ("i16"), modulo its width."""
    width = int(kind[1:])
    mask = (1 << width) - 1
    if kind[0] == "u":
        return lambda *sources: function(*sources) & mask
    return lambda *sources: function(*(signed(one, width) for one in sources)) & mask


def saturating(kind: str, function: Number) -> Number:
    """The function of integers of one type, saturated to it."""
    width = int(kind[1:])
    mask = (1 << width) - 1
    if kind[0] == "u":
        return lambda *sources: max(0, min(mask, function(*sources)))
    half = 1 << (width - 1)
    return lambda *sources: max(-half, min(half - 1, function(*(signed(one, width) for one in sources)))) & mask


def arithmetic(kind: str, function: Number) -> LaneOperation:
    """An operation that saturates with CLAMP."""
    return LaneOperation(of_type(kind, function), saturated=saturating(kind, function))


def product_sum(width: int, is_signed: bool) -> Number:
    """a * b + c, of narrower factors and a sum that is not cut."""
    if is_signed:
        return lambda a, b, c=0: signed(a, width) * signed(b, width) + signed(c, 32)
    mask = (1 << width) - 1
    return lambda a, b, c=0: (a & mask) * (b & mask) + c


def _wide(kind: str, number: Number) -> LaneOperation:
    """A sum of 32 bits of what `number` gives, cut or (with CLAMP) saturated."""
    low, high = (-(1 << 31), (1 << 31) - 1) if kind == "i32" else (0, 0xFFFFFFFF)
    return LaneOperation(
        lambda *sources: number(*sources) & 0xFFFFFFFF,
        saturated=lambda *sources: max(low, min(high, number(*sources))) & 0xFFFFFFFF,
    )


def _middle(a: int, b: int, c: int) -> int:
    return sorted((a, b, c))[1]


def _added(a: int, b: int, carry: int = 0) -> tuple[int, int]:
    total = a + b + carry
    return total & 0xFFFFFFFF, total >> 32


def _subtracted(a: int, b: int, borrow: int = 0) -> tuple[int, int]:
    difference = a - b - borrow
    return difference & 0xFFFFFFFF, 1 if difference < 0 else 0


def _product_unsigned(a: int, b: int, c: int) -> tuple[int, int]:
    total = a * b + c
    return total & 0xFFFFFFFFFFFFFFFF, total >> 64


def _product_signed(a: int, b: int, c: int) -> tuple[int, int]:
    total = signed(a, 32) * signed(b, 32) + signed(c, 64)
    return total & 0xFFFFFFFFFFFFFFFF, total >> 64 & 1


def _bytes(a: int) -> tuple[int, int, int, int]:
    return a & 0xFF, a >> 8 & 0xFF, a >> 16 & 0xFF, a >> 24 & 0xFF


def sum_of_differences(a: int, b: int, c: int) -> int:
    """c and the absolute differences of the four bytes."""
    return c + sum(abs(x - y) for x, y in zip(_bytes(a), _bytes(b), strict=True)) & 0xFFFFFFFF


def masked_sum_of_differences(a: int, b: int, c: int) -> int:
    """As `sum_of_differences`, but for bytes that are 0 in b."""
    return c + sum(abs(x - y) for x, y in zip(_bytes(a), _bytes(b), strict=True) if y) & 0xFFFFFFFF


def _along(function: Number, width: int) -> Number:
    """The function of b and the four words that begin at the first four bytes of a, each with a part of c of `width` bits."""
    mask = (1 << width) - 1

    def computed(a: int, b: int, c: int) -> int:
        parts = (function(a >> 8 * i & 0xFFFFFFFF, b, c >> width * i & mask) & mask for i in range(4))
        return sum(part << width * i for i, part in enumerate(parts))

    return computed


def _average_bytes(a: int, b: int, c: int) -> int:
    """The averages of the bytes, rounded up where the byte of c is odd."""
    parts = zip(_bytes(a), _bytes(b), _bytes(c), strict=True)
    return sum((x + y + (z & 1) >> 1) << 8 * i for i, (x, y, z) in enumerate(parts))


def _minima(kind: str) -> dict[str, LaneOperation]:
    """min, max and what is made of them."""
    functions: dict[str, Number] = {
        f"v_min_{kind}": min,
        f"v_max_{kind}": max,
        f"v_min3_{kind}": min,
        f"v_max3_{kind}": max,
        f"v_med3_{kind}": _middle,
    }
    if kind[1:] == "32":
        functions[f"v_maxmin_{kind}"] = lambda a, b, c: min(max(a, b), c)
        functions[f"v_minmax_{kind}"] = lambda a, b, c: max(min(a, b), c)
    return {name: LaneOperation(of_type(kind, function)) for name, function in functions.items()}


RELATIONS: Final[dict[str, Callable[[int, int], bool]]] = {
    "lt": operator.lt,
    "eq": operator.eq,
    "le": operator.le,
    "gt": operator.gt,
    "ne": operator.ne,
    "ge": operator.ge,
}
"""Comparisons of integers by the middle of their names."""


def comparison(kind: str, holds: Callable[[int, int], bool]) -> Number:
    """One bit."""
    if kind[0] == "u":
        return lambda a, b: 1 if holds(a, b) else 0
    half = 1 << (int(kind[1:]) - 1)
    # Flipping the sign bit turns the order of signed patterns into that of unsigned ones.
    return lambda a, b: 1 if holds(a ^ half, b ^ half) else 0


INTEGERS: Final[dict[str, LaneOperation]] = {
    "v_add_nc_u32": arithmetic("u32", operator.add),
    "v_sub_nc_u32": arithmetic("u32", operator.sub),
    "v_subrev_nc_u32": arithmetic("u32", lambda a, b: b - a),
    "v_add_nc_i32": arithmetic("i32", operator.add),
    "v_sub_nc_i32": arithmetic("i32", operator.sub),
    "v_add_nc_u16": arithmetic("u16", operator.add),
    "v_sub_nc_u16": arithmetic("u16", operator.sub),
    "v_add_nc_i16": arithmetic("i16", operator.add),
    "v_sub_nc_i16": arithmetic("i16", operator.sub),
    "v_add3_u32": LaneOperation(of_type("u32", lambda a, b, c: a + b + c)),
    "v_add_co_u32": LaneOperation(_added),
    "v_sub_co_u32": LaneOperation(_subtracted),
    "v_subrev_co_u32": LaneOperation(lambda a, b: _subtracted(b, a)),
    "v_add_co_ci_u32": LaneOperation(_added),
    "v_sub_co_ci_u32": LaneOperation(_subtracted),
    "v_subrev_co_ci_u32": LaneOperation(lambda a, b, borrow: _subtracted(b, a, borrow)),
    "v_mul_lo_u32": LaneOperation(of_type("u32", operator.mul)),
    "v_mul_lo_u16": LaneOperation(of_type("u16", operator.mul)),
    "v_mul_hi_u32": LaneOperation(lambda a, b: a * b >> 32),
    "v_mul_hi_i32": LaneOperation(lambda a, b: signed(a, 32) * signed(b, 32) >> 32 & 0xFFFFFFFF),
    "v_mul_i32_i24": LaneOperation(lambda a, b: signed(a, 24) * signed(b, 24) & 0xFFFFFFFF),
    "v_mul_u32_u24": LaneOperation(lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF) & 0xFFFFFFFF),
    "v_mul_hi_i32_i24": LaneOperation(lambda a, b: signed(a, 24) * signed(b, 24) >> 32 & 0xFFFFFFFF),
    "v_mul_hi_u32_u24": LaneOperation(lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF) >> 32),
    "v_mad_i32_i24": _wide("i32", product_sum(24, True)),
    "v_mad_u32_u24": _wide("u32", product_sum(24, False)),
    "v_mad_i32_i16": _wide("i32", product_sum(16, True)),
    "v_mad_u32_u16": _wide("u32", product_sum(16, False)),
    "v_mad_i16": arithmetic("i16", lambda a, b, c: a * b + c),
    "v_mad_u16": arithmetic("u16", lambda a, b, c: a * b + c),
    "v_mad_co_u64_u32": LaneOperation(_product_unsigned),
    "v_mad_co_i64_i32": LaneOperation(_product_signed),
    "v_sad_u8": LaneOperation(sum_of_differences),
    "v_sad_hi_u8": LaneOperation(lambda a, b, c: (sum_of_differences(a, b, 0) << 16) + c & 0xFFFFFFFF),
    "v_sad_u16": LaneOperation(lambda a, b, c: c + abs((a & 0xFFFF) - (b & 0xFFFF)) + abs((a >> 16) - (b >> 16)) & 0xFFFFFFFF),
    "v_sad_u32": LaneOperation(lambda a, b, c: c + abs(a - b) & 0xFFFFFFFF),
    "v_msad_u8": LaneOperation(masked_sum_of_differences),
    "v_qsad_pk_u16_u8": LaneOperation(_along(sum_of_differences, 16)),
    "v_mqsad_pk_u16_u8": LaneOperation(_along(masked_sum_of_differences, 16)),
    "v_mqsad_u32_u8": LaneOperation(_along(masked_sum_of_differences, 32)),
    "v_lerp_u8": LaneOperation(_average_bytes),
    **{name: one for kind in ("i16", "u16", "i32", "u32") for name, one in _minima(kind).items()},
    **{
        f"{prefix}_{name}_{kind}": LaneOperation(comparison(kind, holds))
        for prefix in ("v_cmp", "v_cmpx")
        for kind in ("i16", "u16", "i32", "u32", "i64", "u64")
        for name, holds in RELATIONS.items()
    },
}  # fmt: skip
"""By name."""
