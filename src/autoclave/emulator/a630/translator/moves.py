"""Category 1: mov and cov, and the moves of several registers."""

from autoclave.emulator.a630.instruction import Instruction, Register, Source, Type
from autoclave.emulator.a630.translator.content import Content
from autoclave.emulator.a630.translator.lanes import Lanes
from autoclave.emulator.a630.translator.operations import Operation, plus
from autoclave.emulator.ir import Value

MOVE_NAMES = frozenset({"mov", "cov", "mova", "swz", "gat", "sct"})

_WIDTHS: dict[Type, int] = {"u16": 16, "s16": 16, "u32": 32, "s32": 32, "u8": 8, "u8_32": 8}
_FLOATS: dict[Type, int] = {"f16": 16, "f32": 32}
_ROUNDINGS = {
    None: "toward_zero",
    "even": "nearest_even",
    "positive": "toward_positive",
    "negative": "toward_negative",
}
_EXTENSIONS: dict[Type, str] = {
    "u16": "zext",
    "u32": "zext",
    "s16": "sext",
    "s32": "sext",
    "u8": "sext",
    "u8_32": "sext",
}
"""How an integer of a type is read. A byte is signed."""


def unknown_move(instruction: Instruction) -> str | None:
    """Why there is no rule for an instruction; None if there is one."""
    types = (instruction.source_type, instruction.type)
    if any(each not in _WIDTHS and each not in _FLOATS for each in types):
        return f"of types {types}"
    if instruction.rounding not in _ROUNDINGS:
        return f"rounding to {instruction.rounding}"
    if instruction.saturate or any(source.negated or source.absolute for source in instruction.sources):
        return "with a modifier"
    return None


def is_plain(instruction: Instruction) -> bool:
    """Whether an instruction passes on whole registers as they are."""
    types = (instruction.source_type, instruction.type)
    return types[0] == types[1] and types[0] not in ("u8", "u8_32")


def move(lanes: Lanes, operation: Operation) -> None:
    """mov, cov, mova; swz, gat and sct, which read all sources before they write."""
    instruction = operation.instruction
    floating = instruction.source_type in _FLOATS
    contents = [lanes.operand(operand.operand, floating) for operand in _sources(operation)]
    destinations = _destinations(operation)
    results = [
        _converted(lanes, instruction, content, destination.half)
        for content, destination in zip(contents, destinations, strict=True)
    ]
    for destination, result in zip(destinations, results, strict=True):
        lanes.write(destination, result)


def _sources(operation: Operation) -> tuple[Source, ...]:
    if operation.name != "sct":
        return operation.sources
    (source,) = operation.sources
    assert isinstance(source.operand, Register)
    return tuple(Source(plus(source.operand, step)) for step in range(len(operation.destinations)))


def _destinations(operation: Operation) -> tuple[Register, ...]:
    if operation.name != "gat":
        return operation.destinations
    (destination,) = operation.destinations
    return tuple(plus(destination, step) for step in range(len(operation.sources)))


def _converted(lanes: Lanes, instruction: Instruction, content: Content, half: bool) -> Content:
    source, target = instruction.source_type, instruction.type
    assert source is not None and target is not None
    rounding = _ROUNDINGS[instruction.rounding]
    if is_plain(instruction):
        return content if content.half == half else Content(half=half, bits=_sized(lanes, lanes.bits(content), half))
    if source in _FLOATS:
        return _from_float(lanes, content, source, target, rounding, half)
    if target in _FLOATS:
        return _to_float(lanes, _integer(lanes, content, source), source, target, rounding)
    if content.predicate is not None and content.bits is None:
        return Content(half=half, predicate=content.predicate)
    number = _integer(lanes, content, source)
    if _WIDTHS[target] == 8:
        number = lanes.ir.with_constant("and", number, 0xFF)
    return Content(half=half, bits=_sized(lanes, number, half))


def _sized(lanes: Lanes, bits: Value, half: bool) -> Value:
    """Bits cut or zero-extended to a register."""
    narrow = "i16" in bits.type
    if narrow == half:
        return bits
    return lanes.ir.convert("trunc" if half else "zext", bits, "i16" if half else "i32")


def _integer(lanes: Lanes, content: Content, type_: Type) -> Value:
    """The number of that type, in 32 bits."""
    bits = lanes.bits(content)
    width = _WIDTHS[type_]
    if width == 8:
        bits = lanes.ir.convert("trunc", bits, "i8")
    elif width == 16:
        bits = _sized(lanes, bits, True)
    return lanes.ir.convert(_EXTENSIONS[type_], bits, "i32")


def _to_float(lanes: Lanes, number: Value, source: Type, target: Type, rounding: str) -> Content:
    kind = "u32" if source in ("u32", "u16") else "s32"
    # LLVM may know the number, but not what comes of it.
    number = lanes.hidden(number)
    value = lanes.library(f"{kind}_to_single_{rounding}", number)
    if target == "f32":
        return Content(number=value, opaque=True, flushed=True)
    return Content(half=True, bits=lanes.library(f"single_to_half_{rounding}", value), opaque=True, flushed=True)


def _from_float(lanes: Lanes, content: Content, source: Type, target: Type, rounding: str, half: bool) -> Content:
    bits = lanes.hidden_bits(content)
    if source == "f16":
        number = lanes.library("half_to_single", _sized(lanes, bits, True))
    else:
        number = lanes.ir.convert("bitcast", _sized(lanes, bits, False), "float")
    if target == "f32":
        return Content(number=number, opaque=True)
    if target == "f16":
        return Content(half=True, bits=lanes.library(f"single_to_half_{rounding}", number), opaque=True)
    # float to integer truncates, whatever the rounding
    kind = "u8" if target == "u8_32" else target
    integer = lanes.library(f"single_to_{kind}_toward_zero", number)
    if _WIDTHS[target] == 8:
        integer = lanes.ir.with_constant("and", integer, 0xFF)
    return Content(half=half, bits=_sized(lanes, integer, half), opaque=True)
