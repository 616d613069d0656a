"""The loops around a kernel's code: workgroups one after the other, and the vectors of each.

Labels of the function: "start", then a workgroup's vectors at "vector", each of which begins at "begin" (or goes on, see `Barriers`)
and ends by a jump to `VECTOR_DONE`; a status other than that of its end leaves through `Exits`. The architecture's translator emits
"begin" and what follows. Where a workgroup has several vectors and a barrier, each vector runs to its next barrier, and goes on
when all have come so far.
"""

from dataclasses import dataclass, replace

from autoclave.emulator.ir import Builder, Value, constant, numbers
from autoclave.emulator.launch import KernelCode
from autoclave.emulator.translator.barriers import FRAME_BYTES, FRAMES, Barriers
from autoclave.emulator.translator.coordinates import workgroup_coordinates
from autoclave.emulator.translator.elements import MemoryContext
from autoclave.emulator.translator.faults import LEAVE, THREAD, Exits
from autoclave.emulator.translator.frame import (
    DONE,
    EXHAUSTED,
    FAULT_AT,
    LEFT_AT,
    WORKGROUP_AT,
    Scratch,
)
from autoclave.emulator.translator.geometry import Geometry

VECTOR_DONE = "vector_done"


@dataclass(frozen=True, slots=True)
class VectorStart:
    """What is known where a vector begins or goes on.

    first_thread: the number of its first lane's thread in the workgroup. threads: of each lane's. valid: the lanes that hold a
    thread, None if all do, always. active: how many those are (i64).
    """

    first_thread: Value
    threads: Value
    valid: Value | None
    active: Value
    memory: MemoryContext


