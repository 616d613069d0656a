"""What Mesa's disassembler says of a630 code: the second opinion on the decoder of the emulator.

python -m emulator.mesa_disassembly ARTIFACT...            compare every instruction of artifacts
"""

import struct
import sys
from collections.abc import Sequence
from pathlib import Path

from autoclave.artifact.disassembly import a630
from autoclave.artifact.reader import open_artifact
from autoclave.emulator.a630.decoder import decode_kernel
from autoclave.emulator.a630.encoder import encode
from autoclave.emulator.a630.instruction import Instruction
from autoclave.emulator.a630.text import text

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


def spaced(instruction: Instruction) -> str:
    """The text, with white space as `autoclave disasm` has it."""
    return " ".join(text(instruction).split())


def differing(kernels: Sequence[tuple[str, bytes]]) -> list[tuple[str, int, str, str]]:
    """Kernel, pc, our text and Mesa's of instructions that are printed otherwise, or encoded to other bits."""
    return [
        (name, instruction.pc, spaced(instruction), line.text)
        for (name, code), printed in zip(kernels, a630.decode(kernels), strict=True)
        for instruction, line in zip(decode_kernel(code, name), printed, strict=True)
        if (spaced(instruction), encode(instruction)) != (line.text, instruction.bits)
    ]


def main(paths: Sequence[str]) -> int:
    """Compare artifacts, print what differs; 1 if anything does."""
    found = 0
    for path in map(Path, paths):
        with open_artifact(path) as artifact:
            kernels = [(each.name, bytes(artifact.read(each.lib))) for each in artifact.header.kernels]
        words = {code[at : at + 8] for _, code in kernels for at in range(0, len(code), 8)}
        wrong = differing(kernels)
        found += len(wrong)
        print(
            f"{path}: {len(kernels)} kernels, {len(words)} different instructions, {len(wrong)} that Mesa prints otherwise"
        )
        for kernel, pc, ours, theirs in wrong:
            print(f"  {kernel}, pc {pc}: {ours} | {theirs}")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
