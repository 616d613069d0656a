"""exp2, log2, sin and cos of f32 patterns, by the algorithms that `autoclave.emulator.elementary` writes down."""

from autoclave.emulator.elementary import (
    COS_CORRECTIONS,
    COSINE,
    EXP2,
    EXP2_CORRECTIONS,
    EXP2_LIMIT,
    LOG2,
    LOG2E,
    LOG2E_HIGH,
    LOG2E_LOW,
    PI_HALF_HIGH,
    PI_HALF_LOW,
    PI_HALF_REST,
    PI_HALF_TOP,
    REDUCED_EXPONENT,
    SHIFTER,
    SIN_CORRECTIONS,
    SINE,
    SPLITTER,
    SQRT_HALF,
    TWO_OVER_PI,
)
from autoclave.emulator.scalar.patterns import INFINITY32, NAN32, SIGN32, exact32, round32, value32

_C0, _C1, _C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10 = EXP2
_L0, _L1, _L2, _L3, _L4, _L5, _L6, _L7 = LOG2
_S0, _S1, _S2, _S3, _S4, _S5, _S6 = SINE
_K0, _K1, _K2, _K3, _K4, _K5 = COSINE
_EXP2_CORRECTIONS = dict(EXP2_CORRECTIONS)
_SIN_CORRECTIONS = dict(SIN_CORRECTIONS)
_COS_CORRECTIONS = dict(COS_CORRECTIONS)
_POWERS_OF_TWO = tuple(2.0**k for k in range(-160, 161))


def exp2(a: int) -> int:
    """2 to the power of a."""
    x = value32(a)
    if x != x:
        return NAN32
    return round32(exp2_value(x)) + _EXP2_CORRECTIONS.get(a, 0)


def exp2_value(x: float) -> float:
    """2 to the power of a number, in binary64, before it is rounded."""
    x = min(max(x, -EXP2_LIMIT), EXP2_LIMIT)
    k = (x + SHIFTER) - SHIFTER
    r = x - k
    r2 = r * r
    r4 = r2 * r2
    r8 = r4 * r4
    q = ((_C0 + _C1 * r) + r2 * (_C2 + _C3 * r)) + r4 * ((_C4 + _C5 * r) + r2 * (_C6 + _C7 * r))
    q = q + r8 * ((_C8 + _C9 * r) + r2 * _C10)
    return (1.0 + r * q) * _POWERS_OF_TWO[int(k) + 160]


def log2(a: int) -> int:
    """The binary logarithm: -infinity of both zeros, NaN below."""
    if not a & INFINITY32:
        return INFINITY32 | SIGN32
    if a >= INFINITY32:
        return INFINITY32 if a == INFINITY32 else NAN32
    return round32(log2_value(a))


def log2_value(a: int) -> float:
    """The binary logarithm of a positive normal f32, in binary64, before it is rounded."""
    e = (a - SQRT_HALF) >> 23
    f = exact32(a - (e << 23)) - 1.0
    s = f / (2.0 + f)
    z = s * s
    h = f * 0.5 * f
    rest = z * (_L0 + z * (_L1 + z * (_L2 + z * (_L3 + z * (_L4 + z * (_L5 + z * (_L6 + z * _L7)))))))
    return float(e) + (f * LOG2E_HIGH + (f * LOG2E_LOW + (s * (h + rest) - h) * LOG2E))


def sin_turns_value(x: float) -> float:
    """The sine of a finite f32 number of full turns, in binary64, before it is rounded; a zero has the sign of x."""
    quadrant, r, y = reduced_turns(x)
    value = _cosine(r, y) if quadrant & 1 else _sine(r, y)
    if value == 0:
        return 0.0 * x
    return -value if quadrant & 2 else value


def cos_turns_value(x: float) -> float:
    """The cosine of a finite f32 number of full turns, in binary64, before it is rounded; a zero is positive."""
    quadrant, r, y = reduced_turns(x)
    value = _sine(r, y) if quadrant & 1 else _cosine(r, y)
    return 0.0 + (-value if (quadrant + 1) & 2 else value)


