"""Scalar arithmetic on bit patterns, against exact rationals and by hand."""

import random
from collections.abc import Callable
from fractions import Fraction

import pytest
from emulator.correct_rounding import (
    nearest16,
    nearest32,
    toward_zero16,
    toward_zero32,
    value16,
    value32,
)

from autoclave.emulator.scalar import conversion, half, patterns, single

NAN, INFINITY, ONE, SIGN, LARGEST, SMALLEST = 0x7FC00000, 0x7F800000, 0x3F800000, 0x80000000, 0x7F7FFFFF, 0x00800000
HNAN, HINFINITY, HONE, HSIGN, HLARGEST, HSMALLEST = 0x7E00, 0x7C00, 0x3C00, 0x8000, 0x7BFF, 0x0400

SPECIAL32 = [
    0,
    1,
    0x7FFFFF,
    SMALLEST,
    SMALLEST + 1,
    0x33800000,
    0x3F7FFFFF,
    ONE,
    ONE + 1,
    0x4B800001,
    LARGEST - 1,
    LARGEST,
]
SPECIAL32 += [one | SIGN for one in SPECIAL32]
SPECIAL16 = [0, 1, 0x3FF, HSMALLEST, HSMALLEST + 1, 0x1000, 0x3BFF, HONE, HONE + 1, 0x6401, HLARGEST - 1, HLARGEST]
SPECIAL16 += [one | HSIGN for one in SPECIAL16]


def singles(count: int, seed: int = 0) -> list[int]:
    """Finite f32, special ones and random ones of which many are of like size."""
    source = random.Random(seed)
    found = [source.randrange(INFINITY) | source.choice((0, SIGN)) for _ in range(count)]
    return (
        SPECIAL32 + found + [source.randrange(0x3E000000, 0x41000000) | source.choice((0, SIGN)) for _ in range(count)]
    )


def halves(count: int, seed: int = 0) -> list[int]:
    source = random.Random(seed)
    return SPECIAL16 + [source.randrange(HINFINITY) | source.choice((0, HSIGN)) for _ in range(count)]


def flushed32(bits: int) -> Fraction:
    return value32(bits) if bits & INFINITY else Fraction(0)


def flushed16(bits: int) -> Fraction:
    return value16(bits) if bits & HINFINITY else Fraction(0)


FORMATS = {
    "single": (single, singles, flushed32, nearest32, SIGN),
    "half": (half, halves, flushed16, nearest16, HSIGN),
}


@pytest.mark.parametrize("form", FORMATS)
def test_products_are_exact_rationals_rounded_once(form: str):
    module, operands, value, nearest, sign = FORMATS[form]
    for a in operands(60):
        for b in operands(60, seed=1):
            exact = value(a) * value(b)
            wanted = nearest(exact) if exact else (a ^ b) & sign

            assert module.multiply(a, b) == wanted, (hex(a), hex(b))


@pytest.mark.parametrize("form", FORMATS)
def test_sums_are_exact_rationals_rounded_once(form: str):
    module, operands, value, nearest, sign = FORMATS[form]
    for a in operands(60):
        for b in operands(60, seed=1):
            exact = value(a) + value(b)
            both_negative_zero = a & b & sign if value(a) == value(b) == 0 else 0
            wanted = nearest(exact) if exact else both_negative_zero

            assert module.add(a, b) == wanted, (hex(a), hex(b))


@pytest.mark.parametrize("form", FORMATS)
def test_multiply_add_rounds_twice(form: str):
    module, operands, value, nearest, _ = FORMATS[form]
    values = [one for one in operands(12) if value(one)]
    checked = 0
    for a in values:
        for b in values[::2]:
            product = nearest(value(a) * value(b))
            if not value(product) or abs(value(product)) >= value(patterns.LARGEST16 if form == "half" else LARGEST):
                continue
            for c in values[::3]:
                exact = value(product) + value(c)
                checked += 1
                assert not exact or module.multiply_add(a, b, c) == nearest(exact), (hex(a), hex(b), hex(c))
    assert checked > 500


