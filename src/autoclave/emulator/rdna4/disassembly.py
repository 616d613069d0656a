"""gfx1200 kernels (ELF code objects) as instructions with offsets, for `autoclave.artifact.disassembly`."""

from collections.abc import Sequence
from dataclasses import replace

from autoclave.artifact.disassembly.elf import function_code
from autoclave.artifact.disassembly.instruction import Instruction
from autoclave.emulator.rdna4.decoder import decode as decode_one
from autoclave.emulator.rdna4.encoding.layout import WORD_BYTES
from autoclave.emulator.rdna4.text import text
from autoclave.errors import UnknownInstruction

_LONGEST = 16
"""Bytes of the longest encoding, with what follows it, at most."""


def decode(kernels: Sequence[tuple[str, bytes]]) -> list[tuple[Instruction, ...]]:
    """The instructions of each kernel (name and code object), in LLVM's syntax; a word that is none is shown as `.long`.

    Branches name labels: l24 is the instruction at pc 24, as errors and traces count, in bytes.
    """
    return [_instructions(function_code(code, name)) for name, code in kernels]


def _instructions(code: bytes) -> tuple[Instruction, ...]:
    found = []
    targets = set()
    at = 0
    while at < len(code):
        instruction, target = _decoded(code[at : at + _LONGEST], at)
        found.append(instruction)
        targets.add(target)
        at += len(instruction.code)
    return tuple(replace(each, label=_label(each.pc)) if each.pc in targets else each for each in found)


def _decoded(code: bytes, pc: int) -> tuple[Instruction, int | None]:
    """The instruction that `code` begins with, and the pc that it branches to."""
    try:
        instruction = decode_one(code, pc)
        written = text(instruction)
    except UnknownInstruction:
        word = code[:WORD_BYTES]
        return Instruction(pc, word, f".long 0x{int.from_bytes(word, 'little'):08x}", pc), None
    target = instruction.target
    if target is not None:
        written = f"{written.rpartition(' ')[0]} {_label(target)}"  # in the place of the distance, the last operand
    return Instruction(pc, code[: instruction.size], written, pc), target


def _label(pc: int) -> str:
    return f"l{pc}"
