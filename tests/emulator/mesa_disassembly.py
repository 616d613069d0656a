"""What Mesa's disassembler says of single words: the second opinion on the decoder of the emulator."""

import struct
from collections.abc import Sequence

from autoclave.artifact.disassembly import a630

LEAD = 256
"""Instructions before the first word, and after the last: branches that go less far get labels."""


def mesa_texts(words: Sequence[int]) -> list[str]:
    """Mesa's text of each word as instruction number `LEAD` and following; with "; " or "no match" if it is none."""
    code = struct.pack(f"<{LEAD}Q{len(words)}Q{LEAD}Q", *[0] * LEAD, *words, *[0] * LEAD)
    (instructions,) = a630.decode([("words", code)])
    return [instruction.text for instruction in instructions[LEAD:-LEAD]]


def is_instruction(text: str) -> bool:
    """Whether Mesa printed an instruction and no complaint."""
    return "; " not in text and not text.startswith("no match")
