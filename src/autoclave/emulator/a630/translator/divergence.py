"""Which blocks run with some of a vector's lanes only.

Where a branch's condition differs between the lanes of a vector, its lanes part, and meet again at the block that all
ways from the branch lead to (its immediate postdominator). The blocks in between are masked: they run one after the other in the
order of their addresses, the lowest first that has lanes, each with the lanes that are there. All other blocks are
reached by all lanes of a vector at once, so that their branches are the host's.
"""

from collections.abc import Iterable, Sequence

from autoclave.emulator.a630.translator.flow import END, Block


def postdominators(blocks: Sequence[Block]) -> list[int]:
    """The immediate postdominator of each block: the nearest one that every way to the end goes through, or `END`.

    Blocks that cannot reach the end get `END`.
    """
    sets = _postdominator_sets(blocks)
    result = []
    for block in blocks:
        after = sets[block.number] & ~(1 << block.number)
        # The nearest one is itself postdominated by all others.
        result.append(next((number for number in _members(after) if sets[number] == after), END))
    return result


def _postdominator_sets(blocks: Sequence[Block]) -> list[int]:
    """The postdominators of each block, itself included, as bits; none but itself for ways to the end."""
    everything = (1 << len(blocks)) - 1
    sets = [everything] * len(blocks)
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            meet = everything
            for number in _all_successors(block):
                meet &= 0 if number == END else sets[number]
            updated = meet | 1 << block.number
            if updated != sets[block.number]:
                sets[block.number] = updated
                changed = True
    return sets


def _all_successors(block: Block) -> tuple[int, ...]:
    return (block.target, block.other) if block.condition else (block.target,)


def _members(bits: int) -> Iterable[int]:
    number = 0
    while bits:
        if bits & 1:
            yield number
        bits >>= 1
        number += 1


def masked_regions(blocks: Sequence[Block], divergent: Iterable[int]) -> dict[int, tuple[frozenset[int], int]]:
    """For each masked block its region (all blocks of it), and the block that the region leads to.

    `divergent` are the blocks at whose end lanes may part. If a region has more than one exit, or one that does not lie
    behind it, then all blocks are masked.
    """
    immediate = postdominators(blocks)
    regions: list[set[int]] = []
    for number in divergent:
        region = _between(blocks, number, immediate[number])
        if region:
            regions = _joined(regions, region)
    found: dict[int, tuple[frozenset[int], int]] = {}
    for region in regions:
        exits = {after for number in region for after in _all_successors(blocks[number])} - region
        if len(exits) != 1 or (min(exits) != END and min(exits) < max(region)):
            everything = frozenset(block.number for block in blocks)
            return {block.number: (everything, END) for block in blocks}
        found |= {number: (frozenset(region), min(exits)) for number in region}
    return found


def _between(blocks: Sequence[Block], branch: int, meeting: int) -> set[int]:
    """Blocks that lanes may be in after they parted at the end of `branch`, before `meeting`."""
    region: set[int] = set()
    waiting = list(blocks[branch].successors)
    while waiting:
        number = waiting.pop()
        if number != meeting and number not in region:
            region.add(number)
            waiting.extend(blocks[number].successors)
    return region


def _joined(regions: list[set[int]], region: set[int]) -> list[set[int]]:
    """`regions` with one more; those that overlap become one."""
    apart = []
    for other in regions:
        if other & region:
            region = region | other
        else:
            apart.append(other)
    return [*apart, region]
