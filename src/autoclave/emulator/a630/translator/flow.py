"""Control flow of a kernel: basic blocks, and the branches between them.

Predicated regions become branches: a lane for which a region is not meant goes to the region's other part or its end.
predt and predf look at p0.x where a region begins; the region keeps that choice until its prede. So a block is known by
its program counter and by the choice of the region that it lies in.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from autoclave.emulator.a630.instruction import PREDICATE_REGISTER, Instruction, Register, Source
from autoclave.emulator.a630.translator.operations import Operation, expand, is_indirect
from autoclave.errors import UnknownInstruction

END = -1
"""The block number that stands for the thread's end."""

MAX_BLOCKS = 1024
MAX_OPERATIONS = 1 << 16
MAX_ACCESSES = 1 << 12
"""More than any kernel has; they bound what a hostile one can cost to translate."""

Key = tuple[int, bool | None]
"""A program counter, and inside a region whether p0.x was set where it began."""

_PREDICATE = Source(Register(PREDICATE_REGISTER))


@dataclass(frozen=True, slots=True)
class Condition:
    """A branch's condition: any or all of `sources`, each a predicate that may be negated."""

    sources: tuple[Source, ...]
    every: bool = False


@dataclass(slots=True)
class Block:
    """Operations that run one after the other.

    weight: instructions, with repetitions, the branch included. target: the block that follows, or the one that lanes go
    to where `condition` holds, others to `other`. barrier: lanes wait for the workgroup before they go on.
    """

    number: int
    pc: int
    operations: tuple[Operation, ...]
    weight: int
    target: int = END
    condition: Condition | None = None
    other: int = END
    barrier: bool = False

    @property
    def successors(self) -> tuple[int, ...]:
        """Numbers of blocks that may follow, `END` excluded."""
        both = (self.target, self.other) if self.condition else (self.target,)
        return tuple(dict.fromkeys(number for number in both if number != END))


@dataclass(slots=True)
class _Piece:
    """A block before it has a number."""

    operations: list[Operation] = field(default_factory=list)
    weight: int = 0
    target: Key | None = None
    condition: Condition | None = None
    other: Key | None = None
    barrier: bool = False


def find_blocks(instructions: Sequence[Instruction], kernel: str) -> tuple[Block, ...]:
    """The reachable blocks in the order of their program counters; the first is the entry.

    Raises `UnknownInstruction` if control leaves the code, or regions are entered in a way that has no rule.
    """
    return _Finder(instructions, kernel).blocks()


