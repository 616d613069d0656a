"""A kernel's function: its registers, its blocks, and what each instruction does (`emulator.translator.kernel` has the rest)."""

from collections.abc import Callable, Mapping, Sequence
from math import prod

from autoclave.emulator.ir import Builder, Module, Value, constant
from autoclave.emulator.jit import LANES, HostTarget
from autoclave.emulator.launch import Size3
from autoclave.emulator.rdna4.instruction import TTMP, Instruction
from autoclave.emulator.rdna4.launch import KernelCode
from autoclave.emulator.rdna4.translator.atomics import ATOMICS
from autoclave.emulator.rdna4.translator.control import Control, label
from autoclave.emulator.rdna4.translator.effects import changes_exec, effect_of, reads_across
from autoclave.emulator.rdna4.translator.exec_moves import EXEC_MOVES
from autoclave.emulator.rdna4.translator.execution import analyse_execution
from autoclave.emulator.rdna4.translator.flow import Block, find_blocks
from autoclave.emulator.rdna4.translator.known import parts_of, refuse_unknown
from autoclave.emulator.rdna4.translator.lane_moves import LANE_MOVES, with_dpp
from autoclave.emulator.rdna4.translator.memory import MEMORY
from autoclave.emulator.rdna4.translator.observation import analyse_uses
from autoclave.emulator.rdna4.translator.rules import ALU, LOOKS_AT_BITS
from autoclave.emulator.rdna4.translator.wave import Wave
from autoclave.emulator.rdna4.translator.window_functions import Functions
from autoclave.emulator.rdna4.translator.windows import FAULTED_LABEL, Windows
from autoclave.emulator.rdna4.translator.wmma import WMMA_NAMES, Products, define_product, fused_or_exact
from autoclave.emulator.translator.coordinates import thread_coordinates
from autoclave.emulator.translator.frame import CONSTANTS_AT, FAULTED
from autoclave.emulator.translator.geometry import Geometry
from autoclave.emulator.translator.kernel import KernelIr, kernel_ir
from autoclave.emulator.translator.workgroups import VectorStart, Workgroups
from autoclave.emulator.vector import GRADUAL_ATTRIBUTES, library

WAVE = 32
_GROUP_X, _GROUP_YZ = TTMP + 9, TTMP + 7
_ID_ENABLES, _SIDES_AT, _USER_AT = 7, 11, 1
"""Bits of COMPUTE_PGM_RSRC2: one for each coordinate of the workgroup, how many of the thread's v0 holds, how many scalars are set up."""
_ID_BITS = 10

ACCESSES = {**MEMORY, **ATOMICS}
"""Loads, stores and atomics."""

RULES: Mapping[str, object] = {
    **ALU, **ACCESSES, **LANE_MOVES, **EXEC_MOVES, **dict.fromkeys(WMMA_NAMES)
}  # fmt: skip
"""All that there is a rule for, by name."""


def translate_kernel(
    kernel: KernelCode, instructions: Sequence[Instruction], local_size: Size3, target: HostTarget
) -> KernelIr:
    """The function `kernel` as IR. Raises `UnknownInstruction`, which names all that there is no rule for."""
    blocks = find_blocks(instructions, kernel.name)
    refuse_unknown(kernel, blocks, RULES)
    return _Kernel(kernel, blocks, _geometry(blocks, local_size), target).translate()


def _across(blocks: Sequence[Block]) -> bool:
    return any(
        reads_across(part) and part.name != "v_readfirstlane_b32" or part.name == "v_writelane_b32"
        for block in blocks
        for instruction in block.instructions
        for part in parts_of(instruction)
    )


def _geometry(blocks: Sequence[Block], local_size: Size3) -> Geometry:
    """The fewest lanes that hold the threads of the largest wave; all of a wave's if lanes read each other."""
    threads = prod(local_size)
    lanes = WAVE if _across(blocks) else next((lanes for lanes in LANES if lanes >= threads), WAVE)
    return Geometry(local_size, lanes)


