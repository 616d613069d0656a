"""Float arithmetic of vector operations, one table for f16, f32 and f64.

Halves are computed in f32, which holds every half, and rounded once more to a half. That second rounding is innocuous for one addition,
subtraction, multiplication, division or root, since 24 >= 2 * 11 + 2 (Figueroa, "When is double rounding innocuous?"); sums and
products that are denormal halves are exact in f32. `fma_half` says why fused ones are right.
"""

from collections.abc import Callable
from dataclasses import dataclass

from autoclave.emulator.ir import Value, element_type
from autoclave.emulator.rdna4.instruction import Instruction, Literal32, Source
from autoclave.emulator.rdna4.translator.alu_numbers import finish_float, number, of_width, round_half
from autoclave.emulator.rdna4.translator.wave import Wave

Compute = Callable[..., Value]


@dataclass(frozen=True, slots=True)
class FloatRule:
    """compute: from a wave and numbers (vectors or scalars) to a number.

    types: those that it exists for. exact: of halves it is a half without rounding. canonical: its NaN results are.
    """

    compute: Compute
    types: tuple[str, ...] = ("f16", "f32", "f64")
    exact: bool = False
    canonical: bool = False


def plain(operation: str) -> Compute:
    """An instruction of LLVM on two operands."""
    return lambda wave, left, right: wave.ir.binary(operation, left, right)


def _reversed(operation: str) -> Compute:
    return lambda wave, left, right: wave.ir.binary(operation, right, left)


def library(name: str) -> Compute:
    """A function of the vector library that exists for f32 and f64."""
    return lambda wave, *values: wave.library(of_width(name, values[0]), *values)


def flushing(name: str) -> Compute:
    """An elementary function of f32; of halves it is rounded again."""
    return lambda wave, value: wave.library(name, value)


def fused(wave: Wave, left: Value, right: Value, third: Value) -> Value:
    """left * right + third of f32 or f64, rounded once."""
    name = "fma_double" if element_type(left.type) == "double" else "fma_single"
    return wave.library(name, left, right, third)


def fused_half(wave: Wave, left: Value, right: Value, third: Value) -> Value:
    """left * right + third of halves, rounded once to a half."""
    return wave.library("fma_half", left, right, third)


def _zero_wins(wave: Wave, left: Value, right: Value, otherwise: Value, zero: Value) -> Value:
    """`zero` where a factor is 0, whatever the other is."""
    nothing = number("0.0", left)
    either = wave.ir.binary(
        "or", wave.ir.compare_floats("oeq", left, nothing), wave.ir.compare_floats("oeq", right, nothing)
    )
    return wave.ir.select(either, zero, otherwise)


def multiply_dx9(wave: Wave, left: Value, right: Value) -> Value:
    """A product in which 0 times anything is +0."""
    return _zero_wins(wave, left, right, wave.ir.binary("fmul", left, right), number("0.0", left))


def _fused_dx9(wave: Wave, left: Value, right: Value, third: Value) -> Value:
    sum_ = wave.ir.binary("fadd", number("0.0", third), third)
    return _zero_wins(wave, left, right, fused(wave, left, right, third), sum_)


def _lit(wave: Wave, left: Value, right: Value, third: Value) -> Value:
    """A product, or minus the largest number where the second is that, -infinity or NaN, or the third is not above zero."""
    ir, lowest = wave.ir, number("0xC7EFFFFFE0000000", left)
    fits = ir.binary(
        "and", ir.compare_floats("ogt", right, lowest), ir.compare_floats("ogt", third, number("0.0", third))
    )
    return ir.select(fits, ir.binary("fmul", left, right), lowest)


def _chain(first: str, second: str) -> Compute:
    """maxmin and its like: one extreme of two, then another with the third."""
    one, other = library(first), library(second)
    return lambda wave, left, right, third: other(wave, one(wave, left, right), third)


