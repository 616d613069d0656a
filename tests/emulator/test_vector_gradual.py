"""Functions of the vector library for processors that keep denormals, against rational arithmetic and NumPy."""

import math
import random
import struct
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from emulator.correct_rounding import value16, value32
from emulator.vector_harness import LANES, compiled, usable_hosts

from autoclave.emulator.vector import GRADUAL

HALF_MIDDLES = [
    struct.unpack("<I", struct.pack("<f", middle))[0] for middle in (2.0**-25, 3 * 2.0**-25, 1 + 2.0**-11, 65520)
]
"""f32 in the middle between two halves, or where halves end."""

EVERY_HOST = pytest.mark.parametrize("host", usable_hosts())


def drawn(count: int, seed: str, lowest: int = 1, highest: int = 254) -> list[int]:
    """Patterns of f32 with exponents in a range."""
    draw = random.Random(seed)
    return [
        draw.randrange(lowest, highest + 1) << 23 | draw.getrandbits(23) | draw.getrandbits(1) << 31
        for _ in range(count)
    ]


def single(number: float) -> int:
    """The pattern of an f32."""
    return int(struct.unpack("<I", struct.pack("<f", number))[0])


@EVERY_HOST
@pytest.mark.parametrize("lanes", LANES)
def test_singles_become_the_halves_that_numpy_rounds_them_to(lanes: int, host: str):
    around = [middle + step for middle in HALF_MIDDLES for step in (-1, 0, 1)]
    patterns = np.array([*around, *drawn(5000, "halves", 95, 145), 0, 1, 0x7F800000, 0x7F7FFFFF], np.uint32)
    functions = compiled(("narrow_gradual",), lanes, host, gradual=True)

    given = functions("narrow_gradual", patterns)

    with np.errstate(over="ignore"):
        assert np.array_equal(given, patterns.view(np.float32).astype(np.float16).view(np.uint16))


def test_toward_zero_a_half_is_never_larger():
    patterns = np.array([*HALF_MIDDLES, *drawn(3000, "toward zero", 95, 142)], np.uint32)
    functions = compiled(("narrow_toward_zero_gradual",), 8, "x86-64", gradual=True)

    given = functions("narrow_toward_zero_gradual", patterns)

    for pattern, half in zip(map(int, patterns), map(int, given), strict=True):
        magnitude = abs(value32(pattern))
        inner, outer = value16(half & 0x7FFF), value16((half & 0x7FFF) + 1) if half & 0x7FFF < 0x7BFF else math.inf
        assert inner <= magnitude < outer and half >> 15 == pattern >> 31


@EVERY_HOST
def test_sums_of_products_of_singles_are_rounded_once(host: str):
    rows = list(zip(drawn(3000, "a", 100, 150), drawn(3000, "b", 100, 150), drawn(3000, "c", 80, 170), strict=True))
    rows += [(single(1 + 2.0**-12), single(1 + 2.0**-12), single(2.0**-60 * sign)) for sign in (1, -1)]
    rows += [(a, b, c ^ 1 << 31) for a, b, c in rows[:50]] + [(1, 1, 1), (0x00800000, 0x3F000001, 0x80000001)]
    functions = compiled(("fma_single",), 8, host, gradual=True)

    given = functions("fma_single", *(np.array(column, np.uint32) for column in zip(*rows, strict=True)))

    assert [hex(int(bits)) for bits in given] == [hex(nearest32(sum_of(value32, *row))) for row in rows]


def nearest(exact: Fraction, fraction_bits: int, lowest: int, infinity: int) -> int:
    """The pattern of the nearest float, ties to even, denormals kept. lowest: the exponent of the smallest normal number."""
    magnitude = abs(exact)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if magnitude < Fraction(2) ** exponent:
        exponent -= 1
    exponent = max(exponent, lowest)
    units = round(magnitude / Fraction(2) ** (exponent - fraction_bits))
    return min(units + (exponent - lowest << fraction_bits), infinity)


def nearest32(exact: Fraction) -> int:
    return nearest(exact, 23, -126, 0x7F800000) | (1 << 31 if exact < 0 else 0)


def nearest16(exact: Fraction) -> int:
    return nearest(exact, 10, -14, 0x7C00) | (1 << 15 if exact < 0 else 0)


