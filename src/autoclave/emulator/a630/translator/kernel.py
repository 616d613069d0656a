"""The whole function of a kernel: all vectors of all workgroups of a range.

    i32 kernel(ptr launch, ptr thread, i64 first, i64 last)

runs the workgroups first..last-1 (x fastest) of the launch and returns a status, see `frame`. A vector's threads follow
one another with the workgroup's first side fastest, as `Geometry` says. Where a workgroup has several vectors and a barrier, each
vector runs to its next barrier, and goes on when all have come so far.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from autoclave.emulator.a630.instruction import ADDRESS_REGISTER, Instruction
from autoclave.emulator.a630.launch import KernelCode
from autoclave.emulator.a630.translator import alu, atomics, images, memory, moves
from autoclave.emulator.a630.translator.barriers import FRAME_BYTES, FRAMES, Barriers
from autoclave.emulator.a630.translator.control import MASK_BYTES, VECTOR_DONE, Control
from autoclave.emulator.a630.translator.coordinates import thread_coordinates, workgroup_coordinates
from autoclave.emulator.a630.translator.elements import MemoryContext
from autoclave.emulator.a630.translator.faults import LEAVE, THREAD, Exits
from autoclave.emulator.a630.translator.flow import Block, find_blocks
from autoclave.emulator.a630.translator.frame import (
    DONE,
    EXHAUSTED,
    FAULT_AT,
    LEFT_AT,
    WORKGROUP_AT,
    Scratch,
    launch_bytes,
)
from autoclave.emulator.a630.translator.geometry import SIDES, Geometry, choose_geometry
from autoclave.emulator.a630.translator.images import ImageContext
from autoclave.emulator.a630.translator.indirect import Indirect
from autoclave.emulator.a630.translator.known import refuse_unknown
from autoclave.emulator.a630.translator.lanes import Lanes
from autoclave.emulator.a630.translator.memory import MEMORY_NAMES
from autoclave.emulator.a630.translator.moves import MOVE_NAMES
from autoclave.emulator.a630.translator.observation import EVERYTHING, analyse_uses, effect_of
from autoclave.emulator.a630.translator.operations import (
    REGISTERS,
    Operation,
    names_registers_indirectly,
)
from autoclave.emulator.a630.translator.uniformity import access_of, analyse_uniformity
from autoclave.emulator.ir import Builder, Module, Value, constant, numbers, vector
from autoclave.emulator.launch import Size3
from autoclave.emulator.vector import ATTRIBUTES, library

MOST_BLOCKS = 512
MOST_MASKED = 64
"""Kernels with more blocks, or more masked ones, keep registers and masks in memory."""


@dataclass(frozen=True, slots=True)
class KernelIr:
    """LLVM IR of a kernel, how it lays out threads, and the size of the thread block that it needs.

    ordered: it has atomics on buffers, so that its workgroups have to run one after the other.
    """

    text: str
    geometry: Geometry
    thread_bytes: int
    ordered: bool


def translate_kernel(
    kernel: KernelCode,
    instructions: Sequence[Instruction],
    local_size: Size3,
    lanes: int,
    image_formats: tuple[str, ...],
    texture_formats: tuple[str, ...],
    f16c: bool,
) -> KernelIr:
    """The function `kernel` as IR. Raises `UnknownInstruction`, which names all that there is no rule for."""
    blocks = find_blocks(instructions, kernel.name)
    context = ImageContext(image_formats, texture_formats, len(kernel.buffer_slots))
    refuse_unknown(kernel, blocks, context)
    geometry = choose_geometry(kernel, blocks, local_size, lanes)
    return _Kernel(kernel, blocks, geometry, context, f16c).translate()


class _Kernel:
    def __init__(
        self, kernel: KernelCode, blocks: Sequence[Block], geometry: Geometry, context: ImageContext, f16c: bool
    ) -> None:
        self._kernel = kernel
        self._blocks = blocks
        self._geometry = geometry
        self._images = context
        self._f16c = f16c
        merged = kernel.merged_registers
        indexed = any(names_registers_indirectly(operation) for block in blocks for operation in block.operations)
        effects = [[effect_of(operation, merged) for operation in block.operations] for block in blocks]
        accesses = [[access_of(operation, merged) for operation in block.operations] for block in blocks]
        self._uniformity = analyse_uniformity(blocks, accesses, geometry.varying_at_entry(kernel), everything=indexed)
        self._large = len(blocks) > MOST_BLOCKS or len(self._uniformity.regions) > MOST_MASKED
        if self._large and not indexed:
            indexed = True
            self._uniformity = analyse_uniformity(blocks, accesses, geometry.varying_at_entry(kernel), everything=True)
        masked = [self._uniformity.masked(block.number) for block in blocks]
        self._uses = [EVERYTHING] * len(blocks) if indexed else analyse_uses(blocks, effects, masked)
        self._module = Module(ATTRIBUTES.replace("willreturn ", ""))
        self._ir = Builder(self._module)
        self._lanes = Lanes(self._ir, geometry.lanes, merged, kernel.constant_demotion, f16c)
        self._exits = Exits()
        self._waits = geometry.vectors > 1 and any(block.barrier for block in blocks)
        self._lanes.files.indexed = indexed
        if self._large:
            self._spill_registers()
        self._lanes.indirection = Indirect(self._lanes, self._exits, merged, kernel.constant_demotion)

    def _spill_registers(self) -> None:
        """Keep registers where LLVM makes no values of them: that takes cubic time in the number of masked blocks."""
        full = self._ir.in_entry(f"getelementptr i8, ptr %thread, i64 {self._scratch().spilled}", "ptr")
        size = 4 * REGISTERS * self._geometry.lanes
        half = self._ir.in_entry(f"getelementptr i8, ptr {full.text}, i64 {size}", "ptr")
        self._lanes.files.arrays.update({False: full, True: half})

    def _spilled_bytes(self) -> int:
        return 6 * REGISTERS * self._geometry.lanes + MASK_BYTES * len(self._blocks) if self._large else 0

    def _spilled_masks(self) -> Value | None:
        if not self._large:
            return None
        place = self._scratch().spilled + 6 * REGISTERS * self._geometry.lanes
        return self._ir.in_entry(f"getelementptr i8, ptr %thread, i64 {place}", "ptr")

    def translate(self) -> KernelIr:
        ir = self._ir
        left_at = ir.in_entry(f"getelementptr i8, ptr %thread, i64 {LEFT_AT}", "ptr")
        self._left = ir.alloca("i64")
        initial = ir.in_entry(f"load i64, ptr {left_at.text}, align 8", "i64")
        ir.at_entry(f"store i64 {initial.text}, ptr {self._left.text}, align 8")
        self._workgroup = ir.alloca("i64")
        self._vector = ir.alloca("i32")
        self._pending = ir.alloca("i1")
        self._emit_workgroups()
        control = self._emit_vector()
        barriers = Barriers(self._lanes, control, self._vector, self._pending, self._state_of)
        frame_bytes = barriers.emit() if self._waits else 0
        self._emit_registers(control)
        self._emit_leave(left_at)
        scratch = replace(self._scratch(), frame_bytes=frame_bytes)
        text = self._text().replace(FRAMES, str(scratch.frames)).replace(FRAME_BYTES, str(frame_bytes))
        ordered = any(operation.name.startswith("atomic.g") for block in self._blocks for operation in block.operations)
        return KernelIr(text, self._geometry, scratch.end, ordered)

    def _scratch(self) -> Scratch:
        """Places that do not depend on the size of a frame."""
        return Scratch(
            shared_bytes=self._kernel.shared_bytes,
            private_bytes=self._private_bytes(),
            frame_bytes=0,
            vectors=self._geometry.vectors if self._waits else 1,
            spilled_bytes=self._spilled_bytes(),
        )

    def _private_bytes(self) -> int:
        size = self._kernel.private_bytes * self._geometry.lanes
        return size + -size % 64

    def _text(self) -> str:
        functions = self._lanes.functions
        for lanes in sorted({lanes for _, lanes in functions}):
            part = library((name for name, count in functions if count == lanes), lanes, f16c=self._f16c)
            for line in part.declarations:
                self._module.declarations.setdefault(line.split("@")[1].split("(")[0] if "@" in line else line, line)
            self._module.definitions.append(part.definitions)
        images = len(self._images.images) + len(self._images.textures)
        size = launch_bytes(self._images.buffers, images)
        signature = (
            f"define i32 @kernel(ptr noalias readonly dereferenceable({size}) %launch, ptr noalias %thread, "
            f"i64 %first, i64 %last)"
        )
        self._module.definitions.append(self._ir.function(signature))
        return self._module.text()

    # Loops over workgroups and vectors

    def _emit_workgroups(self) -> None:
        ir = self._ir
        ir.label("start")
        ir.store(Value("%first", "i64"), self._workgroup, 8)
        ir.jump("workgroups")
        ir.label("workgroups")
        number = ir.load(self._workgroup, "i64", 8)
        ir.branch(ir.compare("ult", number, Value("%last", "i64")), "workgroup", "done")
        ir.label("done")
        self._exits.add(self._lanes, DONE)
        ir.label("workgroup")
        self._group = workgroup_coordinates(ir, self._geometry, number)
        self._clear(self._scratch().shared, self._kernel.shared_bytes)
        if self._waits:
            self._clear(self._scratch().states, 4 * self._geometry.vectors)
            self._clear(self._scratch().private, self._private_bytes() * self._geometry.vectors)
        ir.jump("round")
        ir.label("round")
        ir.store(constant(0, "i1"), self._pending, 1)
        ir.store(constant(0, "i32"), self._vector, 4)
        ir.jump("vector")
        ir.label(VECTOR_DONE)
        if self._waits:
            ir.store(constant(-1, "i32"), self._state_of(ir.load(self._vector, "i32", 4)), 4)
        ir.jump("next_vector")
        ir.label("next_vector")
        following = ir.with_constant("add", ir.load(self._vector, "i32", 4), 1)
        ir.store(following, self._vector, 4)
        more = ir.compare("ult", following, constant(self._geometry.vectors, "i32"))
        left = ir.load(self._left, "i64", 8)
        ir.branch(ir.compare("slt", left, constant(0, "i64")), "exhausted", "within", unlikely=True)
        ir.label("exhausted")
        self._exits.add(self._lanes, EXHAUSTED)
        ir.label("within")
        ir.branch(more, "vector", "round_done")
        ir.label("round_done")
        ir.branch(ir.load(self._pending, "i1", 1), "round", "workgroup_done")
        ir.label("workgroup_done")
        ir.store(ir.with_constant("add", ir.load(self._workgroup, "i64", 8), self._geometry.packed), self._workgroup, 8)
        ir.jump("workgroups")

    def _clear(self, offset: int, size: int) -> None:
        """Zero memory of the thread block, up to 63 bytes more than `size`."""
        ir = self._ir
        if size == 0:
            return
        head, body, done = (ir.name(stem) for stem in ("clear", "clearing", "cleared"))
        at = ir.alloca("i64")
        ir.store(constant(0, "i64"), at, 8)
        ir.jump(head)
        ir.label(head)
        place = ir.load(at, "i64", 8)
        ir.branch(ir.compare("ult", place, constant(size, "i64")), body, done)
        ir.label(body)
        ir.store(constant(0, "<16 x i32>"), ir.offset(ir.offset(THREAD, offset), place), 64)
        ir.store(ir.with_constant("add", place, 64), at, 8)
        ir.jump(head)
        ir.label(done)

    def _state_of(self, number: Value) -> Value:
        ir = self._ir
        return ir.offset(ir.offset(THREAD, self._scratch().states), ir.convert("zext", number, "i64"), "i32")

    # One vector

    def _emit_vector(self) -> Control:
        ir = self._ir
        ir.label("vector")
        number = ir.load(self._vector, "i32", 4)
        first = ir.with_constant("mul", number, self._geometry.lanes)
        self._threads = ir.binary(
            "add", ir.splat(first, self._geometry.lanes), numbers(range(self._geometry.lanes), "i32")
        )
        valid, active = self._valid()
        self._first_thread = first
        private = ir.offset(THREAD, self._scratch().private)
        if self._waits:
            private = ir.offset(
                private, ir.with_constant("mul", ir.convert("zext", number, "i64"), self._private_bytes())
            )
        else:
            self._clear(self._scratch().private, self._private_bytes())
        self._memory = MemoryContext(
            exits=self._exits,
            buffers=len(self._kernel.buffer_slots),
            shared_bytes=self._kernel.shared_bytes,
            private_bytes=self._kernel.private_bytes,
            shared=ir.offset(THREAD, self._scratch().shared),
            private=private,
        )
        ir.jump("resume" if self._waits else "begin")
        control = Control(
            lanes=self._lanes,
            exits=self._exits,
            blocks=self._blocks,
            uniformity=self._uniformity,
            uses=self._uses,
            valid=valid,
            active=active,
            left=self._left,
            waits=self._waits,
            execute=self._execute,
            spilled_masks=self._spilled_masks(),
        )
        control.emit()
        return control

    def _valid(self) -> tuple[Value | None, Value]:
        """The lanes that hold a thread, and how many; None if all do, always."""
        ir, geometry = self._ir, self._geometry
        if geometry.threads % geometry.lanes == 0:
            return None, constant(geometry.lanes, "i64")
        threads = constant(geometry.threads, "i32")
        if geometry.packed > 1:
            groups = ir.binary("sub", Value("%last", "i64"), ir.load(self._workgroup, "i64", 8))
            groups = ir.call("llvm.umin", "i64", (groups, constant(geometry.packed, "i64")))
            threads = ir.with_constant("mul", ir.convert("trunc", groups, "i32"), geometry.threads)
        valid = ir.compare("ult", self._threads, ir.splat(threads, geometry.lanes))
        bits = ir.emit(f"bitcast {valid.type} {valid.text} to i{geometry.lanes}", f"i{geometry.lanes}")
        return valid, ir.convert("zext", ir.call("llvm.ctpop", bits.type, (bits,)), "i64")

    def _execute(self, block: Block) -> None:
        for operation in block.operations:
            self._lanes.pc = operation.pc
            self._carry_out(operation)

    def _carry_out(self, operation: Operation) -> None:
        if operation.instruction.category in (2, 3, 4):
            alu.arithmetic(self._lanes, operation)
        elif operation.name in MOVE_NAMES:
            moves.move(self._lanes, operation)
        elif operation.name in MEMORY_NAMES:
            memory.access_memory(self._lanes, self._memory, operation)
        elif operation.name in atomics.ATOMIC_NAMES:
            atomics.atomic(self._lanes, self._memory, operation)
        else:
            images.access_image(self._lanes, self._images, operation)

    # Registers at a thread's start

    def _emit_registers(self, control: Control) -> None:
        """Registers are 0 at first, but for the coordinates of workgroup and thread."""
        ir, files = self._ir, self._lanes.files
        varying = self._uniformity.varying[0]
        ir.label("begin")
        start = self._coordinates_at_start()
        for place in start:
            files.slot(place, bool(varying >> place & 1))
        files.clear()
        for number in control.masks:
            ir.store(constant(0, vector(self._geometry.lanes, "i1")), control.mask_of(number), 1)
        for place, value in start.items():
            files.store(place, value, bool(varying >> place & 1))
        control.enter(0)

    def _coordinates_at_start(self) -> Mapping[int, Value]:
        found: dict[int, Value] = {}
        local = thread_coordinates(self._ir, self._geometry, self._threads, self._first_thread)
        for first, values in (
            (self._kernel.work_group_id, self._group),
            (self._kernel.local_invocation_id, local),
        ):
            if first + SIDES <= ADDRESS_REGISTER:
                found |= {first + side: value for side, value in enumerate(values)}
        return found

    def _emit_leave(self, left_at: Value) -> None:
        ir = self._ir
        ir.label(LEAVE)
        status = ir.phi(self._exits.ways)
        ir.store(ir.load(self._left, "i64", 8), left_at, 8)
        ir.store(ir.load(self._workgroup, "i64", 8), ir.offset(THREAD, WORKGROUP_AT), 8)
        ir.store(ir.load(self._vector, "i32", 4), ir.offset(THREAD, FAULT_AT + 12), 4)
        ir.effect(f"ret i32 {status.text}")