class _Kernel:
    def __init__(self, kernel: KernelCode, blocks: Sequence[Block], geometry: Geometry, target: HostTarget) -> None:
        self._kernel = kernel
        self._blocks = blocks
        self._geometry = geometry
        self._target = target
        all_on = geometry.threads % geometry.lanes == 0 or not _across(blocks)
        effects = [[effect_of(instruction, LOOKS_AT_BITS) for instruction in block.instructions] for block in blocks]
        self._execution = analyse_execution(blocks, all_on)
        self._observation = analyse_uses(blocks, effects, self._execution)
        self._module = Module(GRADUAL_ATTRIBUTES.replace("willreturn ", ""))
        self._ir = Builder(self._module)
        self._wave = Wave(self._ir, geometry.lanes, target.f16c)
        self._products = Products(self._wave)
        self._windows = Windows(self._wave)
        barriers = any(block.barrier for block in blocks)
        self._workgroups = Workgroups(self._ir, kernel, geometry, barriers)

    def translate(self) -> KernelIr:
        self._workgroups.emit_loops()
        start = self._workgroups.begin_vector()
        self._memory = start.memory
        self._memory.sparse = True
        self._wave.valid = start.valid
        control = Control(
            wave=self._wave,
            workgroups=self._workgroups,
            blocks=self._blocks,
            execution=self._execution,
            observation=self._observation,
            active=start.active,
            execute=self._execute,
            begin=self._begin_block,
        )
        control.emit()
        self._emit_registers(start)
        if self._windows.used:
            self._ir.label(FAULTED_LABEL)
            self._workgroups.exits.add(self._ir, FAULTED)
        self._workgroups.emit_end()
        self._define_functions()
        ordered = any("_atomic_" in one.name for block in self._blocks for one in block.instructions)
        return kernel_ir(
            self._module, self._ir, self._workgroups, self._geometry, self._kernel.buffers, images=0, ordered=ordered
        )

    def _begin_block(self) -> None:
        self._products.begin()
        self._windows.begin()

    def _define_functions(self) -> None:
        functions = Functions(self._module, self._geometry.lanes, self._kernel.buffers)
        for kind, size in sorted(self._windows.used):
            functions.define(kind, size)
        if self._products.used:
            define_product(self._module, self._target, fused_or_exact(self._target))
        used, target = self._wave.forms.functions, self._target
        for lanes in sorted({lanes for _, lanes in used}):
            part = library(
                (name for name, count in used if count == lanes),
                lanes,
                f16c=target.f16c,
                fma=target.fma,
                avx512=target.avx512,
                gradual=True,
            )
            for line in part.declarations:
                self._module.declarations.setdefault(line.split("@")[1].split("(")[0], line)
            self._module.definitions.append(part.definitions)

    # Instructions

    def _execute(self, instruction: Instruction, upcoming: Sequence[Instruction]) -> None:
        self._windows.upcoming = upcoming
        if instruction.dual is not None:
            self._execute_pair(instruction.dual)
        elif instruction.name in WMMA_NAMES:
            self._products.multiply(instruction)
        elif instruction.name in ACCESSES:
            ACCESSES[instruction.name](self._wave, self._memory, self._windows, instruction)
        elif instruction.name in EXEC_MOVES:
            EXEC_MOVES[instruction.name](self._wave, instruction)
        elif instruction.dpp is not None:
            with_dpp(self._wave, instruction, _rule(instruction.name))
        else:
            _rule(instruction.name)(self._wave, instruction)
            if changes_exec(instruction):
                self._wave.drop_lanes_without_thread()

    def _execute_pair(self, pair: tuple[Instruction, Instruction]) -> None:
        """Both read before either writes."""
        with self._wave.reading_as_before():
            for part in pair:
                _rule(part.name)(self._wave, part)

    # Registers at a wave's start

    def _emit_registers(self, start: VectorStart) -> None:
        """Registers are 0 at first, but for those that the launch sets up, and EXEC."""
        ir, variables = self._ir, self._wave.variables
        ir.label("begin")
        words = {number: self._constant_word(number) for number in range(self._kernel.rsrc2 >> _USER_AT & 31)}
        x, y, z = (
            side if self._kernel.rsrc2 >> _ID_ENABLES + place & 1 else constant(0, "i32")
            for place, side in enumerate(self._workgroups.coordinates)
        )
        words[_GROUP_X] = x
        words[_GROUP_YZ] = ir.binary("or", ir.with_constant("and", y, 0xFFFF), ir.with_constant("shl", z, 16))
        thread = self._thread(start)
        variables.vector_variable(0)
        for number in words:
            variables.scalar_variable(number)
        variables.clear()
        self._wave.scalars.clear_scc()
        for number, word in words.items():
            variables.store_scalar(number, word)
        variables.store_vector(0, ir.splat(thread, self._geometry.lanes))
        self._wave.store_first_exec()
        ir.jump(label(0))

    def _constant_word(self, number: int) -> Value:
        place = self._ir.offset(Value("%launch", "ptr"), CONSTANTS_AT + 4 * number)
        return self._ir.load(place, "i32", 4, invariant=True)

    def _thread(self, start: VectorStart) -> Value:
        """v0: the coordinates of the thread in its workgroup, packed, as many as the kernel asks for."""
        ir = self._ir
        sides = thread_coordinates(ir, self._geometry, start.threads, start.first_thread)
        packed = constant(0, "i32")
        for place, side in enumerate(sides[: 1 + (self._kernel.rsrc2 >> _SIDES_AT & 3)]):
            if side.text == "0":
                continue
            value = ir.with_constant("shl", ir.splat(side, self._geometry.lanes), _ID_BITS * place)
            packed = value if packed.text == "0" else ir.binary("or", packed, value)
        return packed


def _rule(name: str) -> Callable[[Wave, Instruction], None]:
    return LANE_MOVES[name] if name in LANE_MOVES else ALU[name]
