"""f16 arithmetic on bit patterns: rounds to nearest even, flushes denormal operands and results, NaN results canonical.

Everything is what `single` gives for the same operands as f32, which holds every f16, rounded once more. For sums and
products that is exact rounding because 24 >= 2 * 11 + 2. Category 4 rounds toward zero instead.
"""

from collections.abc import Callable

from autoclave.emulator.scalar import single
from autoclave.emulator.scalar.conversion import half_to_single, narrow_nearest_even, narrow_toward_zero
from autoclave.emulator.scalar.patterns import SIGN16, flush16


def negate(a: int) -> int:
    """The source modifier (neg), of NaN too."""
    return a ^ SIGN16


def absolute(a: int) -> int:
    """The source modifier (abs)."""
    return a & (SIGN16 - 1)


def _operand(a: int) -> int:
    """An operand as f32, flushed."""
    return half_to_single(flush16(a))


def _unary(function: Callable[[int], int], narrow: Callable[[int], int] = narrow_nearest_even) -> Callable[[int], int]:
    return lambda a: narrow(function(_operand(a)))


def _binary(function: Callable[[int, int], int]) -> Callable[[int, int], int]:
    return lambda a, b: narrow_nearest_even(function(_operand(a), _operand(b)))


def _relation(function: Callable[[int, int], bool]) -> Callable[[int, int], bool]:
    return lambda a, b: function(_operand(a), _operand(b))


add = _binary(single.add)
multiply = _binary(single.multiply)
maximum = _binary(single.maximum)
minimum = _binary(single.minimum)

saturate = _unary(single.saturate)
identity = _unary(single.identity)
sign = _unary(single.sign)
floor = _unary(single.floor)
ceiling = _unary(single.ceiling)
truncate = _unary(single.truncate)
round_even = _unary(single.round_even)

less = _relation(single.less)
less_equal = _relation(single.less_equal)
equal = _relation(single.equal)

rcp = _unary(single.rcp, narrow_toward_zero)
sqrt = _unary(single.sqrt, narrow_toward_zero)
rsq = _unary(single.rsq, narrow_toward_zero)
exp2 = _unary(single.exp2, narrow_toward_zero)
log2 = _unary(single.log2, narrow_toward_zero)
sin = _unary(single.sin, narrow_toward_zero)
cos = _unary(single.cos, narrow_toward_zero)


def multiply_add(a: int, b: int, c: int) -> int:
    """a * b + c, not fused: the product is rounded and flushed first."""
    return add(multiply(a, b), c)
