"""How the threads of a launch are laid out in vectors."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from math import prod

from autoclave.emulator.a630.instruction import ADDRESS_REGISTER
from autoclave.emulator.a630.launch import KernelCode
from autoclave.emulator.a630.translator.flow import Block
from autoclave.emulator.a630.translator.uniformity import Access, Uniformity, access_of, analyse_uniformity
from autoclave.emulator.launch import Size3

SIDES = 3
_DEPTH_FACTOR = 8
"""How much more often than what is around it a loop is taken to run."""

_MEMORY = 10
"""What a load or store of different places in each lane costs, in arithmetic operations."""

_SCALAR = 0.25
_MASKED = 1.5


@dataclass(frozen=True, slots=True)
class Geometry:
    """A workgroup's threads follow one another in vectors of `lanes`.

    order: the sides of the workgroup, the one whose threads are neighbours first. packed: workgroups in one vector, if it has
    room for more than one.
    """

    local_size: Size3
    lanes: int
    order: Size3 = (0, 1, 2)
    packed: int = 1

    @property
    def threads(self) -> int:
        """Threads of a workgroup."""
        return prod(self.local_size)

    @property
    def vectors(self) -> int:
        """Vectors of a workgroup; the last one may have lanes without a thread."""
        return -(-self.threads // self.lanes)

    def spanned(self) -> tuple[bool, bool, bool]:
        """For x, y, z: whether that coordinate may differ between the lanes of a vector."""
        found = [False, False, False]
        covered = 1
        for side in self.order:
            size = self.local_size[side]
            found[side] = size > 1 and covered % self.lanes != 0
            covered *= size
        return found[0], found[1], found[2]

    def varying_at_entry(self, kernel: KernelCode) -> int:
        """Locations that differ between lanes when threads begin."""
        varying = 0
        for first, spans in (
            (kernel.local_invocation_id, self.spanned()),
            (kernel.work_group_id, (self.packed > 1,) * SIDES),
        ):
            if first + SIDES <= ADDRESS_REGISTER:
                varying |= sum(1 << first + side for side, differs in enumerate(spans) if differs)
        return varying

    def thread(self, vector: int, lane: int) -> tuple[int, Size3]:
        """Of a lane: how many workgroups behind the vector's first its own is, and its thread's coordinates."""
        group, index = (
            divmod(vector * self.lanes + lane, self.threads) if self.packed > 1 else (0, vector * self.lanes + lane)
        )
        found = [0, 0, 0]
        for side in self.order:
            index, found[side] = divmod(index, self.local_size[side])
        return group, (found[0], found[1], found[2])


def choose_geometry(kernel: KernelCode, blocks: Sequence[Block], local_size: Size3, lanes: int) -> Geometry:
    """The layout that lets lanes share the most; x, y, z if that is as good as any."""
    threads = prod(local_size)
    if 2 * threads <= lanes and not kernel.shared_bytes:
        return Geometry(local_size, lanes, packed=lanes // threads)
    accesses = [[access_of(operation, kernel.merged_registers) for operation in block.operations] for block in blocks]
    weights = [_DEPTH_FACTOR**depth for depth in _loop_depths(blocks)]
    best, least = Geometry(local_size, lanes), float("inf")
    known: dict[tuple[bool, bool, bool], float] = {}
    for first, second, third in permutations(range(SIDES)):
        geometry = Geometry(local_size, lanes, (first, second, third))
        spanned = geometry.spanned()
        if spanned not in known:
            uniformity = analyse_uniformity(blocks, accesses, geometry.varying_at_entry(kernel))
            known[spanned] = _cost(blocks, accesses, uniformity, weights)
        if known[spanned] < least:
            best, least = geometry, known[spanned]
    return best


def _loop_depths(blocks: Sequence[Block]) -> list[int]:
    """How many branches backward each block lies under."""
    backward = [(number, block.number) for block in blocks for number in block.successors if number <= block.number]
    return [min(4, sum(first <= block.number <= last for first, last in backward)) for block in blocks]


def _cost(
    blocks: Sequence[Block], accesses: Sequence[Sequence[Access]], uniformity: Uniformity, weights: Sequence[int]
) -> float:
    total = 0.0
    for block in blocks:
        state = uniformity.varying[block.number]
        cost = 0.0
        for operation, access in zip(block.operations, accesses[block.number], strict=True):
            varies = access.always or bool(access.reads & state)
            state = state | access.writes if varies else state & ~access.writes
            memory = operation.instruction.category in (5, 6)
            cost += (_MEMORY if memory else 1) * (1 if varies else _SCALAR)
        total += weights[block.number] * cost * (_MASKED if uniformity.masked(block.number) else 1)
    return total
