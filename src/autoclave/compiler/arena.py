"""One arena for all intermediates: buffers whose lifetimes do not meet share memory.

Placing intervals in time into the least memory is NP-hard; largest-first best-fit is within a few per cent of the bound on
real networks (Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020, section 4).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

ALIGNMENT = 256
"""Bytes. Enough for textures of an a630 (64) and for any vector access."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """A buffer of `nbytes` is in use from call number `first` to call number `last`, both included."""

    first: int
    last: int
    nbytes: int

    def meets(self, other: "Lifetime") -> bool:
        """Whether both are in use during some call."""
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, slots=True)
class ArenaPlan:
    """`offsets` in bytes by buffer number; `nbytes` is the arena's size, `live_peak` the most bytes in use at one call."""

    offsets: Mapping[int, int]
    nbytes: int
    live_peak: int


def plan_arena(lifetimes: Mapping[int, Lifetime]) -> ArenaPlan:
    """Give each buffer an offset such that no two which are in use at the same call overlap.

    Larger buffers first (then earlier, then lower number), each into the smallest gap that holds it.
    """
    order = sorted(lifetimes, key=lambda number: (-lifetimes[number].nbytes, lifetimes[number].first, number))
    offsets: dict[int, int] = {}
    for number in order:
        lifetime = lifetimes[number]
        taken = sorted(
            (offsets[other], offsets[other] + _aligned(lifetimes[other].nbytes))
            for other in offsets
            if lifetimes[other].meets(lifetime)
        )
        offsets[number] = _best_gap(taken, _aligned(lifetime.nbytes))
    end = max((offsets[number] + _aligned(lifetimes[number].nbytes) for number in offsets), default=0)
    return ArenaPlan(offsets, end, live_peak(lifetimes.values()))


def live_peak(lifetimes: Iterable[Lifetime]) -> int:
    """The most bytes that are in use during any one call: no arena can be smaller."""
    change: dict[int, int] = {}
    for lifetime in lifetimes:
        change[lifetime.first] = change.get(lifetime.first, 0) + lifetime.nbytes
        change[lifetime.last + 1] = change.get(lifetime.last + 1, 0) - lifetime.nbytes
    peak = live = 0
    for call in sorted(change):
        live += change[call]
        peak = max(peak, live)
    return peak


def _best_gap(taken: list[tuple[int, int]], nbytes: int) -> int:
    """The start of the smallest gap of at least `nbytes` between the sorted intervals `taken`, or the end of them all."""
    best, best_size, end = -1, -1, 0
    for start, stop in taken:
        gap = start - end
        if gap >= nbytes and (best < 0 or gap < best_size):
            best, best_size = end, gap
        end = max(end, stop)
    return best if best >= 0 else end


def _aligned(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT
