"""Instructions taken apart: one operation for each repetition, with the registers that it reads and writes.

A location is a register's place as a number: full registers by their number, half ones from `HALF` on. With merged
registers a half register's location is that of the full one that it is part of.
"""

from dataclasses import dataclass, replace

from autoclave.emulator.a630.instruction import (
    ADDRESS_REGISTER,
    Immediate,
    Instruction,
    Register,
    Source,
)

REGISTERS = 256
"""Components of a register file that an instruction can name."""

HALF = REGISTERS

_COORDINATES = 2
_ADDRESS_WORDS = 2


@dataclass(frozen=True, slots=True)
class Operation:
    """One execution of `instruction`: its `step`-th repetition, with the operands of that step."""

    instruction: Instruction
    sources: tuple[Source, ...]
    destinations: tuple[Register, ...]

    @property
    def name(self) -> str:
        """The instruction's mnemonic."""
        return self.instruction.name

    @property
    def pc(self) -> int:
        """The instruction's place."""
        return self.instruction.pc


def expand(instruction: Instruction) -> tuple[Operation, ...]:
    """`instruction` as it is executed: once, and once more for each repetition."""
    instruction = _with_full_sources(instruction)
    if instruction.repeat == 0:
        return (Operation(instruction, instruction.sources, instruction.destinations),)
    return tuple(
        Operation(
            instruction,
            tuple(_stepped(source, step) for source in instruction.sources),
            tuple(replace(register, number=register.number + step) for register in instruction.destinations),
        )
        for step in range(instruction.repeat + 1)
    )


def _with_full_sources(instruction: Instruction) -> Instruction:
    """mad.u16 with a full destination reads full registers, which its encoding calls half; all else stays as it is."""
    if instruction.name != "mad.u16" or instruction.destinations[0].half:
        return instruction
    sources = (replace(source, operand=replace(source.operand, half=False)) for source in instruction.sources)
    return replace(instruction, sources=tuple(sources))


def _stepped(source: Source, step: int) -> Source:
    if not source.repeated or step == 0 or isinstance(source.operand, Immediate):
        return source
    return replace(source, operand=replace(source.operand, number=source.operand.number + step))


def plus(register: Register, distance: int) -> Register:
    """The register `distance` components on."""
    return replace(register, number=register.number + distance) if distance else register


def location(register: Register, merged: bool) -> int:
    """Where `register`, not a relative one, is kept."""
    if not register.half or register.number >= ADDRESS_REGISTER:
        return register.number
    return register.number >> 1 if merged else HALF + register.number


def registers_read(operation: Operation) -> tuple[Register, ...]:
    """All registers that the operation reads, those that follow a named one included."""
    counts = _COUNTS.get(operation.name.split(".")[0])
    found: list[Register] = []
    for index, source in enumerate(operation.sources):
        if isinstance(source.operand, Register) and not source.operand.relative:
            count = counts(operation.instruction, index) if counts else 1
            found.extend(plus(source.operand, step) for step in range(count))
    return (*found, Register(ADDRESS_REGISTER)) if is_indirect(operation) else tuple(found)


def is_indirect(operation: Operation) -> bool:
    """Whether an operand is named by a0.x."""
    operands = (*(source.operand for source in operation.sources), *operation.destinations)
    return any(not isinstance(operand, Immediate) and operand.relative for operand in operands)


def names_registers_indirectly(operation: Operation) -> bool:
    """Whether a register, not a constant, is named by a0.x."""
    operands = (*(source.operand for source in operation.sources), *operation.destinations)
    return any(isinstance(operand, Register) and operand.relative for operand in operands)


def _load_counts(instruction: Instruction, index: int) -> int:
    return _ADDRESS_WORDS if instruction.name.startswith("ldg") and index == 0 else 1


def _store_counts(instruction: Instruction, index: int) -> int:
    if index == len(instruction.sources) - 1:
        return instruction.count
    return _ADDRESS_WORDS if instruction.name.startswith("stg") and index == 0 else 1


def _image_load_counts(instruction: Instruction, index: int) -> int:
    return _COORDINATES if index == 0 else 1


def _image_store_counts(instruction: Instruction, index: int) -> int:
    return (4, _COORDINATES)[index] if index < 2 else 1


def _atomic_counts(instruction: Instruction, index: int) -> int:
    """Of atomic.g: a 64-bit address; the value that is exchanged stands in the pair (compared with, new) for cmpxchg."""
    if index == 0 and instruction.name.startswith("atomic.g"):
        return _ADDRESS_WORDS
    return 2 if index == len(instruction.sources) - 1 and instruction.name.endswith("cmpxchg") else 1


def _gather_counts(instruction: Instruction, index: int) -> int:
    return 4


_COUNTS = {
    "ldg": _load_counts,
    "ldl": _load_counts,
    "ldp": _load_counts,
    "stg": _store_counts,
    "stl": _store_counts,
    "stp": _store_counts,
    "isam": _image_load_counts,
    "ldib": _image_load_counts,
    "stib": _image_store_counts,
    "atomic": _atomic_counts,
    "sct": _gather_counts,
}
"""How many registers a source names, by the first part of the mnemonic; one where there is no entry."""


def registers_written(operation: Operation) -> tuple[Register, ...]:
    """All registers that the operation writes."""
    instruction = operation.instruction
    if not operation.destinations:
        return ()
    first = operation.destinations[0]
    if instruction.image is not None and not instruction.name.startswith("atomic"):
        return tuple(plus(first, component) for component in range(4) if instruction.image.mask >> component & 1)
    if instruction.name.split(".")[0] in ("ldg", "ldl", "ldp"):
        return tuple(plus(first, step) for step in range(instruction.count))
    if instruction.name == "gat":
        return tuple(plus(first, step) for step in range(4))
    return tuple(register for register in operation.destinations if not register.relative)
