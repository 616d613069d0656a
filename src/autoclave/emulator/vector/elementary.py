"""exp2, log2, sin, cos, rcp, rsq and sqrt of f32 lanes, by the algorithms that `autoclave.emulator.elementary` writes down."""

from collections.abc import Sequence

from autoclave.emulator import elementary as constants
from autoclave.emulator.vector.arithmetic import as_integer, as_single, flush_single
from autoclave.emulator.vector.body import Body, Value, canonical, is_nan


def rcp(body: Body, a: Value) -> Value:
    """1 / a, correctly rounded; a flushed zero gives the infinity of its sign."""
    return canonical(body, body.op("fdiv", body.single(1.0), a))


def sqrt(body: Body, a: Value) -> Value:
    """The correctly rounded root: NaN below zero, -0 for -0.

    NaN lanes are found by integers: LLVM knows which roots are NaN, and takes one NaN for as good as another.
    """
    bits = as_integer(body, a)
    exponent = body.op("and", bits, body.integer(0x7F800000))
    below = body.compare("icmp ugt", bits, body.integer(0x7F800000))
    nan = body.op("and", below, body.compare("icmp ne", exponent, body.integer(0)))
    root = as_integer(body, body.square_root(a))
    return as_single(body, body.select(nan, body.integer(0x7FC00000), root))


def rsq(body: Body, a: Value) -> Value:
    """1 / sqrt(a) in binary64, rounded once."""
    root = body.square_root(body.cast("fpext", a, "double"))
    return canonical(body, body.cast("fptrunc", body.op("fdiv", body.double(1.0), root), "float"))


def exp2(body: Body, a: Value) -> Value:
    """2 to the power of a."""
    x = body.cast("fpext", exp2_clamped(body, a), "double")
    shifter = body.double(constants.SHIFTER)
    s = body.op("fadd", x, shifter)
    r = body.op("fsub", x, body.op("fsub", s, shifter))
    p = body.op("fadd", body.double(1.0), body.op("fmul", r, _exp2_series(body, r)))
    pattern = exp2_pattern(body, p, s)
    pattern = corrected(body, as_integer(body, a), pattern, constants.EXP2_CORRECTIONS)
    return as_single(body, body.select(is_nan(body, a), body.integer(0x7FC00000), pattern))


def exp2_clamped(body: Body, a: Value) -> Value:
    """To where neither the result's magnitude nor the exponent's addition leaves binary64."""
    limit, lowest = body.single(constants.EXP2_LIMIT), body.single(-constants.EXP2_LIMIT)
    clamped = body.select(body.compare("fcmp ogt", a, limit), limit, a)
    return body.select(body.compare("fcmp olt", clamped, lowest), lowest, clamped)


def exp2_pattern(body: Body, p: Value, s: Value) -> Value:
    """p * 2^k as f32; the low bits of `s` hold k."""
    exponent = body.op("shl", body.cast("bitcast", s, "i64"), body.integer(52, "i64"))
    scaled = body.cast("bitcast", body.op("add", body.cast("bitcast", p, "i64"), exponent), "double")
    return as_integer(body, body.cast("fptrunc", scaled, "float"))


def corrected(body: Body, bits: Value, pattern: Value, corrections: Sequence[tuple[int, int]]) -> Value:
    """Result patterns with one added or taken off for single arguments."""
    for argument, correction in corrections:
        hit = body.cast("sext", body.compare("icmp eq", bits, body.integer(argument)), "i32")
        pattern = body.op("sub" if correction > 0 else "add", pattern, hit)
    return pattern


def _exp2_series(body: Body, r: Value) -> Value:
    c = [body.double(value) for value in constants.EXP2]
    r2 = body.op("fmul", r, r)
    r4 = body.op("fmul", r2, r2)
    r8 = body.op("fmul", r4, r4)

    def line(low: Value, high: Value) -> Value:
        return body.op("fadd", low, body.op("fmul", high, r))

    def cubic(first: int) -> Value:
        return body.op("fadd", line(c[first], c[first + 1]), body.op("fmul", r2, line(c[first + 2], c[first + 3])))

    q = body.op("fadd", cubic(0), body.op("fmul", r4, cubic(4)))
    last = body.op("fadd", line(c[8], c[9]), body.op("fmul", r2, c[10]))
    return body.op("fadd", q, body.op("fmul", r8, last))


