"""Which rules of the arithmetic table an instruction relies on: by its name first, then by its widths, types and modifiers."""

from collections.abc import Iterator, Mapping
from typing import Final

from autoclave.emulator.a630.instruction import (
    ADDRESS_REGISTER,
    PREDICATE_REGISTER,
    Constant,
    Immediate,
    Instruction,
    Register,
)

_FLOAT = ("float-denormals", "flush-boundary", "nan-canonical")
"""What float instructions that round rely on, besides their rounding. Exact ones flush too, but know no boundary."""
_EXACT_FLOAT = ("float-denormals", "nan-canonical")
_ELEMENTARY = ("elementary", "elementary-special", *_FLOAT)

_BY_NAME: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("add.f", "mul.f"), _FLOAT),
    **dict.fromkeys(("mad.f16", "mad.f32"), ("mad-unfused", *_FLOAT)),
    **dict.fromkeys(("max.f", "min.f"), ("minimum-maximum", *_EXACT_FLOAT)),
    "sign.f": ("sign", "float-denormals"),
    "absneg.f": ("absneg-float", *_EXACT_FLOAT),
    **dict.fromkeys(("floor.f", "ceil.f", "trunc.f", "rndne.f", "rndaz.f"), ("integral-float", *_EXACT_FLOAT)),
    "cmps.f": ("compare-float", "float-denormals", "compare-result"),
    "cmpv.f": ("compare-float", "float-denormals", "compare-result"),
    **dict.fromkeys(("cmps.u", "cmps.s", "cmpv.u", "cmpv.s"), ("integer", "compare-result")),
    **dict.fromkeys(("sel.f16", "sel.f32"), ("select-signed", "float-denormals", "nan-payload")),
    **dict.fromkeys(("sel.s16", "sel.s32"), ("select-signed",)),
    **dict.fromkeys(("sel.b16", "sel.b32"), ("select-bits", "nan-payload")),
    **dict.fromkeys(("sad.s16", "sad.s32"), ("sum-of-three",)),
    **dict.fromkeys(("shl.b", "shr.b", "ashr.b", "getbit.b"), ("integer", "shift-amount")),
    **dict.fromkeys(("shrm", "shlm", "shrg", "shlg"), ("shift-combined", "shift-amount")),
    "andg": ("shift-combined",),
    "mull.u": ("multiply-low",),
    **dict.fromkeys(("madsh.m16", "madsh.u16"), ("multiply-shifted", "integer")),
    **dict.fromkeys(("mul.u24", "mul.s24", "mad.u24", "mad.s24"), ("multiply-24", "integer")),
    "mad.u16": ("mad-u16-full", "integer"),
    **dict.fromkeys(("clz.b", "clz.s"), ("leading-zeros",)),
    **dict.fromkeys(("rcp", "rsq", "sqrt", "log2", "exp2", "sin", "cos", "hrsq", "hlog2", "hexp2"), _ELEMENTARY),
    **dict.fromkeys(("predt", "predf", "prede"), ("predication",)),
    **dict.fromkeys(("br", "brao", "braa", "brac", "bany", "ball", "jump", "call", "ret"), ("branches",)),
    **dict.fromkeys(("isam", "ldib.b"), ("isam-outside", "image-formats")),
    "stib.b": ("stib-outside", "image-formats"),
    **dict.fromkeys(("ldp", "stp"), ("private-outside", "memory")),
    **dict.fromkeys(("ldg", "stg", "ldg.a", "stg.a", "ldl", "stl", "ldlw", "stlw"), ("global-outside", "memory")),
    **dict.fromkeys(("swz", "gat", "sct"), ("move", "nan-payload")),
    **dict.fromkeys(("mova", "mova1"), ("move", "special-registers")),
}
"""Rules that every instruction of a name relies on. Names that are not here compute nothing, or are integer operations."""

_BITWISE: Final = frozenset({"and.b", "or.b", "xor.b", "not.b", "shl.b", "shr.b", "ashr.b", "getbit.b", "clz.b"})
_FLOAT_CATEGORY_3: Final = frozenset({"mad.f16", "mad.f32", "sel.f16", "sel.f32"})
_ROUNDED: Final = frozenset({"add.f", "mul.f", "mad.f16", "mad.f32"})
_HALF_PRODUCTS: Final = frozenset({"mul.u24", "mul.s24", "mull.u"})


