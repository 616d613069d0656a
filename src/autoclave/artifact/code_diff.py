"""Two kernels of one name compared, instruction by instruction."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from autoclave.artifact.disassembly.disassemble import Decoders, disassemble
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


def diff_code(
    left: Artifact, right: Artifact, pairs: Sequence[tuple[int, int]], decoders: Decoders
) -> list[CodeChange | None]:
    """How the code of each pair of kernels (numbers in `left` and `right`) differs; None where it is the same.

    decoders: see `disassemble`.
    """
    changed = [pair for pair in pairs if _code(left, pair[0]) != _code(right, pair[1])]
    try:
        left_texts = _texts(left, [number for number, _ in changed], decoders)
        right_texts = _texts(right, [number for _, number in changed], decoders)
        found = {
            pair: _compare(_code(left, pair[0]), _code(right, pair[1]), mine, its)
            for pair, mine, its in zip(changed, left_texts, right_texts, strict=True)
        }
    except AutoclaveError as error:
        found = {pair: _compare_bytes(_code(left, pair[0]), _code(right, pair[1]), str(error)) for pair in changed}
    return [found.get(pair) for pair in pairs]


def _code(artifact: Artifact, kernel: int) -> memoryview:
    return artifact.read(artifact.header.kernels[kernel].lib)


def _texts(artifact: Artifact, kernels: list[int], decoders: Decoders) -> list[list[str]]:
    return [[instruction.text for instruction in code] for code in disassemble(artifact, kernels, decoders)]


def _compare_bytes(left: memoryview, right: memoryview, note: str) -> CodeChange:
    return CodeChange(left.nbytes, right.nbytes, _first_difference(left, right), note=note)


def _first_difference(left: memoryview, right: memoryview) -> int:
    places = (at for at, (mine, its) in enumerate(zip(left, right, strict=False)) if mine != its)
    return next(places, min(left.nbytes, right.nbytes))


def _compare(left: memoryview, right: memoryview, left_texts: list[str], right_texts: list[str]) -> CodeChange:
    matcher = SequenceMatcher(None, left_texts, right_texts)
    changes = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    return CodeChange(
        left_nbytes=left.nbytes,
        right_nbytes=right.nbytes,
        first=_first_difference(left, right),
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