class _Finder:
    def __init__(self, instructions: Sequence[Instruction], kernel: str) -> None:
        self._instructions = instructions
        self._kernel = kernel
        self._marks = _region_marks(instructions)
        self._leaders: dict[int, bool | None] = {}
        self._seen: dict[int, bool | None] = {}

    def blocks(self) -> tuple[Block, ...]:
        self._find_leaders()
        pieces = {pc: self._piece(pc, region) for pc, region in sorted(self._leaders.items())}
        operations = [operation for piece in pieces.values() for operation in piece.operations]
        if len(pieces) > MAX_BLOCKS or len(operations) > MAX_OPERATIONS:
            raise self._error(0, f"it has more than {MAX_BLOCKS} blocks or {MAX_OPERATIONS} operations")
        if sum(_branches_on_the_host(operation) for operation in operations) > MAX_ACCESSES:
            raise self._error(0, f"it has more than {MAX_ACCESSES} accesses to memory, or to registers that a0.x names")
        numbers = {pc: number for number, pc in enumerate(pieces)}
        return tuple(_numbered(numbers, pc, piece) for pc, piece in pieces.items())

    def _error(self, pc: int, what: str) -> UnknownInstruction:
        return UnknownInstruction(f"kernel {self._kernel!r}, pc {pc}: {what}")

    def _find_leaders(self) -> None:
        """Follow control through every reachable instruction once."""
        visited: dict[int, bool | None] = {}
        waiting: list[Key] = [(0, None)]
        while waiting:
            pc, region = waiting.pop()
            self._lead(pc, region)
            while pc not in visited:
                visited[pc] = region
                instruction = self._at(pc)
                ending = _ENDINGS.get(instruction.name)
                if ending is not None:
                    piece = _Piece()
                    ending(self, piece, instruction, region)
                    waiting.extend(key for key in (piece.target, piece.other) if key is not None)
                    break
                pc += 1
            if visited[pc] != region:
                raise self._error(pc, "it is reached both inside and outside of a predicated region")

    def _lead(self, pc: int, region: bool | None) -> None:
        if self._leaders.setdefault(pc, region) != region:
            raise self._error(pc, "it is reached both inside and outside of a predicated region")

    def _at(self, pc: int) -> Instruction:
        if not 0 <= pc < len(self._instructions):
            raise self._error(
                pc, f"control leaves the code of {len(self._instructions)} instructions: a wild branch, or no `end`"
            )
        return self._instructions[pc]

    def _piece(self, pc: int, region: bool | None) -> _Piece:
        piece = _Piece()
        while True:
            instruction = self._at(pc)
            piece.weight += 1 + instruction.repeat
            ending = _ENDINGS.get(instruction.name)
            if ending is not None:
                ending(self, piece, instruction, region)
                return piece
            if instruction.name not in NOTHING:
                piece.operations.extend(expand(instruction))
            pc += 1
            if pc in self._leaders:
                piece.target = (pc, region)
                return piece

    # What instructions that end a block do

    def end(self, piece: _Piece, instruction: Instruction, region: bool | None) -> None:
        """end."""

    def barrier(self, piece: _Piece, instruction: Instruction, region: bool | None) -> None:
        """bar."""
        piece.barrier = True
        piece.target = (instruction.pc + 1, region)

    def jump(self, piece: _Piece, instruction: Instruction, region: bool | None) -> None:
        """jump."""
        piece.target = (_target(instruction), region)

    def branch(self, piece: _Piece, instruction: Instruction, region: bool | None) -> None:
        """br, brao, braa."""
        piece.condition = Condition(instruction.sources, every=instruction.name == "braa")
        piece.target = (_target(instruction), region)
        piece.other = (instruction.pc + 1, region)

    def kill(self, piece: _Piece, instruction: Instruction, region: bool | None) -> None:
        """kill."""
        piece.condition = Condition(instruction.sources)
        piece.other = (instruction.pc + 1, region)

    def begin_region(self, piece: _Piece, instruction: Instruction, region: bool | None) -> None:
        """predt and predf."""
        wanted = instruction.name == "predt"
        inside = instruction.pc + 1
        if region is not None:
            piece.target = (inside, region) if region is wanted else self._past(instruction, region)
            return
        piece.condition = Condition((_PREDICATE if wanted else Source(_PREDICATE.operand, negated=True),))
        piece.target = (inside, wanted)
        piece.other = self._past(instruction, not wanted)

    def _past(self, instruction: Instruction, region: bool) -> Key:
        """Where lanes of `region` go on that are not meant by the predt or predf `instruction`."""
        pc = self._marks.get(instruction.pc)
        while pc is not None:
            mark = self._instructions[pc].name
            if mark == "prede":
                return (pc + 1, None)
            if (mark == "predt") is region:
                return (pc + 1, region)
            pc = self._marks.get(pc)
        raise self._error(instruction.pc, f"{instruction.name} without a prede")

    def end_region(self, piece: _Piece, instruction: Instruction, region: bool | None) -> None:
        """prede."""
        piece.target = (instruction.pc + 1, None)


def _branches_on_the_host(operation: Operation) -> bool:
    """Whether host code of an operation checks an address: that takes long to make, and room on the host's stack."""
    return operation.instruction.category in (5, 6) or is_indirect(operation)


def _target(instruction: Instruction) -> int:
    assert instruction.target is not None
    return instruction.pc + instruction.target


_ENDINGS = {
    "end": _Finder.end,
    "bar": _Finder.barrier,
    "jump": _Finder.jump,
    "br": _Finder.branch,
    "brao": _Finder.branch,
    "braa": _Finder.branch,
    "kill": _Finder.kill,
    "predt": _Finder.begin_region,
    "predf": _Finder.begin_region,
    "prede": _Finder.end_region,
}
"""Instructions that end a block."""

NOTHING = frozenset({"nop", "fence"})
"""Instructions without an effect: lanes run in order, and memory is coherent."""

_MARKS = frozenset({"predt", "predf", "prede"})


def _region_marks(instructions: Sequence[Instruction]) -> dict[int, int]:
    """The place of the mark that follows each predt and predf."""
    found = [instruction.pc for instruction in instructions if instruction.name in _MARKS]
    return dict(zip(found, found[1:], strict=False))


def _numbered(numbers: Mapping[int, int], pc: int, piece: _Piece) -> Block:
    def number(key: Key | None) -> int:
        return END if key is None else numbers[key[0]]

    return Block(
        number=numbers[pc],
        pc=pc,
        operations=tuple(piece.operations),
        weight=piece.weight,
        target=number(piece.target),
        condition=piece.condition,
        other=number(piece.other),
        barrier=piece.barrier,
    )
