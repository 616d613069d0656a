"""Packed operations (VOP3P): twice 16 bits; mixed precision; sums of products."""

from collections.abc import Callable
from dataclasses import replace

from autoclave.emulator.ir import Builder, Value, constant
from autoclave.emulator.rdna4.instruction import Destination, Instruction, Literal32, Source
from autoclave.emulator.rdna4.translator.alu_bits import shift_left, shift_right, shift_right_signed
from autoclave.emulator.rdna4.translator.alu_floats import FLOAT_RULES, FloatRule
from autoclave.emulator.rdna4.translator.alu_integers import INTEGER_RULES, IntegerRule, mad
from autoclave.emulator.rdna4.translator.alu_numbers import finish_float, number, round_half
from autoclave.emulator.rdna4.translator.alu_values import binary, extreme, low_bits, swapped
from autoclave.emulator.rdna4.translator.content import Half
from autoclave.emulator.rdna4.translator.wave import Wave

Rule = Callable[[Wave, Instruction], None]


def sources_of(instruction: Instruction) -> tuple[Source, ...]:
    """The sources, of encodings without OPSEL_HI with the upper half for the second result."""
    if instruction.encoding == "VOP3P":
        return instruction.sources
    return tuple(replace(source, high_of_second=source.type.endswith("x2")) for source in instruction.sources)


def half_of(wave: Wave, source: Source, second: bool) -> Half:
    """The half of a packed source that the first or the second result takes, without modifiers."""
    return wave.half(source.operand, source.high_of_second if second else source.high)


def number_of_half(wave: Wave, source: Source, second: bool) -> Value:
    """The same as a float, negated if that is asked for."""
    if isinstance(source.operand, Literal32):
        high = source.high_of_second if second else source.high
        bits = source.operand.bits >> (16 if high else 0) & 0xFFFF
        value = wave.number(Source(Literal32(bits, source.operand.inline), source.type.removesuffix("x2")))
    elif source.type.startswith("bf16"):
        wide = wave.ir.convert("zext", wave.half_bits(half_of(wave, source, second)), "i32")
        value = wave.ir.convert("bitcast", wave.ir.with_constant("shl", wide, 16), "float")
    else:
        value = wave.half_number(half_of(wave, source, second))
    return wave.ir.negate(value) if (source.negated_second if second else source.negated) else value


def _packed_floats(rule: FloatRule) -> Rule:
    """An operation of halves, on the lower and on the upper ones."""

    def run(wave: Wave, instruction: Instruction) -> None:
        low, high = (_half_result(wave, instruction, rule, second) for second in (False, True))
        wave.write_halves(instruction.destinations[0], low, high)

    return run


def _half_result(wave: Wave, instruction: Instruction, rule: FloatRule, second: bool) -> Half:
    value = _zero_limited(wave, instruction, second)
    if value is None:
        value = rule.compute(wave, *(number_of_half(wave, source, second) for source in sources_of(instruction)))
    if not rule.exact:
        value = round_half(wave, value)
    if instruction.clamp:
        return Half(number=wave.library("clamp_gradual", value))
    return Half(number=value, loose=True)


def _zero_limited(wave: Wave, instruction: Instruction, second: bool) -> Value | None:
    """v_pk_max_num_f16 with +0, which is one host instruction: 0 unless the other is above it, so of a NaN too."""
    if instruction.name != "v_pk_max_num_f16":
        return None
    for limit, other in (instruction.sources, instruction.sources[::-1]):
        negated = limit.negated_second if second else limit.negated
        if isinstance(limit.operand, Literal32) and limit.operand.bits == 0 and not negated:
            value = number_of_half(wave, other, second)
            zero = number("0.0", value)
            return wave.ir.select(wave.ir.compare_floats("ogt", value, zero), value, zero)
    return None


def _packed_integers(rule: IntegerRule) -> Rule:
    def run(wave: Wave, instruction: Instruction) -> None:
        compute = rule.chosen(instruction)
        low, high = (
            Half(bits=compute(wave.ir, *(_bits_of_half(wave, source, second) for source in instruction.sources)))
            for second in (False, True)
        )
        wave.write_halves(instruction.destinations[0], low, high)

    return run


def _bits_of_half(wave: Wave, source: Source, second: bool) -> Value:
    bits = wave.half_bits(half_of(wave, source, second))
    negated = source.negated_second if second else source.negated
    return wave.ir.with_constant("xor", bits, -0x8000) if negated else bits


# v_fma_mix


def mixed_number(wave: Wave, source: Source) -> Value:
    """A source of v_fma_mix: an f32, or (OPSEL_HI) a half that OPSEL chooses; NEG_HI is the absolute value."""
    if source.high_of_second:
        plain = replace(source, negated=False, negated_second=False, type="f16x2")
        value = number_of_half(wave, plain, second=False)
    else:
        value = wave.number(Source(source.operand, "f32"))
    if source.negated_second:
        value = wave.ir.call("llvm.fabs", value.type, (value,))
    return wave.ir.negate(value) if source.negated else value


def _mixed(function: str) -> Rule:
    def run(wave: Wave, instruction: Instruction) -> None:
        value = wave.library(function, *(mixed_number(wave, source) for source in instruction.sources))
        finish_float(wave, instruction, value, exact=True)

    return run


# Sums of products


