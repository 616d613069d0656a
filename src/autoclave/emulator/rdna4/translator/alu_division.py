"""Scaling, exponents and significands of floats, and the steps of a division.

A quotient n / d is computed as: scale d and n (v_div_scale, twice), estimate 1 / d, refine it by fused products, sum up and
scale back (v_div_fmas), put in what is no number, and the sign (v_div_fixup).
"""

from collections.abc import Callable
from dataclasses import dataclass

from autoclave.emulator.ir import Builder, Value, constant, element_type
from autoclave.emulator.rdna4.instruction import Instruction
from autoclave.emulator.rdna4.translator.alu_numbers import finish_float, integer_like, number
from autoclave.emulator.rdna4.translator.alu_values import resized, zero
from autoclave.emulator.rdna4.translator.wave import Wave

Rule = Callable[[Wave, Instruction], None]


@dataclass(frozen=True, slots=True)
class Layout:
    """Of f32 or f64 as integers: bits in all and of the fraction; see `rdna4.arithmetic` for far, scale and tiny.

    far: the difference of exponents from which on a quotient is near the ends of the format. scale: the power by which division is
    scaled. tiny: the exponent field up to which a numerator's last bits would be lost.
    """

    bits: int
    fraction: int
    bias: int
    far: int
    scale: int
    tiny: int

    @property
    def infinity(self) -> int:
        """The pattern of +infinity."""
        return (2 * self.bias + 1) << self.fraction

    @property
    def magnitude(self) -> int:
        """All bits but the sign."""
        return (1 << (self.bits - 1)) - 1


SINGLE = Layout(32, 23, 127, 96, 64, 24)
DOUBLE = Layout(64, 52, 1023, 768, 128, 53)


def layout_of(value: Value) -> Layout:
    """That of a number."""
    return DOUBLE if element_type(value.type) == "double" else SINGLE


def patterns(ir: Builder, value: Value) -> Value:
    """The bits of floats, at their width."""
    return ir.convert("bitcast", value, element_type(integer_like(value)))


def _floats(ir: Builder, bits: Value) -> Value:
    return ir.convert("bitcast", bits, "double" if element_type(bits.type) == "i64" else "float")


def field(ir: Builder, bits: Value, layout: Layout) -> Value:
    """The exponent field, 32 bits."""
    moved = ir.with_constant("and", ir.with_constant("lshr", bits, layout.fraction), 2 * layout.bias + 1)
    return resized(ir, moved, 32)


# v_ldexp


def _scale(wave: Wave, instruction: Instruction) -> None:
    """a * 2^b, rounded once."""
    value, power = wave.number(instruction.sources[0]), wave.bits(instruction.sources[1])
    name = "scale_double" if element_type(value.type) == "double" else "scale_single"
    finish_float(wave, instruction, wave.library(name, value, resized(wave.ir, power, 32, "sext")))


# v_frexp


def _normal(wave: Wave, value: Value) -> tuple[Value, Value]:
    """The bits of a number, denormals made normal by a power of two, and what their exponents lack, 32 bits."""
    ir, layout = wave.ir, layout_of(value)
    bits = patterns(ir, value)
    small = ir.compare("eq", field(ir, bits, layout), constant(0, resized(ir, bits, 32).type))
    power = "0x4330000000000000" if layout is DOUBLE else "0x4160000000000000"
    larger = patterns(ir, ir.binary("fmul", value, number(power, value)))
    lack = constant(layout.fraction, resized(ir, bits, 32).type)
    return ir.select(small, larger, bits), ir.select(small, lack, zero(lack))


def _is_plain(wave: Wave, value: Value) -> Value:
    """Neither zero nor infinite nor NaN."""
    magnitude = wave.ir.call("llvm.fabs", value.type, (value,))
    finite = wave.ir.compare_floats("one", magnitude, number("0x7FF0000000000000", value))
    return wave.ir.binary("and", finite, wave.ir.compare_floats("one", value, number("0.0", value)))


def _significand(wave: Wave, instruction: Instruction) -> None:
    """The number scaled to [1/2, 1), with its sign; zeros, infinities and NaN as they are."""
    ir, value = wave.ir, wave.number(instruction.sources[0])
    layout = layout_of(value)
    bits, _ = _normal(wave, value)
    kept = ir.with_constant("and", bits, ~layout.infinity)
    scaled = ir.with_constant("or", kept, (layout.bias - 1) << layout.fraction)
    result = ir.select(_is_plain(wave, value), _floats(ir, scaled), value)
    finish_float(wave, instruction, result, exact=True)


def _exponent(wave: Wave, instruction: Instruction) -> None:
    """The e for which the magnitude is m * 2^e with 1/2 <= m < 1; 0 for zeros, infinities and NaN."""
    ir, value = wave.ir, wave.number(instruction.sources[0])
    layout = layout_of(value)
    bits, lack = _normal(wave, value)
    exponent = ir.binary("sub", ir.with_constant("sub", field(ir, bits, layout), layout.bias - 1), lack)
    exponent = ir.select(_is_plain(wave, value), exponent, zero(exponent))
    destination = instruction.destinations[0]
    wave.write(destination, resized(ir, exponent, 16 if destination.type == "i16" else 32))


# Division