def reduced_turns(x: float) -> tuple[int, float, float]:
    """(q, r, y): x full turns less q quarter turns is r + y radians, |r + y| <= pi/4, q modulo 4.

    What is left of 4x beyond the nearest integer has at most 24 bits, so that its products with the two parts of pi/2 are
    exact. A zero keeps its sign.
    """
    quarters = 4.0 * x
    nearest = round(quarters)
    t = quarters - nearest if nearest else quarters
    top = t * PI_HALF_TOP
    rest = t * PI_HALF_REST
    r = top + rest
    return nearest & 3, r, ((top - r) + rest) + t * PI_HALF_LOW


def sin(a: int) -> int:
    """The sine of an angle in radians; NaN for infinities."""
    if a & INFINITY32 == INFINITY32:
        return NAN32
    magnitude = a & 0x7FFFFFFF
    quadrant, r, y = reduced(magnitude)
    value = _cosine(r, y) if quadrant & 1 else _sine(r, y)
    return round32(-value if (quadrant >> 1) ^ (a >> 31) else value) + _SIN_CORRECTIONS.get(magnitude, 0)


def cos(a: int) -> int:
    """The cosine of an angle in radians; NaN for infinities."""
    if a & INFINITY32 == INFINITY32:
        return NAN32
    magnitude = a & 0x7FFFFFFF
    quadrant, r, y = reduced(magnitude)
    value = _sine(r, y) if quadrant & 1 else _cosine(r, y)
    return round32(-value if (quadrant + 1) & 2 else value) + _COS_CORRECTIONS.get(magnitude, 0)


def reduced(magnitude: int) -> tuple[int, float, float]:
    """(q, r, y): a positive f32 less q quarter turns is r + y, |r + y| <= pi/4, q modulo 4."""
    exponent = magnitude >> 23
    if exponent < REDUCED_EXPONENT:
        return 0, value32(magnitude), 0.0
    significand = magnitude & 0x7FFFFF | 0x800000
    w0, w1, w2, w3 = TWO_OVER_PI[exponent - REDUCED_EXPONENT]
    product = (significand * (w0 | w1 << 32 | w2 << 64 | w3 << 96)) & ((1 << 128) - 1)
    quadrant = ((product >> 125) + 1) >> 1
    product -= quadrant << 126
    negative = product < 0
    if negative:
        product = ~product
    r, y = _times_pi_half(product)
    return quadrant & 3, -r if negative else r, -y if negative else y


def _times_pi_half(fraction: int) -> tuple[float, float]:
    """A fraction in units of 2^-126, times pi/2, as a sum of two binary64."""
    d3 = (fraction >> 96) * 2.0**-30
    d2 = (fraction >> 64 & 0xFFFFFFFF) * 2.0**-62
    d1 = (fraction >> 32 & 0xFFFFFFFF) * 2.0**-94
    s = d3 + d2
    t = (d2 - (s - d3)) + d1
    high = s + t
    low = t - (high - s)
    c = SPLITTER * high
    top = c - (c - high)
    rest = high - top
    product = high * PI_HALF_HIGH
    error = ((top * PI_HALF_TOP - product) + top * PI_HALF_REST + rest * PI_HALF_TOP) + rest * PI_HALF_REST
    error = error + (high * PI_HALF_LOW + low * PI_HALF_HIGH)
    r = product + error
    return r, error - (r - product)


def _sine(r: float, y: float) -> float:
    z = r * r
    series = _S0 + z * (_S1 + z * (_S2 + z * (_S3 + z * (_S4 + z * (_S5 + z * _S6)))))
    return r + (r * z * series + y * (1.0 - 0.5 * z))


def _cosine(r: float, y: float) -> float:
    z = r * r
    half = 0.5 * z
    w = 1.0 - half
    series = _K0 + z * (_K1 + z * (_K2 + z * (_K3 + z * (_K4 + z * _K5))))
    return w + (((1.0 - w) - half) + (z * z * series - r * y))
