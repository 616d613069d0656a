"""gfx1200 kernels (ELF code objects) by tinygrad's decoder, which follows AMD's RDNA4 instruction tables."""

from typing import Any

from tinygrad.renderer.amd import decode_inst
from tinygrad.renderer.amd.dsl import FixedBitField, Reg

from autoclave.artifact.disassembly.elf import function_code
from autoclave.artifact.disassembly.instruction import Instruction

_WORD = 4
_LONGEST = 16
"""Bytes of the longest encoding, with its literal."""

_NAMES = {"op", "opx", "opy"}


def decode(lib: bytes, name: str) -> tuple[Instruction, ...]:
    """The instructions of function `name` of the code object `lib`; a word that is none is shown as `.long`."""
    code = function_code(lib, name)
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
    fields = [
        (name, getattr(instruction, name))
        for name, field in instruction._fields
        if not isinstance(field, FixedBitField)
    ]
    mnemonic = " :: ".join(value.name.lower() for name, value in fields if name in _NAMES)
    if mnemonic.startswith(("s_branch", "s_cbranch")):
        return f"{mnemonic} 0x{at + _WORD + _WORD * _signed(instruction.simm16):x}"
    used = instruction.op_regs if hasattr(instruction, "op") else {}
    operands = [value.fmt() for name, value in fields if isinstance(value, Reg) and (name in used or not used)]
    literal = next((f"0x{value:x}" for name, value in fields if name == "literal"), "lit")
    shown = [literal if text == "lit" else text for text in operands]
    settings = [
        f"{name}:{value}"
        for name, value in fields
        if name not in _NAMES and name != "literal" and not isinstance(value, Reg) and value
    ]
    return " ".join(filter(None, (mnemonic, ", ".join(shown), " ".join(settings))))


def _signed(word: int) -> int:
    return word - (1 << 16) if word & 0x8000 else word