def test_an_unfused_multiply_add_loses_the_tail_of_the_product():
    # (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24: the tie is rounded to even, away it goes; fused, 2^-24 would remain.
    assert single.multiply_add(0x3F800800, 0x3F800800, 0xBF801000) == 0
    # (1 + 2^-6)^2 = 1 + 2^-5 + 2^-12, in f16.
    assert half.multiply_add(0x3C10, 0x3C10, 0xBC20) == 0
    # The product 2^-127 is flushed before the sum: 2^-126 + 2^-127 is not reached.
    assert single.multiply_add(SMALLEST, 0x3F000000, SMALLEST) == SMALLEST
    # 2 * largest is infinity before the sum.
    assert single.multiply_add(LARGEST, 0x40000000, LARGEST | SIGN) == INFINITY


def test_products_beside_the_boundary():
    assert single.multiply(SMALLEST, 0x3F7FFFFF) == 0  # 2^-126 - 2^-150 has 24 bits: nothing rounds it up
    assert single.multiply(SMALLEST | SIGN, 0x3F7FFFFF) == SIGN
    assert single.multiply(SMALLEST + 1, 0x3F7FFFFF) == SMALLEST  # 2^-126 (1 + 2^-23)(1 - 2^-24) is above it
    assert single.multiply(SMALLEST, ONE) == SMALLEST


def test_products_that_round_up_to_the_smallest_normal_are_kept():
    """Of products between 2^-126 (1 - 2^-24) and 2^-126, those above 2^-126 (1 - 2^-25) round up; the tie does too."""
    source = random.Random(5)
    kept = dropped = 0
    smallest = Fraction(1, 1 << 126)
    while kept < 20 or dropped < 20:
        a = source.randrange(1 << 23, 1 << 24)
        b = (1 << 47) // a  # a * b is just below 2^47
        product = Fraction(a * b, 1 << 47)
        if not 1 - Fraction(1, 1 << 24) < product < 1 or not 1 << 23 <= b < 1 << 24:
            continue
        # a * 2^-63 and b * 2^-110: their product is product * 2^-126.
        bits_a, bits_b = pattern(a, -63), pattern(b, -110)
        assert value32(bits_a) * value32(bits_b) == product * smallest
        rounds_up = product >= 1 - Fraction(1, 1 << 25)
        kept, dropped = kept + rounds_up, dropped + (not rounds_up)
        assert single.multiply(bits_a, bits_b) == (SMALLEST if rounds_up else 0)
        assert single.multiply(bits_a | SIGN, bits_b) == (SMALLEST | SIGN if rounds_up else SIGN)


def pattern(significand: int, exponent: int) -> int:
    """significand * 2^exponent as f32; 24 bits."""
    return nearest32(significand * Fraction(2) ** exponent)


def test_half_products_at_the_boundary():
    """The same in f16: (1 - 2^-11) 2^-14 is flushed, (1 - 2^-12) 2^-14 and above become 2^-14."""
    smallest = Fraction(1, 1 << 14)
    found = set()
    for a in range(1 << 10, 1 << 11):
        b = (1 << 21) // a
        product = Fraction(a * b, 1 << 21)
        if not 1 << 10 <= b < 1 << 11 or not 1 - Fraction(1, 1 << 11) <= product < 1:
            continue
        bits_a, bits_b = nearest16(a * Fraction(1, 1 << 17)), nearest16(b * Fraction(1, 1 << 18))
        assert value16(bits_a) * value16(bits_b) == product * smallest
        rounds_up = product >= 1 - Fraction(1, 1 << 12)
        found.add(rounds_up)
        assert half.multiply(bits_a, bits_b) == (HSMALLEST if rounds_up else 0)
    assert found == {True, False}


