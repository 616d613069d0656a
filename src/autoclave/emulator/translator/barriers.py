"""Barriers of workgroups that have several vectors: where a vector leaves, and where it goes on when all have come so far.

What it needs later lies in its frame meanwhile: registers that are still read, and which lanes are where.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from autoclave.emulator.ir import Builder, Value, constant, element_type, lanes_of
from autoclave.emulator.translator.faults import THREAD

FRAMES = "{frames}"
FRAME_BYTES = "{frame bytes}"
"""Stand in the text for numbers that are known at its end."""

Variable = tuple[Value, str]
"""A variable's pointer, and the type of what it holds."""

_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class _Resumption:
    kept: tuple[Variable, ...]
    cleared: tuple[Variable, ...]


class Barriers:
    """The places where vectors wait."""

    def __init__(self, ir: Builder, number: Value, pending: Value, states: int) -> None:
        """number: the variable that holds the vector's number. pending: the one that says that a vector waits.

        states: where in the thread block it is kept at which barrier a vector waits; 0 if it has not begun, -1 if it has ended.
        """
        self._ir = ir
        self._number = number
        self._pending = pending
        self._states = states
        self._resumptions: list[_Resumption] = []

    def state_of_vector(self) -> Value:
        """Where the state of the current vector is kept."""
        number = self._ir.load(self._number, "i32", 4)
        return self._ir.offset(self._ir.offset(THREAD, self._states), self._ir.convert("zext", number, "i64"), "i32")

    def wait(self, kept: Sequence[Variable], cleared: Sequence[Variable] = ()) -> None:
        """End the block: leave the vector until all others have come here, too; what follows is emitted to where it goes on.

        kept: what is read then. cleared: variables that the other vectors, which use the same, expect to be 0.
        """
        self._resumptions.append(_Resumption(tuple(kept), tuple(cleared)))
        place = len(self._resumptions)
        self._ir.jump(f"wait{place}")
        self._ir.label(f"go_on{place}")

    def emit(self) -> int:
        """All places where vectors leave and resume, and the block `resume`; returns how many bytes a frame takes."""
        ir, size = self._ir, 0
        for place, resumption in enumerate(self._resumptions, 1):
            ir.label(f"wait{place}")
            ir.store(constant(place, "i32"), self.state_of_vector(), 4)
            ir.store(constant(1, "i1"), self._pending, 1)
            size = max(size, self._transfer(resumption.kept, storing=True))
            for pointer, type_ in resumption.cleared:
                ir.store(constant(0, type_), pointer, 1)
            ir.jump("next_vector")
            ir.label(f"resume{place}")
            self._transfer(resumption.kept, storing=False)
            ir.jump(f"go_on{place}")
        ir.label("resume")
        state = ir.load(self.state_of_vector(), "i32", 4)
        places = range(1, len(self._resumptions) + 1)
        cases = " ".join(f"i32 {place}, label %resume{place}" for place in places)
        ir.effect(f"switch i32 {state.text}, label %begin [ i32 -1, label %next_vector {cases} ]")
        return size

    def _transfer(self, kept: Sequence[Variable], storing: bool) -> int:
        """Move values between their variables and the vector's frame; returns the frame's size."""
        ir = self._ir
        index = ir.convert("zext", ir.load(self._number, "i32", 4), "i64")
        start = ir.binary("mul", index, Value(FRAME_BYTES, "i64"))
        frame = ir.offset(ir.offset(THREAD, start), Value(FRAMES, "i64"))
        offset = 0
        for pointer, type_ in kept:
            self._copy(frame, offset, pointer, type_, storing)
            offset += _size_of(type_)
        return offset + -offset % _ALIGNMENT

    def _copy(self, frame: Value, offset: int, variable: Value, type_: str, storing: bool) -> None:
        ir = self._ir
        place = ir.offset(frame, offset)
        source, target = (variable, place) if storing else (place, variable)
        ir.store(ir.load(source, type_, 1), target, 1)


def _size_of(type_: str) -> int:
    """Bytes of an integer or a vector of integers, whole words."""
    bits = int(element_type(type_).removeprefix("i")) * (lanes_of(type_) or 1)
    return -(-bits // 32) * 4
