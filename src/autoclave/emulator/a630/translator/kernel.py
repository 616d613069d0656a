"""A kernel's function: its registers, its blocks, and what each instruction does (`emulator.translator.kernel` has the rest)."""

from collections.abc import Mapping, Sequence

from autoclave.emulator.a630.instruction import ADDRESS_REGISTER, Instruction
from autoclave.emulator.a630.launch import KernelCode
from autoclave.emulator.a630.translator import alu, atomics, images, memory, moves
from autoclave.emulator.a630.translator.control import MASK_BYTES, Control
from autoclave.emulator.a630.translator.flow import Block, find_blocks
from autoclave.emulator.a630.translator.images import ImageContext
from autoclave.emulator.a630.translator.indirect import Indirect
from autoclave.emulator.a630.translator.known import refuse_unknown
from autoclave.emulator.a630.translator.lanes import Lanes
from autoclave.emulator.a630.translator.layout import choose_geometry, varying_at_entry
from autoclave.emulator.a630.translator.memory import MEMORY_NAMES
from autoclave.emulator.a630.translator.moves import MOVE_NAMES
from autoclave.emulator.a630.translator.observation import EVERYTHING, analyse_uses, effect_of
from autoclave.emulator.a630.translator.operations import (
    REGISTERS,
    Operation,
    names_registers_indirectly,
)
from autoclave.emulator.a630.translator.uniformity import access_of, analyse_uniformity
from autoclave.emulator.ir import Builder, Module, Value, constant, vector
from autoclave.emulator.jit import HostTarget
from autoclave.emulator.launch import Size3
from autoclave.emulator.translator.coordinates import thread_coordinates
from autoclave.emulator.translator.geometry import SIDES, Geometry
from autoclave.emulator.translator.kernel import KernelIr, add_library, kernel_ir
from autoclave.emulator.translator.workgroups import VectorStart, Workgroups
from autoclave.emulator.vector import ATTRIBUTES

MOST_BLOCKS = 512
MOST_MASKED = 64
"""Kernels with more blocks, or more masked ones, keep registers and masks in memory."""


def translate_kernel(
    kernel: KernelCode,
    instructions: Sequence[Instruction],
    local_size: Size3,
    image_formats: tuple[str, ...],
    texture_formats: tuple[str, ...],
    target: HostTarget,
) -> KernelIr:
    """The function `kernel` as IR. Raises `UnknownInstruction`, which names all that there is no rule for."""
    blocks = find_blocks(instructions, kernel.name)
    context = ImageContext(image_formats, texture_formats, len(kernel.buffer_slots))
    refuse_unknown(kernel, blocks, context)
    geometry = choose_geometry(kernel, blocks, local_size, target.lanes)
    return _Kernel(kernel, blocks, geometry, context, target).translate()


class _Kernel:
    def __init__(
        self, kernel: KernelCode, blocks: Sequence[Block], geometry: Geometry, context: ImageContext, target: HostTarget
    ) -> None:
        self._kernel = kernel
        self._blocks = blocks
        self._geometry = geometry
        self._images = context
        self._target = target
        merged = kernel.merged_registers
        indexed = any(names_registers_indirectly(operation) for block in blocks for operation in block.operations)
        effects = [[effect_of(operation, merged) for operation in block.operations] for block in blocks]
        accesses = [[access_of(operation, merged) for operation in block.operations] for block in blocks]
        self._uniformity = analyse_uniformity(blocks, accesses, varying_at_entry(geometry, kernel), everything=indexed)
        self._large = len(blocks) > MOST_BLOCKS or len(self._uniformity.regions) > MOST_MASKED
        if self._large and not indexed:
            indexed = True
            self._uniformity = analyse_uniformity(blocks, accesses, varying_at_entry(geometry, kernel), everything=True)
        masked = [self._uniformity.masked(block.number) for block in blocks]
        self._uses = [EVERYTHING] * len(blocks) if indexed else analyse_uses(blocks, effects, masked)
        self._module = Module(ATTRIBUTES.replace("willreturn ", ""))
        self._ir = Builder(self._module)
        self._lanes = Lanes(self._ir, geometry.lanes, merged, kernel.constant_demotion, target)
        barriers = any(block.barrier for block in blocks)
        self._workgroups = Workgroups(self._ir, kernel, geometry, barriers, self._spilled_bytes())
        self._lanes.files.indexed = indexed
        if self._large:
            self._spill_registers()
        self._lanes.indirection = Indirect(self._lanes, self._workgroups.exits, merged, kernel.constant_demotion)

    def _spill_registers(self) -> None:
        """Keep registers where LLVM makes no values of them: that takes cubic time in the number of masked blocks."""
        place = self._workgroups.scratch.spilled
        full = self._ir.in_entry(f"getelementptr i8, ptr %thread, i64 {place}", "ptr")
        size = 4 * REGISTERS * self._geometry.lanes
        half = self._ir.in_entry(f"getelementptr i8, ptr {full.text}, i64 {size}", "ptr")
        self._lanes.files.arrays.update({False: full, True: half})

    def _spilled_bytes(self) -> int:
        return 6 * REGISTERS * self._geometry.lanes + MASK_BYTES * len(self._blocks) if self._large else 0

    def _spilled_masks(self) -> Value | None:
        if not self._large:
            return None
        place = self._workgroups.scratch.spilled + 6 * REGISTERS * self._geometry.lanes
        return self._ir.in_entry(f"getelementptr i8, ptr %thread, i64 {place}", "ptr")

    def translate(self) -> KernelIr:
        self._workgroups.emit_loops()
        start = self._workgroups.begin_vector()
        self._memory = start.memory
        control = Control(
            lanes=self._lanes,
            workgroups=self._workgroups,
            blocks=self._blocks,
            uniformity=self._uniformity,
            uses=self._uses,
            valid=start.valid,
            active=start.active,
            execute=self._execute,
            spilled_masks=self._spilled_masks(),
        )
        control.emit()
        self._emit_registers(control, start)
        self._workgroups.emit_end()
        add_library(self._module, self._lanes.functions, self._target.f16c)
        ordered = any(operation.name.startswith("atomic.g") for block in self._blocks for operation in block.operations)
        images = len(self._images.images) + len(self._images.textures)
        return kernel_ir(
            self._module, self._ir, self._workgroups, self._geometry, self._kernel.buffers, images, ordered
        )

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

    def _emit_registers(self, control: Control, start: VectorStart) -> None:
        """Registers are 0 at first, but for the coordinates of workgroup and thread."""
        ir, files = self._ir, self._lanes.files
        varying = self._uniformity.varying[0]
        ir.label("begin")
        coordinates = self._coordinates_at(start)
        for place in coordinates:
            files.slot(place, bool(varying >> place & 1))
        files.clear()
        for number in control.masks:
            ir.store(constant(0, vector(self._geometry.lanes, "i1")), control.mask_of(number), 1)
        for place, value in coordinates.items():
            files.store(place, value, bool(varying >> place & 1))
        control.enter(0)

    def _coordinates_at(self, start: VectorStart) -> Mapping[int, Value]:
        found: dict[int, Value] = {}
        local = thread_coordinates(self._ir, self._geometry, start.threads, start.first_thread)
        for first, values in (
            (self._kernel.work_group_id, self._workgroups.coordinates),
            (self._kernel.local_invocation_id, local),
        ):
            if first + SIDES <= ADDRESS_REGISTER:
                found |= {first + side: value for side, value in enumerate(values)}
        return found
