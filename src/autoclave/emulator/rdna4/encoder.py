"""`Instruction` records as gfx1200 machine code."""

from dataclasses import replace

from autoclave.emulator.rdna4.decoder import decode
from autoclave.emulator.rdna4.encoding.codec import Words
from autoclave.emulator.rdna4.encoding.families import CODECS
from autoclave.emulator.rdna4.encoding.form import Form
from autoclave.emulator.rdna4.encoding.layout import DPP8, DPP16, LAYOUTS, WORD_BYTES, Layout, Reserved
from autoclave.emulator.rdna4.encoding.pairs import FORM as DUAL
from autoclave.emulator.rdna4.encoding.table import BY_NAME
from autoclave.emulator.rdna4.instruction import Instruction, Literal32
from autoclave.errors import UnknownInstruction


def encode(instruction: Instruction) -> bytes:
    """The code of `instruction`, whatever its `size` says. Raises `UnknownInstruction` if there is none."""
    key = (instruction.encoding, instruction.name)
    form = DUAL if instruction.encoding == "VOPD" else BY_NAME.get(key)
    if form is None:
        raise _unknown(instruction, "no such operation in this encoding")
    layout = LAYOUTS[form.encoding]
    try:
        code = _bytes(layout, form, CODECS[form.encoding].write(form, instruction))
        if _plain(decode(code, instruction.pc)) == _plain(replace(instruction, size=len(code))):
            return code
        reason = "its attributes do not go together"
    except (Reserved, UnknownInstruction) as error:
        reason = str(error)
    except (ValueError, LookupError, TypeError):
        reason = "it has too few or too many operands"
    raise _unknown(instruction, reason)


def _plain(instruction: Instruction) -> Instruction:
    """The record without how its constants are encoded, which is the encoder's matter where they do not say it."""
    pair = instruction.dual and (_plain(instruction.dual[0]), _plain(instruction.dual[1]))
    sources = tuple(
        replace(source, operand=replace(source.operand, encoded=None))
        if isinstance(source.operand, Literal32)
        else source
        for source in instruction.sources
    )
    return replace(instruction, sources=sources, dual=pair)


def _bytes(layout: Layout, form: Form, words: Words) -> bytes:
    if "op" in layout:
        words.fields["op"] = form.opcode
    code = layout.write(words.fields).to_bytes(layout.words * WORD_BYTES, "little")
    if words.dpp is not None:
        code += (DPP8 if words.selectors else DPP16).write(words.dpp).to_bytes(WORD_BYTES, "little")
    if words.literal is not None:
        code += words.literal.to_bytes(WORD_BYTES, "little")
    return code


def _unknown(instruction: Instruction, reason: str) -> UnknownInstruction:
    return UnknownInstruction(f"pc {instruction.pc}: {instruction} cannot be encoded: {reason}")