def _median(wave: Wave, left: Value, right: Value, third: Value) -> Value:
    """The larger of the two that are left when a largest one is taken away; the smallest number if one is a NaN."""
    ir, low, high = wave.ir, library("minimum_number"), library("maximum_number")
    both = high(wave, left, right)
    largest = high(wave, both, third)
    median = ir.select(ir.compare_floats("oeq", largest, right), high(wave, left, third), both)
    median = ir.select(ir.compare_floats("oeq", largest, left), high(wave, right, third), median)
    unordered = ir.binary("or", ir.compare_floats("uno", left, right), ir.compare_floats("uno", third, third))
    return ir.select(unordered, low(wave, low(wave, left, right), third), median)


def _fraction(wave: Wave, value: Value) -> Value:
    """a - floor(a), at most the largest number below 1."""
    return _below_one(wave, library("fraction")(wave, value), "0x3FEFFFFFE0000000", "0x3FEFFFFFFFFFFFFF")


def _fraction_of_half(wave: Wave, value: Value) -> Value:
    return _below_one(wave, round_half(wave, library("fraction")(wave, value)), "0x3FEFFC0000000000", "")


def _below_one(wave: Wave, value: Value, single: str, double: str) -> Value:
    limit = number(double if element_type(value.type) == "double" else single, value)
    return wave.ir.select(wave.ir.compare_floats("ogt", value, limit), limit, value)


def _root(wave: Wave, value: Value) -> Value:
    return wave.ir.call("llvm.sqrt", value.type, (value,))


def _reciprocal(wave: Wave, value: Value) -> Value:
    return wave.ir.binary("fdiv", number("1.0", value), value)


def _power_of_half(wave: Wave, value: Value) -> Value:
    """2 to the power of a half. For one of all halves the f32 result is a middle between two halves, which the exact one is above."""
    ir, found = wave.ir, round_half(wave, wave.library("exp2_flushing", value))
    middle = ir.compare_floats("oeq", value, number("0x3F47140000000000", value))
    return ir.select(middle, number("0x3FF0040000000000", value), found)


def _reciprocal_root(wave: Wave, value: Value) -> Value:
    return _reciprocal(wave, _root(wave, value))


_SINGLE, _HALF, _DOUBLE = ("f32",), ("f16",), ("f64",)
_SMALL = ("f16", "f32")

