"""The lanes of a wave that may access memory."""

from contextlib import AbstractContextManager
from dataclasses import dataclass

from autoclave.emulator.ir import Builder, Value, constant
from autoclave.emulator.rdna4.translator.wave import Wave


@dataclass(frozen=True, slots=True)
class MemoryLanes:
    """The lanes of a wave that may access memory, as the core wants to know them."""

    wave: Wave
    mask: Value | None

    @property
    def ir(self) -> Builder:
        """The function that is built."""
        return self.wave.ir

    @property
    def lanes(self) -> int:
        """Lanes of a vector."""
        return self.wave.lanes

    @property
    def pc(self) -> int:
        """The instruction that is translated."""
        return self.wave.pc

    def all_lanes(self) -> Value:
        """The mask as a vector of i1."""
        return constant(1, self.wave.type("i1")) if self.mask is None else self.mask

    def vector(self, value: Value) -> Value:
        """A scalar in every lane; a vector as it is."""
        return self.wave.vector(value)

    def aside(self) -> AbstractContextManager[None]:
        """Around IR that does not always run."""
        return self.wave.aside()


def lanes_on(wave: Wave) -> MemoryLanes:
    """The lanes that are on."""
    return MemoryLanes(wave, wave.mask_of_memory)
