"""How the threads of a launch are laid out in vectors."""

from dataclasses import dataclass
from math import prod

from autoclave.emulator.launch import Size3

SIDES = 3


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

    def thread(self, vector: int, lane: int) -> tuple[int, Size3]:
        """Of a lane: how many workgroups behind the vector's first its own is, and its thread's coordinates."""
        group, index = (
            divmod(vector * self.lanes + lane, self.threads) if self.packed > 1 else (0, vector * self.lanes + lane)
        )
        found = [0, 0, 0]
        for side in self.order:
            index, found[side] = divmod(index, self.local_size[side])
        return group, (found[0], found[1], found[2])