def log2(body: Body, a: Value) -> Value:
    """The binary logarithm: -infinity of both zeros, NaN below."""
    bits = as_integer(body, a)
    e = body.op("ashr", body.op("sub", bits, body.integer(constants.SQRT_HALF)), body.integer(23))
    m = as_single(body, body.op("sub", bits, body.op("shl", e, body.integer(23))))
    one = body.double(1.0)
    f = body.op("fsub", body.cast("fpext", m, "double"), one)
    s = body.op("fdiv", f, body.op("fadd", body.double(2.0), f))
    z = body.op("fmul", s, s)
    h = body.op("fmul", body.op("fmul", f, body.double(0.5)), f)
    rest = body.op("fmul", z, _horner(body, z, constants.LOG2))
    inner = body.op("fsub", body.op("fmul", s, body.op("fadd", h, rest)), h)
    low = body.op(
        "fadd",
        body.op("fmul", f, body.double(constants.LOG2E_LOW)),
        body.op("fmul", inner, body.double(constants.LOG2E)),
    )
    value = body.op("fadd", body.op("fmul", f, body.double(constants.LOG2E_HIGH)), low)
    value = body.op("fadd", body.cast("sitofp", e, "double"), value)
    result = body.cast("fptrunc", value, "float")
    return _log2_special(body, bits, result)


def _log2_special(body: Body, bits: Value, result: Value) -> Value:
    """Infinity, zeros and NaN put in."""
    infinity = body.integer(0x7F800000)
    value = as_integer(body, result)
    value = body.select(body.compare("icmp eq", bits, infinity), infinity, value)
    nan = body.compare("icmp ugt", bits, infinity)
    value = body.select(nan, body.integer(0x7FC00000), value)
    zero = body.compare("icmp eq", body.op("and", bits, infinity), body.integer(0))
    return as_single(body, body.select(zero, body.integer(0xFF800000), value))


def sin(body: Body, a: Value) -> Value:
    """The sine of an angle in radians; NaN for infinities."""
    bits, quadrant, r, y = _reduced(body, a)
    value = _of_quadrant(body, quadrant, odd=cosine(body, r, y), even=sine(body, r, y))
    half_turn = body.op("shl", body.op("lshr", quadrant, body.integer(1)), body.integer(31))
    return _signed(body, bits, value, body.op("xor", half_turn, bits), constants.SIN_CORRECTIONS)


def cos(body: Body, a: Value) -> Value:
    """The cosine of an angle in radians; NaN for infinities."""
    bits, quadrant, r, y = _reduced(body, a)
    value = _of_quadrant(body, quadrant, odd=sine(body, r, y), even=cosine(body, r, y))
    next_quadrant = body.op("add", quadrant, body.integer(1))
    half_turn = body.op("shl", body.op("lshr", next_quadrant, body.integer(1)), body.integer(31))
    return _signed(body, bits, value, half_turn, constants.COS_CORRECTIONS)


def _of_quadrant(body: Body, quadrant: Value, odd: Value, even: Value) -> Value:
    low = body.op("and", quadrant, body.integer(1))
    return body.select(body.compare("icmp ne", low, body.integer(0)), odd, even)


def _signed(body: Body, bits: Value, value: Value, sign: Value, corrections: Sequence[tuple[int, int]]) -> Value:
    """A binary64 to f32, its sign flipped where bit 31 of `sign` is set; NaN for infinities and NaN."""
    pattern = as_integer(body, body.cast("fptrunc", value, "float"))
    magnitude = body.op("and", bits, body.integer(0x7FFFFFFF))
    pattern = corrected(body, magnitude, pattern, corrections)
    pattern = body.op("xor", pattern, body.op("and", sign, body.integer(0x80000000)))
    exponent = body.op("and", bits, body.integer(0x7F800000))
    special = body.compare("icmp eq", exponent, body.integer(0x7F800000))
    return as_single(body, body.select(special, body.integer(0x7FC00000), pattern))


