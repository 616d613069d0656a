"""gfx1200 kernels (ELF code objects) by tinygrad's decoder, which follows AMD's RDNA4 instruction tables."""

from collections.abc import Sequence
from typing import Any

from tinygrad.renderer.amd import decode_inst
from tinygrad.renderer.amd.dsl import FixedBitField, Reg

from autoclave.artifact.disassembly.elf import function_code
from autoclave.artifact.disassembly.instruction import Instruction

_WORD = 4
_LONGEST = 16
"""Bytes of the longest encoding, with its literal."""


def decode(kernels: Sequence[tuple[str, bytes]]) -> list[tuple[Instruction, ...]]:
    """The instructions of each kernel (name and code object); a word that is none is shown as `.long`."""
    return [_instructions(function_code(code, name)) for name, code in kernels]


def _instructions(code: bytes) -> tuple[Instruction, ...]:
    found = []
    at = 0
    while at < len(code):
        size, text = _decode_one(code[at : at + _LONGEST], at)
        found.append(Instruction(at, code[at : at + size], text))
        at += size
    return tuple(found)


def _decode_one(code: bytes, at: int) -> tuple[int, str]:
    try:
        instruction: Any = decode_inst(code, "rdna4")
        size = instruction.size()
        if size > len(code):
            raise ValueError("cut short")
        return size, _text(instruction, at)
    except Exception:  # the decoder meets bytes that are no instruction in many ways
        word = code[:_WORD]
        return len(word), f".long 0x{int.from_bytes(word, 'little'):08x}"


def _text(instruction: Any, at: int) -> str:
    fields = {
        name: getattr(instruction, name)
        for name, field in instruction._fields
        if not isinstance(field, FixedBitField) and name not in ("op", "opx", "opy")
    }
    literal = fields.pop("literal", None)
    if not hasattr(instruction, "op"):
        return " :: ".join(_dual_text(instruction, half, literal) for half in "xy")
    mnemonic = instruction.op.name.lower()
    if mnemonic.startswith(("s_branch", "s_cbranch")):
        return f"{mnemonic} 0x{at + _WORD + _WORD * _signed(instruction.simm16):x}"
    used = {name.lstrip("vs") for name in instruction.op_regs}  # the tables say vsrc0 where the encoding has src0
    registers = {name: value for name, value in fields.items() if isinstance(value, Reg)}
    shown = [value for name, value in registers.items() if not used or name.lstrip("vs") in used]
    settings = [f"{name}:{value}" for name, value in fields.items() if name not in registers and value]
    return " ".join((_with_operands(mnemonic, shown, literal), *settings))


def _dual_text(instruction: Any, half: str, literal: int | None) -> str:
    """One half of a VOPD instruction, which has no table of operands: all but a move have two sources."""
    mnemonic = getattr(instruction, f"op{half}").name.lower()
    names = [f"vdst{half}", f"src{half}0", f"vsrc{half}1"][: 2 if "_mov_" in mnemonic else 3]
    return _with_operands(mnemonic, [getattr(instruction, name) for name in names], literal)


def _with_operands(mnemonic: str, registers: list[Any], literal: int | None) -> str:
    constant = "lit" if literal is None else f"0x{literal:x}"
    operands = [constant if register.fmt() == "lit" else register.fmt() for register in registers]
    if "fmaak" in mnemonic:
        operands.append(constant)
    elif "fmamk" in mnemonic:
        operands.insert(-1, constant)
    return f"{mnemonic} {', '.join(operands)}".rstrip()


def _signed(word: int) -> int:
    return word - (1 << 16) if word & 0x8000 else word
