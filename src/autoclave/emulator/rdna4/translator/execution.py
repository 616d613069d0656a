"""Where all lanes of a wave are certainly on, and which registers certainly hold what: forward over all ways.

A register into which EXEC went while all were on restores that when it is put back. Masks are known as boolean functions of
conditions that nothing is known of (`Mask`), so that both sides of an if and what is behind it are understood.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from autoclave.emulator.rdna4.instruction import EXEC, Instruction, Literal32, Register, Source
from autoclave.emulator.rdna4.translator.effects import changes_exec
from autoclave.emulator.rdna4.translator.flow import Block

_MOST_CONDITIONS = 4


@dataclass(frozen=True, slots=True)
class Mask:
    """A boolean function of `conditions`: bit i of `table` is its value where condition k holds if bit k of i is set.

    It is meant relative to the lanes that hold a thread: `FULL` are these.
    """

    conditions: tuple[int, ...]
    table: int

    def over(self, conditions: tuple[int, ...]) -> int:
        """Its table as a function of more conditions."""
        places = [conditions.index(condition) for condition in self.conditions]
        table = 0
        for row in range(1 << len(conditions)):
            own = sum((row >> place & 1) << at for at, place in enumerate(places))
            table |= (self.table >> own & 1) << row
        return table


FULL = Mask((), 1)

State = dict[int, Mask]
"""What is known of scalar registers that hold masks."""


def _combined(left: Mask | None, right: Mask | None, operation: str) -> Mask | None:
    """A bitwise operation of two masks; None if nothing is known of it."""
    if left is None or right is None:
        return None
    conditions = tuple(sorted({*left.conditions, *right.conditions}))
    if len(conditions) > _MOST_CONDITIONS:
        return None
    every = (1 << (1 << len(conditions))) - 1
    a, b = left.over(conditions), right.over(conditions)
    table = _TABLES[operation](a, b) & every
    if table in (0, every):
        return Mask((), table & 1)
    return Mask(conditions, table)


_TABLES = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "and_not1": lambda a, b: a & ~b,
    "and_not0": lambda a, b: ~a & b,
}
"""Operations that give no bits beyond those of lanes that hold a thread."""


@dataclass(slots=True)
class Known:
    """What is known where a block begins. literals: vector registers that hold a constant in every lane."""

    masks: State
    literals: dict[int, int]

    def copy(self) -> "Known":
        """The same, to be changed."""
        return Known(dict(self.masks), dict(self.literals))

    def join(self, other: "Known") -> bool:
        """Forget what `other` does not know as well; whether anything was forgotten."""
        before = len(self.masks) + len(self.literals)
        self.masks = {number: mask for number, mask in self.masks.items() if other.masks.get(number) == mask}
        self.literals = {number: bits for number, bits in self.literals.items() if other.literals.get(number) == bits}
        return len(self.masks) + len(self.literals) < before

    @property
    def full(self) -> bool:
        """Whether all lanes that hold a thread are on."""
        return self.masks.get(EXEC) == FULL


@dataclass(slots=True)
class Execution:
    """known: where each block begins. full: for each block, whether all lanes are on before each instruction, and at its end."""

    known: list[Known]
    full: list[tuple[bool, ...]] = field(default_factory=list)


def analyse_execution(blocks: Sequence[Block], all_on: bool = True) -> Execution:
    """What is known everywhere. all_on: in the beginning all lanes are on, or those that are not may be as wrong as they like."""
    begin: dict[int, Known] = {0: Known({EXEC: FULL} if all_on else {}, {})}
    waiting = [0]
    while waiting:
        number = waiting.pop()
        state = begin[number].copy()
        for instruction in blocks[number].instructions:
            _advance(state, instruction)
        for successor in blocks[number].successors:
            if successor not in begin:
                begin[successor] = state.copy()
                waiting.append(successor)
            elif begin[successor].join(state):
                waiting.append(successor)
    found = Execution([begin[block.number] for block in blocks])
    for block in blocks:
        state, full = begin[block.number].copy(), []
        for instruction in block.instructions:
            full.append(state.full)
            _advance(state, instruction)
        found.full.append((*full, state.full))
    return found


def _advance(state: Known, instruction: Instruction) -> None:
    """What is known behind an instruction."""
    parts = instruction.dual or (instruction,)
    literals = [_literal(part, state) for part in parts]
    mask, new_exec = _mask_result(state, instruction)
    was_full = state.full
    for part in parts:
        for destination in part.destinations:
            register = destination.operand
            for number in range(register.number, register.number + max(register.count, 2)):
                known = state.masks if register.file == "s" else state.literals
                if number < register.number + register.count or (register.file == "v" and "64" in destination.type):
                    known.pop(number, None)
    if changes_exec(instruction):
        state.masks.pop(EXEC, None)
        if new_exec is not None:
            state.masks[EXEC] = new_exec
    if mask is not None:
        state.masks[mask[0]] = mask[1]
    for number, bits in (found for found in literals if found is not None):
        if was_full:
            state.literals[number] = bits


def _literal(instruction: Instruction, state: Known) -> tuple[int, int] | None:
    """The vector register that a move fills with a constant, and its bits."""
    if instruction.name not in ("v_mov_b32", "v_dual_mov_b32") or instruction.dpp is not None:
        return None
    operand = instruction.sources[0].operand
    number = instruction.destinations[0].operand.number
    if isinstance(operand, Literal32):
        return number, operand.bits
    if operand.file == "v" and operand.number in state.literals:
        return number, state.literals[operand.number]
    return None


def _source(state: Known, source: Source) -> Mask | None:
    operand = source.operand
    if isinstance(operand, Register) and operand.file == "s" and operand.count == 1:
        return state.masks.get(operand.number)
    return None


def _condition(state: Known, instruction: Instruction) -> Mask:
    """A condition that nothing is known of. What was known by its last value is forgotten."""
    for number, mask in list(state.masks.items()):
        if instruction.pc in mask.conditions:
            del state.masks[number]
    return Mask((instruction.pc,), 0b10)


def _mask_result(state: Known, instruction: Instruction) -> tuple[tuple[int, Mask] | None, Mask | None]:
    """The register that an instruction fills with a known mask, and what is known of the new EXEC."""
    name, exec_before = instruction.name, state.masks.get(EXEC)
    if name.endswith(("_saveexec_b32", "_wrexec_b32")):
        return _saved(state, instruction, exec_before)
    if name.startswith("v_cmpx_"):
        condition = _condition(state, instruction)
        return None, _combined(state.masks.get(EXEC), condition, "and")
    if not instruction.destinations or instruction.destinations[0].operand.file != "s":
        return None, None
    number = instruction.destinations[0].operand.number
    result = _result(state, instruction, exec_before)
    if result is None:
        return None, None
    return (number, result), result if number == EXEC else None


def _result(state: Known, instruction: Instruction, exec_before: Mask | None) -> Mask | None:
    name = instruction.name
    if name == "s_mov_b32":
        return _source(state, instruction.sources[0])
    operation = name.removeprefix("s_").removesuffix("_b32")
    if operation not in _TABLES or len(instruction.sources) != 2:
        return None
    left, right = (_source(state, source) for source in instruction.sources)
    return _combined(left, right, operation)


def _saved(
    state: Known, instruction: Instruction, exec_before: Mask | None
) -> tuple[tuple[int, Mask] | None, Mask | None]:
    operation = instruction.name.removeprefix("s_").rsplit("_", 2)[0]
    number = instruction.destinations[0].operand.number
    source = _source(state, instruction.sources[0])
    if source is None and operation in ("and", "and_not0"):
        source = _condition(state, instruction)
        exec_before = state.masks.get(EXEC)
    new_exec = _combined(source, exec_before, operation) if operation in _TABLES else None
    kept = exec_before if instruction.name.endswith("_saveexec_b32") else new_exec
    return (None if kept is None else (number, kept)), new_exec


def full_at(execution: Execution, blocks: Sequence[Block]) -> Mapping[int, bool]:
    """For each program counter, whether all lanes are on: for tests and people."""
    return {
        instruction.pc: full
        for block in blocks
        for instruction, full in zip(block.instructions, execution.full[block.number], strict=False)
    }
