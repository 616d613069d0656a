"""Integer operations of categories 2 and 3, as IR on values of one width."""

from collections.abc import Callable
from dataclasses import dataclass

from autoclave.emulator.ir import Builder, Value, constant, element_type


@dataclass(frozen=True, slots=True)
class IntegerRule:
    """signed: how a result of the sources' width is extended. exact: computed in 32 bits, whatever the sources' width."""

    compute: Callable[..., Value]
    signed: bool = False
    exact: bool = False


def _plain(operation: str) -> Callable[[Builder, Value, Value], Value]:
    return lambda ir, left, right: ir.binary(operation, left, right)


def _extreme(intrinsic: str) -> Callable[[Builder, Value, Value], Value]:
    return lambda ir, left, right: ir.call(intrinsic, left.type, (left, right))


def _shift(operation: str) -> Callable[[Builder, Value, Value], Value]:
    """Amounts count modulo the width."""
    return lambda ir, value, amount: ir.binary(operation, value, _amount(ir, amount))


def _amount(ir: Builder, amount: Value) -> Value:
    return ir.with_constant("and", amount, _width(amount) - 1)


def _width(value: Value) -> int:
    return int(element_type(value.type)[1:])


def _shift_then(shift: str, then: str) -> Callable[[Builder, Value, Value, Value], Value]:
    """shrg and its like: the second source shifted by the first, joined with the third."""
    return lambda ir, amount, value, third: ir.binary(then, ir.binary(shift, value, _amount(ir, amount)), third)


def _same(ir: Builder, value: Value) -> Value:
    return value


def _getbit(ir: Builder, value: Value, amount: Value) -> Value:
    return ir.with_constant("and", ir.binary("lshr", value, _amount(ir, amount)), 1)


def _leading_zeros(ir: Builder, value: Value) -> Value:
    """-1 of 0."""
    count = ir.call("llvm.ctlz", value.type, (value, Value("false", "i1")))
    return ir.select(ir.compare("eq", value, constant(0, value.type)), constant(-1, value.type), count)


def _leading_signs(ir: Builder, value: Value) -> Value:
    """Of a negative number, its leading ones; -1 of 0 and -1."""
    return _leading_zeros(ir, ir.binary("xor", value, ir.with_constant("ashr", value, _width(value) - 1)))


def _low24(ir: Builder, value: Value) -> Value:
    return ir.with_constant("and", value, 0xFFFFFF) if _width(value) == 32 else value


def _signed24(ir: Builder, value: Value) -> Value:
    return ir.with_constant("ashr", ir.with_constant("shl", value, 8), 8) if _width(value) == 32 else value


def _low16(ir: Builder, value: Value) -> Value:
    return ir.with_constant("and", value, 0xFFFF)


Part = Callable[[Builder, Value], Value]


def _product(part: Part) -> Callable[[Builder, Value, Value], Value]:
    return lambda ir, left, right: ir.binary("mul", part(ir, left), part(ir, right))


def _product_sum(part: Part) -> Callable[[Builder, Value, Value, Value], Value]:
    return lambda ir, left, right, third: ir.binary("add", ir.binary("mul", part(ir, left), part(ir, right)), third)


def _madsh(ir: Builder, low: Value, high: Value, third: Value) -> Value:
    """The low half of the first times the high half of the second, shifted up, plus the third."""
    if _width(low) == 16:  # there is no high half
        return third
    product = ir.binary("mul", _low16(ir, low), ir.with_constant("lshr", high, 16))
    return ir.binary("add", ir.with_constant("shl", product, 16), third)


def _sum(ir: Builder, first: Value, second: Value, third: Value) -> Value:
    return ir.binary("add", ir.binary("add", first, second), third)


def _and_or(ir: Builder, first: Value, second: Value, third: Value) -> Value:
    return ir.binary("or", ir.binary("and", first, second), third)


def _choice(ir: Builder, *sources: Value) -> Value:
    raise AssertionError("sel has a rule of its own")


INTEGER_RULES: dict[str, IntegerRule] = {
    "add.u": IntegerRule(_plain("add")),
    "add.s": IntegerRule(_plain("add"), signed=True),
    "sub.u": IntegerRule(_plain("sub")),
    "sub.s": IntegerRule(_plain("sub"), signed=True),
    "min.u": IntegerRule(_extreme("llvm.umin")),
    "min.s": IntegerRule(_extreme("llvm.smin"), signed=True),
    "max.u": IntegerRule(_extreme("llvm.umax")),
    "max.s": IntegerRule(_extreme("llvm.smax"), signed=True),
    "absneg.s": IntegerRule(_same, signed=True),
    "and.b": IntegerRule(_plain("and")),
    "or.b": IntegerRule(_plain("or")),
    "xor.b": IntegerRule(_plain("xor")),
    "not.b": IntegerRule(lambda ir, value: ir.invert(value)),
    "mul.u24": IntegerRule(_product(_low24), exact=True),
    "mul.s24": IntegerRule(_product(_signed24), signed=True, exact=True),
    "mull.u": IntegerRule(_product(_low16), exact=True),
    "bfrev.b": IntegerRule(lambda ir, value: ir.call("llvm.bitreverse", value.type, (value,))),
    "cbits.b": IntegerRule(lambda ir, value: ir.call("llvm.ctpop", value.type, (value,))),
    "clz.b": IntegerRule(_leading_zeros),
    "clz.s": IntegerRule(_leading_signs, signed=True),
    "shl.b": IntegerRule(_shift("shl")),
    "shr.b": IntegerRule(_shift("lshr")),
    "ashr.b": IntegerRule(_shift("ashr")),
    "getbit.b": IntegerRule(_getbit),
    "mad.u16": IntegerRule(_product_sum(_low16), exact=True),
    "mad.u24": IntegerRule(_product_sum(_low24)),
    "mad.s24": IntegerRule(_product_sum(_signed24), signed=True),
    "madsh.m16": IntegerRule(_madsh),
    "madsh.u16": IntegerRule(_madsh),
    "sad.s16": IntegerRule(_sum, signed=True),
    "sad.s32": IntegerRule(_sum, signed=True),
    "shrm": IntegerRule(_shift_then("lshr", "and")),
    "shlm": IntegerRule(_shift_then("shl", "and")),
    "shrg": IntegerRule(_shift_then("lshr", "or")),
    "shlg": IntegerRule(_shift_then("shl", "or")),
    "andg": IntegerRule(_and_or),
    "sel.b16": IntegerRule(_choice),
    "sel.b32": IntegerRule(_choice),
    "sel.s16": IntegerRule(_choice, signed=True),
    "sel.s32": IntegerRule(_choice, signed=True),
}
"""By name; operands in the order in which Mesa prints them."""
