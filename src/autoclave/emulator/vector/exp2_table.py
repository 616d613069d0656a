"""exp2 with a table in two registers, where AVX-512 looks up in them by one instruction."""

from collections.abc import Sequence
from struct import pack

from autoclave.emulator import elementary as constants
from autoclave.emulator.vector.body import Body, Value

_LOOKUP = "@llvm.x86.avx512.vpermi2var.pd.512"
_SHIFTER = float(3 << 47)
"""Adding it rounds to sixteenths, whose number is in the low bits of the sum."""
_SIXTEENTHS = 4


def exp2_by_table(body: Body, a: Value) -> Value:
    """2 to the power of a where that is at least -126; below anything. NaN of NaN, whichever one.

    16 a = 16 k + j, rounded; r = a - k - j / 16, |r| <= 1/32; t = 2^(k + j/16), from the table; t + (t r) q(r) by fused steps.
    """
    limit = body.single(constants.EXP2_LIMIT)
    x = body.cast("fpext", body.select(body.compare("fcmp ogt", a, limit), limit, a), "double")
    shifter = body.double(_SHIFTER)
    s = body.op("fadd", x, shifter)
    r = body.op("fsub", x, body.op("fsub", s, shifter))
    bits = body.cast("bitcast", s, "i64")
    # The table's entries lack j in their exponents' low bits, which adding 16 k + j gives back.
    steps = body.op("add", _looked_up(body, bits), body.op("shl", bits, body.integer(52 - _SIXTEENTHS, "i64")))
    t = body.cast("bitcast", steps, "double")
    p = body.intrinsic("fma", body.op("fmul", t, r), _series(body, r), t)
    return _corrected(body, a, body.cast("fptrunc", p, "float"))


def _corrected(body: Body, a: Value, result: Value) -> Value:
    """One unit more for the arguments of which binary64 lies on the middle between two f32: the same as for other ways."""
    argument, pattern = (body.cast("bitcast", each, "i32") for each in (a, result))
    for wrong, correction in constants.EXP2_CORRECTIONS:
        hit = body.compare("icmp eq", argument, body.integer(wrong))
        pattern = body.select(hit, body.op("add", pattern, body.integer(correction)), pattern)
    return body.cast("bitcast", pattern, "float")


def _series(body: Body, r: Value) -> Value:
    c = [body.double(value) for value in constants.EXP2_REST]
    r2 = body.op("fmul", r, r)
    low, middle, high = (body.intrinsic("fma", c[first + 1], r, c[first]) for first in (0, 2, 4))
    return body.intrinsic("fma", r2, body.intrinsic("fma", r2, high, middle), low)


def _looked_up(body: Body, index: Value) -> Value:
    """Entries of the table by the lowest four bits, as patterns, eight lanes at a time."""
    pair, kind = "<8 x double>", body.type("i64")
    body.declarations.add(f"declare {pair} {_LOOKUP}({pair}, <8 x i64>, {pair})")
    low, high = (_constant(body, first) for first in (0, 8))
    parts = []
    for first in range(0, body.lanes, 8):
        piece = body.let(f"shufflevector {kind} {index.text}, {kind} poison, {_mask(first, 8)}", "i64").text
        found = body.let(f"call {pair} {_LOOKUP}({pair} {low}, <8 x i64> {piece}, {pair} {high})", "double").text
        parts.append(body.let(f"bitcast {pair} {found} to <8 x i64>", "i64").text)
    return Value(_joined(body, parts), "i64")


def _joined(body: Body, parts: Sequence[str]) -> str:
    lanes = 8
    while len(parts) > 1:
        kind = f"<{lanes} x i64>"
        parts = [
            body.let(f"shufflevector {kind} {one}, {kind} {other}, {_mask(0, 2 * lanes)}", "i64").text
            for one, other in zip(parts[::2], parts[1::2], strict=True)
        ]
        lanes *= 2
    return parts[0]


def _mask(first: int, count: int) -> str:
    return f"<{count} x i32> <{', '.join(f'i32 {first + lane}' for lane in range(count))}>"


def _constant(body: Body, first: int) -> str:
    """Eight entries of the table."""
    entries = []
    for j in range(first, first + 8):
        bits = int.from_bytes(pack("<d", constants.EXP2_STEPS[j]), "little") - (j << (52 - _SIXTEENTHS))
        entries.append(f"double 0x{bits:016X}")
    return f"<{', '.join(entries)}>"