@pytest.mark.parametrize(
    ("name", "operands", "result"),
    [
        ("add", (INFINITY, INFINITY | SIGN), NAN),
        ("add", (INFINITY, ONE), INFINITY),
        ("add", (0x7FC12345, ONE), NAN),
        ("add", (0xFF800001, 0xFFFFFFFF), NAN),
        ("add", (1, 0x7FFFFF), 0),
        ("add", (0x80000001, 0x807FFFFF), SIGN),
        ("add", (SIGN, 0), 0),
        ("add", (LARGEST, 0x73000000), INFINITY),  # half a unit in the last place of the largest: the tie overflows
        ("add", (LARGEST, 0x72FFFFFF), LARGEST),
        ("multiply", (INFINITY, 0), NAN),
        ("multiply", (INFINITY, 1), NAN),  # the denormal is zero
        ("multiply", (SIGN | INFINITY, 0xC0000000), INFINITY),
        ("multiply", (LARGEST, 0x3F800001), INFINITY),
        ("maximum", (NAN, 0xBF800000), 0xBF800000),
        ("maximum", (ONE, 0xFFC00001), ONE),
        ("maximum", (0x7F812345, 0xFFFFFFFF), NAN),
        ("maximum", (SIGN, 0), 0),
        ("maximum", (0, SIGN), 0),
        ("maximum", (0x80000001, 0x80000002), SIGN),  # both flushed
        ("maximum", (1, SIGN), 0),
        ("maximum", (0xC0000000, 0xC0400000), 0xC0000000),
        ("minimum", (SIGN, 0), SIGN),
        ("minimum", (0, SIGN), SIGN),
        ("minimum", (NAN, 1), 0),
        ("minimum", (INFINITY | SIGN, LARGEST), INFINITY | SIGN),
        ("saturate", (NAN,), NAN),
        ("saturate", (SIGN,), SIGN),
        ("saturate", (0x80800000,), 0),
        ("saturate", (INFINITY,), ONE),
        ("saturate", (INFINITY | SIGN,), 0),
        ("saturate", (0x3F7FFFFF,), 0x3F7FFFFF),
        ("saturate", (0x3F800001,), ONE),
        ("sign", (0x80000001,), SIGN),
        ("sign", (NAN,), 0),
        ("sign", (0xFFC00000,), 0),
        ("sign", (INFINITY | SIGN,), 0xBF800000),
        ("identity", (0x7F800001,), NAN),
        ("identity", (0x807FFFFF,), SIGN),
        ("identity", (0xC0490FDB,), 0xC0490FDB),
    ],
)
def test_special_operands_of_singles(name: str, operands: tuple[int, ...], result: int):
    assert getattr(single, name)(*operands) == result


@pytest.mark.parametrize(
    ("name", "operands", "result"),
    [
        ("add", (HINFINITY, HINFINITY | HSIGN), HNAN),
        ("add", (0x7D23, HONE), HNAN),
        ("add", (1, 0x3FF), 0),
        ("add", (HLARGEST, 0x4C00), HINFINITY),  # 65504 + 16 is the tie below 2^16
        ("add", (HLARGEST, 0x4BFF), HLARGEST),
        ("multiply", (HLARGEST, HONE + 1), HINFINITY),
        ("maximum", (HNAN, 0xBC00), 0xBC00),
        ("maximum", (HSIGN, 0), 0),
        ("maximum", (0x7D23, 0xFE01), HNAN),
        ("minimum", (0, 0x8001), HSIGN),
        ("saturate", (0xFE01,), HNAN),
        ("saturate", (HSIGN,), HSIGN),
        ("saturate", (0x3C01,), HONE),
        ("sign", (0x8001,), HSIGN),
        ("identity", (0x7C01,), HNAN),
    ],
)
def test_special_operands_of_halves(name: str, operands: tuple[int, ...], result: int):
    assert getattr(half, name)(*operands) == result


