"""Tracing one thread of a launch: every instruction it executes, with what it reads and what it writes.

    for executed in trace_thread(launch, (0, 0, 0), 5): ...

The other threads of its workgroup run as well where the kernel has barriers; nothing is written to the launch's memory.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from autoclave.emulator.a630.instruction import Constant, Immediate, Instruction, Register
from autoclave.emulator.a630.interpreter import Interpreter
from autoclave.emulator.a630.interpreter_alu import reads_floats
from autoclave.emulator.a630.interpreter_operands import Binder, Read
from autoclave.emulator.a630.launch import kernel_of
from autoclave.emulator.a630.machine import Machine
from autoclave.emulator.a630.sharing import works_together
from autoclave.emulator.a630.text import operand_text
from autoclave.emulator.interpretation import DEFAULT_BUDGET
from autoclave.emulator.launch import Launch, Size3
from autoclave.emulator.overlay import Overlay
from autoclave.emulator.turns import Step


@dataclass(frozen=True, slots=True)
class Value:
    """A register or constant, by Mesa's name, and its bits, 16 of them if `half`."""

    name: str
    bits: int
    half: bool


@dataclass(frozen=True, slots=True)
class Executed:
    """One execution of an instruction, or one repetition of it: values read before and written after."""

    instruction: Instruction
    repetition: int
    reads: tuple[Value, ...]
    writes: tuple[Value, ...]


Report = Callable[[Executed], None]
"""Is told each execution as it happens; may raise to end the trace."""


def trace_thread(launch: Launch, workgroup: Size3, thread: int, report: Report, budget: int = DEFAULT_BUDGET) -> int:
    """Run a thread and tell `report` of each instruction; returns how many were executed, other threads' included.

    Raises what the interpreter raises, after all executions before that were reported.
    """
    interpreter = Interpreter(kernel_of(launch), _observer(report))
    threads = None if works_together(interpreter.instructions) else [thread]
    return interpreter.run_workgroup(launch, workgroup, Overlay(), threads, budget, observed=thread)


def _observer(report: Report) -> Callable[[Machine, Instruction, tuple[Step, ...]], tuple[Step, ...]]:
    def observe(machine: Machine, instruction: Instruction, steps: tuple[Step, ...]) -> tuple[Step, ...]:
        if len(steps) == instruction.repeat + 1:
            return tuple(_watched(machine, instruction, at, (step,), report) for at, step in enumerate(steps))
        return (_watched(machine, instruction, 0, steps, report),)

    return observe


def _watched(
    machine: Machine, instruction: Instruction, repetition: int, steps: tuple[Step, ...], report: Report
) -> Step:
    """One step that does what `steps` do and reports it."""
    reads = _named_reads(machine, instruction, repetition)
    writes = _named_writes(machine, instruction, repetition)

    def step() -> None:
        before = tuple(value() for value in reads)
        for one in steps:
            one()
        report(Executed(instruction, repetition, before, tuple(value() for value in writes)))

    return step


def _named_reads(machine: Machine, instruction: Instruction, repetition: int) -> list[Callable[[], Value]]:
    floating = reads_floats(instruction) or (instruction.category == 1 and instruction.source_type in ("f16", "f32"))
    binder = Binder(machine, instruction, floating)
    found = []
    for place, source in enumerate(instruction.sources):
        step = repetition if source.repeated else 0
        if not isinstance(source.operand, Immediate):
            found += [
                _value(binder.read(source.operand, step + at), source.operand, step + at)
                for at in range(_registers_read(instruction, place))
            ]
    return found


def _named_writes(machine: Machine, instruction: Instruction, repetition: int) -> list[Callable[[], Value]]:
    binder = Binder(machine, instruction)
    return [
        _value(binder.read(destination, repetition + at), destination, repetition + at)
        for destination in instruction.destinations
        for at in _registers_written(instruction)
    ]


def _value(read: Read, operand: Register | Constant, step: int) -> Callable[[], Value]:
    name, half = operand_text(replace(operand, number=operand.number + step)), operand.half
    return lambda: Value(name, read(), half)


def _registers_read(instruction: Instruction, place: int) -> int:
    """How many registers from the named one on the source in this `place` stands for."""
    span = _SPANS.get((instruction.name, place))
    return 1 if span is None else span(instruction)


def _pair(_: Instruction) -> int:
    return 2


def _count(instruction: Instruction) -> int:
    return instruction.count


_SPANS: dict[tuple[str, int], Callable[[Instruction], int]] = {
    **{(name, 0): _pair for name in ("ldg", "ldg.a", "stg", "stg.a", "isam", "ldib.b")},
    ("stg", 1): _count,
    ("stg.a", 2): _count,
    ("stl", 1): _count,
    ("stp", 1): _count,
    ("stib.b", 0): _count,
    ("stib.b", 1): _pair,
    ("sct", 0): lambda instruction: len(instruction.destinations),
}
"""Sources of more than one register, by instruction and place: addresses of 64 bits, coordinates, data."""


def _registers_written(instruction: Instruction) -> list[int]:
    """Which registers from the named one on an instruction writes."""
    if instruction.name.startswith("atomic."):
        return [0]
    if instruction.image is not None:
        return [component for component in range(4) if instruction.image.mask >> component & 1]
    if instruction.name == "gat":
        return list(range(len(instruction.sources)))
    return list(range(instruction.count if instruction.category == 6 else 1))
