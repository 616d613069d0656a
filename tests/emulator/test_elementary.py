"""Elementary functions: their constants derived again, and their results against rational arithmetic of 400 bits."""

import random
from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest
from emulator import correct_rounding
from emulator.correct_rounding import LN2, PI, correct32, nearest32, toward_zero16, value16, value32

from autoclave.emulator import elementary
from autoclave.emulator.scalar import half, single

NAMES = ("rcp", "rsq", "sqrt", "exp2", "log2", "sin", "cos")
NAN, INFINITY, ONE, SIGN = 0x7FC00000, 0x7F800000, 0x3F800000, 0x80000000

# Of all f32, those whose exact result lies closest to the middle between two f32, found by looking at every one.
HARDEST = {
    "exp2": (
        0xB52D1F9A,
        0xBCF3A937,
        0x3B429D37,
        0xB8D3D026,
        0xBAEC2B40,
        0x3A07857C,
        0x3C02A9AD,
        0x36879CF7,
        0xBE1F29DE,
    ),
    "log2": (0x3EA07AB9, 0x40207AB9, 0x00914A90, 0x01114A90, 0x04114A90),
    "sin": (0x73243F06, 0x46199998, 0xC6199998, 0x55CAFB2A, 0x67A9242B, 0x4371ADE3, 0x5F208D82, 0x7A5AACDB, 0x6446CEC0),
    "cos": (0x6115CB11, 0xE115CB11, 0x59443C0A, 0x5F18B878, 0x7A4B1A27, 0x5922AA80, 0x7908CD73, 0x61703976, 0x3C107FE6),
    "rsq": (0x403A18E3, 0x4009F038),
}


def patterns(name: str, count: int) -> list[int]:
    """Random normal arguments inside the function's domain, half of them of everyday size."""
    source = random.Random(name)
    found = [source.randrange(0x00800000, INFINITY) for _ in range(count)]
    found += [(source.randrange(127 - 12, 127 + 8) << 23) | source.randrange(1 << 23) for _ in range(count)]
    return found if name in ("rsq", "sqrt", "log2") else found + [one | SIGN for one in found]


@pytest.mark.parametrize("name", NAMES)
def test_random_arguments_are_rounded_correctly(name: str):
    function = getattr(single, name)

    wrong = [bits for bits in patterns(name, 300) if function(bits) != correct(name, bits)]

    assert wrong == []


def correct(name: str, bits: int) -> int:
    """exp2 beyond its range is not worth a rational of thousands of digits."""
    if name == "exp2" and bits & 0x7FFFFFFF > 0x43800000:
        return 0 if bits & SIGN else INFINITY
    return correct32(name, bits)


@pytest.mark.parametrize("name", HARDEST)
def test_the_hardest_arguments_are_rounded_correctly(name: str):
    function = getattr(single, name)

    wrong = [bits for bits in HARDEST[name] if function(bits) != correct32(name, bits)]

    assert wrong == []


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_huge_angles_are_reduced_exactly(name: str):
    huge = [0x7F7FFFFF, 0x7F000000, 0x7E800001, 0x4B800001, 0x49C90FDB, 0x5F3759DF, 0x6F800000, 0xFF7FFFFF]
    near_multiples_of_half_pi = [nearest32(k * PI / 2) for k in (1, 2, 3, 4, 5, 22, 710, 10**6 + 1, 10**15, 3 * 10**30)]

    for bits in huge + near_multiples_of_half_pi:
        assert getattr(single, name)(bits) == correct32(name, bits), hex(bits)


