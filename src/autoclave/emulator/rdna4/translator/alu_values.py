"""What operations on integers are made of: values of one width as IR, vectors or scalars alike."""

from collections.abc import Callable

from autoclave.emulator.ir import Builder, Value, constant, element_type

Compute = Callable[..., Value]
"""From a builder and operands to a value."""


def width(value: Value) -> int:
    """Bits of an integer or of each of a vector."""
    return int(element_type(value.type)[1:])


def resized(ir: Builder, value: Value, bits: int, extension: str = "zext") -> Value:
    """An integer with another number of bits."""
    if width(value) == bits:
        return value
    return ir.convert("trunc" if width(value) > bits else extension, value, f"i{bits}")


def zero(value: Value) -> Value:
    """0 of a value's type."""
    return constant(0, value.type)


def binary(operation: str) -> Compute:
    """An instruction of LLVM on two operands."""
    return lambda ir, left, right: ir.binary(operation, left, right)


def swapped(compute: Compute) -> Compute:
    """The operation of its operands the other way round."""
    return lambda ir, left, right: compute(ir, right, left)


def extreme(name: str) -> Compute:
    """llvm.umin and its like."""
    return lambda ir, left, right: ir.call(f"llvm.{name}", left.type, (left, right))


def chain(first: Compute, second: Compute) -> Compute:
    """second(first(a, b), c)."""
    return lambda ir, left, right, third: second(ir, first(ir, left, right), third)


def median(low: Compute, high: Compute) -> Compute:
    """The middle of three."""
    return lambda ir, left, right, third: high(ir, low(ir, left, right), low(ir, high(ir, left, right), third))


def low_bits(ir: Builder, value: Value, bits: int, signed: bool) -> Value:
    """The lowest bits, extended to the value's width (to 32 if that is less)."""
    if width(value) < 32:
        return ir.convert("sext" if signed else "zext", resized(ir, value, bits), "i32")
    if not signed:
        return ir.with_constant("and", value, (1 << bits) - 1)
    up = width(value) - bits
    return ir.with_constant("ashr", ir.with_constant("shl", value, up), up)
