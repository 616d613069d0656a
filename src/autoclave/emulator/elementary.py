"""Constants and written algorithms of the elementary functions, shared by `scalar` and `vector`, which are separate code.

Every function takes an f32 whose denormals were flushed, computes in binary64 with `+ - * /` and `sqrt` in the order
given here (each rounded to nearest even, none fused), and rounds the result once to f32. No intermediate binary64 is
a denormal that reaches a result, so that flush modes of the host do not matter.

exp2(x): t = clamp(x, -EXP2_LIMIT, EXP2_LIMIT); s = t + SHIFTER; k = s - SHIFTER; r = t - k, exact, |r| <= 1/2;
    p = 1 + r * q(r), with q in Estrin's order (see `EXP2`); k is added to the exponent field of p.
log2(x): x = 2^e * m with sqrt(1/2) <= m < sqrt(2), split at the bits of SQRT_HALF; f = m - 1; s = f / (2 + f);
    z = s * s; h = f * 0.5 * f; R = z * polynomial(z), Horner; log2 = e + (f * LOG2E_HIGH + (f * LOG2E_LOW + (s * (h + R) - h) * LOG2E)).
    LOG2E_HIGH has 29 bits, f at most 24: their product is exact.
sin(x), cos(x): below 1/2 in magnitude r = x; else the magnitude's significand (24 bits) times `TWO_OVER_PI[exponent]`, four
    32-bit words of 2/pi at that exponent in units of 2^-126, modulo 2^128: bits 127..126 after rounding to the nearest
    multiple of 2^126 are the quadrant, what remains is r / (pi/2), kept as two binary64 and multiplied by pi/2 as two
    binary64 (`pi_half`). Then sin(r + y) = r + (r*z*S(z) + y*(1 - z/2)), cos(r + y) = w + (((1 - w) - z/2) + (z*z*C(z) - r*y)), w = 1 - z/2, z = r*r.
rcp, sqrt: the correctly rounded quotient and root in f32; rounding the binary64 ones once more gives the same, because
    53 >= 2 * 24 + 2. rsq: 1 / sqrt(x) in binary64.

Binary64 leaves the rounded result wrong where the exact one lies within some 2^-53 (relatively) of the middle between two f32: for the
arguments in `EXP2_CORRECTIONS`, `SIN_CORRECTIONS` and `COS_CORRECTIONS`, found by looking at all f32 for binary64 results
near such a middle and computing those in rational arithmetic. With them every function is correctly rounded for every f32.

The numbers were derived with rational arithmetic: ln 2 from atanh(1/3), pi from Machin's formula, to 400 bits; each
polynomial interpolates its function at the Chebyshev nodes of its interval, then each coefficient is rounded once.
tests/emulator/test_elementary.py repeats the derivation.
"""

from typing import Final

SHIFTER: Final = float(3 << 51)
"""Adding it to a binary64 below 2^51 in magnitude rounds that to an integer, held in the low bits of the sum."""

EXP2_LIMIT: Final = 160.0
"""2^160 overflows f32, 2^-160 is flushed."""

EXP2: Final = tuple(
    map(
        float.fromhex,
        (
            "0x1.62e42fefa39efp-1",
            "0x1.ebfbdff82c598p-3",
            "0x1.c6b08d704a0c2p-5",
            "0x1.3b2ab6fba1ddap-7",
            "0x1.5d87fe78a5276p-10",
            "0x1.430913096fd9fp-13",
            "0x1.ffcbfc670dcd4p-17",
            "0x1.62bfd47773353p-20",
            "0x1.b524fae627834p-24",
            "0x1.e6063f7217bc6p-28",
            "0x1.e9d3fe3952179p-32",
        ),
    )
)
"""(2^r - 1) / r on [-1/2, 1/2], lowest power first: ((c0 + c1 r) + r2 (c2 + c3 r)) + r4 ((c4 + c5 r) + r2 (c6 + c7 r)) + r8 ((c8 + c9 r) + r2 c10).

The sum of the first two groups is taken before the third is added; r2 = r r, r4 = r2 r2, r8 = r4 r4.
"""

EXP2_STEPS: Final = tuple(
    map(
        float.fromhex,
        (
            "0x1.0000000000000p+0",
            "0x1.0b5586cf9890fp+0",
            "0x1.172b83c7d517bp+0",
            "0x1.2387a6e756238p+0",
            "0x1.306fe0a31b715p+0",
            "0x1.3dea64c123422p+0",
            "0x1.4bfdad5362a27p+0",
            "0x1.5ab07dd485429p+0",
            "0x1.6a09e667f3bcdp+0",
            "0x1.7a11473eb0187p+0",
            "0x1.8ace5422aa0dbp+0",
            "0x1.9c49182a3f090p+0",
            "0x1.ae89f995ad3adp+0",
            "0x1.c199bdd85529cp+0",
            "0x1.d5818dcfba487p+0",
            "0x1.ea4afa2a490dap+0",
        ),
    )
)
"""2^(j/16): where hosts look up in registers, exp2 takes the nearest sixteenth off its argument, and `EXP2_REST` for what is left."""

