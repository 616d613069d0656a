"""Instructions as Mesa's disassembler prints them (ir3-*.xml of Mesa 25.2).

What it leaves out, though the record says it: the width of the registers that ldl, ldlw, ldlv, stl, stlw, stp and stc
load or store; (rptN) of dp2acc and dp4acc; (r) of a third source beside (nopN), and of a literal in mov; the type of
dsxpp.1 and dsypp.1. What it prints twice: (r) of a register in mova and mova1.
"""

import math
import re
import struct
from collections.abc import Callable

from autoclave.emulator.a630.encoding.form import Form
from autoclave.emulator.a630.encoding.table import FORMS
from autoclave.emulator.a630.instruction import (
    ADDRESS_REGISTER,
    PREDICATE_REGISTER,
    Constant,
    Immediate,
    Instruction,
    Operand,
    Register,
    Source,
)
from autoclave.errors import UnknownInstruction

Printer = Callable[[Instruction], str]

_FLOAT_TABLE = ("0.0", "0.5", "1.0", "2.0", "e", "pi", "1/pi", "1/log2(e)", "log2(e)", "1/log2(10)", "log2(10)", "4.0")
_ROUNDING = {None: "", "even": "(even)", "positive": "(pos_infinity)", "negative": "(neg_infinity)"}
_HEXADECIMAL_ABOVE = 0x1000


def text(instruction: Instruction) -> str:
    """`instruction` as Mesa prints it, targets of branches as labels "l" and the instruction's number.

    Raises `UnknownInstruction` if no mnemonic is called so.
    """
    template = _TEMPLATES.get(instruction.name)
    if template is None:
        raise UnknownInstruction(f"pc {instruction.pc}: no a630 instruction is called {instruction.name!r}")
    return "".join([piece if isinstance(piece, str) else piece(instruction) for piece in template])


def operand_text(operand: Operand) -> str:
    """A register, constant or immediate as categories 2 and 4 print it."""
    if isinstance(operand, Immediate):
        return _alu_immediate(operand)
    return ("h" if operand.half else "") + _bare(operand)


