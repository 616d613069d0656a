"""Integer and bit operations as IR on values of one width, vectors or scalars alike; the vector operations made of them."""

from collections.abc import Callable
from dataclasses import dataclass

from autoclave.emulator.ir import Builder, Value, constant, element_type
from autoclave.emulator.rdna4.instruction import Instruction
from autoclave.emulator.rdna4.translator.wave import Wave

Compute = Callable[..., Value]


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


def shift(operation: str) -> Compute:
    """By an amount of any width, modulo the width of what is shifted."""

    def compute(ir: Builder, value: Value, amount: Value) -> Value:
        masked = ir.with_constant("and", amount, width(value) - 1)
        return ir.binary(operation, value, resized(ir, masked, width(value)))

    return compute


shift_left, shift_right, shift_right_signed = shift("shl"), shift("lshr"), shift("ashr")


def product(bits: int, signed: bool) -> Compute:
    """The product of the lowest bits of both, modulo 2^32."""
    return lambda ir, left, right: ir.binary("mul", low_bits(ir, left, bits, signed), low_bits(ir, right, bits, signed))


def low_bits(ir: Builder, value: Value, bits: int, signed: bool) -> Value:
    """The lowest bits, extended to the value's width (to 32 if that is less)."""
    if width(value) < 32:
        return ir.convert("sext" if signed else "zext", resized(ir, value, bits), "i32")
    if not signed:
        return ir.with_constant("and", value, (1 << bits) - 1)
    up = width(value) - bits
    return ir.with_constant("ashr", ir.with_constant("shl", value, up), up)


def high_product(signed: bool, bits: int = 32) -> Compute:
    """Bits 32 to 63 of the product of the lowest bits."""

    def compute(ir: Builder, left: Value, right: Value) -> Value:
        extension = "sext" if signed else "zext"
        left, right = (
            ir.convert(extension, each if bits == 32 else low_bits(ir, each, bits, signed), "i64")
            for each in (left, right)
        )
        return ir.convert("trunc", ir.with_constant("lshr", ir.binary("mul", left, right), 32), "i32")

    return compute


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


def absolute_difference(ir: Builder, left: Value, right: Value) -> Value:
    """|left - right| of unsigned numbers."""
    larger, smaller = extreme("umax")(ir, left, right), extreme("umin")(ir, left, right)
    return ir.binary("sub", larger, smaller)


def parts(ir: Builder, value: Value, bits: int, signed: bool = False) -> list[Value]:
    """The parts of a word, the lowest first, as 32 bits each."""
    return [
        low_bits(ir, ir.with_constant("lshr", value, at), bits, signed) if at or bits < 32 else value
        for at in range(0, 32, bits)
    ]


def differences(bits: int, masked: bool = False, up: int = 0) -> Compute:
    """c and the absolute differences of the parts of a and b. masked: but for those that are 0 in b. up: the sum is shifted."""

    def compute(ir: Builder, left: Value, right: Value, third: Value) -> Value:
        total = zero(left)
        for one, other in zip(parts(ir, left, bits), parts(ir, right, bits), strict=True):
            difference = absolute_difference(ir, one, other)
            if masked:
                difference = ir.select(ir.compare("eq", other, zero(other)), zero(other), difference)
            total = ir.binary("add", total, difference)
        return ir.binary("add", ir.with_constant("shl", total, up) if up else total, third)

    return compute


def _average_bytes(ir: Builder, left: Value, right: Value, third: Value) -> Value:
    """The averages of the bytes, rounded up where the byte of the third is odd."""
    # a + b + c = 2 (a & b) + (a ^ b) + c of each byte, whose lowest bit of c alone counts.
    odd = ir.with_constant("and", third, 0x01010101)
    different = ir.binary("xor", left, right)
    half = ir.with_constant("and", ir.with_constant("lshr", different, 1), 0x7F7F7F7F)
    carry = ir.binary("and", ir.with_constant("and", different, 0x01010101), odd)
    return ir.binary("add", ir.binary("add", ir.binary("and", left, right), half), carry)