def sum_of(value: Callable[[int], Fraction], a: int, b: int, c: int) -> Fraction:
    """a * b + c, exactly."""
    return value(a) * value(b) + value(c)


def halves(count: int) -> list[tuple[int, int, int]]:
    """Halves whose products' last bits decide how sums are rounded, among others."""
    draw = random.Random("halves")
    rows = [
        (draw.randrange(0x7C00), draw.randrange(0x7C00) | 0x8000 * draw.getrandbits(1), draw.randrange(0x7C00))
        for _ in range(count)
    ]
    # 1 + 2^-11 is a middle; 2^-24 and what is less decides.
    rows += [(0x1000, 0x1001, 0x3C00), (0x3C01, 0x3C01, 0x0001), (0x3C01, 0x3C01, 0x8001), (0x1200, 0x8E01, 0x3C00)]
    return rows + [
        (0x0001, 0x3800, 0x0001),
        (0x0001, 0x3800, 0x8000),
        (0x7BFF, 0x3C00, 0x5000),
        (0x7BFF, 0x3C00, 0x4FFF),
    ]


@EVERY_HOST
@pytest.mark.parametrize("lanes", [8, 32])
def test_sums_of_products_of_halves_are_rounded_once(lanes: int, host: str):
    rows = halves(4000)
    columns = [
        np.array(column, np.uint16).view(np.float16).astype(np.float32).view(np.uint32)
        for column in zip(*rows, strict=True)
    ]
    functions = compiled(("fma_half",), lanes, host, gradual=True)

    given = functions("fma_half", *columns).view(np.float32).astype(np.float16).view(np.uint16)

    wanted = [nearest16(sum_of(value16, *row)) for row in rows]
    wrong = [row for row, bits, right in zip(rows, given, wanted, strict=True) if int(bits) != right and right & 0x7FFF]
    assert wrong == []


@EVERY_HOST
def test_sums_of_products_of_doubles_are_rounded_once(host: str):
    draw = random.Random("doubles")
    rows = [tuple(draw.uniform(-2, 2) * 2.0 ** draw.randint(-40, 40) for _ in range(3)) for _ in range(2000)]
    rows += [(1 + 2.0**-52, 1 + 2.0**-52, -1.0), (1 + 2.0**-30, 1 - 2.0**-30, -1.0), (2.0**-540, 2.0**-540, 2.0**-1074)]
    rows += [(2.0**1000, 2.0**30, -(2.0**1023)), (2.0**-500, 1.5 * 2.0**-574, 2.0**-1074), (2.0**-600, 2.0**-500, -0.0)]
    functions = compiled(("fma_double",), 4, host, gradual=True)

    given = functions("fma_double", *(np.array(column).view(np.uint64) for column in zip(*rows, strict=True)))

    wanted = [float_of(Fraction(a) * Fraction(b) + Fraction(c)) for a, b, c in rows]
    assert given.view(np.float64).tolist() == wanted


def float_of(exact: Fraction) -> float:
    """The nearest binary64: Python divides integers so."""
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


@EVERY_HOST
def test_scaling_by_a_power_rounds_once(host: str):
    values = drawn(1500, "scaled")
    draw = random.Random("powers")
    powers = [draw.randint(-290, 290) for _ in values]
    functions = compiled(("scale_single",), 16, host, gradual=True)

    given = functions("scale_single", np.array(values, np.uint32), np.array(powers, np.int32).view(np.uint32))

    wanted = [nearest32(value32(bits) * Fraction(2) ** power) for bits, power in zip(values, powers, strict=True)]
    assert [int(bits) & 0x7FFFFFFF for bits in given] == [bits & 0x7FFFFFFF for bits in wanted]


ORDERED = {
    "maximum_number_gradual": (
        (1.0, math.nan, 1.0),
        (math.nan, -2.0, -2.0),
        (-0.0, 0.0, 0.0),
        (0.0, -0.0, 0.0),
        (-1.0, -2.0, -1.0),
    ),
    "minimum_number_gradual": (
        (1.0, math.nan, 1.0),
        (math.nan, -2.0, -2.0),
        (-0.0, 0.0, -0.0),
        (0.0, -0.0, -0.0),
        (-1.0, 2.0, -1.0),
    ),
    "maximum_gradual": (
        (1.0, math.nan, math.nan),
        (math.nan, -2.0, math.nan),
        (-0.0, 0.0, 0.0),
        (3.0, math.inf, math.inf),
    ),
    "minimum_gradual": (
        (1.0, math.nan, math.nan),
        (math.nan, -2.0, math.nan),
        (0.0, -0.0, -0.0),
        (3.0, -math.inf, -math.inf),
    ),
}
"""First, second, result, as IEEE 754-2019 has them."""


