"""Float operations on a processor that keeps denormals (gradual underflow) and rounds to the nearest, of f32, f64 and halves.

A half is an f32 that is exactly one. NaN results keep whatever pattern comes out: callers make them canonical.
"""

from autoclave.emulator.vector.arithmetic import MAGNITUDE, as_integer, as_single
from autoclave.emulator.vector.body import Body, Value, is_nan
from autoclave.emulator.vector.conversion import half_to_single
from autoclave.emulator.vector.soft_fma import fma_half_by_sum, fma_odd_by_double, fma_single_by_double
from autoclave.emulator.vector.wide_fma import fma_double_by_integers

_REBIAS = 112 << 23
_SMALLEST_HALF = 0x38800000
_OVERFLOW_HALF = 0x477FF000
_LARGEST_HALF = 0x477FE000
_INFINITY = 0x7F800000
_ONES = {"float": ("i32", 32, 23), "double": ("i64", 64, 52)}


def round_half_gradual(body: Body, a: Value, f16c: bool) -> Value:
    """Rounded once to the nearest half."""
    if f16c:
        return body.cast("fpext", body.cast("fptrunc", a, "half"), "float")
    return half_to_single(body, narrow_gradual(body, a, f16c), f16c)


def narrow_gradual(body: Body, a: Value, f16c: bool) -> Value:
    """Rounded once to the nearest half, as its pattern; a NaN becomes quiet and keeps sign and ten bits of payload."""
    if f16c:
        return body.cast("bitcast", body.cast("fptrunc", a, "half"), "i16")
    sign, magnitude = _parts(body, a)
    rebiased = body.op("sub", magnitude, body.integer(_REBIAS))
    last = body.op("and", body.op("lshr", rebiased, body.integer(13)), body.integer(1))
    normal = body.op("lshr", body.op("add", body.op("add", rebiased, body.integer(0xFFF)), last), body.integer(13))
    # In the sum with 1/2 the last bit is worth 2^-24, as in a denormal half.
    aligned = body.op("fadd", as_single(body, magnitude), body.single(0.5))
    denormal = body.op("sub", as_integer(body, aligned), body.integer(0x3F000000))
    small = body.compare("icmp ult", magnitude, body.integer(_SMALLEST_HALF))
    value = body.select(small, denormal, normal)
    large = body.compare("icmp uge", magnitude, body.integer(_OVERFLOW_HALF))
    return _finished(body, body.select(large, body.integer(0x7C00), value), sign, magnitude)


def narrow_toward_zero_gradual(body: Body, a: Value, f16c: bool) -> Value:
    """Rounded toward zero to a half, as its pattern: beyond the largest, that one. NaN as `narrow_gradual`."""
    sign, magnitude = _parts(body, a)
    normal = body.op("lshr", body.op("sub", magnitude, body.integer(_REBIAS)), body.integer(13))
    scaled = body.op("fmul", as_single(body, magnitude), body.single(2.0**24))
    small = body.compare("icmp ult", magnitude, body.integer(_SMALLEST_HALF))
    bounded = body.select(small, scaled, body.single(0.0))
    value = body.select(small, body.cast("fptosi", bounded, "i32"), normal)
    large = body.compare("icmp ugt", magnitude, body.integer(_LARGEST_HALF))
    return _finished(body, body.select(large, body.integer(0x7BFF), value), sign, magnitude)


def _parts(body: Body, a: Value) -> tuple[Value, Value]:
    bits = as_integer(body, a)
    sign = body.op("and", body.op("lshr", bits, body.integer(16)), body.integer(0x8000))
    return sign, body.op("and", bits, body.integer(MAGNITUDE))


def _finished(body: Body, value: Value, sign: Value, magnitude: Value) -> Value:
    """Infinity and NaN put in, the sign too."""
    value = body.select(body.compare("icmp eq", magnitude, body.integer(_INFINITY)), body.integer(0x7C00), value)
    payload = body.op("and", body.op("lshr", magnitude, body.integer(13)), body.integer(0x3FF))
    nan = body.op("or", payload, body.integer(0x7E00))
    value = body.select(body.compare("icmp ugt", magnitude, body.integer(_INFINITY)), nan, value)
    return body.cast("trunc", body.op("or", value, sign), "i16")


def fma_single(body: Body, a: Value, b: Value, c: Value, fma: bool) -> Value:
    """a * b + c of f32, rounded once."""
    return body.intrinsic("fma", a, b, c) if fma else fma_single_by_double(body, a, b, c)


def fma_double(body: Body, a: Value, b: Value, c: Value, fma: bool) -> Value:
    """a * b + c of f64, rounded once."""
    return body.intrinsic("fma", a, b, c) if fma else fma_double_by_integers(body, a, b, c)


