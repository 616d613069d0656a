"""Tracing one thread of a launch: every instruction that its wave executes, with what that thread reads and what it writes.

    trace_thread(launch, (0, 0, 0), 5, report)

The other waves of its workgroup run as well where they see each other; nothing is written to the launch's memory.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from autoclave.emulator.interpretation import DEFAULT_BUDGET
from autoclave.emulator.launch import Launch, Size3, thread_count
from autoclave.emulator.overlay import Overlay
from autoclave.emulator.rdna4.instruction import (
    EXEC,
    M0,
    NULL,
    SCC,
    TTMP,
    VCC,
    Destination,
    Instruction,
    Literal32,
    Register,
    Source,
)
from autoclave.emulator.rdna4.interpreter import Interpreter, Observer
from autoclave.emulator.rdna4.interpreter_operands import Binder
from autoclave.emulator.rdna4.launch import kernel_of
from autoclave.emulator.rdna4.machine import WAVE, Machine
from autoclave.emulator.rdna4.sharing import works_together
from autoclave.emulator.turns import Step
from autoclave.errors import EmulationError


@dataclass(frozen=True, slots=True)
class Value:
    """A register or part of one, by AMD's name, as the thread sees it: its bits, and their type as in the manual."""

    name: str
    bits: int
    type: str


@dataclass(frozen=True, slots=True)
class Executed:
    """One execution of an instruction: values read before and written after. enabled: false if EXEC lacks the thread's lane."""

    instruction: Instruction
    enabled: bool
    reads: tuple[Value, ...]
    writes: tuple[Value, ...]


Report = Callable[[Executed], None]
"""Is told each execution as it happens; may raise to end the trace."""


def trace_thread(launch: Launch, workgroup: Size3, thread: int, report: Report, budget: int = DEFAULT_BUDGET) -> int:
    """Run a thread's wave and tell `report` of each instruction; returns how many were executed, of all threads that ran.

    Raises what the interpreter raises, after all executions before that were reported.
    """
    if not 0 <= thread < thread_count(launch):
        raise EmulationError(
            f"kernel {launch.kernel.name!r}: there is no thread {thread} in a workgroup of {thread_count(launch)}"
        )
    wave, lane = divmod(thread, WAVE)
    interpreter = Interpreter(kernel_of(launch), _observer(report, lane))
    waves = None if works_together(interpreter.instructions) else [wave]
    return interpreter.run_workgroup(launch, workgroup, Overlay(), waves, budget, observed=wave)


def _observer(report: Report, lane: int) -> Observer:
    def observe(machine: Machine, instruction: Instruction, step: Step | None) -> Step:
        parts = instruction.dual or (instruction,)
        reads = [value for part in parts for value in _values(machine, part, part.sources, lane)]
        writes = [value for part in parts for value in _values(machine, part, part.destinations, lane)]
        scalars, scalar = machine.scalars, instruction.encoding in _SCALAR

        def watched() -> None:
            state = {number: scalars[number] for number in _UNNAMED}
            before = tuple(value() for value in reads)
            if step is not None:
                step()
            changed = [
                Value(name_of(Register("s", number)), scalars[number], "b32")
                for number, bits in state.items()
                if scalars[number] != bits
            ]
            report(
                Executed(
                    instruction,
                    scalar or bool(state[EXEC] >> lane & 1),
                    before,
                    (*(value() for value in writes), *changed),
                )
            )

        return watched

    return observe


_SCALAR = ("SOP1", "SOP2", "SOPC", "SOPK", "SOPP", "SMEM")
"""Encodings of what the wave does whatever EXEC is."""

_UNNAMED = (SCC, EXEC)
"""What instructions change without naming it; shown if it changes."""


def _values(
    machine: Machine, instruction: Instruction, operands: Sequence[Source | Destination], lane: int
) -> Iterator[Callable[[], Value]]:
    """What the thread in `lane` finds in registers: of operands of more than 64 bits, one value for each register."""
    binder = Binder(machine, instruction)
    for one in operands:
        register = one.operand
        if isinstance(register, Literal32) or register.number in (NULL, EXEC):
            continue
        if register.count <= _PAIR:
            yield _value(binder, register, one.type, lane)
        else:
            for at in range(register.count):
                yield _value(binder, Register(register.file, register.number + at), "b32", lane)


_PAIR = 2


def _value(binder: Binder, register: Register, kind: str, lane: int) -> Callable[[], Value]:
    name = name_of(register)
    if register.file == "s":
        read = binder.read_plain(register, kind)
        return lambda: Value(name, read(), kind)
    read_lanes, lanes = binder.read_plain_lanes(register, kind), (lane,)
    return lambda: Value(name, read_lanes(lanes)[0], kind)


_NAMES = {VCC: "vcc_lo", VCC + 1: "vcc_hi", M0: "m0", EXEC: "exec_lo", EXEC + 1: "exec_hi", SCC: "scc"}


def name_of(register: Register) -> str:
    """A register as assembly names it: "v3", "s[2:3]", "vcc_lo", "ttmp9", "v3.h"."""
    number = register.number
    prefix: str = register.file
    if prefix == "s" and number in _NAMES:
        return _NAMES[number] if register.count == 1 else _NAMES[number].removesuffix("_lo")
    if prefix == "s" and number >= TTMP:
        number, prefix = number - TTMP, "ttmp"
    if register.count > 1:
        return f"{prefix}[{number}:{number + register.count - 1}]"
    return f"{prefix}{number}{'.h' if register.high else ''}"