def _three(first: str, second: str) -> Compute:
    return chain(binary(first), binary(second))


@dataclass(frozen=True, slots=True)
class IntegerRule:
    """compute: from a builder and the sources' bits to the result's.

    saturated: what is computed where the instruction has CLAMP, None where CLAMP means nothing.
    """

    compute: Compute
    saturated: Compute | None = None


def _saturating(operation: str, signed: bool) -> Compute:
    return extreme(f"{'s' if signed else 'u'}{operation}.sat")


def _cut(signed: bool, bits: int, total: Compute) -> Compute:
    """A total of 64 bits saturated to fewer."""

    def compute(ir: Builder, *sources: Value) -> Value:
        value = total(ir, *sources)
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
        value = extreme("smax")(ir, value, constant(low, value.type))
        value = extreme("smin")(ir, value, constant(high, value.type))
        return ir.convert("trunc", value, f"i{bits}")

    return compute


def product_sum(factor: int, signed: bool) -> Compute:
    """a * b + c, the factors' lowest bits, modulo the width of c."""

    def compute(ir: Builder, left: Value, right: Value, third: Value) -> Value:
        found = product(factor, signed)(ir, left, right)
        return ir.binary("add", resized(ir, found, width(third)), third)

    return compute


def _wide_product_sum(factor: int, signed: bool) -> Compute:
    """The same, not cut."""

    def compute(ir: Builder, left: Value, right: Value, third: Value) -> Value:
        extension = "sext" if signed else "zext"
        left, right = (ir.convert(extension, low_bits(ir, each, factor, signed), "i64") for each in (left, right))
        return ir.binary("add", ir.binary("mul", left, right), ir.convert(extension, third, "i64"))

    return compute


def mad(factor: int, signed: bool, bits: int = 32) -> IntegerRule:
    """a * b + c of narrow factors; with CLAMP saturated."""
    return IntegerRule(product_sum(factor, signed), _cut(signed, bits, _wide_product_sum(factor, signed)))


def _minima(kind: str) -> dict[str, IntegerRule]:
    letter = "s" if kind[0] == "i" else "u"
    low, high = extreme(f"{letter}min"), extreme(f"{letter}max")
    return {
        f"v_min_{kind}": IntegerRule(low),
        f"v_max_{kind}": IntegerRule(high),
        f"v_min3_{kind}": IntegerRule(chain(low, low)),
        f"v_max3_{kind}": IntegerRule(chain(high, high)),
        f"v_med3_{kind}": IntegerRule(median(low, high)),
        f"v_maxmin_{kind}": IntegerRule(chain(high, low)),
        f"v_minmax_{kind}": IntegerRule(chain(low, high)),
    }