def _bare(operand: Operand) -> str:
    """`operand` without its width."""
    if isinstance(operand, Immediate):
        return str(operand.bits)
    if operand.relative:
        letter = "c" if isinstance(operand, Constant) else "r"
        return f"{letter}<a0.x + {operand.number}>" if operand.number else f"{letter}<a0.x>"
    component = "xyzw"[operand.number % 4]
    if isinstance(operand, Constant):
        return f"c{operand.number // 4}.{component}"
    bank = _BANKS.get(operand.number // 4)
    return f"{bank or f'r{operand.number // 4}'}.{component}"


_BANKS = {ADDRESS_REGISTER // 4: "a0", PREDICATE_REGISTER // 4: "p0"}


def _alu_immediate(operand: Immediate) -> str:
    if operand.table is not None:
        return ("h" if operand.half else "") + f"({_FLOAT_TABLE[operand.table]})"
    width = 16 if operand.half else 32
    number = operand.bits - (operand.bits >> (width - 1) << width)
    return f"h({number})" if operand.half else str(number)


def _repeated(source: Source) -> str:
    return "(r)" if source.repeated else ""


def _last(source: Source) -> str:
    return "(last)" if source.last else ""


def _alu_source(source: Source) -> str:
    sign = ("", "neg", "abs", "absneg")[source.negated + 2 * source.absolute]
    return _last(source) + (f"({sign})" if sign else "") + _repeated(source) + operand_text(source.operand)


def _wide_source(source: Source, repeated: bool = True) -> str:
    """A source of category 3; a relative one always has its offset, a number no width."""
    operand = source.operand
    name = _bare(operand).replace("<a0.x>", "<a0.x + 0>")
    width = "h" if operand.half and not isinstance(operand, Immediate) else ""
    marks = ("(neg)" if source.negated else "") + (_repeated(source) if repeated else "")
    return marks + _last(source) + width + name


def _last_wide_source(instruction: Instruction) -> str:
    """The third source, whose (r) is not printed next to (nopN)."""
    return _wide_source(instruction.sources[2], not instruction.synchronisation.nops)


def _raw(source: Source) -> str:
    """A source of category 6 where no address register can stand."""
    operand = source.operand
    if isinstance(operand, Register):
        return f"r{operand.number // 4}.{'xyzw'[operand.number % 4]}"
    return _bare(operand)


def _move_source(instruction: Instruction) -> str:
    """The source of mov, cov, mova and mova1. Mesa prints the (r) of the latter two once more than it does otherwise."""
    source = instruction.sources[0]
    again = _repeated(source) if instruction.name in _TO_ADDRESS else ""
    if isinstance(source.operand, Immediate):
        return again + _move_immediate(source.operand, instruction.source_type or "")
    return again + _last(source) + _repeated(source) + operand_text(source.operand)


def _move_immediate(operand: Immediate, kind: str) -> str:
    bits = operand.bits
    if kind == "f16":
        return f"h({_float(struct.unpack('<e', struct.pack('<H', bits))[0], bits >> 15)})"
    if kind == "f32":
        return f"({_float(struct.unpack('<f', struct.pack('<I', bits))[0], bits >> 31)})"
    if kind in ("s16", "s32"):
        width = int(kind[1:])
        return str(bits - (bits >> (width - 1) << width))
    return f"0x{bits:x}" if kind == "u32" and bits > _HEXADECIMAL_ABOVE else str(bits)


def _float(value: float, negative: int) -> str:
    return ("-" if negative else "") + "nan" if math.isnan(value) else f"{value:f}"


_TO_ADDRESS = {"mova": "a0.x", "mova1": "a1.x"}


def _moved(instruction: Instruction) -> str:
    return _TO_ADDRESS.get(instruction.name) or operand_text(instruction.destinations[0])


def _conversion(instruction: Instruction) -> str:
    types = f".{instruction.source_type}{instruction.type}"
    return "" if instruction.name in _TO_ADDRESS else types


def _predicates(instruction: Instruction) -> str:
    return ", ".join(("!" if source.negated else "") + _bare(source.operand) for source in instruction.sources)


def _target(instruction: Instruction) -> str:
    """A label, or the distance to what lies before the kernel."""
    target = instruction.target or 0
    return f"l{instruction.pc + target}" if instruction.pc + target >= 0 else str(target)


def _shifted(instruction: Instruction) -> str:
    """The address of ldg.a and stg.a (ir3-cat6.xml, ldg.a)."""
    base, index = _raw(instruction.sources[0]), _bare(instruction.sources[1].operand)
    shift, offset = instruction.shift, _plus_offset(instruction)
    element = {"u8": 0, "u8_32": 0, "f16": 1, "u16": 1, "s16": 1}.get(instruction.type or "", 2)
    if element == 0:
        return f"{base}+{index}{offset}"
    if not offset:
        return f"{base}+({index}<<{element + shift})"
    if not shift:
        return f"{base}+(({index}{offset})<<{element})"
    return f"{base}+((({index}<<{shift}){offset})<<{element})"


def _plus_offset(instruction: Instruction) -> str:
    return f"{instruction.offset:+d}" if instruction.offset else ""


def _constant_target(instruction: Instruction) -> str:
    operand = instruction.sources[0].operand
    if not isinstance(operand, Constant) or not operand.relative:
        return _number_of(operand)
    return "a1.x" + (f"+{operand.number}" if operand.number else "")


def _number_of(operand: Operand) -> str:
    return str(operand.bits if isinstance(operand, Immediate) else operand.number)


def _image_flags(instruction: Instruction) -> str:
    """.3d and .a, then the flags; a1.x is printed as an operand."""
    image = instruction.image
    if image is None:
        return ""
    names = ["3d"] * (image.dimensions == 3) + ["a"] * image.array
    return "".join(f".{name}" for name in (*names, *image.flags) if name != "a1")


def _image_operands(instruction: Instruction) -> str:
    image = instruction.image
    if image is None:
        return ""
    operands = [operand_text(source.operand) for source in instruction.sources]
    if instruction.offset and operands:
        operands[0] += _plus_offset(instruction)
    operands += [f"s#{image.sampler}"] * (image.sampler is not None)
    operands += [f"t#{image.texture}"] * (image.texture is not None)
    operands += ["a1.x"] * ("a1" in image.flags)
    return "".join(f", {operand}" for operand in operands)


def _image_mask(instruction: Instruction) -> str:
    mask = instruction.image.mask if instruction.image else 0
    return "".join(name for bit, name in enumerate("xyzw") if mask >> bit & 1)


def _image_access(instruction: Instruction) -> str:
    image = instruction.image
    if image is None:
        return ""
    return f".{'typed' if image.typed else 'untyped'}.{image.dimensions}d.{instruction.type}"


def _image_slot(instruction: Instruction) -> str:
    image = instruction.image
    named = image.texture if image else None
    return _raw(instruction.sources[-1]) if named is None else str(named)


def _image_binding(instruction: Instruction) -> str:
    flags = instruction.image.flags if instruction.image else ()
    return "".join(f".{flag}" for flag in flags)


def _image_data(instruction: Instruction) -> str:
    data = instruction.destinations[0] if instruction.destinations else instruction.sources[0].operand
    return operand_text(data)


def _image_coordinates(instruction: Instruction) -> str:
    return _bare(instruction.sources[0 if instruction.destinations else 1].operand)


def _mark(name: str, attribute: str) -> Printer:
    return lambda instruction: f"({name})" if getattr(instruction.synchronisation, attribute) else ""


def _at(index: int, show: Callable[[Source], str]) -> Printer:
    return lambda instruction: show(instruction.sources[index])


_PRINTERS: dict[str, Printer] = {
    "name": lambda instruction: instruction.name,
    "sy": _mark("sy", "texture"),
    "ss": _mark("ss", "shader"),
    "jp": _mark("jp", "jump_target"),
    "ul": _mark("ul", "unlock"),
    "eq": _mark("eq", "end_quad"),
    "rpt": lambda instruction: f"(rpt{instruction.repeat})" if instruction.repeat else "",
    "nops": lambda instruction: f"(nop{instruction.synchronisation.nops}) " if instruction.synchronisation.nops else "",
    "sat": lambda instruction: "(sat)" if instruction.saturate else "",
    "ei": lambda instruction: "(ei)" if instruction.extra else "",
    "rounding": lambda instruction: _ROUNDING[instruction.rounding],
    "condition": lambda instruction: str(instruction.condition),
    "type": lambda instruction: str(instruction.type),
    "conversion": _conversion,
    "modifiers": lambda instruction: "".join(f".{modifier}" for modifier in instruction.modifiers),
    "count": lambda instruction: str(instruction.count),
    "target": _target,
    "predicates": _predicates,
    "d0": lambda instruction: operand_text(instruction.destinations[0]),
    "bare_d0": lambda instruction: _bare(instruction.destinations[0]),
    "destinations": lambda instruction: ", ".join(map(operand_text, instruction.destinations)),
    "sources": lambda instruction: ", ".join(operand_text(source.operand) for source in instruction.sources),
    "moved": _moved,
    "moving": _move_source,
    "a0": _at(0, _alu_source),
    "a1": _at(1, _alu_source),
    "w0": _at(0, _wide_source),
    "w1": _at(1, _wide_source),
    "w2": _last_wide_source,
    "v2": _at(2, _wide_source),
    **{f"m{index}": _at(index, lambda source: operand_text(source.operand)) for index in range(3)},
    **{f"bare{index}": _at(index, lambda source: _bare(source.operand)) for index in range(2)},
    **{f"raw{index}": _at(index, _raw) for index in range(2)},
    "offset": _plus_offset,
    "plain_offset": lambda instruction: str(instruction.offset),
    "plus_offset": _plus_offset,
    "shifted": _shifted,
    "target0": _constant_target,
    "u": lambda instruction: ".u" if "u" in instruction.modifiers else "",
    "constant_binding": lambda instruction: "".join(
        f".{modifier}" for modifier in instruction.modifiers if modifier != "u"
    ),
    "image_flags": _image_flags,
    "image_type": lambda instruction: f"({instruction.type})" if instruction.type else "",
    "mask": _image_mask,
    "image_operands": _image_operands,
    "image_access": _image_access,
    "image_binding": _image_binding,
    "image_data": _image_data,
    "image_coordinates": _image_coordinates,
    "slot": _image_slot,
    "dimensions": lambda instruction: str(instruction.image.dimensions if instruction.image else 0),
}
"""What the names in `Form.text` print."""


def _template(form: Form) -> tuple[str | Printer, ...]:
    pieces = re.split(r"\{(\w+)\}", form.text)
    return tuple(_PRINTERS[piece] if index % 2 else piece for index, piece in enumerate(pieces) if piece)


_TEMPLATES = {name: _template(form) for form in FORMS for name in form.names}