@pytest.mark.parametrize(
    ("name", "argument", "result"),
    [
        ("rcp", 0, INFINITY),
        ("rcp", SIGN, INFINITY | SIGN),
        ("rcp", 0x00000001, INFINITY),  # a denormal is zero
        ("rcp", INFINITY, 0),
        ("rcp", 0x7E800000, 0x00800000),  # 2^126, whose reciprocal is the smallest normal
        ("rcp", 0x7E800001, 0),
        ("rcp", 0xFE800001, SIGN),
        ("rsq", 0, INFINITY),
        ("rsq", SIGN, INFINITY | SIGN),
        ("rsq", 0x807FFFFF, INFINITY | SIGN),
        ("rsq", 0x80800000, NAN),
        ("rsq", INFINITY, 0),
        ("sqrt", SIGN, SIGN),
        ("sqrt", 0x807FFFFF, SIGN),
        ("sqrt", 0x80800000, NAN),
        ("sqrt", INFINITY, INFINITY),
        ("sqrt", INFINITY | SIGN, NAN),
        ("exp2", 0, ONE),
        ("exp2", SIGN, ONE),
        ("exp2", 0x7F7FFFFF, INFINITY),
        ("exp2", INFINITY, INFINITY),
        ("exp2", INFINITY | SIGN, 0),
        ("exp2", 0x42FE0000, 0x7F000000),  # 127
        ("exp2", 0x42FFFFFF, 0x7F7FFFA7),  # 127.99999: 2^128 (1 - 2^-17 ln 2)
        ("exp2", 0x43000000, INFINITY),  # 128
        ("exp2", 0xC2FC0000, 0x00800000),  # -126, the smallest normal
        ("exp2", 0xC2FC0001, 0),
        ("log2", 0, INFINITY | SIGN),
        ("log2", SIGN, INFINITY | SIGN),
        ("log2", 0x807FFFFF, INFINITY | SIGN),
        ("log2", 0x80800000, NAN),
        ("log2", INFINITY, INFINITY),
        ("log2", INFINITY | SIGN, NAN),
        ("log2", ONE, 0),
        ("log2", 0x00800000, 0xC2FC0000),
        ("sin", 0, 0),
        ("sin", SIGN, SIGN),
        ("sin", 0x807FFFFF, SIGN),
        ("sin", 0x00800000, 0x00800000),
        ("sin", INFINITY, NAN),
        ("cos", SIGN, ONE),
        ("cos", 0x007FFFFF, ONE),
        ("cos", INFINITY | SIGN, NAN),
        *((name, nan, NAN) for name in NAMES for nan in (NAN, 0xFFC12345, 0x7F800001, 0xFFBFFFFF)),
    ],
)
def test_special_arguments(name: str, argument: int, result: int):
    assert getattr(single, name)(argument) == result


@pytest.mark.parametrize("name", NAMES)
def test_all_halves_are_the_exact_value_cut_twice(name: str):
    """To nearest as f32, then toward zero as f16."""
    for bits in range(0x0400, 0x7C00, 7):
        exact = correct_rounding.FUNCTIONS[name](value16(bits)) if bits < 0x5C00 or name != "exp2" else None
        wanted = 0x7C00 if exact is None else halved(nearest32(exact))

        assert getattr(half, name)(bits) == wanted, hex(bits)


def halved(bits: int) -> int:
    return 0x7C00 if bits == INFINITY else toward_zero16(value32(bits))


# The constants, derived as their module says.


def interpolation(function: Callable[[Fraction], Fraction], low: Fraction, high: Fraction, degree: int) -> list[float]:
    """The polynomial through `function` at the Chebyshev nodes, lowest power first, each coefficient rounded once."""
    count = degree + 1
    nodes = [
        (low + high) / 2 + (high - low) / 2 * correct_rounding.cos(PI * (2 * n + 1) / (2 * count)) for n in range(count)
    ]
    nodes = [cut(node, 120) for node in nodes]
    divided = [function(node) for node in nodes]
    for order in range(1, count):
        for n in range(count - 1, order - 1, -1):
            divided[n] = cut((divided[n] - divided[n - 1]) / (nodes[n] - nodes[n - order]), 300)
    polynomial = [Fraction(0)]
    for node, coefficient in zip(reversed(nodes), reversed(divided), strict=True):
        shifted = [Fraction(0), *polynomial]
        lowered = [-node * one for one in polynomial] + [Fraction(0)]
        polynomial = [a + b for a, b in zip(shifted, lowered, strict=True)]
        polynomial[0] += coefficient
    return [float(one) for one in polynomial[:count]]


def cut(x: Fraction, bits: int) -> Fraction:
    return Fraction(int(x * (1 << bits)), 1 << bits)


def power_series(first: int, terms: Callable[[int], Fraction]) -> Callable[[Fraction], Fraction]:
    """z -> the sum of terms(k) z^(k - first), k from `first` on."""

    def total(z: Fraction) -> Fraction:
        found, power = Fraction(0), Fraction(1)
        for k in range(first, first + 70):
            found, power = found + terms(k) * power, cut(power * z, 300)
        return found

    return total