class Workgroups:
    """Emits the loops. Call `emit_loops`, `begin_vector`, then emit the kernel's code, then `emit_end` and `finished`."""

    def __init__(
        self, ir: Builder, kernel: KernelCode, geometry: Geometry, waits: bool, spilled_bytes: int = 0
    ) -> None:
        """waits: whether there is a barrier in it; it has an effect if a workgroup has several vectors.

        spilled_bytes: memory of the thread block for variables that are too many for LLVM to make values of them.
        """
        self.ir = ir
        self.exits = Exits()
        self.waits = waits and geometry.vectors > 1
        self._kernel = kernel
        self._geometry = geometry
        self._spilled_bytes = spilled_bytes
        self._frame_bytes = 0
        left_at = ir.in_entry(f"getelementptr i8, ptr %thread, i64 {LEFT_AT}", "ptr")
        self._left_at = left_at
        self._left = ir.alloca("i64")
        initial = ir.in_entry(f"load i64, ptr {left_at.text}, align 8", "i64")
        ir.at_entry(f"store i64 {initial.text}, ptr {self._left.text}, align 8")
        self._workgroup = ir.alloca("i64")
        self._vector = ir.alloca("i32")
        self._pending = ir.alloca("i1")
        self.barriers = Barriers(ir, self._vector, self._pending, self.scratch.states)
        self.coordinates: list[Value] = []
        """x, y and z of the current workgroup; of each lane's own if several are packed."""

    @property
    def scratch(self) -> Scratch:
        """Places in the thread block; but for `frames` and `end` they do not depend on the size of a frame."""
        return Scratch(
            shared_bytes=self._kernel.shared_bytes,
            private_bytes=self._private_bytes(),
            frame_bytes=0,
            vectors=self._geometry.vectors if self.waits else 1,
            spilled_bytes=self._spilled_bytes,
        )

    def _private_bytes(self) -> int:
        size = self._kernel.private_bytes * self._geometry.lanes
        return size + -size % 64

    def emit_loops(self) -> None:
        """All but what happens in a vector."""
        ir = self.ir
        ir.label("start")
        ir.store(Value("%first", "i64"), self._workgroup, 8)
        ir.jump("workgroups")
        ir.label("workgroups")
        number = ir.load(self._workgroup, "i64", 8)
        ir.branch(ir.compare("ult", number, Value("%last", "i64")), "workgroup", "done")
        ir.label("done")
        self.exits.add(ir, DONE)
        ir.label("workgroup")
        self.coordinates = workgroup_coordinates(ir, self._geometry, number)
        self._clear(self.scratch.shared, self._kernel.shared_bytes)
        if self.waits:
            self._clear(self.scratch.states, 4 * self._geometry.vectors)
            self._clear(self.scratch.private, self._private_bytes() * self._geometry.vectors)
        ir.jump("round")
        ir.label("round")
        ir.store(constant(0, "i1"), self._pending, 1)
        ir.store(constant(0, "i32"), self._vector, 4)
        ir.jump("vector")
        self._emit_next_vector()
        ir.label("round_done")
        ir.branch(ir.load(self._pending, "i1", 1), "round", "workgroup_done")
        ir.label("workgroup_done")
        ir.store(ir.with_constant("add", ir.load(self._workgroup, "i64", 8), self._geometry.packed), self._workgroup, 8)
        ir.jump("workgroups")

    def _emit_next_vector(self) -> None:
        ir = self.ir
        ir.label(VECTOR_DONE)
        if self.waits:
            ir.store(constant(-1, "i32"), self.barriers.state_of_vector(), 4)
        ir.jump("next_vector")
        ir.label("next_vector")
        following = ir.with_constant("add", ir.load(self._vector, "i32", 4), 1)
        ir.store(following, self._vector, 4)
        more = ir.compare("ult", following, constant(self._geometry.vectors, "i32"))
        left = ir.load(self._left, "i64", 8)
        ir.branch(ir.compare("slt", left, constant(0, "i64")), "exhausted", "within", unlikely=True)
        ir.label("exhausted")
        self.exits.add(ir, EXHAUSTED)
        ir.label("within")
        ir.branch(more, "vector", "round_done")

    def begin_vector(self) -> VectorStart:
        """The block "vector", before the code of one."""
        ir, geometry = self.ir, self._geometry
        ir.label("vector")
        number = ir.load(self._vector, "i32", 4)
        first = ir.with_constant("mul", number, geometry.lanes)
        threads = ir.binary("add", ir.splat(first, geometry.lanes), numbers(range(geometry.lanes), "i32"))
        valid, active = self._valid(threads)
        private = ir.offset(THREAD, self.scratch.private)
        if self.waits:
            distance = ir.with_constant("mul", ir.convert("zext", number, "i64"), self._private_bytes())
            private = ir.offset(private, distance)
        else:
            self._clear(self.scratch.private, self._private_bytes())
        memory = MemoryContext(
            exits=self.exits,
            buffers=self._kernel.buffers,
            shared_bytes=self._kernel.shared_bytes,
            private_bytes=self._kernel.private_bytes,
            shared=ir.offset(THREAD, self.scratch.shared),
            private=private,
        )
        ir.jump("resume" if self.waits else "begin")
        return VectorStart(first, threads, valid, active, memory)

    def _valid(self, threads: Value) -> tuple[Value | None, Value]:
        ir, geometry = self.ir, self._geometry
        if geometry.threads % geometry.lanes == 0:
            return None, constant(geometry.lanes, "i64")
        count = constant(geometry.threads, "i32")
        if geometry.packed > 1:
            groups = ir.binary("sub", Value("%last", "i64"), ir.load(self._workgroup, "i64", 8))
            groups = ir.call("llvm.umin", "i64", (groups, constant(geometry.packed, "i64")))
            count = ir.with_constant("mul", ir.convert("trunc", groups, "i32"), geometry.threads)
        valid = ir.compare("ult", threads, ir.splat(count, geometry.lanes))
        bits = ir.emit(f"bitcast {valid.type} {valid.text} to i{geometry.lanes}", f"i{geometry.lanes}")
        return valid, ir.convert("zext", ir.call("llvm.ctpop", bits.type, (bits,)), "i64")

    def spend(self, instructions: Value) -> None:
        """Take so many (i64) from the budget."""
        ir = self.ir
        ir.store(ir.binary("sub", ir.load(self._left, "i64", 8), instructions), self._left, 8)

    def check_budget(self) -> None:
        """Leave the kernel if the budget is used up: wherever it might run on without an end."""
        ir = self.ir
        over, fine = ir.name("over"), ir.name("fine")
        ir.branch(ir.compare("slt", ir.load(self._left, "i64", 8), constant(0, "i64")), over, fine, unlikely=True)
        ir.label(over)
        self.exits.add(ir, EXHAUSTED)
        ir.label(fine)

    def emit_end(self) -> None:
        """Barriers, and the function's end, after all that has exits."""
        if self.waits:
            self._frame_bytes = self.barriers.emit()
        ir = self.ir
        ir.label(LEAVE)
        status = ir.phi(self.exits.ways)
        ir.store(ir.load(self._left, "i64", 8), self._left_at, 8)
        ir.store(ir.load(self._workgroup, "i64", 8), ir.offset(THREAD, WORKGROUP_AT), 8)
        ir.store(ir.load(self._vector, "i32", 4), ir.offset(THREAD, FAULT_AT + 12), 4)
        ir.effect(f"ret i32 {status.text}")

    def finished(self, text: str) -> tuple[str, int]:
        """A module's text with all numbers filled in, and the size of the thread block."""
        scratch = replace(self.scratch, frame_bytes=self._frame_bytes)
        return text.replace(FRAMES, str(scratch.frames)).replace(FRAME_BYTES, str(self._frame_bytes)), scratch.end

    def _clear(self, offset: int, size: int) -> None:
        """Zero memory of the thread block, up to 63 bytes more than `size`."""
        if size:
            clear_memory(self.ir, self.ir.offset(THREAD, offset), size)


def clear_memory(ir: Builder, start: Value, size: int) -> None:
    """Zero memory, up to 63 bytes more than `size`, from a multiple of 64 on."""
    head, body, done = (ir.name(stem) for stem in ("clear", "clearing", "cleared"))
    at = ir.alloca("i64")
    ir.store(constant(0, "i64"), at, 8)
    ir.jump(head)
    ir.label(head)
    place = ir.load(at, "i64", 8)
    ir.branch(ir.compare("ult", place, constant(size, "i64")), body, done)
    ir.label(body)
    ir.store(constant(0, "<16 x i32>"), ir.offset(start, place), 64)
    ir.store(ir.with_constant("add", place, 64), at, 8)
    ir.jump(head)
    ir.label(done)
