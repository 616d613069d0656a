"""`Instruction` records as a630 machine code."""

from dataclasses import replace

from autoclave.emulator.a630.decoder import decode
from autoclave.emulator.a630.encoding.form import Form
from autoclave.emulator.a630.encoding.layout import Fields, Reserved
from autoclave.emulator.a630.encoding.table import FORMS
from autoclave.emulator.a630.instruction import Instruction
from autoclave.errors import UnknownInstruction


def encode(instruction: Instruction) -> int:
    """The word that encodes `instruction`, whatever its `bits` say. Raises `UnknownInstruction` if there is none."""
    reason = "no such mnemonic"
    for form in _BY_NAME.get(instruction.name, ()):
        try:
            bits = _encode(form, instruction)
            if decode(bits, instruction.pc) == replace(instruction, bits=bits):
                return bits
            reason = "its attributes do not go together"
        except (Reserved, UnknownInstruction) as error:
            reason = str(error)
        except (ValueError, LookupError, TypeError):
            reason = "it has too few or too many operands"
    raise UnknownInstruction(f"pc {instruction.pc}: {instruction} cannot be encoded: {reason}")


def _encode(form: Form, instruction: Instruction) -> int:
    fields: Fields = {}
    for part in form.parts:
        part.write(instruction, fields)
    return form.layout.write(fields)


_BY_NAME = {
    name: tuple(form for form in FORMS if name in form.names)
    for name in {name for form in FORMS for name in form.names}
}
