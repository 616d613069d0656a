"""Two kernels of one name compared, instruction by instruction."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from autoclave.artifact.disassembly.disassemble import disassemble
from autoclave.artifact.reader import Artifact
from autoclave.errors import AutoclaveError

_CONTEXT = 2
"""Equal instructions shown around a change."""


@dataclass(frozen=True, slots=True)
class CodeChange:
    """How a kernel's code differs; sizes in bytes, `first` the offset of the first differing byte.

    `listing` shows changed instructions with a little context: lines that start with "-" (left), "+" (right) or " ".
    Without a disassembler, `listing` is empty, the counts are None, and `note` says why.
    """

    left_nbytes: int
    right_nbytes: int
    first: int
    left_instructions: int | None = None
    right_instructions: int | None = None
    removed: int | None = None
    added: int | None = None
    listing: tuple[str, ...] = ()
    note: str | None = None


def diff_code(left: Artifact, left_kernel: int, right: Artifact, right_kernel: int) -> CodeChange | None:
    """How the code of two kernels differs, None if it is the same."""
    mine = left.read(left.header.kernels[left_kernel].lib)
    its = right.read(right.header.kernels[right_kernel].lib)
    if mine == its:
        return None
    first = next((at for at, (a, b) in enumerate(zip(mine, its, strict=False)) if a != b), min(len(mine), len(its)))
    try:
        left_texts = [instruction.text for instruction in disassemble(left, left_kernel)]
        right_texts = [instruction.text for instruction in disassemble(right, right_kernel)]
    except AutoclaveError as error:
        return CodeChange(len(mine), len(its), first, note=str(error))
    matcher = SequenceMatcher(None, left_texts, right_texts)
    changes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    return CodeChange(
        left_nbytes=len(mine),
        right_nbytes=len(its),
        first=first,
        left_instructions=len(left_texts),
        right_instructions=len(right_texts),
        removed=sum(stop - start for _, start, stop, _, _ in changes),
        added=sum(stop - start for _, _, _, start, stop in changes),
        listing=tuple(_listing(matcher, left_texts, right_texts)),
        note=None if changes else "the instructions are the same; other bytes of the code differ",
    )


def _listing(matcher: SequenceMatcher[str], left: Sequence[str], right: Sequence[str]) -> Iterator[str]:
    for number, group in enumerate(matcher.get_grouped_opcodes(_CONTEXT)):
        if number:
            yield " ..."
        for action, start, stop, other_start, other_stop in group:
            if action == "equal":
                yield from (f"  {text}" for text in left[start:stop])
            else:
                yield from (f"- {text}" for text in left[start:stop])
                yield from (f"+ {text}" for text in right[other_start:other_stop])
