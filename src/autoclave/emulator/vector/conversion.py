"""Conversions between f32, f16 patterns and integers. Two forms where F16C helps: with it, and by integer instructions alone.

Both forms give the same bits for all inputs; the rules are those of `autoclave.emulator.scalar.conversion`.
"""

from autoclave.emulator.vector.arithmetic import MAGNITUDE, SIGN, as_integer, as_single, flushed
from autoclave.emulator.vector.body import Body, Value, is_nan

_REBIAS = 112 << 23
_INFINITY = 0x7F800000
_SMALLEST_HALF = 0x38800000
_FLUSHED_HALF = 0x387FF000
"""2^-14 - 2^-26: below it, a number rounded to eleven bits stays below the smallest normal f16."""
_FLUSHED_HALF_AWAY = 0x387FE000
"""2^-14 - 2^-25: the same for rounding away from zero."""
_LARGEST_HALF = 0x477FE000
"""65504."""
_OVERFLOW_HALF = 0x477FF000
"""65520, the tie that rounds to infinity."""


def half_to_single(body: Body, a: Value, f16c: bool) -> Value:
    """f16 patterns, exactly; a NaN keeps sign and payload and becomes quiet."""
    if f16c:
        return body.cast("fpext", body.cast("bitcast", a, "half"), "float")
    bits = body.cast("zext", a, "i32")
    sign = body.op("shl", body.op("and", bits, body.integer(0x8000)), body.integer(16))
    magnitude = body.op("and", bits, body.integer(0x7FFF))
    shifted = body.op("shl", magnitude, body.integer(13))
    normal = body.op("add", shifted, body.integer(_REBIAS))
    scaled = body.op("fmul", body.cast("sitofp", magnitude, "float"), body.single(2.0**-24))
    value = body.select(body.compare("icmp ult", magnitude, body.integer(0x400)), as_integer(body, scaled), normal)
    special = body.op("or", shifted, body.integer(_INFINITY))
    quiet = body.op("or", special, body.integer(0x00400000))
    special = body.select(body.compare("icmp ugt", magnitude, body.integer(0x7C00)), quiet, special)
    value = body.select(body.compare("icmp uge", magnitude, body.integer(0x7C00)), special, value)
    return as_single(body, body.op("or", value, sign))


def half_operand(body: Body, a: Value, f16c: bool) -> Value:
    """f16 patterns as operands of the float ALU: denormals flushed, then exact; NaN payloads as they come."""
    return half_to_single(body, flushed(body, a, 0x7C00, 0x8000), f16c)


def single_to_half_toward_zero(body: Body, a: Value, f16c: bool) -> Value:
    """cov.f32f16 without a rounding: saturates, flushes; a NaN becomes quiet and keeps sign and ten payload bits."""
    return _toward_zero(body, a, f16c)


def single_to_half_nearest_even(body: Body, a: Value, f16c: bool) -> Value:
    """cov.f32f16 (even): overflows to infinity, flushes; NaN as toward zero."""
    return _nearest_even(body, a, f16c)


def single_to_half_toward_positive(body: Body, a: Value, f16c: bool) -> Value:
    """cov.f32f16 (pos)."""
    return _directed(body, a, f16c, upward=True)


def single_to_half_toward_negative(body: Body, a: Value, f16c: bool) -> Value:
    """cov.f32f16 (neg)."""
    return _directed(body, a, f16c, upward=False)


def narrow_toward_zero(body: Body, a: Value, f16c: bool) -> Value:
    """An f32 ALU result to a half destination: as cov, NaN canonical."""
    return body.select(is_nan(body, a), body.integer(0x7E00, "i16"), _toward_zero(body, a, f16c))


def narrow_nearest_even(body: Body, a: Value, f16c: bool) -> Value:
    """The result of an f16 operation, taken in f32, to f16: nearest even, flushed, NaN canonical."""
    return body.select(is_nan(body, a), body.integer(0x7E00, "i16"), _nearest_even(body, a, f16c))


def round_half(body: Body, a: Value, f16c: bool) -> Value:
    """`narrow_nearest_even`, back as f32: the rounding of an f16 operation inside a chain that stays in f32."""
    return half_to_single(body, narrow_nearest_even(body, a, f16c), f16c)