INTEGRAL: dict[str, Callable[[Fraction], int]] = {
    "floor": lambda x: x.numerator // x.denominator,
    "ceiling": lambda x: -(-x.numerator // x.denominator),
    "truncate": int,
    "round_even": round,
}


@pytest.mark.parametrize("name", INTEGRAL)
def test_integral_values(name: str):
    function = getattr(single, name)
    fractions = [(exponent << 23) | one for exponent in range(120, 152) for one in (0, 1, 0x400000, 0x400001, 0x7FFFFF)]
    for bits in fractions + [one | SIGN for one in fractions]:
        exact = INTEGRAL[name](value32(bits))
        assert function(bits) == (nearest32(Fraction(exact)) if exact else bits & SIGN), hex(bits)
    assert [function(one) for one in (0, SIGN, 1, 0x80000001)] == [0, SIGN, 0, SIGN]
    assert [function(one) for one in (INFINITY, INFINITY | SIGN, 0xFF800001)] == [INFINITY, INFINITY | SIGN, NAN]


@pytest.mark.parametrize("name", INTEGRAL)
def test_integral_values_of_all_halves(name: str):
    function = getattr(half, name)
    for bits in range(HSMALLEST, HINFINITY):
        exact = INTEGRAL[name](value16(bits))
        assert function(bits) == nearest16(Fraction(exact)), hex(bits)


def test_comparisons():
    for module, nan, one, sign in ((single, NAN, ONE, SIGN), (half, HNAN, HONE, HSIGN)):
        assert module.equal(0, sign) and module.less_equal(sign, 0) and not module.less(sign, 0)
        assert module.equal(1, sign | 2) and not module.less(0, 1)  # denormals are zeros
        assert module.less(sign | one, one) and not module.less(one, one) and module.less_equal(one, one)
        for other in (0, one, nan):
            assert not module.equal(nan, other) and not module.less(nan, other) and not module.less_equal(other, nan)


def test_every_half_is_widened_exactly():
    for bits in range(HINFINITY):
        for sign in (0, 1):
            wide = conversion.half_to_single(bits | sign << 15)
            assert wide >> 31 == sign
            assert value32(wide) == value16(bits | sign << 15)


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [(HINFINITY, INFINITY), (0xFC00, 0xFF800000), (0x7E00, NAN), (0x7C01, 0x7FC02000), (0xFD55, 0xFFEAA000)],
)
def test_special_halves_are_widened(narrow: int, wide: int):
    assert conversion.half_to_single(narrow) == wide


ROUNDINGS = ("toward_zero", "nearest_even", "toward_positive", "toward_negative")


def rounded16(x: Fraction, rounding: str) -> int:
    """By the definition: the neighbours among f16 of unbounded exponent, then flush and overflow."""
    if rounding == "nearest_even":
        return nearest16(x)
    if rounding == "toward_zero" or (x < 0) == (rounding == "toward_positive"):
        return toward_zero16(x)
    return away16(x)


