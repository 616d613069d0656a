"""Scalar arithmetic of the interpreter: operations of `lanewise` on scalar registers, SCC and EXEC; v_s_* are such, too."""

from autoclave.emulator.rdna4.instruction import EXEC, SCC, Destination, Instruction, Register
from autoclave.emulator.rdna4.interpreter_operands import Binder, Write
from autoclave.emulator.rdna4.lanewise import SCALAR_OPERATIONS
from autoclave.emulator.rdna4.lanewise.modifiers import clamp, multiply_output
from autoclave.emulator.rdna4.machine import Machine
from autoclave.emulator.turns import Step

_WORD = 0xFFFFFFFF


def scalar_arithmetic(machine: Machine, instruction: Instruction) -> Step:
    """Any operation of `SCALAR_OPERATIONS`. Raises `UnknownInstruction` for others."""
    if instruction.name not in SCALAR_OPERATIONS:
        machine.unknown(instruction.pc, f"{instruction.name} has no rule")
    operation, binder, scalars = SCALAR_OPERATIONS[instruction.name], Binder(machine, instruction), machine.scalars
    reads = [binder.read(source) for source in instruction.sources]
    if instruction.encoding == "SOPK":
        immediate = instruction.immediate & _WORD
        reads.insert(0, lambda: immediate)
    writes = [finished(binder, binder.write(destination)) for destination in instruction.destinations]
    if operation.takes_exec:
        executed = Register("s", EXEC)
        reads.append(binder.read_plain(executed))
        writes.append(binder.write(Destination(executed, "b32")))
    compute = operation.compute

    def step() -> None:
        results, condition = compute(scalars[SCC], *(read() for read in reads))
        for write, result in zip(writes, results, strict=True):
            write(result)
        if condition is not None:
            scalars[SCC] = condition

    return step


def finished(binder: Binder, write: Write) -> Write:
    """`write`, with the OMOD and CLAMP that v_s_* has."""
    instruction = binder.instruction
    if not instruction.multiplier and not instruction.clamp:
        return write
    kind, multiplier, clamped = instruction.sources[0].type, instruction.multiplier, instruction.clamp

    def finish(bits: int) -> None:
        scaled = multiply_output(bits, kind, multiplier)
        write(clamp(scaled, kind) if clamped else scaled)

    return finish