def _toward_zero(body: Body, a: Value, f16c: bool) -> Value:
    if f16c:
        return flushed(body, _vcvtps2ph(body, a, rounding=3), 0x7C00, 0x8000)
    sign, magnitude = _parts(body, a)
    value = body.op("lshr", body.op("sub", magnitude, body.integer(_REBIAS)), body.integer(13))
    large = body.compare("icmp ugt", magnitude, body.integer(_LARGEST_HALF))
    value = body.select(large, body.integer(0x7BFF), value)
    small = body.compare("icmp ult", magnitude, body.integer(_SMALLEST_HALF))
    return _pattern(body, body.select(small, body.integer(0), value), sign, magnitude)


def _nearest_even(body: Body, a: Value, f16c: bool) -> Value:
    sign, magnitude = _parts(body, a)
    small = body.compare("icmp ult", magnitude, body.integer(_FLUSHED_HALF))
    if f16c:
        value = _vcvtps2ph(body, a, rounding=0)
        return body.select(small, body.op("and", value, body.integer(0x8000, "i16")), value)
    rebiased = body.op("sub", magnitude, body.integer(_REBIAS))
    last = body.op("and", body.op("lshr", rebiased, body.integer(13)), body.integer(1))
    value = body.op("add", body.op("add", rebiased, body.integer(0xFFF)), last)
    value = body.op("lshr", value, body.integer(13))
    large = body.compare("icmp uge", magnitude, body.integer(_OVERFLOW_HALF))
    value = body.select(large, body.integer(0x7C00), value)
    return _pattern(body, body.select(small, body.integer(0), value), sign, magnitude)


def _directed(body: Body, a: Value, f16c: bool, upward: bool) -> Value:
    """Away from zero for numbers of one sign, toward zero for those of the other."""
    bits = as_integer(body, a)
    negative = body.compare("icmp slt", bits, body.integer(0))
    away, toward = _away_from_zero(body, a), _toward_zero(body, a, f16c)
    return body.select(negative, toward, away) if upward else body.select(negative, away, toward)


def _away_from_zero(body: Body, a: Value) -> Value:
    """By integers: nothing common rounds so."""
    sign, magnitude = _parts(body, a)
    value = body.op("add", body.op("sub", magnitude, body.integer(_REBIAS)), body.integer(0x1FFF))
    value = body.op("lshr", value, body.integer(13))
    value = body.select(body.compare("icmp ugt", magnitude, body.integer(_LARGEST_HALF)), body.integer(0x7C00), value)
    small = body.compare("icmp ule", magnitude, body.integer(_FLUSHED_HALF_AWAY))
    return _pattern(body, body.select(small, body.integer(0), value), sign, magnitude)


def _parts(body: Body, a: Value) -> tuple[Value, Value]:
    """The sign where f16 has it, and the magnitude's pattern."""
    bits = as_integer(body, a)
    sign = body.op("and", body.op("lshr", bits, body.integer(16)), body.integer(0x8000))
    return sign, body.op("and", bits, body.integer(MAGNITUDE))


def _pattern(body: Body, value: Value, sign: Value, magnitude: Value) -> Value:
    """Infinities and NaN put in, the sign too."""
    value = body.select(body.compare("icmp eq", magnitude, body.integer(_INFINITY)), body.integer(0x7C00), value)
    payload = body.op("and", body.op("lshr", magnitude, body.integer(13)), body.integer(0x3FF))
    nan = body.op("or", payload, body.integer(0x7E00))
    value = body.select(body.compare("icmp ugt", magnitude, body.integer(_INFINITY)), nan, value)
    return body.cast("trunc", body.op("or", value, sign), "i16")


def _vcvtps2ph(body: Body, a: Value, rounding: int) -> Value:
    """The instruction, on eight lanes at a time (four of a vector of four); it ignores FTZ."""
    width = min(body.lanes, 8)
    bits = width * 32
    function = f"llvm.x86.vcvtps2ph.{bits}"
    body.declarations.add(f"declare <8 x i16> @{function}(<{width} x float>, i32 immarg)")
    parts = [
        body.let(f"call <8 x i16> @{function}(<{width} x float> {part}, i32 {rounding})", "i16").text
        for part in _pieces(body, a, width)
    ]
    lanes = 8
    while len(parts) > 1:
        parts = [
            body.let(
                f"shufflevector <{lanes} x i16> {x}, <{lanes} x i16> {y}, {_mask(0, 2 * lanes)}",
                "i16",
            ).text
            for x, y in zip(parts[::2], parts[1::2], strict=True)
        ]
        lanes *= 2
    if body.lanes < 8:
        return body.let(f"shufflevector <8 x i16> {parts[0]}, <8 x i16> poison, {_mask(0, body.lanes)}", "i16")
    return Value(parts[0], "i16")


