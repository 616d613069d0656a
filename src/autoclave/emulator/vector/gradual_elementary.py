"""Elementary functions of f32 lanes on a processor that keeps denormals, by the algorithms of `autoclave.emulator.elementary`.

..._flushing: denormal operands and results are the zero of their sign. What `vector.elementary` leaves to the host's flush
modes is done here by instructions. A half as an f32 is never a denormal, so those that only look at operands serve halves too.
All are correctly rounded for every f32: of sines and cosines those were looked at, too, whose binary64 result is near the middle
between two f32, and for none of them binary64 decides wrongly.
"""

from autoclave.emulator import elementary as constants
from autoclave.emulator.vector import elementary
from autoclave.emulator.vector.arithmetic import flush_single
from autoclave.emulator.vector.body import Body, Value, canonical, is_nan
from autoclave.emulator.vector.exp2_table import exp2_by_table


def rcp_flushing(body: Body, a: Value) -> Value:
    """1 / a."""
    return flush_single(body, elementary.rcp(body, flush_single(body, a)))


def sqrt_flushing(body: Body, a: Value) -> Value:
    """The root: NaN below zero, -0 for -0 and negative denormals."""
    return elementary.sqrt(body, flush_single(body, a))


def rsq_flushing(body: Body, a: Value) -> Value:
    """1 / sqrt(a)."""
    return elementary.rsq(body, flush_single(body, a))


def exp2_flushing(body: Body, a: Value, fma: bool, avx512: bool) -> Value:
    """2 to the power of a. Below -126 the result is a denormal, which is flushed; of a denormal operand it is 1.

    All ways give the correctly rounded result for every f32, and so the same.
    """
    if avx512 and body.lanes >= 8:
        result = exp2_by_table(body, a)
    else:
        result = _exp2_fused(body, a) if fma else elementary.exp2(body, a)
    below = body.compare("fcmp olt", a, body.single(-126.0))
    return body.select(below, body.single(0.0), result)


def _exp2_fused(body: Body, a: Value) -> Value:
    """The polynomial of `elementary.exp2` in fused steps, which are fewer."""
    x = body.cast("fpext", elementary.exp2_clamped(body, a), "double")
    shifter = body.double(constants.SHIFTER)
    s = body.op("fadd", x, shifter)
    r = body.op("fsub", x, body.op("fsub", s, shifter))
    p = body.intrinsic("fma", r, _exp2_series(body, r), body.double(1.0))
    pattern = elementary.exp2_pattern(body, p, s)
    pattern = elementary.corrected(body, body.cast("bitcast", a, "i32"), pattern, constants.EXP2_CORRECTIONS)
    nan = body.select(is_nan(body, a), body.integer(0x7FC00000), pattern)
    return body.cast("bitcast", nan, "float")


def _exp2_series(body: Body, r: Value) -> Value:
    c = [body.double(value) for value in constants.EXP2]
    r2 = body.op("fmul", r, r)
    r4 = body.op("fmul", r2, r2)
    r8 = body.op("fmul", r4, r4)

    def line(first: int) -> Value:
        return body.intrinsic("fma", c[first + 1], r, c[first])

    def cubic(first: int) -> Value:
        return body.intrinsic("fma", r2, line(first + 2), line(first))

    last = body.intrinsic("fma", r2, c[10], line(8))
    return body.intrinsic("fma", r8, last, body.intrinsic("fma", r4, cubic(4), cubic(0)))


def log2_flushing(body: Body, a: Value) -> Value:
    """The binary logarithm: -infinity of denormals of either sign; it is no denormal itself."""
    return elementary.log2(body, a)


def sin_turns(body: Body, a: Value) -> Value:
    """The sine of an angle in turns (1 is a full circle), denormals flushed; NaN for infinities."""
    quadrant, r, y = _reduced(body, a)
    even, odd = elementary.sine(body, r, y), elementary.cosine(body, r, y)
    value = _of_quadrant(body, quadrant, even, odd, quadrant)
    zero = body.compare("fcmp oeq", value, body.single(0.0))
    # Of whole numbers of half turns, too, the sine is the zero of their sign.
    return canonical(body, body.select(zero, body.op("fmul", body.single(0.0), a), value))


def cos_turns(body: Body, a: Value) -> Value:
    """The cosine of an angle in turns; NaN for infinities."""
    quadrant, r, y = _reduced(body, a)
    even, odd = elementary.cosine(body, r, y), elementary.sine(body, r, y)
    turned = body.op("add", quadrant, body.integer(1, "i64"))
    # Adding +0 makes of -0, which there is between quadrants, +0.
    return canonical(body, body.op("fadd", _of_quadrant(body, quadrant, even, odd, turned), body.single(0.0)))


def _of_quadrant(body: Body, quadrant: Value, even: Value, odd: Value, half_turns: Value) -> Value:
    """The function of that quadrant as f32, its sign turned if bit 1 of `half_turns` is set."""
    last = body.op("and", quadrant, body.integer(1, "i64"))
    value = body.select(body.compare("icmp ne", last, body.integer(0, "i64")), odd, even)
    sign = body.op("shl", body.op("lshr", half_turns, body.integer(1, "i64")), body.integer(63, "i64"))
    flipped = body.op("xor", body.cast("bitcast", value, "i64"), sign)
    return body.cast("fptrunc", body.cast("bitcast", flipped, "double"), "float")


def _reduced(body: Body, a: Value) -> tuple[Value, Value, Value]:
    """The quadrant, in the low bits of an i64, and what remains of the angle in radians, as the sum of two binary64.

    From 2^24 on every f32 is a whole number of turns. Four times the angle less the nearest integer is exact and has at
    most 24 bits, so that its products with the parts of pi/2 that have 26 and 27 are exact too.
    """
    a = flush_single(body, a)
    large = body.compare("fcmp oge", body.intrinsic("fabs", a), body.single(float(1 << 24)))
    small = body.select(large, body.op("fsub", a, a), a)
    quarters = body.op("fmul", body.cast("fpext", small, "double"), body.double(4.0))
    shifter = body.double(constants.SHIFTER)
    shifted = body.op("fadd", quarters, shifter)
    rest = body.op("fsub", quarters, body.op("fsub", shifted, shifter))
    top = body.op("fmul", rest, body.double(constants.PI_HALF_TOP))
    middle = body.op("fmul", rest, body.double(constants.PI_HALF_REST))
    low = body.op("fmul", rest, body.double(constants.PI_HALF_LOW))
    r = body.op("fadd", top, middle)
    y = body.op("fadd", body.op("fadd", body.op("fsub", top, r), middle), low)
    return body.cast("bitcast", shifted, "i64"), r, y
