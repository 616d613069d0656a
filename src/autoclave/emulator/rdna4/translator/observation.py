"""Which registers are read later, whose bits are looked at, and what lanes that are off have to keep: backward over all ways.

A lane that is off keeps what its registers hold. Nobody sees that before EXEC changes again, and often nobody does at all: most of what is
computed while some lanes are off is read only there. `kept` are the places of which lanes that are off may yet be asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from autoclave.emulator.rdna4.translator.effects import ALWAYS, Effect, read_by_condition
from autoclave.emulator.rdna4.translator.execution import Execution
from autoclave.emulator.rdna4.translator.flow import Block


@dataclass(frozen=True, slots=True)
class Uses:
    """Sets of places that are read later.

    live: read at all. observed, observed_halves: their bits are looked at, as `Effect` says. kept: read in lanes that are off now.
    """

    live: int
    observed: int
    observed_halves: int
    kept: int

    def __or__(self, other: "Uses") -> "Uses":
        return Uses(
            self.live | other.live,
            self.observed | other.observed,
            self.observed_halves | other.observed_halves,
            self.kept | other.kept,
        )

    def before(self, effect: Effect, full: bool) -> "Uses":
        """The uses in front of an instruction. full: all lanes are on there."""
        replaced = effect.replaced if full else effect.replaced & ~self.kept
        live = self.live & ~replaced | effect.read
        observed = self.observed & ~replaced | effect.observed
        observed_halves = self.observed_halves & ~replaced | effect.observed_halves
        kept = effect.across
        if not full:
            kept |= self.kept | (self.live if effect.changes_exec else 0)
        return Uses(live, observed, observed_halves, kept)


NOTHING = Uses(0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Observation:
    """behind: for each block the uses behind each instruction. at_begin: those where a block begins."""

    behind: tuple[tuple[Uses, ...], ...]
    at_begin: tuple[Uses, ...]

    def at_end(self, block: Block) -> Uses:
        """Those where a block ends, behind its branch."""
        uses = Uses(ALWAYS, ALWAYS, ALWAYS, 0)
        for successor in block.successors:
            uses |= self.at_begin[successor]
        return uses


def analyse_uses(blocks: Sequence[Block], effects: Sequence[Sequence[Effect]], execution: Execution) -> Observation:
    """All uses. EXEC is always among them."""
    begin = [NOTHING] * len(blocks)
    predecessors: dict[int, list[int]] = {}
    for block in blocks:
        for successor in block.successors:
            predecessors.setdefault(successor, []).append(block.number)
    waiting = list(range(len(blocks)))
    while waiting:
        number = waiting.pop()
        uses = _through(blocks[number], effects[number], execution, begin)[0]
        if uses != begin[number]:
            begin[number] = uses
            waiting.extend(place for place in predecessors.get(number, ()) if place not in waiting)
    behind = tuple(tuple(_through(block, effects[block.number], execution, begin)[1:]) for block in blocks)
    return Observation(behind, tuple(begin))


def _through(block: Block, effects: Sequence[Effect], execution: Execution, begin: Sequence[Uses]) -> list[Uses]:
    """The uses before a block, then those behind each of its instructions."""
    uses = NOTHING
    for successor in block.successors:
        uses |= begin[successor]
    if block.condition is not None:
        condition = read_by_condition(block.condition)
        uses |= Uses(condition, condition, condition, 0)
    uses |= Uses(ALWAYS, ALWAYS, ALWAYS, 0)
    found = [uses]
    full = execution.full[block.number]
    for place in range(len(effects) - 1, -1, -1):
        uses = uses.before(effects[place], full[place])
        found.append(uses)
    found.reverse()
    return found