def away16(x: Fraction) -> int:
    sign, magnitude = (HSIGN, -x) if x < 0 else (0, x)
    unit = Fraction(2) ** -10
    while magnitude / unit >= 1 << 11:
        unit *= 2
    while magnitude / unit < 1 << 10:
        unit /= 2
    up = -(-magnitude // unit) * unit
    return sign | (HINFINITY if up > value16(HLARGEST) else nearest16(up))


BOUNDARIES = [
    0x38800000,
    0x387FE000,
    0x387FF000,
    0x387FFFFF,
    0x33800000,
    0x33000000,
    0x477FE000,
    0x477FF000,
    0x47800000,
    0x3F801000,
    0x3F803000,
    0x3F802000,
]
BOUNDARIES = [one + step for one in BOUNDARIES for step in (-1, 0, 1)]


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_singles_to_halves(rounding: str):
    function = getattr(conversion, f"single_to_half_{rounding}")
    source = random.Random(rounding)
    near = [source.randrange(0x38000000, 0x47900000) for _ in range(3000)]
    for bits in [SMALLEST, LARGEST, *BOUNDARIES, *near]:
        for one in (bits, bits | SIGN):
            assert function(one) == rounded16(value32(one), rounding), hex(one)
    assert [function(one) for one in (0, SIGN, INFINITY, INFINITY | SIGN)] == [0, HSIGN, HINFINITY, 0xFC00]
    assert [function(one) for one in (NAN, 0x7F812345, 0xFFC02000)] == [HNAN, 0x7E09, 0xFE01]


def test_narrowing_is_conversion_with_canonical_nan():
    for bits in BOUNDARIES:
        assert conversion.narrow_toward_zero(bits) == conversion.single_to_half_toward_zero(bits)
        assert conversion.narrow_nearest_even(bits) == conversion.single_to_half_nearest_even(bits)
    assert [conversion.narrow_toward_zero(one) for one in (0x7F812345, 0xFFC02000)] == [HNAN, HNAN]
    assert [conversion.narrow_nearest_even(one) for one in (0x7F812345, 0xFFC02000)] == [HNAN, HNAN]
    assert conversion.narrow_toward_zero(LARGEST) == HLARGEST
    assert conversion.narrow_nearest_even(LARGEST) == HINFINITY


TO_INTEGERS: dict[str, Callable[[Fraction], int]] = {
    "toward_zero": int,
    "nearest_even": round,
    "toward_positive": INTEGRAL["ceiling"],
    "toward_negative": INTEGRAL["floor"],
}


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize(
    ("low", "high"),
    [(-128, 127), (0, 255), (-(2**15), 2**15 - 1), (0, 2**16 - 1), (-(2**31), 2**31 - 1), (0, 2**32 - 1)],
)
def test_singles_to_integers(rounding: str, low: int, high: int):
    function = getattr(conversion, f"single_to_integer_{rounding}")
    edges = [
        nearest32(Fraction(edge) + step)
        for edge in (low, high, 0)
        for step in (Fraction(-3, 2), -1, Fraction(-1, 2), 0, Fraction(1, 2), 1, Fraction(5, 2))
    ]
    for bits in edges + singles(200):
        exact = TO_INTEGERS[rounding](value32(bits))
        assert function(bits, low, high) == max(low, min(high, exact)), hex(bits)
    assert [function(one, low, high) for one in (NAN, 0xFF800001, INFINITY, INFINITY | SIGN)] == [0, 0, high, low]


@pytest.mark.parametrize(
    ("rounding", "value", "result"),
    [
        ("toward_zero", 2**24 + 1, 0x4B800000),
        ("nearest_even", 2**24 + 1, 0x4B800000),
        ("nearest_even", 2**24 + 3, 0x4B800002),
        ("toward_positive", 2**24 + 1, 0x4B800001),
        ("toward_negative", 2**24 + 1, 0x4B800000),
        ("toward_zero", -(2**24) - 1, 0xCB800000),
        ("toward_positive", -(2**24) - 1, 0xCB800000),
        ("toward_negative", -(2**24) - 1, 0xCB800001),
        ("toward_zero", 2**32 - 1, 0x4F7FFFFF),
        ("nearest_even", 2**32 - 1, 0x4F800000),
        ("toward_positive", 2**32 - 1, 0x4F800000),
        ("toward_zero", -(2**31), 0xCF000000),
        *(
            (rounding, value, bits)
            for rounding in ROUNDINGS
            for value, bits in ((0, 0), (1, ONE), (-1, 0xBF800000), (0x12345, 0x4791A280))
        ),
    ],
)
def test_integers_to_singles(rounding: str, value: int, result: int):
    assert getattr(conversion, f"integer_to_single_{rounding}")(value) == result


def test_integers_to_singles_by_rationals():
    source = random.Random(3)
    for _ in range(500):
        value = source.getrandbits(source.randrange(1, 33)) * source.choice((1, -1))
        assert conversion.integer_to_single_nearest_even(value) == nearest32(Fraction(value))
        assert conversion.integer_to_single_toward_zero(value) == toward_zero32(Fraction(value))


@pytest.mark.parametrize(
    ("rounding", "value", "result"),
    [
        ("toward_zero", 2049, 0x6800),
        ("nearest_even", 2049, 0x6800),
        ("nearest_even", 2051, 0x6802),
        ("toward_positive", 2049, 0x6801),
        ("toward_negative", -2049, 0xE801),
        ("toward_zero", 65535, HLARGEST),
        ("nearest_even", 65519, HLARGEST),
        ("nearest_even", 65520, HINFINITY),
        ("toward_zero", -(2**31), 0xFBFF),
        ("toward_negative", -(2**31), 0xFC00),
        ("toward_positive", 2**32 - 1, HINFINITY),
        ("nearest_even", -(2**31), 0xFC00),
    ],
)
def test_integers_to_halves(rounding: str, value: int, result: int):
    assert getattr(conversion, f"integer_to_half_{rounding}")(value) == result
