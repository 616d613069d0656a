"""What there is a rule for. All that has none is named before a kernel is translated."""

from collections.abc import Sequence

from autoclave.emulator.a630.instruction import Constant, Instruction
from autoclave.emulator.a630.launch import MAX_CONSTANT_VECTORS, KernelCode
from autoclave.emulator.a630.translator import alu, atomics, images, moves
from autoclave.emulator.a630.translator.elements import unknown_memory
from autoclave.emulator.a630.translator.flow import Block
from autoclave.emulator.a630.translator.images import ImageContext
from autoclave.emulator.a630.translator.memory import MEMORY_NAMES
from autoclave.emulator.a630.translator.moves import MOVE_NAMES
from autoclave.emulator.a630.translator.operations import (
    REGISTERS,
    Operation,
    is_indirect,
    registers_read,
    registers_written,
)
from autoclave.errors import UnknownInstruction


def refuse_unknown(kernel: KernelCode, blocks: Sequence[Block], context: ImageContext) -> None:
    found: dict[str, list[int]] = {}
    for block in blocks:
        for operation in block.operations:
            reason = _unknown(operation.instruction, context)
            if reason is None:
                reason = _out_of_range(operation, kernel.constant_demotion)
            if reason is not None:
                found.setdefault(f"{operation.name} {reason}".strip(), []).append(operation.pc)
    if found:
        listed = "; ".join(f"{what} ({len(pcs)} times, first at pc {pcs[0]})" for what, pcs in sorted(found.items()))
        raise UnknownInstruction(f"translating kernel {kernel.name!r}: there is no rule for {listed}")


def _unknown(instruction: Instruction, context: ImageContext) -> str | None:
    """Why there is no rule for an instruction; None if there is one."""
    name = instruction.name
    if instruction.category > 4 and is_indirect(Operation(instruction, instruction.sources, instruction.destinations)):
        return "with a register that a0.x names"
    if instruction.category in (2, 3, 4):
        return alu.unknown_arithmetic(instruction)
    if name in MOVE_NAMES:
        return moves.unknown_move(instruction)
    if name in MEMORY_NAMES:
        return unknown_memory(instruction)
    if name in atomics.ATOMIC_NAMES:
        return atomics.unknown_atomic(instruction)
    return images.unknown_image(instruction, context)


def _out_of_range(operation: Operation, demotion: bool) -> str | None:
    """Which register or constant an operation names that there is not; None if there are all."""
    for register in (*registers_read(operation), *registers_written(operation)):
        if not 0 <= register.number < REGISTERS:
            return f"of register {register.number}, of {REGISTERS}"
    for source in operation.sources:
        if isinstance(source.operand, Constant) and not source.operand.relative:
            limit = 4 * MAX_CONSTANT_VECTORS * (2 if source.operand.half and not demotion else 1)
            if not 0 <= source.operand.number < limit:
                return f"of constant {source.operand.number}, of {limit}"
    return None
