"""Multiplication and addition of f64 with one rounding, by integers of 128 bits. Slow, and for any processor."""

from autoclave.emulator.vector.body import Body, Value

_TERM_TOP, _SUM_TOP = 125, 126
"""Where the highest bit of a term's significand is put, and of a sum's, which may have one bit more; bit 127 is the sign."""
_FRACTION = (1 << 52) - 1
_FIELD = 0x7FF
_UNIT = 1023 + 52
"""A number is its significand times 2^(exponent field - _UNIT)."""
_MOST_LOST = 53
_FAR = -(1 << 20)
"""The exponent of a term that is 0: below all others."""


def fma_double_by_integers(body: Body, a: Value, b: Value, c: Value) -> Value:
    """a * b + c, rounded once."""
    return fma_scaled_double(body, a, b, c, body.integer(0))


def fma_scaled_double(body: Body, a: Value, b: Value, c: Value, scale: Value) -> Value:
    """(a * b + c) * 2^scale, rounded once; `scale` is at most some thousands.

    Where anything is infinite or NaN, or both terms are 0, scaling changes nothing, and IEEE's product and sum are right.
    """
    (ma, ea), (mb, eb), (mc, ec) = (_parts(body, value) for value in (a, b, c))
    sa, sb, sc = (_sign(body, value) for value in (a, b, c))
    product, product_exponent = _normalised(body, body.op("mul", ma, mb), body.op("add", ea, eb), _TERM_TOP)
    addend, addend_exponent = _normalised(body, mc, ec, _TERM_TOP)
    sign = body.op("xor", sa, sb)
    total, exponent, negative = _sum(body, (product, product_exponent, sign), (addend, addend_exponent, sc))
    rounded = _rounded(body, total, body.op("add", exponent, scale), negative)
    factors = body.op("or", _is_special(body, a), _is_special(body, b))
    special = body.op("or", factors, _is_special(body, c))
    # A finite product may overflow, which it must not where c is infinite.
    finite = body.select(body.op("xor", factors, special), body.double(0.0), body.op("fmul", a, b))
    plain = body.op("fadd", finite, c)
    nothing = body.compare("icmp eq", body.op("or", product, addend), body.integer(0, "i128"))
    return body.select(body.op("or", special, nothing), plain, rounded)


def _bits(body: Body, a: Value) -> Value:
    return body.cast("bitcast", a, "i64")


def _sign(body: Body, a: Value) -> Value:
    return body.compare("icmp slt", _bits(body, a), body.integer(0, "i64"))


def _field(body: Body, a: Value) -> Value:
    shifted = body.op("lshr", _bits(body, a), body.integer(52, "i64"))
    return body.cast("trunc", body.op("and", shifted, body.integer(_FIELD, "i64")), "i32")


def _is_special(body: Body, a: Value) -> Value:
    return body.compare("icmp eq", _field(body, a), body.integer(_FIELD))


def _parts(body: Body, a: Value) -> tuple[Value, Value]:
    """The significand, 128 bits, and the exponent of its lowest bit, 32 bits."""
    field = _field(body, a)
    fraction = body.op("and", _bits(body, a), body.integer(_FRACTION, "i64"))
    denormal = body.compare("icmp eq", field, body.integer(0))
    hidden = body.op("or", fraction, body.integer(_FRACTION + 1, "i64"))
    field = body.select(denormal, body.integer(1), field)
    significand = body.cast("zext", body.select(denormal, fraction, hidden), "i128")
    return significand, body.op("sub", field, body.integer(_UNIT))


def _normalised(body: Body, significand: Value, exponent: Value, top: int) -> tuple[Value, Value]:
    """The highest bit moved up to `top`; a zero stays, with the lowest exponent."""
    zeros = _leading_zeros(body, significand)
    up = body.op("sub", zeros, body.integer(127 - top, "i128"))
    none = body.compare("icmp eq", significand, body.integer(0, "i128"))
    # Of nothing there are 128 leading zeros.
    up = body.select(none, body.integer(0, "i128"), up)
    moved = body.op("sub", exponent, body.cast("trunc", up, "i32"))
    return body.op("shl", significand, up), body.select(none, body.integer(_FAR), moved)


