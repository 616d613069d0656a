"""f32 operations that are more than one IR instruction: flush, canonical NaN, order, saturation, integral values."""

from autoclave.emulator.vector.body import Body, Value, canonical, is_nan

SIGN = 0x80000000
MAGNITUDE = 0x7FFFFFFF


def flush_single(body: Body, a: Value) -> Value:
    """Denormals to the zero of their sign, by integer instructions that no flush mode or folding affects."""
    return as_single(body, flushed(body, as_integer(body, a), 0x7F800000, SIGN))


def flush_half(body: Body, a: Value) -> Value:
    """As `flush_single`, of f16 patterns."""
    return flushed(body, a, 0x7C00, 0x8000)


def flushed(body: Body, bits: Value, exponent: int, sign: int) -> Value:
    """Patterns with an empty exponent to their sign."""
    masked = body.op("and", bits, body.integer(exponent, bits.element))
    zero = body.op("and", bits, body.integer(sign, bits.element))
    return body.select(body.compare("icmp eq", masked, body.integer(0, bits.element)), zero, bits)


def canonical_single(body: Body, a: Value) -> Value:
    """Any NaN to 0x7fc00000."""
    return canonical(body, a)


def canonical_half(body: Body, a: Value) -> Value:
    """Any NaN to 0x7e00, of f16 patterns."""
    magnitude = body.op("and", a, body.integer(0x7FFF, "i16"))
    nan = body.compare("icmp ugt", magnitude, body.integer(0x7C00, "i16"))
    return body.select(nan, body.integer(0x7E00, "i16"), a)


def identity_single(body: Body, a: Value) -> Value:
    """absneg.f without its modifiers: flushed and canonical."""
    return canonical(body, flush_single(body, a))


def maximum_single(body: Body, a: Value, b: Value) -> Value:
    """The larger; a number wins over a NaN; -0 is below +0."""
    return _chosen(body, a, b, "fcmp ogt", "and")


def minimum_single(body: Body, a: Value, b: Value) -> Value:
    """The smaller; as `maximum_single`."""
    return _chosen(body, a, b, "fcmp olt", "or")


def _chosen(body: Body, a: Value, b: Value, compare: str, merge: str) -> Value:
    """Equal operands have equal patterns, or are zeros, whose signs `merge` decides; it keeps all other equal patterns."""
    a, b = flush_single(body, a), flush_single(body, b)
    merged = as_single(body, body.op(merge, as_integer(body, a), as_integer(body, b)))
    chosen = body.select(body.compare("fcmp oeq", a, b), merged, b)
    chosen = body.select(body.compare(compare, a, b), a, chosen)
    chosen = body.select(is_nan(body, b), a, chosen)
    return canonical(body, chosen)


def saturate_single(body: Body, a: Value) -> Value:
    """Clamped to [0, 1]; NaN stays a (canonical) NaN and -0 stays -0."""
    a = body.select(body.compare("fcmp olt", a, body.single(0.0)), body.single(0.0), a)
    a = body.select(body.compare("fcmp ogt", a, body.single(1.0)), body.single(1.0), a)
    return canonical(body, a)


def sign_single(body: Body, a: Value) -> Value:
    """-1, +1, a zero of the operand's sign, or +0 for NaN."""
    bits = as_integer(body, a)
    sign = body.op("and", bits, body.integer(SIGN))
    exponent = body.op("and", bits, body.integer(0x7F800000))
    one = body.op("or", sign, body.integer(0x3F800000))
    value = body.select(body.compare("icmp eq", exponent, body.integer(0)), sign, one)
    return as_single(body, body.select(is_nan(body, a), body.integer(0), value))


def truncate_single(body: Body, a: Value) -> Value:
    """Rounded toward zero, the sign kept."""
    nearest, magnitude = _nearest(body, a)
    lower = body.op("fsub", nearest, body.single(1.0))
    below = body.select(body.compare("fcmp ogt", nearest, magnitude), lower, nearest)
    return canonical(body, _with_sign(body, _unless_large(body, below, magnitude), a))


def floor_single(body: Body, a: Value) -> Value:
    """Rounded toward minus infinity; zeros keep their sign."""
    return canonical(body, _floor(body, a))


def ceiling_single(body: Body, a: Value) -> Value:
    """Rounded toward plus infinity; a negative fraction gives -0."""
    return canonical(body, body.negate(_floor(body, body.negate(a))))


def round_even_single(body: Body, a: Value) -> Value:
    """Rounded to the nearest integer, ties to even, the sign kept."""
    nearest, magnitude = _nearest(body, a)
    return canonical(body, _with_sign(body, _unless_large(body, nearest, magnitude), a))


def _floor(body: Body, a: Value) -> Value:
    nearest, magnitude = _nearest(body, a)
    signed = _with_sign(body, _unless_large(body, nearest, magnitude), a)
    lower = body.op("fsub", signed, body.single(1.0))
    return body.select(body.compare("fcmp ogt", signed, a), lower, signed)


def _nearest(body: Body, a: Value) -> tuple[Value, Value]:
    """The magnitude rounded to the nearest integer, right below 2^23; and the magnitude, flushed."""
    magnitude = as_single(body, body.op("and", as_integer(body, flush_single(body, a)), body.integer(MAGNITUDE)))
    shifter = body.single(float(1 << 23))
    return body.op("fsub", body.op("fadd", magnitude, shifter), shifter), magnitude


def _unless_large(body: Body, rounded: Value, magnitude: Value) -> Value:
    """From 2^23 on every f32 is an integer; NaN is let through."""
    small = body.compare("fcmp olt", magnitude, body.single(float(1 << 23)))
    return body.select(small, rounded, magnitude)


def _with_sign(body: Body, magnitude: Value, a: Value) -> Value:
    sign = body.op("and", as_integer(body, a), body.integer(SIGN))
    return as_single(body, body.op("or", as_integer(body, magnitude), sign))


def as_integer(body: Body, a: Value) -> Value:
    """The patterns of f32."""
    return body.cast("bitcast", a, "i32")


def as_single(body: Body, a: Value) -> Value:
    """The f32 of patterns."""
    return body.cast("bitcast", a, "float")
