"""Categories 2, 3 and 4: one table from names to rules.

All sources of an instruction have one width, at which it is computed; (sat) comes next, then the destination's width.
The rules are those of `autoclave.emulator.a630.arithmetic`.
"""

from collections.abc import Sequence
from typing import Literal

from autoclave.emulator.a630.instruction import Instruction, Source
from autoclave.emulator.a630.translator.content import Content
from autoclave.emulator.a630.translator.floats import FLOAT_RULES, FloatRule, float_operand
from autoclave.emulator.a630.translator.integers import INTEGER_RULES, IntegerRule
from autoclave.emulator.a630.translator.lanes import Lanes
from autoclave.emulator.a630.translator.operations import Operation
from autoclave.emulator.ir import Value, constant

Reads = Literal["float", "bits", "chosen"]
"""What an operation looks at in a source: a float, bits, or nothing, because it only passes it on."""

_SATURATING = {"add.u": "llvm.uadd.sat", "sub.u": "llvm.usub.sat", "add.s": "llvm.sadd.sat", "sub.s": "llvm.ssub.sat"}

_INVERTED_BY_NEGATION = frozenset({"and.b", "or.b", "xor.b", "not.b", "shl.b", "shr.b", "ashr.b", "getbit.b", "clz.b"})
"""Operations in which (neg) is a bitwise NOT and (abs) means nothing."""

_CONDITIONS = {"f": {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}} | {
    kind: {each: each if each in ("eq", "ne") else kind + each for each in ("lt", "le", "gt", "ge", "eq", "ne")}
    for kind in ("u", "s")
}


def unknown_arithmetic(instruction: Instruction) -> str | None:
    """Why there is no rule for an instruction of categories 2 to 4; None if there is one."""
    name = instruction.name
    half = instruction.sources[0].operand.half
    if instruction.saturate and name.startswith("sel."):
        return "with (sat), which does nothing on an a6xx"
    if name in FLOAT_RULES:
        return "of this width, or with (ei)" if half not in FLOAT_RULES[name].widths or instruction.extra else None
    if instruction.extra and (name != "add.u" or instruction.saturate):
        return "with (ei)"
    if name in INTEGER_RULES:
        return "with (sat)" if instruction.saturate and name not in _SATURATING else None
    return None if _comparison_kind(name) else ""


def reads_of(instruction: Instruction, index: int) -> Reads:
    """How an instruction of categories 2 to 4 looks at its source number `index`."""
    name = instruction.name
    if name.startswith("sel."):
        if index != 1:
            return "chosen"
        return "float" if name.startswith("sel.f") else "bits"
    return "float" if name in FLOAT_RULES or _comparison_kind(name) == "f" else "bits"


def arithmetic(lanes: Lanes, operation: Operation) -> None:
    """Carry out one operation of categories 2 to 4."""
    instruction = operation.instruction
    floating = operation.name in FLOAT_RULES or _comparison_kind(operation.name) == "f"
    sources = [(source, lanes.operand(source.operand, floating)) for source in operation.sources]
    (destination,) = operation.destinations
    if operation.name.startswith("sel."):
        result = _select(lanes, operation, sources)
    elif operation.name in FLOAT_RULES:
        result = _float(lanes, instruction, FLOAT_RULES[operation.name], sources, destination.half)
    elif operation.name in INTEGER_RULES:
        result = _integer(lanes, instruction, INTEGER_RULES[operation.name], sources, destination.half)
    else:
        result = _comparison(lanes, instruction, sources, destination.half)
    lanes.write(destination, result)


Sources = Sequence[tuple[Source, Content]]


def _float(lanes: Lanes, instruction: Instruction, rule: FloatRule, sources: Sources, half: bool) -> Content:
    number, loose = rule.compute(lanes, *(float_operand(lanes, source, content) for source, content in sources))
    if instruction.sources[0].operand.half:
        return _float_of_half(lanes, instruction, rule, number, half)
    if instruction.saturate:
        number, loose = lanes.library("saturate_single", number), False
    if half:
        return Content(half=True, bits=lanes.library("narrow_toward_zero", number), opaque=True, flushed=True)
    return Content(number=number, loose=loose, opaque=True, flushed=True)


def _float_of_half(lanes: Lanes, instruction: Instruction, rule: FloatRule, number: Value, half: bool) -> Content:
    bits = lanes.library(rule.narrowing, number)
    if instruction.saturate:
        number = lanes.library("saturate_single", lanes.library("half_to_single", bits))
        bits = lanes.library("narrow_nearest_even", number)
    if half:
        return Content(half=True, bits=bits, opaque=True, flushed=True)
    return Content(number=lanes.library("half_to_single", bits), opaque=True, flushed=True)


