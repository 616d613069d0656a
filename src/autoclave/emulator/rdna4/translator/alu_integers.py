"""Vector operations on integers and bits: what they compute, and with CLAMP."""

from collections.abc import Callable
from dataclasses import dataclass

from autoclave.emulator.ir import Builder, Value, constant
from autoclave.emulator.rdna4.instruction import Instruction
from autoclave.emulator.rdna4.translator.alu_bits import (
    bit_field,
    bit_insert,
    bit_mask,
    funnel,
    leading_signs,
    leading_zeros,
    population,
    reversed_bits,
    shift_left,
    shift_right,
    shift_right_signed,
    trailing_zeros,
)
from autoclave.emulator.rdna4.translator.alu_differences import differences
from autoclave.emulator.rdna4.translator.alu_values import (
    Compute,
    binary,
    chain,
    extreme,
    low_bits,
    median,
    resized,
    swapped,
    width,
)
from autoclave.emulator.rdna4.translator.wave import Wave


def product(bits: int, signed: bool) -> Compute:
    """The product of the lowest bits of both, modulo 2^32."""
    return lambda ir, left, right: ir.binary("mul", low_bits(ir, left, bits, signed), low_bits(ir, right, bits, signed))


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

    saturated: what is computed where the instruction has CLAMP; None where there is no rule for that.
    """

    compute: Compute
    saturated: Compute | None = None

    def chosen(self, instruction: Instruction) -> Compute:
        """What an instruction computes. With CLAMP there has to be a rule (`alu.SATURATING`)."""
        if not instruction.clamp:
            return self.compute
        assert self.saturated is not None
        return self.saturated


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
        value = rule.chosen(instruction)(wave.ir, *(wave.bits(source) for source in instruction.sources))
        wave.write(instruction.destinations[0], value)

    return run


INTEGERS: dict[str, Callable[[Wave, Instruction], None]] = {
    name: integer_rule(rule) for name, rule in INTEGER_RULES.items()
}
