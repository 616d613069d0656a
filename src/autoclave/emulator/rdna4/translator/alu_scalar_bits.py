"""Logic and bits of scalars, as IR."""

from autoclave.emulator.ir import Builder, Value, constant
from autoclave.emulator.rdna4.translator.alu_bits import bit_mask, field, population, shift_left, shift_right
from autoclave.emulator.rdna4.translator.alu_values import Compute, binary, extreme, resized, width


def inverted(compute: Compute) -> Compute:
    return lambda ir, left, right: ir.invert(compute(ir, left, right))


def not_right(operation: str) -> Compute:
    return lambda ir, left, right: ir.binary(operation, left, ir.invert(right))


LOGIC: dict[str, Compute] = {
    "and": binary("and"),
    "or": binary("or"),
    "xor": binary("xor"),
    "nand": inverted(binary("and")),
    "nor": inverted(binary("or")),
    "xnor": inverted(binary("xor")),
    "and_not1": not_right("and"),
    "or_not1": not_right("or"),
}
"""By the middle of the name."""


def packed_bit_field(signed: bool) -> Compute:
    """The second source holds the offset in its lowest bits, the width in bits 22 to 16."""

    def compute(ir: Builder, value: Value, where: Value) -> Value:
        bits = width(value)
        offset = resized(ir, ir.with_constant("and", where, bits - 1), bits)
        count = ir.with_constant("and", ir.with_constant("lshr", where, 16), 0x7F)
        count = extreme("umin")(ir, count, constant(bits, count.type))
        return field(ir, value, offset, resized(ir, count, bits), signed)

    return compute


def _bit(ir: Builder, value: Value, index: Value) -> Value:
    """The bit of a value at an index modulo its width, alone."""
    return ir.with_constant("and", shift_right(ir, value, index), 1)


def bit_is(expected: int) -> Compute:
    def compute(ir: Builder, value: Value, index: Value) -> Value:
        bit = _bit(ir, value, index)
        return ir.compare("eq", bit, constant(expected, bit.type))

    return compute


def set_bit(ir: Builder, index: Value, old: Value) -> Value:
    return ir.binary("or", old, shift_left(ir, constant(1, old.type), index))


def clear_bit(ir: Builder, index: Value, old: Value) -> Value:
    return ir.binary("and", old, ir.invert(shift_left(ir, constant(1, old.type), index)))


def count_bits(inverted: bool) -> Compute:
    def compute(ir: Builder, value: Value) -> Value:
        return resized(ir, population(ir, ir.invert(value) if inverted else value), 32)

    return compute


_ONES = {32: 0x11111111, 64: 0x1111111111111111}


def _any_of_four(ir: Builder, value: Value) -> Value:
    """The lowest bit of each four, whether any of them is set."""
    value = ir.binary("or", value, ir.with_constant("lshr", value, 1))
    value = ir.binary("or", value, ir.with_constant("lshr", value, 2))
    return ir.with_constant("and", value, _ONES[width(value)])


def all_of_four(ir: Builder, value: Value) -> Value:
    return ir.with_constant("mul", _any_of_four(ir, value), 15)


_GATHERED = {32: (0x03030303, 0x000F000F, 0xFF), 64: (0x0303030303030303, 0x000F000F000F000F, 0x000000FF000000FF)}


def packed_fours(ir: Builder, value: Value) -> Value:
    """One bit for each four, the lowest first."""
    value = _any_of_four(ir, value)
    for shift, mask in zip((3, 6, 12), _GATHERED[width(value)], strict=True):
        value = ir.with_constant("and", ir.binary("or", value, ir.with_constant("lshr", value, shift)), mask)
    if width(value) == 64:
        both = ir.binary("or", value, ir.with_constant("lshr", value, 24))
        return ir.with_constant("and", both, 0xFFFF)
    return value


_SPREAD = (
    (16, 0x0000FFFF0000FFFF),
    (8, 0x00FF00FF00FF00FF),
    (4, 0x0F0F0F0F0F0F0F0F),
    (2, 0x3333333333333333),
    (1, 0x5555555555555555),
)


def replicate(ir: Builder, value: Value) -> Value:
    """Every bit twice."""
    value = ir.convert("zext", value, "i64")
    for shift, mask in _SPREAD:
        value = ir.with_constant("and", ir.binary("or", value, ir.with_constant("shl", value, shift)), mask)
    return ir.with_constant("mul", value, 3)


def absolute(ir: Builder, value: Value) -> Value:
    return ir.call("llvm.abs", value.type, (value, Value("false", "i1")))


def signed_difference(ir: Builder, left: Value, right: Value) -> Value:
    return absolute(ir, ir.binary("sub", left, right))


def extended(bits: int) -> Compute:
    return lambda ir, value: ir.convert("sext", resized(ir, value, bits), "i32")


def packed_halves(low_upper: bool, high_upper: bool) -> Compute:
    """A word of one half of each source."""

    def compute(ir: Builder, left: Value, right: Value) -> Value:
        left, right = resized(ir, left, 32), resized(ir, right, 32)
        low = ir.with_constant("lshr", left, 16) if low_upper else ir.with_constant("and", left, 0xFFFF)
        high = ir.with_constant("and", right, -0x10000) if high_upper else ir.with_constant("shl", right, 16)
        return ir.binary("or", low, high)

    return compute


def wide_bit_mask(ir: Builder, count: Value, offset: Value) -> Value:
    return bit_mask(ir, ir.convert("zext", count, "i64"), ir.convert("zext", offset, "i64"))


def product_of_immediate(ir: Builder, immediate: Value, old: Value) -> Value:
    return ir.binary("mul", resized(ir, immediate, 32, "sext"), old)
