"""`autoclave disasm`: a kernel's instructions."""

import argparse
import json
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

from autoclave.artifact.disassembly.disassemble import architecture, disassemble
from autoclave.artifact.disassembly.instruction import Instruction
from autoclave.artifact.model import Kernel
from autoclave.artifact.reader import Artifact, open_artifact
from autoclave.cli.decoders import DECODERS
from autoclave.cli.text import count_text, printable, size_text
from autoclave.errors import ArtifactError

NAME = "disasm"
HELP = "show a kernel's instructions (a630, gfx1200 or x86-64)"
EXAMPLES = """\
examples:
  autoclave disasm ARTIFACT 3                        kernel number 3, as `autoclave inspect` numbers them
  autoclave disasm ARTIFACT r_64_32_4                by name
  autoclave disasm ARTIFACT r_64                     by the start of its name, if only one kernel begins so
  autoclave disasm ARTIFACT 3 --json | jq length     how many instructions?

Columns: pc, encoding, instruction. A pc is what errors and `autoclave trace` call so: the a630's counts instructions, the others
bytes. Two decoders are packages of their own: tinymesa (a630) and capstone (x86-64).
"""
_NEAR = 5
"""How many names an error suggests."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `autoclave disasm`."""
    parser.epilog = EXAMPLES
    parser.add_argument("artifact", type=Path, metavar="ARTIFACT", help="the artifact's file")
    parser.add_argument("kernel", metavar="KERNEL", help="the kernel's number, its name, or the start of its name")
    parser.add_argument("--json", action="store_true", help="print a list of {pc, offset, code, text, label}")


def run(args: argparse.Namespace) -> int:
    """Print the kernel's instructions."""
    with open_artifact(args.artifact) as artifact:
        number = find_kernel(artifact, args.kernel)
        (instructions,) = disassemble(artifact, [number], DECODERS)
        if args.json:
            print(json.dumps([_as_json(instruction) for instruction in instructions], indent=2))
        else:
            print("\n".join(_lines(artifact, number, instructions)))
    return 0


def find_kernel(artifact: Artifact, wanted: str) -> int:
    """The number of the kernel that `wanted` means: a number, a name, or the start of exactly one name.

    Raises `ArtifactError` with suggestions if there is none, or with the candidates if there are several.
    """
    kernels = artifact.header.kernels
    if wanted.isdecimal() and int(wanted) < len(kernels):
        return int(wanted)
    exact = [number for number, kernel in enumerate(kernels) if kernel.name == wanted]
    found = exact or [number for number, kernel in enumerate(kernels) if kernel.name.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        raise ArtifactError(f"{artifact.path}: {wanted!r} may be any of {_listed(kernels, found)}; give the number")
    if wanted.isdecimal():
        raise ArtifactError(f"{artifact.path}: there is no kernel {wanted}; they are numbered 0 to {len(kernels) - 1}")
    near = get_close_matches(wanted, [kernel.name for kernel in kernels], _NEAR, 0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else "`autoclave inspect` lists them"
    raise ArtifactError(f"{artifact.path}: there is no kernel {wanted!r}; {hint}")


def _listed(kernels: Sequence[Kernel], numbers: Sequence[int]) -> str:
    shown = ", ".join(f"{number} ({kernels[number].name})" for number in numbers[: 2 * _NEAR])
    return shown if len(numbers) <= 2 * _NEAR else f"{shown} and {len(numbers) - 2 * _NEAR} more"


def _as_json(instruction: Instruction) -> dict[str, object]:
    return {
        "pc": instruction.pc,
        "offset": instruction.offset,
        "code": instruction.code.hex(),
        "text": instruction.text,
        "label": instruction.label,
    }


def _lines(artifact: Artifact, number: int, instructions: Sequence[Instruction]) -> Iterator[str]:
    kernel = artifact.header.kernels[number]
    code = sum(len(instruction.code) for instruction in instructions)
    yield printable(
        f"kernel {number} {kernel.name} for {architecture(artifact.header, number)} by {kernel.renderer}: "
        f"{count_text(len(instructions), 'instruction')}, {size_text(code)}"
    )
    width = max((len(instruction.code) for instruction in instructions), default=0) * 2
    for instruction in instructions:
        if instruction.label is not None:
            yield f"{printable(instruction.label)}:"
        yield f"{instruction.pc:6}  {instruction.code.hex():<{width}}  {printable(instruction.text)}"