def scale_single(body: Body, a: Value, power: Value, avx512: bool) -> Value:
    """a * 2^power of f32, rounded once; in binary64, whose range has room for any f32 and the powers that matter."""
    if avx512 and body.lanes >= 16:
        return _scaled_by_instruction(body, a, power)
    factor = _power_of_two(body, _limited(body, power, 300))
    return body.cast("fptrunc", body.op("fmul", body.cast("fpext", a, "double"), factor), "float")


def _scaled_by_instruction(body: Body, a: Value, power: Value) -> Value:
    """By VSCALEFPS, which rounds once. The power is rounded to f32 only where it is far beyond any that matters."""
    function = "@llvm.x86.avx512.mask.scalef.ps.512"
    kind = "<16 x float>"
    body.declarations.add(f"declare {kind} {function}({kind}, {kind}, {kind}, i16, i32 immarg)")
    exponent = body.cast("sitofp", power, "float")
    parts = []
    for first in range(0, body.lanes, 16):
        pieces = [_piece(body, value, first) for value in (a, exponent)]
        listed = ", ".join(f"{kind} {piece}" for piece in pieces)
        parts.append(body.let(f"call {kind} {function}({listed}, {kind} zeroinitializer, i16 -1, i32 4)", "float").text)
    return _joined(body, parts)


def scale_double(body: Body, a: Value, power: Value) -> Value:
    """a * 2^power of f64, rounded once: in three steps, of which only the last can round, or those before gave 0 or infinity."""
    power = _limited(body, power, 2200)
    last = _limited(body, power, 1022)
    rest = body.op("sub", power, last)
    second = _limited(body, rest, 1022)
    for step in (body.op("sub", rest, second), second, last):
        a = body.op("fmul", a, _power_of_two(body, step))
    return a


def _limited(body: Body, a: Value, limit: int) -> Value:
    """To [-limit, limit]."""
    a = body.select(body.compare("icmp sgt", a, body.integer(limit)), body.integer(limit), a)
    return body.select(body.compare("icmp slt", a, body.integer(-limit)), body.integer(-limit), a)


def _power_of_two(body: Body, power: Value) -> Value:
    """As binary64, of -1022 to 1023."""
    field = body.op("add", power, body.integer(1023))
    shifted = body.op("shl", body.cast("zext", field, "i64"), body.integer(52, "i64"))
    return body.cast("bitcast", shifted, "double")


def fma_half(body: Body, a: Value, b: Value, c: Value, f16c: bool, avx512: bool) -> Value:
    """a * b + c of halves, rounded once to a half.

    The sum is taken in f32, rounded to odd: of the two f32 next to an inexact sum, the one whose last bit is set. It lies on the
    same side as the exact sum of every half and of every middle between two halves, since those have that bit clear
    (f32 has two bits more than a middle needs; denormal halves need fewer still). So rounding it to a half gives what
    rounding the exact sum gives. It cannot underflow: products and halves are multiples of 2^-48.
    """
    odd = _fma_odd(body, a, b, c) if avx512 and body.lanes >= 16 else fma_half_by_sum(body, a, b, c)
    return round_half_gradual(body, odd, f16c)


def fma_mixed_half(body: Body, a: Value, b: Value, c: Value, f16c: bool, avx512: bool) -> Value:
    """a * b + c of f32, rounded once to a half: rounded to odd in f32 first, as `fma_half` says.

    Where f32 overflows, to its largest number or infinity, or has denormals, the half is infinite or 0 either way.
    """
    odd = _fma_odd(body, a, b, c) if avx512 and body.lanes >= 16 else fma_odd_by_double(body, a, b, c)
    return round_half_gradual(body, odd, f16c)


def _fma_odd(body: Body, a: Value, b: Value, c: Value) -> Value:
    """a * b + c rounded to odd, by rounding down and up: they differ by one unit if the sum is inexact."""
    function = "@llvm.x86.avx512.vfmadd.ps.512"
    kind = "<16 x float>"
    body.declarations.add(f"declare {kind} {function}({kind}, {kind}, {kind}, i32 immarg)")
    parts = []
    for first in range(0, body.lanes, 16):
        pieces = [_piece(body, value, first) for value in (a, b, c)]
        listed = ", ".join(f"{kind} {piece}" for piece in pieces)
        down = body.let(f"call {kind} {function}({listed}, i32 {_DOWN})", "float").text
        up = body.let(f"call {kind} {function}({listed}, i32 {_UP})", "float").text
        bits = body.let(f"bitcast {kind} {down} to <16 x i32>", "i32").text
        last = body.let(f"and <16 x i32> {bits}, splat (i32 1)", "i32").text
        last = body.let(f"icmp ne <16 x i32> {last}, zeroinitializer", "i1").text
        parts.append(body.let(f"select <16 x i1> {last}, {kind} {down}, {kind} {up}", "float").text)
    return _joined(body, parts)


def _joined(body: Body, parts: list[str]) -> Value:
    """16 or 32 lanes of one or two parts."""
    if len(parts) == 1:
        return Value(parts[0], "float")
    mask = ", ".join(f"i32 {lane}" for lane in range(32))
    listed = ", ".join(f"<16 x float> {part}" for part in parts)
    return body.let(f"shufflevector {listed}, <32 x i32> <{mask}>", "float")


