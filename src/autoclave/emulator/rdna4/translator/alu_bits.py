"""Shifts, bit fields, counts of bits."""

from autoclave.emulator.ir import Builder, Value, constant
from autoclave.emulator.rdna4.translator.alu_values import Compute, resized, width, zero


def shift(operation: str) -> Compute:
    """By an amount of any width, modulo the width of what is shifted."""

    def compute(ir: Builder, value: Value, amount: Value) -> Value:
        masked = ir.with_constant("and", amount, width(value) - 1)
        return ir.binary(operation, value, resized(ir, masked, width(value)))

    return compute


shift_left, shift_right, shift_right_signed = shift("shl"), shift("lshr"), shift("ashr")


def bit_field(signed: bool) -> Compute:
    """(value, offset, width): the bits from an offset on; a width of 0 gives 0. Offset and width modulo the value's width."""

    def compute(ir: Builder, value: Value, offset: Value, count: Value) -> Value:
        bits = width(value)
        offset, count = (resized(ir, ir.with_constant("and", each, bits - 1), bits) for each in (offset, count))
        return field(ir, value, offset, count, signed)

    return compute


def field(ir: Builder, value: Value, offset: Value, count: Value, signed: bool) -> Value:
    """The same of an offset below the width, and a count below it."""
    bits = width(value)
    moved = ir.binary("ashr" if signed else "lshr", value, offset)
    none = ir.compare("eq", count, zero(count))
    # Of no bits, shifting by the whole width is not defined: by 0 then, and the result is not used.
    up = ir.binary("sub", constant(bits, value.type), count)
    up = ir.select(none, zero(up), up)
    cut = ir.binary("ashr" if signed else "lshr", ir.binary("shl", moved, up), up)
    return ir.select(none, zero(cut), cut)


def bit_mask(ir: Builder, count: Value, offset: Value) -> Value:
    """`count` ones from `offset` on."""
    bits = width(count)
    one = constant(1, count.type)
    ones = ir.with_constant("sub", ir.binary("shl", one, ir.with_constant("and", count, bits - 1)), 1)
    return ir.binary("shl", ones, ir.with_constant("and", offset, bits - 1))


def bit_insert(ir: Builder, mask: Value, chosen: Value, other: Value) -> Value:
    """`chosen` where the mask is set, else `other`, bit by bit."""
    kept = ir.binary("and", ir.invert(mask), other)
    return ir.binary("or", ir.binary("and", mask, chosen), kept)


def count_or_minus_one(intrinsic: str) -> Compute:
    """llvm.ctlz or llvm.cttz as 32 bits, -1 of 0."""

    def compute(ir: Builder, value: Value) -> Value:
        count = ir.call(intrinsic, value.type, (value, Value("false", "i1")))
        count = ir.select(ir.compare("eq", value, zero(value)), constant(-1, value.type), count)
        return resized(ir, count, 32)

    return compute


leading_zeros, trailing_zeros = count_or_minus_one("llvm.ctlz"), count_or_minus_one("llvm.cttz")


def leading_signs(ir: Builder, value: Value) -> Value:
    """How many of the highest bits are as the highest; -1 if all are."""
    return leading_zeros(ir, ir.binary("xor", value, ir.with_constant("ashr", value, width(value) - 1)))


def population(ir: Builder, value: Value) -> Value:
    """How many bits are set."""
    return ir.call("llvm.ctpop", value.type, (value,))


def reversed_bits(ir: Builder, value: Value) -> Value:
    """The bits in the opposite order."""
    return ir.call("llvm.bitreverse", value.type, (value,))


def funnel(scale: int) -> Compute:
    """(high, low, amount): 64 bits shifted down by `scale` times the amount, modulo 32; the lower 32."""

    def compute(ir: Builder, high: Value, low: Value, amount: Value) -> Value:
        if scale == 8:
            amount = ir.with_constant("shl", ir.with_constant("and", amount, 3), 3)
        return ir.call("llvm.fshr", high.type, (high, low, amount))

    return compute