def _prepare(wave: Wave, instruction: Instruction) -> None:
    """v_div_scale: of (value, denominator, numerator) the value, scaled, and whether the quotient has to be scaled back."""
    ir = wave.ir
    value, denominator, numerator = (wave.number(source) for source in instruction.sources)
    layout = layout_of(value)
    bits, below, above = (patterns(ir, each) for each in (value, denominator, numerator))
    of_denominator, of_numerator = field(ir, below, layout), field(ir, above, layout)
    difference = ir.binary("sub", of_numerator, of_denominator)
    same = ir.compare("eq", bits, below)
    none, up, down = (constant(power, difference.type) for power in (0, layout.scale, -layout.scale))
    yes, no = constant(1, same.type), constant(0, same.type)
    deep = ir.compare("sle", difference, constant(-layout.far, difference.type))
    # The cases from the last to the first: each takes precedence over those before.
    tiny = ir.compare("ule", of_numerator, constant(layout.tiny, difference.type))
    power, flag = ir.select(tiny, up, none), no
    power, flag = ir.select(deep, ir.select(same, none, up), power), ir.select(deep, yes, flag)
    large = ir.compare("uge", of_denominator, constant(2 * layout.bias - 1, difference.type))
    shrunk = ir.select(ir.binary("and", deep, ir.invert(same)), none, down)
    power, flag = ir.select(large, shrunk, power), ir.select(large, deep, flag)
    small = ir.compare("eq", of_denominator, none)
    power, flag = ir.select(small, up, power), ir.select(small, no, flag)
    far = ir.compare("sge", difference, constant(layout.far, difference.type))
    power, flag = ir.select(far, ir.select(same, up, none), power), ir.select(far, yes, flag)
    scaled = wave.library("scale_double" if layout is DOUBLE else "scale_single", value, power)
    either = ir.binary(
        "or", *(ir.compare_floats("oeq", each, number("0.0", each)) for each in (denominator, numerator))
    )
    nan = number("0x7FF8000000000000", scaled)
    finish_float(wave, instruction, ir.select(either, nan, scaled))
    wave.write_mask(instruction.destinations[1], flag)


def _finish(wave: Wave, instruction: Instruction) -> None:
    """v_div_fmas: a * b + c; where the flag is set times a power of two: up where c is 2 or more, else down. Rounded once."""
    ir, (*terms, flag) = wave.ir, instruction.sources
    first, second, third = (wave.number(source) for source in terms)
    layout = layout_of(third)
    exponent = field(ir, patterns(ir, third), layout)
    above = ir.compare("ugt", exponent, constant(layout.bias, exponent.type))
    up, down = constant(layout.scale, exponent.type), constant(-layout.scale, exponent.type)
    power = ir.select(wave.mask(flag), ir.select(above, up, down), zero(up))
    name = "fma_scaled_double" if layout is DOUBLE else "fma_scaled_single"
    finish_float(wave, instruction, wave.library(name, first, second, third, power))


def _repair(wave: Wave, instruction: Instruction) -> None:
    """v_div_fixup: of (quotient, denominator, numerator) the quotient with what division gives of zeros, infinities and NaN, and the sign."""
    ir = wave.ir
    quotient, denominator, numerator = (wave.number(source) for source in instruction.sources)
    layout = layout_of(quotient)
    of_half = instruction.sources[0].type == "f16"
    bits, below, above = (patterns(ir, each) for each in (quotient, denominator, numerator))
    sign = ir.with_constant("and", ir.binary("xor", below, above), -1 << (layout.bits - 1))
    size = ir.with_constant("and", bits, layout.magnitude)
    infinity, nothing = constant(layout.infinity, bits.type), zero(bits)
    if not of_half:
        over = ir.compare("ugt", size, infinity)
        size = ir.select(over, infinity, size)
        difference = ir.binary("sub", field(ir, above, layout), field(ir, below, layout))
        limit = constant(-(layout.bias + layout.fraction), difference.type)
        size = ir.select(ir.compare("slt", difference, limit), nothing, size)
    d, n = (ir.with_constant("and", each, layout.magnitude) for each in (below, above))
    d_zero, n_zero = (ir.compare("eq", each, nothing) for each in (d, n))
    d_infinite, n_infinite = (ir.compare("eq", each, infinity) for each in (d, n))
    size = ir.select(ir.binary("or", n_zero, d_infinite), nothing, size)
    size = ir.select(ir.binary("or", d_zero, n_infinite), infinity, size)
    undefined = ir.binary("or", ir.binary("and", n_zero, d_zero), ir.binary("and", n_infinite, d_infinite))
    undefined = ir.binary("or", undefined, ir.compare_floats("uno", denominator, numerator))
    size = ir.select(undefined, constant(layout.infinity | 1 << (layout.fraction - 1), bits.type), size)
    finish_float(wave, instruction, _floats(ir, ir.binary("or", sign, size)), exact=True)


DIVISION: dict[str, Rule] = {
    **{f"v_ldexp_{kind}": _scale for kind in ("f16", "f32", "f64")},
    **{f"v_frexp_mant_{kind}": _significand for kind in ("f16", "f32", "f64")},
    "v_frexp_exp_i16_f16": _exponent,
    "v_frexp_exp_i32_f32": _exponent,
    "v_frexp_exp_i32_f64": _exponent,
    **{f"v_div_scale_{kind}": _prepare for kind in ("f32", "f64")},
    **{f"v_div_fmas_{kind}": _finish for kind in ("f32", "f64")},
    **{f"v_div_fixup_{kind}": _repair for kind in ("f16", "f32", "f64")},
}
"""By name."""
