"""Which registers hold the same number in all lanes of a vector, at the start of each block.

Forward over all ways, sets of locations as bits of an integer. A result varies if an operand does; what a thread's
coordinates bring in depends on which sides of the workgroup a vector spans. In a masked block lanes keep what they had,
so that whatever such a block writes varies behind it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autoclave.emulator.a630.instruction import Register
from autoclave.emulator.a630.translator.divergence import masked_regions
from autoclave.emulator.a630.translator.flow import Block
from autoclave.emulator.a630.translator.operations import Operation, location, registers_read, registers_written


@dataclass(frozen=True, slots=True)
class Access:
    """Locations that an operation reads and writes, as bits. always: its results vary whatever it reads."""

    reads: int
    writes: int
    always: bool


ALWAYS_VARYING = ("ldp", "atomic")
"""By the first part of the mnemonic: private memory is each lane's own, atomics happen one after the other."""


def access_of(operation: Operation, merged: bool) -> Access:
    """What `operation` reads and writes."""
    written = registers_written(operation)
    return Access(
        reads=bits_of(location(register, merged) for register in registers_read(operation)),
        writes=bits_of(location(register, merged) for register in written),
        # A half of a merged register leaves the other half as it was.
        always=operation.name.split(".")[0] in ALWAYS_VARYING
        or (merged and any(register.half for register in written)),
    )


def bits_of(locations: Iterable[int]) -> int:
    """A set of locations."""
    bits = 0
    for place in locations:
        bits |= 1 << place
    return bits


@dataclass(frozen=True, slots=True)
class Uniformity:
    """varying: for each block, what varies at its start; None if nothing gets there. regions: see `masked_regions`."""

    varying: tuple[int, ...]
    regions: dict[int, tuple[frozenset[int], int]]

    def masked(self, number: int) -> bool:
        """Whether a block runs with some of the lanes only."""
        return number in self.regions


def analyse_uniformity(
    blocks: Sequence[Block], accesses: Sequence[Sequence[Access]], varying_at_entry: int, everything: bool = False
) -> Uniformity:
    """`accesses` are those of each block's operations. everything: take all registers for varying at once."""
    regions: dict[int, tuple[frozenset[int], int]] = {}
    while True:
        varying = _flow(blocks, accesses, varying_at_entry, regions, everything)
        divergent = [
            block.number
            for block in blocks
            if block.condition and _conditions(block) & _at_end(varying, accesses, block)
        ]
        found = masked_regions(blocks, divergent)
        if found.keys() <= regions.keys():
            return Uniformity(tuple(varying), regions)
        regions = found if regions.keys() <= found.keys() else masked_regions(blocks, [0, *range(len(blocks))])


def _conditions(block: Block) -> int:
    assert block.condition is not None
    sources = block.condition.sources
    return bits_of(source.operand.number for source in sources if isinstance(source.operand, Register))


def _at_end(varying: Sequence[int], accesses: Sequence[Sequence[Access]], block: Block) -> int:
    """What varies at the end of a block among the lanes that are in it."""
    return _through(varying[block.number], accesses[block.number])


def _through(state: int, accesses: Iterable[Access]) -> int:
    for access in accesses:
        if access.always or access.reads & state:
            state |= access.writes
        else:
            state &= ~access.writes
    return state


def _flow(
    blocks: Sequence[Block],
    accesses: Sequence[Sequence[Access]],
    entry: int,
    regions: dict[int, tuple[frozenset[int], int]],
    everything: bool,
) -> list[int]:
    """What varies at each block's start. The blocks of a region share one state, with all that the region writes."""
    states = [-1 if everything else 0] * len(blocks)
    seen: set[int] = set()
    waiting: list[int] = []

    def reach(number: int, state: int) -> None:
        together = regions[number][0] if number in regions else (number,)
        for other in together if number in regions else ():
            state |= _written(accesses[other])
        for other in together:
            if states[other] | state != states[other] or other not in seen:
                states[other] |= state
                seen.add(other)
                waiting.append(other)

    reach(0, entry)
    while waiting:
        number = waiting.pop()
        state = _through(states[number], accesses[number])
        if number in regions:
            state |= _written(accesses[number])
        for after in blocks[number].successors:
            reach(after, state)
    return states


def _written(accesses: Iterable[Access]) -> int:
    written = 0
    for access in accesses:
        written |= access.writes
    return written