def _pieces(body: Body, a: Value, width: int) -> list[str]:
    kind = body.type(a.element)
    if body.lanes == width:
        return [a.text]
    return [
        body.let(f"shufflevector {kind} {a.text}, {kind} poison, {_mask(first, width)}", a.element).text
        for first in range(0, body.lanes, width)
    ]


def _mask(first: int, count: int) -> str:
    return f"<{count} x i32> <" + ", ".join(f"i32 {first + n}" for n in range(count)) + ">"


def single_to_integer(body: Body, a: Value, lowest: int, highest: int, rounding: str) -> Value:
    """f32 to i32 lanes, saturated to [lowest, highest]; NaN gives 0.

    In binary64, where all 32-bit integers and all normal f32 are exact, so that the conversion is in range on every host.
    Rounding up or down takes a denormal f32 by its pattern, since the host reads it as zero.
    """
    if rounding in ("toward_positive", "toward_negative"):
        a = _kept_denormal(body, a)
    value = body.cast("fpext", a, "double")
    low, high = body.double(float(lowest)), body.double(float(highest))
    value = body.select(is_nan(body, a), body.double(0.0), value)
    value = body.select(body.compare("fcmp olt", value, low), low, value)
    value = body.select(body.compare("fcmp ogt", value, high), high, value)
    value = _integral(body, value, rounding)
    if highest < 1 << 31:
        return body.cast("fptosi", value, "i32")
    # No instruction before AVX-512 gives unsigned integers: take 2^31 off, convert, and put the top bit back.
    half = body.double(float(1 << 31))
    above = body.compare("fcmp oge", value, half)
    lowered = body.select(above, body.op("fsub", value, half), value)
    converted = body.cast("fptosi", lowered, "i32")
    return body.select(above, body.op("xor", converted, body.integer(SIGN)), converted)


def _kept_denormal(body: Body, a: Value) -> Value:
    """The smallest normal of its sign instead of a denormal: it rounds to the same integers."""
    bits = as_integer(body, a)
    magnitude = body.op("and", bits, body.integer(MAGNITUDE))
    denormal = body.compare("icmp ult", body.op("sub", magnitude, body.integer(1)), body.integer(0x7FFFFF))
    smallest = body.op("or", body.op("and", bits, body.integer(SIGN)), body.integer(0x00800000))
    return as_single(body, body.select(denormal, smallest, bits))


def _integral(body: Body, value: Value, rounding: str) -> Value:
    """A binary64 below 2^51 rounded to an integer, but for "toward_zero", which the conversion does."""
    if rounding == "toward_zero":
        return value
    shifter, one = body.double(float(3 << 51)), body.double(1.0)
    nearest = body.op("fsub", body.op("fadd", value, shifter), shifter)
    if rounding == "toward_positive":
        below = body.compare("fcmp olt", nearest, value)
        return body.select(below, body.op("fadd", nearest, one), nearest)
    if rounding == "toward_negative":
        above = body.compare("fcmp ogt", nearest, value)
        return body.select(above, body.op("fsub", nearest, one), nearest)
    return nearest


def integer_to_single(body: Body, a: Value, signed: bool, rounding: str) -> Value:
    """i32 lanes to f32."""
    exact = body.cast("sitofp" if signed else "uitofp", a, "double")
    nearest = body.cast("fptrunc", exact, "float")
    if rounding == "nearest_even":
        return nearest
    rounded = body.cast("fpext", nearest, "double")
    above, below = body.compare("fcmp ogt", rounded, exact), body.compare("fcmp olt", rounded, exact)
    bits = as_integer(body, nearest)
    negative = body.compare("icmp slt", bits, body.integer(0))
    inward, outward = body.op("sub", bits, body.integer(1)), body.op("add", bits, body.integer(1))
    lower, upper = body.select(negative, outward, inward), body.select(negative, inward, outward)
    if rounding == "toward_positive":
        return as_single(body, body.select(below, upper, bits))
    if rounding == "toward_negative":
        return as_single(body, body.select(above, lower, bits))
    beyond = body.select(negative, below, above)
    return as_single(body, body.select(beyond, inward, bits))