def _reduced(body: Body, a: Value) -> tuple[Value, Value, Value, Value]:
    """The flushed argument's bits, the quadrant (0 to 3), and what remains of its magnitude as two binary64."""
    bits = as_integer(body, flush_single(body, a))
    magnitude = body.op("and", bits, body.integer(0x7FFFFFFF))
    exponent = body.op("lshr", magnitude, body.integer(23))
    small = body.compare("icmp ult", exponent, body.integer(constants.REDUCED_EXPONENT))
    words = _product(body, magnitude, _table_index(body, exponent))
    top = words[3]
    turned = body.op("lshr", body.op("add", top, body.integer(1 << 29, "i64")), body.integer(30, "i64"))
    top = body.op("sub", top, body.op("shl", turned, body.integer(30, "i64")))
    sign = body.op("ashr", top, body.integer(63, "i64"))
    ones = body.op("and", sign, body.integer(0xFFFFFFFF, "i64"))
    magnitudes = [body.op("xor", word, ones) for word in words[1:3]] + [body.op("xor", top, sign)]
    r, y = _times_pi_half(body, *magnitudes)
    flip = body.op("and", sign, body.integer(-(1 << 63), "i64"))
    r, y = (_flipped(body, value, flip) for value in (r, y))
    exact = body.cast("fpext", as_single(body, magnitude), "double")
    quadrant = body.op("and", body.cast("trunc", turned, "i32"), body.integer(3))
    return (
        bits,
        body.select(small, body.integer(0), quadrant),
        body.select(small, exact, r),
        body.select(small, body.double(0.0), y),
    )


def _flipped(body: Body, value: Value, flip: Value) -> Value:
    return body.cast("bitcast", body.op("xor", body.cast("bitcast", value, "i64"), flip), "double")


def _table_index(body: Body, exponent: Value) -> Value:
    """The row of TWO_OVER_PI, some row for exponents that have none."""
    index = body.op("sub", exponent, body.integer(constants.REDUCED_EXPONENT))
    last = body.integer(len(constants.TWO_OVER_PI) - 1)
    return body.select(body.compare("icmp ugt", index, last), last, index)


def _product(body: Body, magnitude: Value, index: Value) -> list[Value]:
    """The significand times the row's 128 bits, modulo 2^128, as words of 32 bits, lowest first."""
    significand = body.op("or", body.op("and", magnitude, body.integer(0x7FFFFF)), body.integer(0x800000))
    factor = body.cast("zext", significand, "i64")
    words: list[Value] = []
    carry: Value | None = None
    for number in range(4):
        product = body.op("mul", factor, body.cast("zext", _row_word(body, index, number), "i64"))
        if carry is not None:
            product = body.op("add", product, carry)
        words.append(body.op("and", product, body.integer(0xFFFFFFFF, "i64")))
        carry = body.op("lshr", product, body.integer(32, "i64"))
    return words


def _row_word(body: Body, index: Value, number: int) -> Value:
    """One word of each lane's row, gathered."""
    lanes = body.lanes
    rows = len(constants.TWO_OVER_PI)
    name = table_name(number)
    body.declarations.add(_table(name, [row[number] for row in constants.TWO_OVER_PI]))
    wide = body.cast("zext", index, "i64")
    pointers = body.let(f"getelementptr [{rows} x i32], ptr {name}, i64 0, <{lanes} x i64> {wide.text}", "ptr")
    gather = f"@llvm.masked.gather.v{lanes}i32.v{lanes}p0"
    body.declarations.add(
        f"declare <{lanes} x i32> {gather}(<{lanes} x ptr>, i32 immarg, <{lanes} x i1>, <{lanes} x i32>)"
    )
    return body.let(
        f"call <{lanes} x i32> {gather}(<{lanes} x ptr> {pointers.text}, i32 4, <{lanes} x i1> splat (i1 true), <{lanes} x i32> zeroinitializer)",
        "i32",
    )


