"""Multiplication and addition with one rounding, for processors that have no such instruction, and for halves."""

from autoclave.emulator.vector.body import Body, Value


def fma_single_by_double(body: Body, a: Value, b: Value, c: Value) -> Value:
    """a * b + c of f32, rounded once.

    The product is exact in binary64. The sum is rounded to odd there, that is, of the two binary64 next to an inexact sum to the one whose last
    bit is set. It lies on the same side of every f32 and every middle between two as the exact sum does, since those have
    that bit clear (53 bits are more than 24 + 1, of denormals too), so that rounding it to f32 is rounding the exact sum.
    """
    a, b, c = (body.cast("fpext", value, "double") for value in (a, b, c))
    return body.cast("fptrunc", sum_to_odd(body, body.op("fmul", a, b), c), "float")


def fma_scaled_single(body: Body, a: Value, b: Value, c: Value, scale: Value) -> Value:
    """(a * b + c) * 2^scale of f32, rounded once: as `fma_single_by_double`, scaled in binary64. `scale` is at most 500."""
    a, b, c = (body.cast("fpext", value, "double") for value in (a, b, c))
    total = sum_to_odd(body, body.op("fmul", a, b), c)
    field = body.cast("zext", body.op("add", scale, body.integer(1023)), "i64")
    factor = body.cast("bitcast", body.op("shl", field, body.integer(52, "i64")), "double")
    return body.cast("fptrunc", body.op("fmul", total, factor), "float")


def fma_odd_by_double(body: Body, a: Value, b: Value, c: Value) -> Value:
    """a * b + c of f32, rounded to odd in f32: rounded to odd in binary64, and what f32 has no room for gathered in its last bit."""
    a, b, c = (body.cast("fpext", value, "double") for value in (a, b, c))
    bits = body.cast("bitcast", sum_to_odd(body, body.op("fmul", a, b), c), "i64")
    rest = body.op("and", bits, body.integer((1 << 29) - 1, "i64"))
    last = body.cast("zext", body.compare("icmp ne", rest, body.integer(0, "i64")), "i64")
    kept = body.op("xor", bits, rest)
    odd = body.op("or", kept, body.op("shl", last, body.integer(29, "i64")))
    infinite = body.compare("icmp uge", body.op("shl", bits, body.integer(1, "i64")), body.integer(0x7FF << 53, "i64"))
    return body.cast("fptrunc", body.cast("bitcast", body.select(infinite, bits, odd), "double"), "float")


def fma_half_by_sum(body: Body, a: Value, b: Value, c: Value) -> Value:
    """a * b + c of halves in f32, rounded to odd; the product is exact, having 22 bits."""
    return sum_to_odd(body, body.op("fmul", a, b), c)


def sum_to_odd(body: Body, a: Value, b: Value) -> Value:
    """a + b rounded to odd, of floats whose sum and its error neither overflow nor underflow.

    The nearest sum and its error (Knuth) add up to a + b exactly. The sum's magnitude is made that toward zero, by taking one
    off its pattern where the error points inward, and its last bit is set where there is an error. An infinite or NaN sum stays.
    """
    total = body.op("fadd", a, b)
    share = body.op("fsub", total, a)
    error = body.op("fadd", body.op("fsub", a, body.op("fsub", total, share)), body.op("fsub", b, share))
    integer = {"float": "i32", "double": "i64"}[a.element]
    zero = Value("zeroinitializer", a.element)
    # The product has the sign of total * error; both are far above the smallest float or 0.
    product = body.op("fmul", total, error)
    inward = body.cast("sext", body.compare("fcmp olt", product, zero), integer)
    inexact = body.cast("zext", body.compare("fcmp one", product, zero), integer)
    bits = body.op("add", body.cast("bitcast", total, integer), inward)
    return body.cast("bitcast", body.op("or", bits, inexact), a.element)
