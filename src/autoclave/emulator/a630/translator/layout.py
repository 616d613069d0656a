"""Which side of a workgroup its vectors lie along."""

from collections.abc import Sequence
from itertools import permutations
from math import prod

from autoclave.emulator.a630.instruction import ADDRESS_REGISTER
from autoclave.emulator.a630.launch import KernelCode
from autoclave.emulator.a630.translator.flow import Block
from autoclave.emulator.a630.translator.uniformity import Access, Uniformity, access_of, analyse_uniformity
from autoclave.emulator.launch import Size3
from autoclave.emulator.translator.geometry import SIDES, Geometry

_DEPTH_FACTOR = 8
"""How much more often than what is around it a loop is taken to run."""

_MEMORY = 10
"""What a load or store of different places in each lane costs, in arithmetic operations."""

_SCALAR = 0.25
_MASKED = 1.5


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
            uniformity = analyse_uniformity(blocks, accesses, varying_at_entry(geometry, kernel))
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


def varying_at_entry(geometry: Geometry, kernel: KernelCode) -> int:
    """Locations that differ between lanes when threads begin."""
    varying = 0
    for first, spans in (
        (kernel.local_invocation_id, geometry.spanned()),
        (kernel.work_group_id, (geometry.packed > 1,) * SIDES),
    ):
        if first + SIDES <= ADDRESS_REGISTER:
            varying |= sum(1 << first + side for side, differs in enumerate(spans) if differs)
    return varying