def _integer(lanes: Lanes, instruction: Instruction, rule: IntegerRule, sources: Sources, half: bool) -> Content:
    logical = _logical(lanes, instruction, sources)
    if logical is not None:
        return Content(half=half, predicate=logical)
    of_half = instruction.sources[0].operand.half
    operands = lanes.alike(*(_integer_operand(lanes, instruction, *source) for source in sources))
    extension = "sext" if rule.signed else "zext"
    if rule.exact and of_half:
        operands = tuple(lanes.ir.convert(extension, operand, "i32") for operand in operands)
    if instruction.saturate:
        value = lanes.ir.call(_SATURATING[instruction.name], operands[0].type, operands)
    elif instruction.extra:
        value = _halved_sum(lanes, *operands)
    else:
        value = rule.compute(lanes.ir, *operands)
    return Content(half=half, bits=_resized(lanes, value, half, extension))


def _resized(lanes: Lanes, value: Value, half: bool, extension: str) -> Value:
    wanted = "i16" if half else "i32"
    narrow = value.type.endswith("i16") or value.type.endswith("i16>")
    if narrow == half:
        return value
    return lanes.ir.convert("trunc" if half else extension, value, wanted)


def _integer_operand(lanes: Lanes, instruction: Instruction, source: Source, content: Content) -> Value:
    value = lanes.bits(content)
    if instruction.name in _INVERTED_BY_NEGATION:
        return lanes.ir.invert(value) if source.negated else value
    if instruction.name != "absneg.s":
        return value
    if source.absolute:
        value = lanes.ir.call("llvm.abs", value.type, (value, Value("false", "i1")))
    return lanes.ir.binary("sub", constant(0, value.type), value) if source.negated else value


_LOGICAL = {"and.b": "and", "or.b": "or", "xor.b": "xor"}


def _logical(lanes: Lanes, instruction: Instruction, sources: Sources) -> Value | None:
    """Logic of predicates, without turning them to numbers and back."""
    operation = _LOGICAL.get(instruction.name)
    predicates = [content.predicate for source, content in sources if content.bits is None and not source.negated]
    if operation is None or len(predicates) != 2 or None in predicates:
        return None
    return lanes.ir.binary(operation, *lanes.alike(*(each for each in predicates if each is not None)))


def _halved_sum(lanes: Lanes, left: Value, right: Value) -> Value:
    """The sum of one bit more, shifted down."""
    both = lanes.ir.binary("and", left, right)
    one = lanes.ir.with_constant("lshr", lanes.ir.binary("xor", left, right), 1)
    return lanes.ir.binary("add", both, one)


def _comparison_kind(name: str) -> str | None:
    operation, _, kind = name.partition(".")
    return kind if operation in ("cmps", "cmpv") and kind in _CONDITIONS else None


def _comparison(lanes: Lanes, instruction: Instruction, sources: Sources, half: bool) -> Content:
    kind = _comparison_kind(instruction.name)
    assert kind is not None and instruction.condition is not None
    condition = _CONDITIONS[kind][instruction.condition]
    if kind == "f":
        operands = [float_operand(lanes, source, content).value for source, content in sources]
        found = lanes.ir.compare_floats(condition, *lanes.alike(*operands))
    else:
        found = lanes.ir.compare(condition, *lanes.alike(*(lanes.bits(content) for _, content in sources)))
    if instruction.saturate:
        found = lanes.ir.invert(found)
    if instruction.name.startswith("cmps"):
        return Content(half=half, predicate=found)
    truth = lanes.ir.convert("sext", found, "i16" if instruction.sources[0].operand.half else "i32")
    return Content(half=half, bits=_resized(lanes, truth, half, "zext"))


def _select(lanes: Lanes, operation: Operation, sources: Sources) -> Content:
    """sel: the first source where the condition, the second, holds; else the third."""
    (first, chosen), (source, condition), (third, other) = sources
    kind = operation.name.split(".")[1][0]
    if kind == "f":
        number = float_operand(lanes, source, condition).value
        holds = lanes.ir.compare_floats("oge", number, constant_like(number))
    elif kind == "s":
        bits = lanes.bits(condition)
        holds = lanes.ir.compare("sge", bits, constant(0, bits.type))
    else:
        holds = lanes.predicate(condition)
    if kind == "f":
        chosen, other = negated_bits(lanes, first, chosen), negated_bits(lanes, third, other)
    result = lanes.choose(holds, chosen, other)
    half = operation.destinations[0].half
    if half == result.half:
        return result
    if kind == "f":
        bits = lanes.bits(result)
        if half:
            number = lanes.ir.convert("bitcast", bits, "float")
            return Content(half=True, bits=lanes.library("narrow_toward_zero", number), opaque=True)
        return Content(number=lanes.library("half_to_single", bits), opaque=True)
    return Content(half=half, bits=_resized(lanes, lanes.bits(result), half, "sext" if kind == "s" else "zext"))


def constant_like(number: Value) -> Value:
    """+0.0 of a float's type."""
    return Value("zeroinitializer" if number.type.startswith("<") else "0.0", number.type)


def negated_bits(lanes: Lanes, source: Source, content: Content) -> Content:
    """(neg) of something that is passed on and not computed with."""
    if not source.negated:
        return content
    bits = lanes.bits(content)
    return Content(
        half=content.half, bits=lanes.ir.with_constant("xor", bits, -0x8000 if content.half else -0x80000000)
    )
