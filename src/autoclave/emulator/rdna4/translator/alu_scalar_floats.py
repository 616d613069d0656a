"""Scalar operations on floats (SOP1, SOP2, SOPC and v_s_*)."""

from collections.abc import Callable

from autoclave.emulator.ir import Value
from autoclave.emulator.rdna4.instruction import Destination, Instruction, Source
from autoclave.emulator.rdna4.translator import alu_conversions as conversions
from autoclave.emulator.rdna4.translator.alu_compares import FLOAT_CONDITIONS
from autoclave.emulator.rdna4.translator.alu_floats import FLOAT_RULES, FloatRule
from autoclave.emulator.rdna4.translator.alu_numbers import modified, round_half
from autoclave.emulator.rdna4.translator.wave import Wave

Rule = Callable[[Wave, Instruction], None]


def _float(rule: FloatRule) -> Rule:
    def run(wave: Wave, instruction: Instruction) -> None:
        value = rule.compute(wave, *(wave.scalar_number(source) for source in instruction.sources))
        _write_float(wave, instruction, value, rule.exact)

    return run


def _write_float(wave: Wave, instruction: Instruction, value: Value, exact: bool) -> None:
    (destination,) = instruction.destinations
    half = destination.type.startswith("f16")
    if half and not exact:
        value = round_half(wave, value)
    value, canonical = modified(wave, instruction, value, False)
    wave.write_scalar_number(Destination(destination.operand, "f16" if half else destination.type), value, canonical)


def _float_compare(condition: str) -> Rule:
    def run(wave: Wave, instruction: Instruction) -> None:
        left, right = (wave.scalar_number(source) for source in instruction.sources)
        wave.set_scc(wave.ir.compare_floats(condition, left, right))

    return run


def _converted(convert: conversions.Convert) -> Rule:
    """To a float."""

    def run(wave: Wave, instruction: Instruction) -> None:
        (source,) = instruction.sources
        value = wave.scalar_number(source) if source.type.startswith("f") else wave.scalar(source)
        exact = instruction.destinations[0].type != "f16"
        _write_float(wave, instruction, convert(wave, value), exact)

    return run


def _converted_integer(convert: conversions.Convert) -> Rule:
    def run(wave: Wave, instruction: Instruction) -> None:
        wave.write_scalar(instruction.destinations[0], convert(wave, wave.scalar_number(instruction.sources[0])))

    return run


def _converted_upper(wave: Wave, instruction: Instruction) -> None:
    """The upper half of a word to f32."""
    word = wave.scalar(Source(instruction.sources[0].operand, "b32"))
    half = wave.ir.convert("trunc", wave.ir.with_constant("lshr", word, 16), "i16")
    _write_float(wave, instruction, wave.widen(half), True)


def _pair_toward_zero(wave: Wave, instruction: Instruction) -> None:
    ir = wave.ir
    low, high = (
        ir.convert("zext", conversions.toward_zero(wave, wave.scalar_number(source)), "i32")
        for source in instruction.sources
    )
    wave.write_scalar(
        Destination(instruction.destinations[0].operand, "b32"), ir.binary("or", low, ir.with_constant("shl", high, 16))
    )


_FLOAT_OPERATIONS = (
    *("add", "sub", "mul", "fmac", "fmaak", "fmamk", "min_num", "max_num", "minimum", "maximum"),
    *("ceil", "floor", "trunc", "rndne"),
)

SCALAR_FLOATS: dict[str, Rule] = {
    **{
        f"s_{name}_{type_}": _float(rule)
        for name in _FLOAT_OPERATIONS
        for rule in FLOAT_RULES[name]
        for type_ in rule.types
        if type_ != "f64" and (type_ == "f32" or name not in ("fmaak", "fmamk"))
    },
    **{
        f"v_s_{name}_{type_}": _float(rule)
        for name in ("exp", "log", "rcp", "rsq", "sqrt")
        for rule in FLOAT_RULES[name]
        for type_ in rule.types
        if type_ != "f64"
    },
    **{
        f"s_cmp_{name}_{type_}": _float_compare(condition)
        for name, condition in FLOAT_CONDITIONS.items()
        for type_ in ("f16", "f32")
    },
    "s_cvt_f32_i32": _converted(conversions.from_integer("i32")),
    "s_cvt_f32_u32": _converted(conversions.from_integer("u32")),
    "s_cvt_i32_f32": _converted_integer(conversions.to_integer("i32")),
    "s_cvt_u32_f32": _converted_integer(conversions.to_integer("u32")),
    "s_cvt_f16_f32": _converted(conversions.same),
    "s_cvt_f32_f16": _converted(conversions.same),
    "s_cvt_hi_f32_f16": _converted_upper,
    "s_cvt_pk_rtz_f16_f32": _pair_toward_zero,
}
"""By name."""