def _dot2(rounded: Callable[[Wave, Value], Value]) -> Rule:
    """c + a0 * b0, and to that a1 * b1; every product and every sum is rounded."""

    def run(wave: Wave, instruction: Instruction) -> None:
        first, second, third = sources_of(instruction)
        total = wave.number(third)
        for upper in (False, True):
            factors = (number_of_half(wave, source, upper) for source in (first, second))
            product = rounded(wave, wave.ir.binary("fmul", *factors))
            total = rounded(wave, wave.ir.binary("fadd", total, product))
        if instruction.destinations[0].type == "bf16":
            _write_bfloat(wave, instruction, total)
        else:
            finish_float(wave, instruction, total, exact=True)

    return run


def round_bfloat(wave: Wave, value: Value) -> Value:
    """An f32 rounded to the nearest bf16, as the f32 that holds it. A NaN stays one."""
    ir = wave.ir
    bits = ir.convert("bitcast", value, "i32")
    last = ir.with_constant("and", ir.with_constant("lshr", bits, 16), 1)
    rounded = ir.binary("add", ir.with_constant("add", bits, 0x7FFF), last)
    rounded = ir.convert("bitcast", ir.with_constant("and", rounded, -0x10000), "float")
    return ir.select(ir.compare_floats("uno", value, value), value, rounded)


def _write_bfloat(wave: Wave, instruction: Instruction, value: Value) -> None:
    if instruction.clamp:
        value = wave.library("clamp_gradual", value)
    bits = wave.forms.canonical(value, wave.ir.convert("bitcast", value, "i32"))
    half = wave.ir.convert("trunc", wave.ir.with_constant("lshr", bits, 16), "i16")
    wave.write(Destination(instruction.destinations[0].operand, "b16"), half)


def _dot_integers(bits: int, signed: bool) -> Rule:
    """c and the products of parts of `bits` bits. signed: c is, and parts are where NEG of their source says so."""

    def run(wave: Wave, instruction: Instruction) -> None:
        ir, (first, second, third) = wave.ir, instruction.sources
        words = [(wave.bits(Source(source.operand, "u32")), signed and source.negated) for source in (first, second)]
        total = constant(0, words[0][0].type)
        for at in range(0, 32, bits):
            factors = (_part(ir, word, at, bits, is_signed) for word, is_signed in words)
            total = ir.binary("add", total, ir.binary("mul", *factors))
        extension, added = "sext" if signed else "zext", wave.bits(third)
        if not instruction.clamp:
            wave.write(instruction.destinations[0], ir.binary("add", total, added))
            return
        # The products' sum has at most 19 bits.
        wave.write(
            instruction.destinations[0], extreme("sadd.sat" if extension == "sext" else "uadd.sat")(ir, total, added)
        )

    return run


def _part(ir: Builder, word: Value, at: int, bits: int, signed: bool) -> Value:
    return low_bits(ir, ir.with_constant("lshr", word, at) if at else word, bits, signed)


def _same(wave: Wave, value: Value) -> Value:
    return value


_SUMS = {
    "v_dot2_f32_f16": _dot2(_same),
    "v_dot2_f32_bf16": _dot2(_same),
    "v_dot2acc_f32_f16": _dot2(_same),
    "v_dot2acc_f32_bf16": _dot2(_same),
    "v_dot2_f16_f16": _dot2(round_half),
    "v_dot2_bf16_bf16": _dot2(round_bfloat),
}

DOTS_OF_INTEGERS = {
    "v_dot4_u32_u8": (8, False),
    "v_dot8_u32_u4": (4, False),
    "v_dot4_i32_iu8": (8, True),
    "v_dot8_i32_iu4": (4, True),
}
"""Bits of their factors, and whether these may be signed. All saturate with CLAMP."""

PACKED_INTEGER_RULES: dict[str, IntegerRule] = {
    **{f"v_pk_{name}_{kind}": INTEGER_RULES[f"v_{name}_{kind}"] for name in ("min", "max") for kind in ("i16", "u16")},
    **{
        f"v_pk_{name}_{kind}": INTEGER_RULES[f"v_{name}_nc_{kind}"]
        for name in ("add", "sub")
        for kind in ("i16", "u16")
    },
    **{f"v_pk_mad_{kind}": mad(16, kind == "i16", 16) for kind in ("i16", "u16")},
    "v_pk_mul_lo_u16": IntegerRule(binary("mul")),
    "v_pk_lshlrev_b16": IntegerRule(swapped(shift_left)),
    "v_pk_lshrrev_b16": IntegerRule(swapped(shift_right)),
    "v_pk_ashrrev_i16": IntegerRule(swapped(shift_right_signed)),
}
"""By name, of each half."""

_FLOATS = ("add", "mul", "fma", "fmac", "min_num", "max_num", "minimum", "maximum")

PACKED: dict[str, Rule] = {
    **{
        f"v_pk_{name}_f16": _packed_floats(next(rule for rule in FLOAT_RULES[name] if "f16" in rule.types))
        for name in _FLOATS
    },
    **{name: _packed_integers(rule) for name, rule in PACKED_INTEGER_RULES.items()},
    "v_fma_mix_f32": _mixed("fma_single"),
    "v_fma_mixlo_f16": _mixed("fma_mixed_half"),
    "v_fma_mixhi_f16": _mixed("fma_mixed_half"),
    **_SUMS,
    **{name: _dot_integers(bits, signed) for name, (bits, signed) in DOTS_OF_INTEGERS.items()},
}
"""By name."""