@pytest.mark.parametrize("name", ORDERED)
def test_extremes_order_zeros_and_place_nan(name: str):
    first, second, wanted = (np.array(column, np.float32) for column in zip(*ORDERED[name], strict=True))

    given = compiled((name,), 4, "x86-64", gradual=True)(name, first.view(np.uint32), second.view(np.uint32))

    assert [repr(float(one)) for one in given.view(np.float32)] == [repr(float(one)) for one in wanted]


INTEGRAL: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "floor_gradual": np.floor,
    "ceiling_gradual": np.ceil,
    "truncate_gradual": np.trunc,
    "round_even_gradual": np.rint,
}


@EVERY_HOST
@pytest.mark.parametrize("name", INTEGRAL)
def test_integral_values_are_those_of_numpy(name: str, host: str):
    ends = [single(number) for number in (0.5, 1.5, 2.5, 0.49999997, 8388607.5, 8388609.0, 1e-45, 1e-38, 0.0, math.inf)]
    patterns = np.array([*ends, *(end | 1 << 31 for end in ends), *drawn(2000, name, 100, 160)], np.uint32)

    given = compiled((name,), 8, host, gradual=True)(name, patterns)

    assert np.array_equal(given, INTEGRAL[name](patterns.view(np.float32)).view(np.uint32))


QUARTERS = {
    0.0: (0.0, 1.0),
    0.25: (1.0, 0.0),
    0.5: (0.0, -1.0),
    0.75: (-1.0, 0.0),
    1e9: (0.0, 1.0),
    -0.25: (-1.0, 0.0),
    -1.5: (0.0, -1.0),
}
"""Turns: sine, cosine."""


def test_whole_quarters_of_turns_are_exact():
    turns = np.array(list(QUARTERS), np.float32)
    functions = compiled(("sin_turns", "cos_turns"), 8, "x86-64", gradual=True)

    sines, cosines = (functions(name, turns.view(np.uint32)).view(np.float32) for name in ("sin_turns", "cos_turns"))

    assert [(float(a), float(b)) for a, b in zip(sines, cosines, strict=True)] == list(QUARTERS.values())


FLUSHED = {
    "rcp_flushing": (
        (0x00000001, 0x7F800000),
        (0x807FFFFF, 0xFF800000),
        (0x7E800001, 0),
        (0xFF7FFFFF, 0x80000000),
        (0x3F800000, 0x3F800000),
    ),
    "rsq_flushing": ((0x00000001, 0x7F800000), (0x80000001, 0xFF800000), (0x40800000, 0x3F000000)),
    "sqrt_flushing": ((0x007FFFFF, 0), (0x80000001, 0x80000000), (0x40800000, 0x40000000)),
    "exp2_flushing": (
        (single(-126.0), 0x00800000),
        (single(-126.5), 0),
        (0x80000001, 0x3F800000),
        (single(128.0), 0x7F800000),
    ),
    "log2_flushing": ((0x00000001, 0xFF800000), (0x80000001, 0xFF800000), (0x00800000, single(-126.0))),
}
"""Operand and result."""


@EVERY_HOST
@pytest.mark.parametrize("name", FLUSHED)
def test_elementary_functions_flush_denormals_although_the_processor_keeps_them(name: str, host: str):
    operands, wanted = zip(*FLUSHED[name], strict=True)

    given = compiled((name,), 16, host, gradual=True)(name, np.array(operands, np.uint32))

    assert [hex(int(bits)) for bits in given] == [hex(bits) for bits in wanted]


def test_bits_do_not_depend_on_optimisation():
    names = tuple(name for name, entry in GRADUAL.items() if set(entry.signature.arguments) <= {"float"})
    columns = [np.array(drawn(500, seed), np.uint32) for seed in "xyz"]
    plain, quick = (compiled(names, 8, "x86-64", level, gradual=True) for level in (2, 0))

    for name in names:
        taken = columns[: len(GRADUAL[name].signature.arguments)]
        assert np.array_equal(plain(name, *taken), quick(name, *taken)), name
