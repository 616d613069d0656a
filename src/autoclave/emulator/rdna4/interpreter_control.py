"""Control flow of the interpreter: a kernel as basic blocks, each with a function that says which block follows.

Branches are scalar, so a wave is in one place. Where it may go is known before it runs: what jumps to an address in a
register has no rule.
"""

from collections.abc import Callable, Mapping

from autoclave.emulator.rdna4.instruction import EXEC, SCC, VCC, Instruction, Literal32
from autoclave.emulator.rdna4.machine import Machine
from autoclave.emulator.turns import END, Leave, barrier

Code = Mapping[int, Instruction]
"""A kernel's instructions by their program counters."""


def following(instruction: Instruction) -> int:
    """The program counter behind an instruction."""
    return instruction.pc + instruction.size


def _end(machine: Machine, instruction: Instruction) -> Leave:
    return lambda: END


def _barrier(machine: Machine, instruction: Instruction) -> Leave:
    check_barrier(machine, instruction)
    waiting = barrier(following(instruction))
    return lambda: waiting


def _jump(machine: Machine, instruction: Instruction) -> Leave:
    target = branch_target(machine, instruction)
    return lambda: target


def _branch(number: int, wanted: bool) -> Callable[[Machine, Instruction], Leave]:
    """A branch that is taken where whether a scalar register has any bit set is as `wanted`."""

    def bind(machine: Machine, instruction: Instruction) -> Leave:
        scalars, target, otherwise = machine.scalars, branch_target(machine, instruction), following(instruction)
        return lambda: target if (scalars[number] != 0) is wanted else otherwise

    return bind


LEAVING: dict[str, Callable[[Machine, Instruction], Leave]] = {
    "s_endpgm": _end,
    "s_barrier_wait": _barrier,
    "s_branch": _jump,
    "s_cbranch_scc0": _branch(SCC, False),
    "s_cbranch_scc1": _branch(SCC, True),
    "s_cbranch_vccz": _branch(VCC, False),
    "s_cbranch_vccnz": _branch(VCC, True),
    "s_cbranch_execz": _branch(EXEC, False),
    "s_cbranch_execnz": _branch(EXEC, True),
}
"""Instructions that end a block, by name."""

_WORKGROUP_BARRIER = 0xFFFF
"""The barrier of a workgroup is number -1; there are others, for traps and with names."""


def check_barrier(machine: Machine, instruction: Instruction) -> None:
    """Raise `UnknownInstruction` if it is another barrier than that of the workgroup."""
    operands = [source.operand for source in instruction.sources]
    numbers = [one.bits if isinstance(one, Literal32) else None for one in operands] or [instruction.immediate]
    if any(one is None or one & 0xFFFF != _WORKGROUP_BARRIER for one in numbers):
        machine.unknown(instruction.pc, f"{instruction.name} of another barrier than the workgroup's has no rule")


def branch_target(machine: Machine, instruction: Instruction) -> int:
    """The program counter that a branch goes to."""
    if instruction.target is None:
        machine.unknown(instruction.pc, f"{instruction.name} without a target")
    return instruction.target


def successors(machine: Machine, instruction: Instruction) -> tuple[int, ...]:
    """Where a wave may be after `instruction`, which ends a block."""
    if instruction.name == "s_endpgm":
        return ()
    if instruction.name.startswith("s_barrier"):
        return (following(instruction),)
    target = branch_target(machine, instruction)
    return (target,) if instruction.name == "s_branch" else (following(instruction), target)


def reachable_leaders(machine: Machine, code: Code) -> list[int]:
    """Where blocks begin, of those that a wave can reach.

    Raises `UnknownInstruction` if a branch leaves the code or leads into an instruction, or the code ends without `s_endpgm`.
    """
    leaders: set[int] = set()
    seen: set[int] = set()
    waiting = [0]
    while waiting:
        leader = waiting.pop()
        if leader not in leaders:
            leaders.add(leader)
            waiting.extend(_behind(machine, code, leader, seen))
    return sorted(leaders)


def _behind(machine: Machine, code: Code, leader: int, seen: set[int]) -> tuple[int, ...]:
    """Where a wave goes from the block that begins at `leader`; nowhere new if it runs into what was `seen` before."""
    pc = leader
    while pc in code:
        if pc in seen:
            return ()
        seen.add(pc)
        if code[pc].name in LEAVING:
            return successors(machine, code[pc])
        pc = following(code[pc])
    machine.unknown(pc, "control comes to where no instruction begins; s_endpgm is missing, or a branch is wild")
