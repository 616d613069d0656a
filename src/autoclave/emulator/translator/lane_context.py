"""A vector of lanes, one for each thread, as far as memory, faults and barriers have to know it."""

from contextlib import AbstractContextManager
from typing import Protocol

from autoclave.emulator.ir import Builder, Value, constant, element_type, lanes_of, numbers


class LaneContext(Protocol):
    """Where IR is emitted, and for which lanes. Scalars stand for what is the same in all of them."""

    @property
    def ir(self) -> Builder:
        """The function that is built."""

    @property
    def lanes(self) -> int:
        """Lanes of a vector."""

    @property
    def mask(self) -> Value | None:
        """The lanes that take part, as a vector of i1; None for all."""

    @property
    def pc(self) -> int:
        """The instruction that is translated, as faults name it."""

    def all_lanes(self) -> Value:
        """The mask as a vector of i1."""

    def vector(self, value: Value) -> Value:
        """A scalar in every lane; a vector as it is."""

    def aside(self) -> AbstractContextManager[None]:
        """Around IR that does not always run: forget afterwards what was made there."""


def alike(lanes: LaneContext, *values: Value) -> tuple[Value, ...]:
    """All as vectors if one of them is."""
    if all(lanes_of(value.type) is None for value in values):
        return values
    return tuple(lanes.vector(value) for value in values)


def are_consecutive(lanes: LaneContext, values: Value, step: int) -> Value:
    """Whether all lanes take part, and each lane's number is `step` more than the one's before."""
    first = lanes.vector(lanes.ir.element(values, 0))
    steps = numbers((lane * step for lane in range(lanes.lanes)), element_type(values.type))
    follows = lanes.ir.compare("eq", values, lanes.ir.binary("add", first, steps))
    return lanes.ir.all(follows if lanes.mask is None else lanes.ir.binary("and", follows, lanes.mask))


def population(lanes: LaneContext, mask: Value) -> Value:
    """How many lanes are set in a vector of i1, as i64."""
    bits = lanes.ir.emit(f"bitcast {mask.type} {mask.text} to i{lanes.lanes}", f"i{lanes.lanes}")
    return lanes.ir.convert("zext", lanes.ir.call("llvm.ctpop", bits.type, (bits,)), "i64")


def every_lane(lanes: LaneContext) -> Value:
    """A vector of i1 that has all lanes."""
    return constant(1, f"<{lanes.lanes} x i1>")