FLOAT_RULES: dict[str, tuple[FloatRule, ...]] = {
    "add": (FloatRule(plain("fadd")),),
    "sub": (FloatRule(plain("fsub")),),
    "subrev": (FloatRule(_reversed("fsub")),),
    "mul": (FloatRule(plain("fmul")),),
    "mul_dx9_zero": (FloatRule(multiply_dx9, _SINGLE),),
    **{
        name: (FloatRule(fused, ("f32", "f64")), FloatRule(fused_half, _HALF, exact=True))
        for name in ("fma", "fmac", "fmaak", "fmamk")
    },
    "fma_dx9_zero": (FloatRule(_fused_dx9, _SINGLE),),
    "mullit": (FloatRule(_lit, _SINGLE),),
    "max_num": (FloatRule(library("maximum_number"), exact=True),),
    "min_num": (FloatRule(library("minimum_number"), exact=True),),
    "maximum": (FloatRule(library("maximum"), exact=True),),
    "minimum": (FloatRule(library("minimum"), exact=True),),
    "max3_num": (FloatRule(_chain("maximum_number", "maximum_number"), _SMALL, exact=True),),
    "min3_num": (FloatRule(_chain("minimum_number", "minimum_number"), _SMALL, exact=True),),
    "maximum3": (FloatRule(_chain("maximum", "maximum"), _SMALL, exact=True),),
    "minimum3": (FloatRule(_chain("minimum", "minimum"), _SMALL, exact=True),),
    "maxmin_num": (FloatRule(_chain("maximum_number", "minimum_number"), _SMALL, exact=True),),
    "minmax_num": (FloatRule(_chain("minimum_number", "maximum_number"), _SMALL, exact=True),),
    "maximumminimum": (FloatRule(_chain("maximum", "minimum"), _SMALL, exact=True),),
    "minimummaximum": (FloatRule(_chain("minimum", "maximum"), _SMALL, exact=True),),
    "med3_num": (FloatRule(_median, _SMALL, exact=True),),
    "floor": (FloatRule(library("floor"), exact=True),),
    "ceil": (FloatRule(library("ceiling"), exact=True),),
    "trunc": (FloatRule(library("truncate"), exact=True),),
    "rndne": (FloatRule(library("round_even"), exact=True),),
    "fract": (FloatRule(_fraction, ("f32", "f64")), FloatRule(_fraction_of_half, _HALF, exact=True)),
    "rcp": (FloatRule(flushing("rcp_flushing"), _SINGLE, canonical=True), FloatRule(_reciprocal, ("f16", "f64"))),
    "rcp_iflag": (FloatRule(flushing("rcp_flushing"), _SINGLE, canonical=True),),
    "sqrt": (FloatRule(flushing("sqrt_flushing"), _SINGLE, canonical=True), FloatRule(_root, ("f16", "f64"))),
    "rsq": (FloatRule(flushing("rsq_flushing"), _SMALL, canonical=True), FloatRule(_reciprocal_root, _DOUBLE)),
    "exp": (
        FloatRule(flushing("exp2_flushing"), _SINGLE),
        FloatRule(_power_of_half, _HALF, exact=True),
    ),
    "log": (FloatRule(flushing("log2_flushing"), _SMALL, canonical=True),),
    "sin": (FloatRule(flushing("sin_turns"), _SMALL, canonical=True),),
    "cos": (FloatRule(flushing("cos_turns"), _SMALL, canonical=True),),
}
"""By what stands between "v_" and "_f32"."""


def float_rule(rule: FloatRule) -> Callable[[Wave, Instruction], None]:
    """The vector operation of a rule."""

    def run(wave: Wave, instruction: Instruction) -> None:
        value = rule.compute(wave, *(wave.number(source) for source in instruction.sources))
        finish_float(wave, instruction, value, exact=rule.exact, canonical=rule.canonical)

    return run


def _extreme(rule: FloatRule, condition: str) -> Callable[[Wave, Instruction], None]:
    """max_num and min_num, in one host instruction where an operand is known."""
    general = float_rule(rule)

    def run(wave: Wave, instruction: Instruction) -> None:
        for one, other in (instruction.sources, instruction.sources[::-1]):
            if _decides(one, condition):
                value, limit = wave.number(other), wave.number(one)
                # The limit unless the other is beyond it, so of a NaN too.
                value = wave.ir.select(wave.ir.compare_floats(condition, value, limit), value, limit)
                finish_float(wave, instruction, value, exact=True, canonical=True)
                return
        general(wave, instruction)

    return run


_INFINITIES = {"f16": 0x7C00, "f32": 0x7F800000, "f64": 0x7FF0000000000000}


def _decides(source: Source, condition: str) -> bool:
    """Whether a source is a number that equals nothing but itself, or the zero that the operation takes of both."""
    if not isinstance(source.operand, Literal32) or source.absolute:
        return False
    infinity = _INFINITIES[source.type]
    sign = infinity + (infinity & -infinity)
    magnitude = source.operand.bits & (sign - 1)
    negative = bool(source.operand.bits & sign) != source.negated
    return magnitude <= infinity if magnitude else negative == (condition == "olt")


FLOATS: dict[str, Callable[[Wave, Instruction], None]] = {
    f"v_{name}_{type_}": float_rule(rule)
    for name, rules in FLOAT_RULES.items()
    for rule in rules
    for type_ in rule.types
} | {
    f"v_{name}_{type_}": _extreme(FLOAT_RULES[name][0], condition)
    for name, condition in (("max_num", "ogt"), ("min_num", "olt"))
    for type_ in ("f16", "f32", "f64")
}
"""By name."""