_DOWN, _UP = 9, 10
"""Toward minus and plus infinity, without exceptions."""


def _piece(body: Body, value: Value, first: int) -> str:
    if body.lanes == 16:
        return value.text
    kind = body.type("float")
    mask = ", ".join(f"i32 {first + lane}" for lane in range(16))
    return body.let(f"shufflevector {kind} {value.text}, {kind} poison, <16 x i32> <{mask}>", "float").text


def maximum_number(body: Body, a: Value, b: Value) -> Value:
    """The larger; a number wins over a NaN; -0 is below +0."""
    return body.select(is_nan(body, b), a, _extreme(body, a, b, "fcmp ogt", "and"))


def minimum_number(body: Body, a: Value, b: Value) -> Value:
    """The smaller; as `maximum_number`."""
    return body.select(is_nan(body, b), a, _extreme(body, a, b, "fcmp olt", "or"))


def maximum(body: Body, a: Value, b: Value) -> Value:
    """The larger; a NaN wins; -0 is below +0."""
    return _or_nan(body, a, b, _extreme(body, a, b, "fcmp ogt", "and"))


def minimum(body: Body, a: Value, b: Value) -> Value:
    """The smaller; as `maximum`."""
    return _or_nan(body, a, b, _extreme(body, a, b, "fcmp olt", "or"))


def _or_nan(body: Body, a: Value, b: Value, value: Value) -> Value:
    return body.select(body.compare("fcmp uno", a, b), body.op("fadd", a, b), value)


def _extreme(body: Body, a: Value, b: Value, compare: str, merge: str) -> Value:
    """Equal operands have equal patterns, or are zeros, whose signs `merge` decides. b if one is a NaN."""
    integer, _, _ = _ONES[a.element]
    merged = body.op(merge, body.cast("bitcast", a, integer), body.cast("bitcast", b, integer))
    chosen = body.select(body.compare(compare, a, b), a, b)
    return body.select(body.compare("fcmp oeq", a, b), body.cast("bitcast", merged, a.element), chosen)


def truncate(body: Body, a: Value, f16c: bool) -> Value:
    """Rounded toward zero, the sign kept. (F16C comes with AVX, which rounds to integers in one instruction.)"""
    if f16c:
        return body.intrinsic("trunc", a)
    magnitude = body.intrinsic("fabs", a)
    nearest = _nearest(body, magnitude)
    lower = body.op("fsub", nearest, _number(body, a, 1.0))
    below = body.select(body.compare("fcmp ogt", nearest, magnitude), lower, nearest)
    return body.intrinsic("copysign", _unless_large(body, below, magnitude), a)


def floor(body: Body, a: Value, f16c: bool) -> Value:
    """Rounded toward minus infinity; zeros keep their sign."""
    if f16c:
        return body.intrinsic("floor", a)
    nearest = round_even(body, a, f16c)
    lower = body.op("fsub", nearest, _number(body, a, 1.0))
    return body.select(body.compare("fcmp ogt", nearest, a), lower, nearest)


def ceiling(body: Body, a: Value, f16c: bool) -> Value:
    """Rounded toward plus infinity; a negative fraction gives -0."""
    return body.negate(floor(body, body.negate(a), f16c))


def round_even(body: Body, a: Value, f16c: bool) -> Value:
    """Rounded to the nearest integer, ties to even, the sign kept."""
    if f16c:
        return body.intrinsic("roundeven", a)
    magnitude = body.intrinsic("fabs", a)
    return body.intrinsic("copysign", _unless_large(body, _nearest(body, magnitude), magnitude), a)


def fraction(body: Body, a: Value, f16c: bool) -> Value:
    """a - floor(a), rounded once."""
    return body.op("fsub", a, floor(body, a, f16c))


def clamp(body: Body, a: Value) -> Value:
    """To [0, 1]; NaN and -0 to +0."""
    zero, one = _number(body, a, 0.0), _number(body, a, 1.0)
    a = body.select(body.compare("fcmp ogt", a, zero), a, zero)
    return body.select(body.compare("fcmp olt", a, one), a, one)


def _number(body: Body, like: Value, value: float) -> Value:
    return body.single(value) if like.element == "float" else body.double(value)


def _nearest(body: Body, magnitude: Value) -> Value:
    shifter = _number(body, magnitude, float(1 << _ONES[magnitude.element][2]))
    return body.op("fsub", body.op("fadd", magnitude, shifter), shifter)


def _unless_large(body: Body, rounded: Value, magnitude: Value) -> Value:
    """From 2^23 (2^52 of f64) on every float is an integer; NaN is let through."""
    limit = _number(body, magnitude, float(1 << _ONES[magnitude.element][2]))
    return body.select(body.compare("fcmp olt", magnitude, limit), rounded, magnitude)