INTEGER_RULES: dict[str, IntegerRule] = {
    **{
        f"v_{operation}_nc_{kind}": IntegerRule(binary(operation), _saturating(operation, kind[0] == "i"))
        for operation in ("add", "sub")
        for kind in ("u16", "i16", "u32", "i32")
    },
    "v_subrev_nc_u32": IntegerRule(swapped(binary("sub")), swapped(_saturating("sub", False))),
    "v_add3_u32": IntegerRule(_three("add", "add")),
    "v_mul_lo_u32": IntegerRule(binary("mul")),
    "v_mul_lo_u16": IntegerRule(binary("mul")),
    "v_mul_hi_u32": IntegerRule(high_product(False)),
    "v_mul_hi_i32": IntegerRule(high_product(True)),
    "v_mul_u32_u24": IntegerRule(product(24, False)),
    "v_mul_i32_i24": IntegerRule(product(24, True)),
    "v_mul_hi_u32_u24": IntegerRule(high_product(False, 24)),
    "v_mul_hi_i32_i24": IntegerRule(high_product(True, 24)),
    "v_mad_u32_u24": mad(24, False),
    "v_mad_i32_i24": mad(24, True),
    "v_mad_u32_u16": mad(16, False),
    "v_mad_i32_i16": mad(16, True),
    "v_mad_u16": mad(16, False, 16),
    "v_mad_i16": mad(16, True, 16),
    **{f"v_{name}_{kind}": IntegerRule(binary(name)) for name in ("and", "or", "xor") for kind in ("b32", "b16")},
    "v_xnor_b32": IntegerRule(lambda ir, left, right: ir.invert(ir.binary("xor", left, right))),
    **{f"v_not_{kind}": IntegerRule(lambda ir, value: ir.invert(value)) for kind in ("b32", "b16")},
    "v_or3_b32": IntegerRule(_three("or", "or")),
    "v_xor3_b32": IntegerRule(_three("xor", "xor")),
    "v_and_or_b32": IntegerRule(_three("and", "or")),
    "v_xad_u32": IntegerRule(_three("xor", "add")),
    **{f"v_lshlrev_b{bits}": IntegerRule(swapped(shift_left)) for bits in (16, 32, 64)},
    **{f"v_lshrrev_b{bits}": IntegerRule(swapped(shift_right)) for bits in (16, 32, 64)},
    **{f"v_ashrrev_i{bits}": IntegerRule(swapped(shift_right_signed)) for bits in (16, 32, 64)},
    "v_lshl_add_u32": IntegerRule(chain(shift_left, binary("add"))),
    "v_lshl_or_b32": IntegerRule(chain(shift_left, binary("or"))),
    "v_add_lshl_u32": IntegerRule(chain(binary("add"), shift_left)),
    "v_bfe_u32": IntegerRule(bit_field(False)),
    "v_bfe_i32": IntegerRule(bit_field(True)),
    "v_bfi_b32": IntegerRule(bit_insert),
    "v_bfm_b32": IntegerRule(bit_mask),
    "v_alignbit_b32": IntegerRule(funnel(1)),
    "v_alignbyte_b32": IntegerRule(funnel(8)),
    "v_bfrev_b32": IntegerRule(reversed_bits),
    "v_clz_i32_u32": IntegerRule(leading_zeros),
    "v_ctz_i32_b32": IntegerRule(trailing_zeros),
    "v_cls_i32": IntegerRule(leading_signs),
    "v_bcnt_u32_b32": IntegerRule(lambda ir, left, right: ir.binary("add", population(ir, left), right)),
    "v_sad_u8": IntegerRule(differences(8)),
    "v_sad_hi_u8": IntegerRule(differences(8, up=16)),
    "v_msad_u8": IntegerRule(differences(8, masked=True)),
    "v_sad_u16": IntegerRule(differences(16)),
    "v_sad_u32": IntegerRule(differences(32)),
    "v_lerp_u8": IntegerRule(_average_bytes),
    **{name: rule for kind in ("i16", "u16", "i32", "u32") for name, rule in _minima(kind).items()},
    "v_cvt_i32_i16": IntegerRule(lambda ir, value: ir.convert("sext", resized(ir, value, 16), "i32")),
    "v_cvt_u32_u16": IntegerRule(lambda ir, value: ir.convert("zext", resized(ir, value, 16), "i32")),
}
"""By name."""


def integer_rule(rule: IntegerRule) -> Callable[[Wave, Instruction], None]:
    """The vector operation of a rule."""

    def run(wave: Wave, instruction: Instruction) -> None:
        compute = rule.saturated if instruction.clamp and rule.saturated is not None else rule.compute
        value = compute(wave.ir, *(wave.bits(source) for source in instruction.sources))
        wave.write(instruction.destinations[0], value)

    return run


INTEGERS: dict[str, Callable[[Wave, Instruction], None]] = {
    name: integer_rule(rule) for name, rule in INTEGER_RULES.items()
}