def _leading_zeros(body: Body, a: Value) -> Value:
    kind = body.type("i128")
    function = f"@llvm.ctlz.v{body.lanes}i128"
    body.declarations.add(f"declare {kind} {function}({kind}, i1 immarg)")
    return body.let(f"call {kind} {function}({kind} {a.text}, i1 false)", "i128")


Term = tuple[Value, Value, Value]
"""Significand, exponent of its lowest bit, whether it is negative."""


def _sum(body: Body, one: Term, other: Term) -> Term:
    """The terms added up, the smaller one's lost bits gathered in its last. Equal ones of opposite signs give +0."""
    larger = body.compare("icmp sge", one[1], other[1])
    first = [body.select(larger, a, b) for a, b in zip(one, other, strict=True)]
    second = [body.select(larger, b, a) for a, b in zip(one, other, strict=True)]
    distance = _at_most(body, body.op("sub", first[1], second[1]), 127)
    moved = _shifted_down(body, second[0], body.cast("zext", distance, "i128"))
    opposite = body.op("xor", first[2], second[2])
    total = body.select(opposite, body.op("sub", first[0], moved), body.op("add", first[0], moved))
    below = body.compare("icmp slt", total, body.integer(0, "i128"))
    total = body.select(below, body.op("sub", body.integer(0, "i128"), total), total)
    nothing = body.compare("icmp eq", total, body.integer(0, "i128"))
    negative = body.op("xor", first[2], below)
    return total, first[1], body.select(nothing, body.integer(0, "i1"), negative)


def _at_most(body: Body, a: Value, limit: int) -> Value:
    return body.select(body.compare("icmp sgt", a, body.integer(limit)), body.integer(limit), a)


def _shifted_down(body: Body, a: Value, amount: Value) -> Value:
    """Shifted, with the last bit set if a bit was lost."""
    moved = body.op("lshr", a, amount)
    lost = body.compare("icmp ne", body.op("shl", moved, amount), a)
    return body.op("or", moved, body.cast("zext", lost, "i128"))


def _rounded(body: Body, total: Value, exponent: Value, negative: Value) -> Value:
    """The nearest f64 to total * 2^exponent, ties to even, denormals and infinity as it comes."""
    total, exponent = _normalised(body, total, exponent, _SUM_TOP)
    top = body.op("add", exponent, body.integer(_SUM_TOP + 1023))
    denormal = body.compare("icmp slt", top, body.integer(1))
    # Below the smallest normal, bits are lost for each exponent that is missing; below half of the smallest number all are.
    extra = body.op("sub", body.integer(1), top)
    vanishing = body.compare("icmp sgt", extra, body.integer(_MOST_LOST))
    total = body.select(vanishing, body.integer(1, "i128"), total)
    extra = body.select(denormal, _at_most(body, extra, _MOST_LOST), body.integer(0))
    shift = body.op("add", body.integer(_SUM_TOP - 52), extra)
    field = body.op("sub", body.select(denormal, body.integer(1), top), body.integer(1))
    shift = body.cast("zext", shift, "i128")
    kept = body.op("lshr", total, shift)
    rest = body.op("sub", total, body.op("shl", kept, shift))
    middle = body.op("shl", body.integer(1, "i128"), body.op("sub", shift, body.integer(1, "i128")))
    odd = body.op("and", kept, body.integer(1, "i128"))
    above = body.compare("icmp ugt", body.op("add", rest, odd), middle)
    kept = body.op("add", kept, body.cast("zext", above, "i128"))
    bits = body.op(
        "add", body.op("shl", body.cast("sext", field, "i64"), body.integer(52, "i64")), body.cast("trunc", kept, "i64")
    )
    infinity = body.integer(_FIELD << 52, "i64")
    over = body.compare("icmp sge", field, body.integer(_FIELD - 1))
    bits = body.select(body.op("or", over, body.compare("icmp ugt", bits, infinity)), infinity, bits)
    bits = body.select(body.compare("icmp eq", total, body.integer(0, "i128")), body.integer(0, "i64"), bits)
    sign = body.op("shl", body.cast("zext", negative, "i64"), body.integer(63, "i64"))
    return body.cast("bitcast", body.op("or", bits, sign), "double")
