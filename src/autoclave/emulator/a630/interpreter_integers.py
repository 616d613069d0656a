"""Integer operations of categories 2 and 3, as the interpreter computes them.

An operation takes its operands as Python numbers, signed or not by `Integer.signed`, and the width of its sources; what it
gives is cut to the destination's width, so that a product may be wider than its factors.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Integer:
    """An operation on integers.

    compute: a number of any size from the sources' width and the operands.
    signed: how operands are read, and how a result of the sources' width becomes one of another width.
    exact: the result is not cut to the sources' width before it becomes the destination's.
    """

    compute: Callable[..., int]
    signed: bool = False
    exact: bool = False


def wrap(value: int, width: int, signed: bool) -> int:
    """The number that the low `width` bits of `value` are."""
    value &= (1 << width) - 1
    return value - (1 << width) if signed and value >> width - 1 else value


def _leading_zeros(width: int, a: int) -> int:
    """clz.b: -1 of 0."""
    return width - a.bit_length() if a else -1


def _leading_signs(width: int, a: int) -> int:
    """clz.s: of a negative number, its leading ones; -1 of 0 and -1."""
    return _leading_zeros(width, a if a >= 0 else ~a)


def _reversed(width: int, a: int) -> int:
    return int(f"{a:0{width}b}"[::-1], 2)


def _low24(value: int) -> int:
    return value & 0xFFFFFF


def _signed24(value: int) -> int:
    return wrap(value, 24, True)


def _madsh(width: int, a: int, b: int, c: int) -> int:
    """madsh.m16, madsh.u16: the low half of a times the high half of b, shifted up, plus c."""
    return ((a & 0xFFFF) * (b >> 16 & 0xFFFF) << 16) + c


INTEGERS: dict[str, Integer] = {
    "add.u": Integer(lambda width, a, b: a + b),
    "add.s": Integer(lambda width, a, b: a + b, signed=True),
    "sub.u": Integer(lambda width, a, b: a - b),
    "sub.s": Integer(lambda width, a, b: a - b, signed=True),
    "min.u": Integer(lambda width, a, b: min(a, b)),
    "min.s": Integer(lambda width, a, b: min(a, b), signed=True),
    "max.u": Integer(lambda width, a, b: max(a, b)),
    "max.s": Integer(lambda width, a, b: max(a, b), signed=True),
    "absneg.s": Integer(lambda width, a: a, signed=True),
    "and.b": Integer(lambda width, a, b: a & b),
    "or.b": Integer(lambda width, a, b: a | b),
    "xor.b": Integer(lambda width, a, b: a ^ b),
    "not.b": Integer(lambda width, a: ~a),
    "mul.u24": Integer(lambda width, a, b: _low24(a) * _low24(b), exact=True),
    "mul.s24": Integer(lambda width, a, b: _signed24(a) * _signed24(b), signed=True, exact=True),
    "mull.u": Integer(lambda width, a, b: (a & 0xFFFF) * (b & 0xFFFF), exact=True),
    "bfrev.b": Integer(_reversed),
    "cbits.b": Integer(lambda width, a: a.bit_count()),
    "clz.b": Integer(_leading_zeros),
    "clz.s": Integer(_leading_signs, signed=True),
    "shl.b": Integer(lambda width, a, b: a << b % width),
    "shr.b": Integer(lambda width, a, b: a >> b % width),
    "ashr.b": Integer(lambda width, a, b: wrap(a, width, True) >> b % width),
    "getbit.b": Integer(lambda width, a, b: a >> b % width & 1),
    "mad.u16": Integer(lambda width, a, b, c: (a & 0xFFFF) * (b & 0xFFFF) + c, exact=True),
    "mad.u24": Integer(lambda width, a, b, c: _low24(a) * _low24(b) + c),
    "mad.s24": Integer(lambda width, a, b, c: _signed24(a) * _signed24(b) + c, signed=True),
    "madsh.m16": Integer(_madsh),
    "madsh.u16": Integer(_madsh),
    "sad.s16": Integer(lambda width, a, b, c: a + b + c, signed=True),
    "sad.s32": Integer(lambda width, a, b, c: a + b + c, signed=True),
    "shrm": Integer(lambda width, a, b, c: b >> a % width & c),
    "shlm": Integer(lambda width, a, b, c: b << a % width & c),
    "shrg": Integer(lambda width, a, b, c: b >> a % width | c),
    "shlg": Integer(lambda width, a, b, c: b << a % width | c),
    "andg": Integer(lambda width, a, b, c: a & b | c),
    "sel.b16": Integer(lambda width, a, b, c: a if b else c),
    "sel.b32": Integer(lambda width, a, b, c: a if b else c),
    "sel.s16": Integer(lambda width, a, b, c: a if b >= 0 else c, signed=True),
    "sel.s32": Integer(lambda width, a, b, c: a if b >= 0 else c, signed=True),
}
"""By name; operands in the order in which Mesa prints them."""
