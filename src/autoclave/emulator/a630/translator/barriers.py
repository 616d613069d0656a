"""Barriers of workgroups that have several vectors: where a vector leaves, and where it goes on when all have come so far.

What it needs later lies in its frame meanwhile: registers that are still read, and who is where in a masked region.
"""

from collections.abc import Callable
from dataclasses import dataclass

from autoclave.emulator.a630.translator.control import Control, Resumption
from autoclave.emulator.a630.translator.faults import THREAD
from autoclave.emulator.a630.translator.lanes import Lanes
from autoclave.emulator.ir import Value, constant, lanes_of, vector

FRAMES = "{frames}"
FRAME_BYTES = "{frame bytes}"
"""Stand in the text for numbers that are known at its end."""


@dataclass(frozen=True, slots=True)
class Barriers:
    """number: the variable that holds the vector's number. pending: the one that says that a vector waits.

    state_of: where it is kept at which barrier a vector waits; 0 if it has not begun, -1 if it has ended.
    """

    lanes: Lanes
    control: Control
    number: Value
    pending: Value
    state_of: Callable[[Value], Value]

    def emit(self) -> int:
        """All places where vectors leave and resume; returns how many bytes a frame takes."""
        ir = self.lanes.ir
        size = 0
        for place, resumption in enumerate(self.control.resumptions, 1):
            ir.label(f"wait{place}")
            ir.store(constant(place, "i32"), self.state_of(ir.load(self.number, "i32", 4)), 4)
            ir.store(constant(1, "i1"), self.pending, 1)
            size = max(size, self._transfer(resumption, storing=True))
            for mask in resumption.masks:  # other vectors expect nobody there
                ir.store(constant(0, vector(self.lanes.lanes, "i1")), self.control.mask_of(mask), 1)
            ir.jump("next_vector")
            ir.label(resumption.label)
            self._transfer(resumption, storing=False)
            ir.jump(f"go_on{place}")
        ir.label("resume")
        state = ir.load(self.state_of(ir.load(self.number, "i32", 4)), "i32", 4)
        places = range(1, len(self.control.resumptions) + 1)
        cases = " ".join(f"i32 {place}, label %resume{place}" for place in places)
        ir.effect(f"switch i32 {state.text}, label %begin [ i32 -1, label %next_vector {cases} ]")
        return size

    def _transfer(self, resumption: Resumption, storing: bool) -> int:
        """Move registers and masks between their variables and the vector's frame; returns the frame's size."""
        ir, files, lanes = self.lanes.ir, self.lanes.files, self.lanes.lanes
        index = ir.convert("zext", ir.load(self.number, "i32", 4), "i64")
        start = ir.binary("mul", index, Value(FRAME_BYTES, "i64"))
        frame = ir.offset(ir.offset(THREAD, start), Value(FRAMES, "i64"))
        offset = 0
        for place in resumption.kept:
            pointer, type_ = files.slot(place, bool(resumption.varying >> place & 1))
            self._copy(frame, offset, pointer, type_, storing)
            offset += 64 if lanes_of(type_) is None else 4 * lanes
        for mask in resumption.masks:
            self._copy(frame, offset, self.control.mask_of(mask), vector(lanes, "i1"), storing)
            offset += 64
        return offset + -offset % 64

    def _copy(self, frame: Value, offset: int, variable: Value, type_: str, storing: bool) -> None:
        ir = self.lanes.ir
        place = ir.offset(frame, offset)
        source, target = (variable, place) if storing else (place, variable)
        ir.store(ir.load(source, type_, 1), target, 1)
