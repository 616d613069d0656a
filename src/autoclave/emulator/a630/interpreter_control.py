"""Control flow of the interpreter: a kernel as basic blocks, each with a function that says which block follows.

A thread is alone, so a branch is a choice and nothing diverges. A thread for which a predicated region is not meant goes
straight to the region's next mark: predt and predf look at p0.x where a region begins, and the region keeps that choice
until its prede, whatever is written to p0.x within.
"""

from collections.abc import Callable, Mapping, Sequence

from autoclave.emulator.a630.instruction import PREDICATE_REGISTER, Instruction, Register, Source
from autoclave.emulator.a630.machine import Machine
from autoclave.emulator.turns import END, Leave, barrier

Leaving = Callable[[Machine, Instruction, Mapping[int, int]], Leave]
"""Makes the end of a block from the instruction that ends it; the mapping gives each region mark's next mark."""


def _end(machine: Machine, instruction: Instruction, marks: Mapping[int, int]) -> Leave:
    return lambda: END


def _barrier(machine: Machine, instruction: Instruction, marks: Mapping[int, int]) -> Leave:
    waiting = barrier(instruction.pc + 1)
    return lambda: waiting


def _jump(machine: Machine, instruction: Instruction, marks: Mapping[int, int]) -> Leave:
    target = branch_target(instruction)
    return lambda: target


def _any(conditions: Sequence[Callable[[], bool]]) -> Callable[[], bool]:
    first, second = conditions
    return lambda: first() or second()


def _all(conditions: Sequence[Callable[[], bool]]) -> Callable[[], bool]:
    first, second = conditions
    return lambda: first() and second()


def _one(conditions: Sequence[Callable[[], bool]]) -> Callable[[], bool]:
    (only,) = conditions
    return only


_CONDITIONS = {"br": _one, "brao": _any, "braa": _all, "kill": _one}


def _branch(machine: Machine, instruction: Instruction, marks: Mapping[int, int]) -> Leave:
    taken = _CONDITIONS[instruction.name]([_condition(machine, source) for source in instruction.sources])
    target = END if instruction.name == "kill" else branch_target(instruction)
    following = instruction.pc + 1
    return lambda: target if taken() else following


def _condition(machine: Machine, source: Source) -> Callable[[], bool]:
    assert isinstance(source.operand, Register)
    registers, number, negated = machine.registers, source.operand.number, source.negated
    return lambda: (registers[number] != 0) is not negated


def _region(machine: Machine, instruction: Instruction, marks: Mapping[int, int]) -> Leave:
    """predt and predf."""
    registers, wanted = machine.registers, instruction.name == "predt"
    inside, outside = instruction.pc + 1, marks[instruction.pc]

    def leave() -> int:
        if machine.region is None:
            machine.region = registers[PREDICATE_REGISTER] != 0
        return inside if machine.region is wanted else outside

    return leave


def _region_end(machine: Machine, instruction: Instruction, marks: Mapping[int, int]) -> Leave:
    following = instruction.pc + 1

    def leave() -> int:
        machine.region = None
        return following

    return leave


LEAVING: dict[str, Leaving] = {
    "end": _end,
    "bar": _barrier,
    "jump": _jump,
    "br": _branch,
    "brao": _branch,
    "braa": _branch,
    "kill": _branch,
    "predt": _region,
    "predf": _region,
    "prede": _region_end,
}
"""Instructions that end a block, by name."""

_MARKS = frozenset({"predt", "predf", "prede"})


def branch_target(instruction: Instruction) -> int:
    """The program counter that a branch or jump goes to."""
    assert instruction.target is not None
    return instruction.pc + instruction.target


def region_marks(instructions: Sequence[Instruction]) -> dict[int, int]:
    """The program counter of the mark that follows each predt and predf."""
    found = [instruction.pc for instruction in instructions if instruction.name in _MARKS]
    following = dict(zip(found, found[1:], strict=False))
    return {pc: following[pc] for pc in found if instructions[pc].name != "prede" and pc in following}


def successors(machine: Machine, instruction: Instruction, marks: Mapping[int, int]) -> tuple[int, ...]:
    """Where a thread may be after `instruction`, which ends a block. Raises `UnknownInstruction` for a lone predt."""
    following, name = instruction.pc + 1, instruction.name
    if name == "end":
        return ()
    if name == "jump":
        return (branch_target(instruction),)
    if name in ("br", "brao", "braa"):
        return (following, branch_target(instruction))
    if name in ("predt", "predf"):
        if instruction.pc not in marks:
            machine.unknown(instruction.pc, f"{name} without a prede")
        return (following, marks[instruction.pc])
    return (following,)


def reachable_leaders(machine: Machine, instructions: Sequence[Instruction], marks: Mapping[int, int]) -> list[int]:
    """Where blocks begin, of those that a thread can reach.

    Raises `UnknownInstruction` if a branch leaves the code, or the code ends without `end`.
    """
    leaders: set[int] = set()
    seen: set[int] = set()
    waiting = [0]
    while waiting:
        leader = waiting.pop()
        if leader not in leaders:
            leaders.add(leader)
            waiting.extend(_behind(machine, instructions, marks, leader, seen))
    return sorted(leaders)


def _behind(
    machine: Machine, instructions: Sequence[Instruction], marks: Mapping[int, int], leader: int, seen: set[int]
) -> tuple[int, ...]:
    """Where a thread goes from the block that begins at `leader`; nowhere new if it runs into what was `seen` before."""
    pc = leader
    while 0 <= pc < len(instructions):
        if pc in seen:
            return ()
        seen.add(pc)
        if instructions[pc].name in LEAVING:
            return successors(machine, instructions[pc], marks)
        pc += 1
    machine.unknown(
        pc,
        f"control leaves the code, which has {len(instructions)} instructions; it lacks an `end`, or a branch is wild",
    )
