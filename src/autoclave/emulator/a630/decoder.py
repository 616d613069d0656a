"""a630 machine code as `Instruction` records."""

import struct
from functools import cache

from autoclave.emulator.a630.encoding.form import Form
from autoclave.emulator.a630.encoding.layout import WORD_BITS, Reserved
from autoclave.emulator.a630.encoding.parts import Record
from autoclave.emulator.a630.encoding.table import FORMS
from autoclave.emulator.a630.instruction import Instruction
from autoclave.errors import ArtifactError, UnknownInstruction

INSTRUCTION_SIZE = 8

_KEY_SHIFT = 52
"""Category and operation, as far as all forms have it at the same place, are in the bits above."""


def decode_kernel(code: bytes, kernel: str = "") -> tuple[Instruction, ...]:
    """All instructions of a kernel, padding after its end included; `kernel` is named in errors.

    Raises `UnknownInstruction` for a word that is none, `ArtifactError` if `code` is not whole words.
    """
    if len(code) % INSTRUCTION_SIZE:
        raise ArtifactError(f"kernel {kernel!r}: a630 code of {len(code)} bytes is not whole instructions of 8 bytes")
    words = struct.unpack(f"<{len(code) // INSTRUCTION_SIZE}Q", code)
    try:
        return tuple([decode(word, pc) for pc, word in enumerate(words)])
    except UnknownInstruction as error:
        raise UnknownInstruction(f"kernel {kernel!r}, {error}") from None


def decode(bits: int, pc: int = 0) -> Instruction:
    """The instruction that the word `bits` is. Raises `UnknownInstruction` if it is none, or sets bits without meaning."""
    if not 0 <= bits < 1 << WORD_BITS:
        raise UnknownInstruction(f"pc {pc}: {bits:#x} is not a word of {WORD_BITS} bits")
    found = [form for form in _candidates(bits >> _KEY_SHIFT) if bits & form.layout.mask == form.layout.match]
    if len(found) != 1:
        raise UnknownInstruction(f"pc {pc}: no a630 instruction is encoded {bits:#018x}")
    (form,) = found
    layout = form.layout
    if bits & layout.zero:
        raise UnknownInstruction(f"pc {pc}: {bits:#018x} sets bits {bits & layout.zero:#x} that {form.names[0]} lacks")
    record: Record = {"name": form.names[0]}
    fields = layout.read(bits)
    try:
        for part in form.parts:
            part.read(fields, record)
    except Reserved as reserved:
        raise UnknownInstruction(f"pc {pc}: {bits:#018x}, {form.names[0]} with {reserved}") from None
    return Instruction(pc, bits, form.category, **record)


@cache
def _candidates(key: int) -> tuple[Form, ...]:
    """Forms whose fixed bits allow `key` above `_KEY_SHIFT`."""
    return tuple(form for form in FORMS if key & form.layout.mask >> _KEY_SHIFT == form.layout.match >> _KEY_SHIFT)
