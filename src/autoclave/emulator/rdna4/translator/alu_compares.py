"""Comparisons and classes: v_cmp into a lane mask, v_cmpx into EXEC."""

from collections.abc import Callable

from autoclave.emulator.ir import Builder, Value, constant
from autoclave.emulator.rdna4.instruction import EXEC, Destination, Instruction, Register
from autoclave.emulator.rdna4.translator.alu_values import resized, width, zero
from autoclave.emulator.rdna4.translator.wave import Wave

Rule = Callable[[Wave, Instruction], None]

FLOAT_CONDITIONS = {
    "lt": "olt",
    "eq": "oeq",
    "le": "ole",
    "gt": "ogt",
    "lg": "one",
    "ge": "oge",
    "o": "ord",
    "u": "uno",
    "nge": "ult",
    "nlg": "ueq",
    "ngt": "ule",
    "nle": "ugt",
    "neq": "une",
    "nlt": "uge",
}
"""LLVM's names of conditions, by the middle of the operation's."""

INTEGER_CONDITIONS = ("lt", "eq", "le", "gt", "ne", "ge")

_INFINITIES = {16: 0x7C00, 32: 0x7F800000, 64: 0x7FF0000000000000}


def integer_condition(name: str, kind: str) -> str:
    """LLVM's name of a condition on integers of a type ("u32")."""
    return name if name in ("eq", "ne") else ("s" if kind[0] == "i" else "u") + name


def _written(compute: Callable[[Wave, Instruction], Value]) -> Rule:
    def run(wave: Wave, instruction: Instruction) -> None:
        destinations = instruction.destinations or (Destination(Register("s", EXEC), "mask"),)
        wave.write_mask(destinations[0], compute(wave, instruction))

    return run


def _floats(condition: str) -> Rule:
    return _written(
        lambda wave, instruction: wave.ir.compare_floats(
            condition, *(wave.number(source) for source in instruction.sources)
        )
    )


def _integers(condition: str) -> Rule:
    return _written(
        lambda wave, instruction: wave.ir.compare(condition, *(wave.bits(source) for source in instruction.sources))
    )


def _class(wave: Wave, instruction: Instruction) -> Value:
    """Whether the bit that stands for the class of the first is set in the second; modifiers only change its sign."""
    ir, source = wave.ir, instruction.sources[0]
    bits = wave.bits(source)
    sign = 1 << (width(bits) - 1)
    if source.absolute:
        bits = ir.with_constant("and", bits, sign - 1)
    if source.negated:
        bits = ir.with_constant("xor", bits, -sign)
    wanted = resized(ir, wave.bits(instruction.sources[1]), 32)
    number = class_number(ir, bits)
    return ir.compare("ne", ir.with_constant("and", ir.binary("lshr", wanted, number), 1), constant(0, wanted.type))


def class_number(ir: Builder, bits: Value) -> Value:
    """0 signalling NaN, 1 quiet NaN, 2 -infinity, 3 negative normal, 4 negative denormal, 5 -0, 6 +0, ... 9 +infinity; 32 bits."""
    infinity = _INFINITIES[width(bits)]
    normal = infinity & -infinity
    magnitude = ir.with_constant("and", bits, infinity | (normal - 1))
    number = constant(6, bits.type)
    for limit, class_ in ((1, 7), (normal, 8), (infinity, 9)):
        below = ir.compare("ult", magnitude, constant(limit, bits.type))
        number = ir.select(below, number, constant(class_, bits.type))
    mirrored = ir.binary("sub", constant(11, bits.type), number)
    number = ir.select(ir.compare("slt", bits, zero(bits)), mirrored, number)
    quiet = ir.compare("uge", magnitude, constant(infinity | normal >> 1, bits.type))
    nan = ir.convert("zext", quiet, f"i{width(bits)}")
    number = ir.select(ir.compare("ugt", magnitude, constant(infinity, bits.type)), nan, number)
    return resized(ir, number, 32)


COMPARES: dict[str, Rule] = {
    f"{prefix}_{name}_{kind}": rule
    for prefix in ("v_cmp", "v_cmpx")
    for name, kind, rule in (
        *((name, kind, _floats(word)) for kind in ("f16", "f32", "f64") for name, word in FLOAT_CONDITIONS.items()),
        *(
            (name, kind, _integers(integer_condition(name, kind)))
            for kind in ("i16", "u16", "i32", "u32", "i64", "u64")
            for name in INTEGER_CONDITIONS
        ),
        *(("class", kind, _written(_class)) for kind in ("f16", "f32", "f64")),
    )
}
"""By name."""
