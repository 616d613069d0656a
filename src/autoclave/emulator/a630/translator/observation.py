"""Which registers are read later, and how: as bits, or as operands of the float ALU.

Backward over all ways, sets of locations as bits of an integer. A register whose bits nobody looks at may hold a NaN that
is not canonical; one that no float operation reads may hold a number that LLVM knows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from autoclave.emulator.a630.instruction import Register
from autoclave.emulator.a630.translator import alu, moves
from autoclave.emulator.a630.translator.flow import Block
from autoclave.emulator.a630.translator.operations import HALF, Operation, location, registers_read, registers_written
from autoclave.emulator.a630.translator.uniformity import bits_of


@dataclass(frozen=True, slots=True)
class Uses:
    """Sets of locations: read at all, looked at as bits, looked at as floats."""

    live: int
    observed: int
    floats: int

    def __or__(self, other: "Uses") -> "Uses":
        return Uses(self.live | other.live, self.observed | other.observed, self.floats | other.floats)


NOTHING = Uses(0, 0, 0)
_ALL = (1 << 2 * HALF) - 1
EVERYTHING = Uses(_ALL, _ALL, _ALL)


@dataclass(frozen=True, slots=True)
class Effect:
    """What an operation does to uses that follow it. passed: sources that become what `written` is used for."""

    written: int
    kills: bool
    live: int
    observed: int
    floats: int
    passed: int

    def before(self, after: Uses, masked: bool) -> Uses:
        """The uses in front of the operation. masked: it runs with some of the lanes, so that others keep what they had."""
        keep = -1 if masked or not self.kills else ~self.written
        observed = after.observed & keep | self.observed
        floats = after.floats & keep | self.floats
        if self.passed:
            observed |= self.passed if after.observed & self.written else 0
            floats |= self.passed if after.floats & self.written else 0
        return Uses(after.live & keep | self.live, observed, floats)


def effect_of(operation: Operation, merged: bool) -> Effect:
    """The effect of one operation."""
    instruction = operation.instruction
    written = registers_written(operation)
    live = bits_of(location(register, merged) for register in registers_read(operation))
    observed = floats = passed = 0
    if instruction.category in (2, 3, 4):
        for index, source in enumerate(operation.sources):
            if isinstance(source.operand, Register) and not source.operand.relative:
                place = 1 << location(source.operand, merged)
                how = alu.reads_of(instruction, index)
                observed |= place if how == "bits" else 0
                floats |= place if how == "float" else 0
                passed |= place if how == "chosen" else 0
    elif instruction.category == 1 and moves.is_plain(instruction):
        passed = live
    else:
        observed = floats = live
    whole = not (merged and any(register.half for register in written))
    if not whole:
        observed, floats = observed | live, floats | live
    return Effect(bits_of(location(register, merged) for register in written), whole, live, observed, floats, passed)


def analyse_uses(blocks: Sequence[Block], effects: Sequence[Sequence[Effect]], masked: Sequence[bool]) -> list[Uses]:
    """The uses at the start of each block."""
    starts = [NOTHING] * len(blocks)
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            uses = uses_behind(block, starts)
            for effect in reversed(effects[block.number]):
                uses = effect.before(uses, masked[block.number])
            if uses != starts[block.number]:
                starts[block.number] = uses
                changed = True
    return starts


def uses_behind(block: Block, starts: Sequence[Uses]) -> Uses:
    """The uses at the end of a block."""
    uses = NOTHING
    for number in block.successors:
        uses |= starts[number]
    if block.condition:
        sources = block.condition.sources
        predicates = bits_of(source.operand.number for source in sources if isinstance(source.operand, Register))
        uses |= Uses(predicates, predicates, 0)
    return uses