def factorial(n: int) -> int:
    product = 1
    for k in range(2, n + 1):
        product *= k
    return product


def quotient_of_exp2(r: Fraction) -> Fraction:
    """(2^r - 1) / r."""
    return (correct_rounding.exp2(r) - 1) / r if r else LN2


QUARTER_TURN = (PI / 4 * Fraction(1001, 1000)) ** 2


@pytest.mark.parametrize(
    ("coefficients", "function", "low", "high"),
    [
        (elementary.EXP2, quotient_of_exp2, Fraction(-1, 2), Fraction(1, 2)),
        (elementary.LOG2, power_series(1, lambda k: Fraction(2, 2 * k + 1)), Fraction(0), Fraction(295, 10000)),
        (
            elementary.SINE,
            power_series(1, lambda k: Fraction((-1) ** k, factorial(2 * k + 1))),
            Fraction(0),
            QUARTER_TURN,
        ),
        (
            elementary.COSINE,
            power_series(2, lambda k: Fraction((-1) ** k, factorial(2 * k))),
            Fraction(0),
            QUARTER_TURN,
        ),
    ],
    ids=["exp2", "log2", "sine", "cosine"],
)
def test_polynomials_interpolate_at_chebyshev_nodes(
    coefficients: Sequence[float], function: Callable[[Fraction], Fraction], low: Fraction, high: Fraction
):
    wanted = interpolation(function, low, high, len(coefficients) - 1)

    assert list(coefficients) == wanted
    sample = [low + (high - low) * Fraction(n, 61) for n in range(1, 61)]
    errors = [abs(evaluated(coefficients, x) - function(x)) / abs(function(x)) for x in sample]
    assert max(errors) < Fraction(1, 1 << 52)


def test_the_polynomial_between_sixteenths_serves_exp2():
    """Its error is taken times r, at most 1/32, in 2^r = 1 + r q(r)."""
    end = Fraction(1, 32)

    wanted = interpolation(quotient_of_exp2, -end, end, len(elementary.EXP2_REST) - 1)

    assert list(elementary.EXP2_REST) == wanted
    sample = [end * Fraction(n, 30) for n in range(-30, 31)]
    errors = [abs(x * (evaluated(elementary.EXP2_REST, x) - quotient_of_exp2(x))) for x in sample]
    assert max(errors) < Fraction(1, 1 << 54)


def test_the_table_of_exp2_holds_its_sixteenths():
    assert list(elementary.EXP2_STEPS) == [float(correct_rounding.exp2(Fraction(j, 16))) for j in range(16)]


def evaluated(coefficients: Sequence[float], x: Fraction) -> Fraction:
    return sum((Fraction(one) * x**power for power, one in enumerate(coefficients)), Fraction(0))


def test_logarithm_and_angle_constants():
    log2e = 1 / LN2

    assert elementary.LOG2E == float(log2e)
    assert Fraction(elementary.LOG2E_HIGH) == Fraction(round(log2e * 2**28), 2**28)
    assert elementary.LOG2E_LOW == float(log2e - Fraction(elementary.LOG2E_HIGH))
    assert elementary.PI_HALF_HIGH == float(PI / 2)
    assert elementary.PI_HALF_LOW == float(PI / 2 - Fraction(elementary.PI_HALF_HIGH))
    assert Fraction(elementary.PI_HALF_TOP) + Fraction(elementary.PI_HALF_REST) == Fraction(elementary.PI_HALF_HIGH)
    assert Fraction(elementary.PI_HALF_TOP).denominator <= 1 << 25
    assert Fraction(elementary.SQRT_HALF & 0x7FFFFF | 1 << 23, 1 << 24) == Fraction(
        round(correct_rounding.sqrt(Fraction(1, 2)) * 2**24), 2**24
    )


def test_words_of_two_over_pi():
    for exponent in range(126, 255):
        window = int(2 / PI * Fraction(2) ** (exponent - 150 + 126)) % (1 << 128)

        words = elementary.TWO_OVER_PI[exponent - elementary.REDUCED_EXPONENT]
        assert sum(word << 32 * n for n, word in enumerate(words)) == window