def table_name(number: int) -> str:
    """The global that holds word `number` of every row."""
    return f"@autoclave.two_over_pi.{number}"


def _table(name: str, words: Sequence[int]) -> str:
    listed = ", ".join(f"i32 {word}" for word in words)
    return f"{name} = internal unnamed_addr constant [{len(words)} x i32] [{listed}], align 64"


def _times_pi_half(body: Body, w1: Value, w2: Value, w3: Value) -> tuple[Value, Value]:
    """A fraction of 96 bits, its lowest bit 2^-94, times pi/2, as a sum of two binary64."""
    d3, d2, d1 = (
        body.op("fmul", _word_as_double(body, word), body.double(scale))
        for word, scale in ((w3, 2.0**-30), (w2, 2.0**-62), (w1, 2.0**-94))
    )
    s = body.op("fadd", d3, d2)
    t = body.op("fadd", body.op("fsub", d2, body.op("fsub", s, d3)), d1)
    high = body.op("fadd", s, t)
    low = body.op("fsub", t, body.op("fsub", high, s))
    c = body.op("fmul", body.double(constants.SPLITTER), high)
    top = body.op("fsub", c, body.op("fsub", c, high))
    rest = body.op("fsub", high, top)
    pi_top, pi_rest = body.double(constants.PI_HALF_TOP), body.double(constants.PI_HALF_REST)
    pi_high, pi_low = body.double(constants.PI_HALF_HIGH), body.double(constants.PI_HALF_LOW)
    product = body.op("fmul", high, pi_high)
    error = body.op("fsub", body.op("fmul", top, pi_top), product)
    error = body.op("fadd", error, body.op("fmul", top, pi_rest))
    error = body.op("fadd", error, body.op("fmul", rest, pi_top))
    error = body.op("fadd", error, body.op("fmul", rest, pi_rest))
    tail = body.op("fadd", body.op("fmul", high, pi_low), body.op("fmul", low, pi_high))
    error = body.op("fadd", error, tail)
    r = body.op("fadd", product, error)
    return r, body.op("fsub", error, body.op("fsub", r, product))


def _word_as_double(body: Body, word: Value) -> Value:
    """A 32-bit number in an i64 lane, exactly, without the conversion that hosts before AVX-512 lack."""
    offset = float(1 << 52)
    patched = body.op("or", word, body.integer(0x4330000000000000, "i64"))
    return body.op("fsub", body.cast("bitcast", patched, "double"), body.double(offset))


def sine(body: Body, r: Value, y: Value) -> Value:
    """sin(r + y), binary64."""
    z = body.op("fmul", r, r)
    series = _horner(body, z, constants.SINE)
    main = body.op("fmul", body.op("fmul", r, z), series)
    slope = body.op("fsub", body.double(1.0), body.op("fmul", body.double(0.5), z))
    return body.op("fadd", r, body.op("fadd", main, body.op("fmul", y, slope)))


def cosine(body: Body, r: Value, y: Value) -> Value:
    """cos(r + y), binary64."""
    z = body.op("fmul", r, r)
    half = body.op("fmul", body.double(0.5), z)
    one = body.double(1.0)
    w = body.op("fsub", one, half)
    lost = body.op("fsub", body.op("fsub", one, w), half)
    series = _horner(body, z, constants.COSINE)
    main = body.op("fmul", body.op("fmul", z, z), series)
    return body.op("fadd", w, body.op("fadd", lost, body.op("fsub", main, body.op("fmul", r, y))))


def _horner(body: Body, z: Value, coefficients: Sequence[float]) -> Value:
    value = body.double(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        value = body.op("fadd", body.double(coefficient), body.op("fmul", z, value))
    return value