EXP2_REST: Final = tuple(
    map(
        float.fromhex,
        (
            "0x1.62e42fefa39f3p-1",
            "0x1.ebfbdff82c590p-3",
            "0x1.c6b08d6f2a289p-5",
            "0x1.3b2ab6fb41213p-7",
            "0x1.5d897e525c216p-10",
            "0x1.430a1d08ec681p-13",
        ),
    )
)
"""(2^r - 1) / r on [-1/32, 1/32], lowest power first."""

SQRT_HALF: Final = 0x3F3504F3
"""The f32 pattern at which log2 splits a significand."""

LOG2E: Final = float.fromhex("0x1.71547652b82fep+0")
LOG2E_HIGH: Final = float.fromhex("0x1.7154765000000p+0")
LOG2E_LOW: Final = float.fromhex("0x1.5c17f0bbbe880p-31")

LOG2: Final = tuple(
    map(
        float.fromhex,
        (
            "0x1.5555555555555p-1",
            "0x1.9999999999a3ap-2",
            "0x1.249249247670ap-2",
            "0x1.c71c7201fc0e6p-3",
            "0x1.745cf8c09a9d4p-3",
            "0x1.3b1c43c68eb6dp-3",
            "0x1.0fbd140544b63p-3",
            "0x1.0c135adcf3011p-3",
        ),
    )
)
"""The sum of 2 z^(k-1) / (2k + 1) over k >= 1, on [0, 0.0295], lowest power first."""

SINE: Final = tuple(
    map(
        float.fromhex,
        (
            "-0x1.5555555555555p-3",
            "0x1.1111111111110p-7",
            "-0x1.a01a01a019926p-13",
            "0x1.71de3a545e700p-19",
            "-0x1.ae64540f0ba18p-26",
            "0x1.61217c1864fa1p-33",
            "-0x1.ab161757f0c63p-41",
        ),
    )
)
"""(sin(r) / r - 1) / z with z = r^2, |r| <= 1.001 pi/4, lowest power first."""

COSINE: Final = tuple(
    map(
        float.fromhex,
        (
            "0x1.5555555555555p-5",
            "-0x1.6c16c16c16960p-10",
            "0x1.a01a019f4d0edp-16",
            "-0x1.27e4fa15bd814p-22",
            "0x1.1eeb66b683028p-29",
            "-0x1.907c0e63adbb6p-37",
        ),
    )
)
"""(cos(r) - 1 + z/2) / z^2 with z = r^2, |r| <= 1.001 pi/4, lowest power first."""

PI_HALF_HIGH: Final = float.fromhex("0x1.921fb54442d18p+0")
PI_HALF_LOW: Final = float.fromhex("0x1.1a62633145c07p-54")
PI_HALF_TOP: Final = float.fromhex("0x1.921fb50000000p+0")
"""PI_HALF_HIGH without its low 26 bits; what it lacks is PI_HALF_REST, exactly."""
PI_HALF_REST: Final = PI_HALF_HIGH - PI_HALF_TOP
SPLITTER: Final = float((1 << 27) + 1)
"""Veltkamp's constant: parts a binary64 into two of 26 bits."""

REDUCED_EXPONENT: Final = 126
"""The biased f32 exponent (1/2 and above) from which arguments of sin and cos are reduced."""

_TWO_OVER_PI_320: Final = 0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561B7246E3A424DD2E0


def _two_over_pi(exponent: int) -> tuple[int, int, int, int]:
    """floor(2/pi * 2^(exponent - 150) * 2^126) modulo 2^128, as 32-bit words, lowest first."""
    window = _TWO_OVER_PI_320 >> (320 - (exponent - 150 + 126))
    return (window & _WORD, window >> 32 & _WORD, window >> 64 & _WORD, window >> 96 & _WORD)


_WORD: Final = 0xFFFFFFFF

TWO_OVER_PI: Final = tuple(_two_over_pi(exponent) for exponent in range(REDUCED_EXPONENT, 255))
"""By f32 exponent less REDUCED_EXPONENT."""

EXP2_CORRECTIONS: Final = ((0x3B429D37, 1), (0xBCF3A937, 1))
"""Arguments whose result is off by one, and what to add to the result's pattern."""

SIN_CORRECTIONS: Final = ((0x46199998, -1),)
"""By the argument's magnitude: what to add to the magnitude of the result's pattern."""

COS_CORRECTIONS: Final = ((0x5F18B878, -1), (0x6115CB11, 1))
"""As `SIN_CORRECTIONS`."""