def rules_of(instruction: Instruction) -> tuple[str, ...]:
    """Names of the rules that the instruction's results rely on, each once; none for nop, end, barriers and the like."""
    return tuple(dict.fromkeys((*_operation(instruction), *_operands(instruction))))


def _operation(instruction: Instruction) -> Iterator[str]:
    if instruction.name in ("mov", "cov"):
        yield from _conversion(instruction)
    elif instruction.name in _BY_NAME:
        yield from _BY_NAME[instruction.name]
    elif instruction.name.startswith("atomic"):
        yield from ("global-outside", "memory", "integer")
    elif instruction.category in (2, 3):
        yield "integer"
    if instruction.category in (2, 3, 4):
        yield from _result(instruction)
    if instruction.category == 6 and instruction.type in ("u8", "u8_32"):
        yield "load-byte"


def _result(instruction: Instruction) -> Iterator[str]:
    """Rounding, saturation, and the way to the destination's width."""
    half = _reads_half(instruction)
    floating = _is_float(instruction)
    if instruction.category == 4:
        yield from ("elementary-half", "half-destination") if half else ()
    elif instruction.name in _ROUNDED:
        yield "half-rounding" if half else "single-rounding"
    if instruction.saturate:
        comparison = instruction.name.startswith("cmp")
        yield "saturate-comparison" if comparison else "saturate-float" if floating else "saturate-integer"
    if instruction.extra:
        yield "add-halved"
    if any(one.half != half for one in instruction.destinations if one.number < ADDRESS_REGISTER):
        yield "destination-conversion"
        if floating and not half and not instruction.name.startswith("cmp"):
            yield "half-destination"
        if half and instruction.name in _HALF_PRODUCTS:
            yield "multiply-half"


def _conversion(instruction: Instruction) -> Iterator[str]:
    """Category 1."""
    source, target = instruction.source_type or "u32", instruction.type or "u32"
    if source == target:
        yield from ("move", "nan-payload")
    elif source[0] == "f":
        yield from _from_float(instruction, source, target)
    else:
        if source.startswith("u8"):
            yield "cov-byte"
        yield "cov-rounding" if target[0] == "f" else "cov-integer"
    if target.startswith("u8"):
        yield "byte-destination"


def _from_float(instruction: Instruction, source: str, target: str) -> Iterator[str]:
    if target == "f16":
        yield from ("cov-rounding", "cov-denormals", "flush-boundary", "cov-nan")
    elif target == "f32":
        yield from ("cov-denormals", "cov-nan")
    else:
        yield "cov-rounded-to-integer" if instruction.rounding else "cov-float-to-integer"


def _operands(instruction: Instruction) -> Iterator[str]:
    """What its operands are, and their modifiers."""
    registers: list[Register | Constant] = list(instruction.destinations)
    for source in instruction.sources:
        if isinstance(source.operand, Immediate):
            if source.operand.table is not None:
                yield "float-literals"
        else:
            registers.append(source.operand)
        if (source.negated or source.absolute) and instruction.category in (2, 3, 4):
            yield _modifier(instruction)
    if any(isinstance(one, Constant) and one.half for one in registers):
        yield "half-constant"
    if any(one.relative or one.number >= ADDRESS_REGISTER for one in registers if isinstance(one, Register)):
        yield "special-registers"
    if any(one.relative for one in registers if isinstance(one, Constant)):
        yield "special-registers"
    if any(one.half and one.number < PREDICATE_REGISTER for one in registers if isinstance(one, Register)):
        yield "register-files"


def _modifier(instruction: Instruction) -> str:
    if _is_float(instruction):
        return "float-modifiers"
    return (
        "bitwise-modifiers" if instruction.name in _BITWISE or instruction.name == "absneg.s" else "integer-modifiers"
    )


def _is_float(instruction: Instruction) -> bool:
    return (
        instruction.category == 4
        or instruction.name in _FLOAT_CATEGORY_3
        or (instruction.category == 2 and instruction.name.endswith(".f"))
    )


def _reads_half(instruction: Instruction) -> bool:
    return any(source.operand.half for source in instruction.sources)
