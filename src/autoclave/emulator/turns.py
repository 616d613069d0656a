"""How interpreters run the threads, or waves, of a workgroup in turn: each to its next barrier, within a budget of instructions.

An interpreter makes of a kernel blocks of steps (closures over the state of one thread or wave); here is what runs them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from autoclave.emulator.launch import Size3
from autoclave.errors import BudgetExceeded

Step = Callable[[], None]
"""Does what one instruction does, to the state that it is bound to."""

END = -1
"""What a block gives as its successor when the thread or wave is done."""

Leave = Callable[[], int]
"""Gives the program counter of the next block, `END`, or `barrier(pc)`."""


def barrier(pc: int) -> int:
    """The successor that means: wait for the others of the workgroup, then go on at `pc`."""
    return -2 - pc


def behind_barrier(successor: int) -> int:
    """The program counter in a `barrier`."""
    return -2 - successor


@dataclass(frozen=True, slots=True)
class Block:
    """`instructions` without a branch in or out, the one that leaves included: `weight` of them, repetitions counted."""

    steps: tuple[Step, ...]
    weight: int
    leave: Leave
    instructions: tuple[Any, ...]


Blocks = Mapping[int, Block]
"""The reachable blocks of a kernel, by where they begin."""


def counting(blocks: Blocks, entries: Counter[int]) -> Blocks:
    """The same blocks, which also count in `entries` how often each is begun."""

    def counted(pc: int, block: Block) -> Block:
        def count() -> None:
            entries[pc] += 1

        return replace(block, steps=(count, *block.steps))

    return {pc: counted(pc, block) for pc, block in blocks.items()}


def executed(blocks: Blocks, entries: Mapping[int, int]) -> Iterator[tuple[Any, int]]:
    """Instructions, and how often each was executed if blocks were begun as often as `entries` says; repetitions are not counted."""
    return ((instruction, times) for pc, times in entries.items() for instruction in blocks[pc].instructions)


class State[Saved](Protocol):
    """What an interpreter's steps are bound to: one unit (a thread or a wave) at a time."""

    @property
    def threads(self) -> int:
        """Threads of the current unit: an instruction counts once for each."""

    def start(self, local_size: Size3, unit: int) -> None:
        """Registers and private memory as the unit finds them."""

    def save(self) -> Saved:
        """All that the current unit is, to be resumed behind a barrier."""

    def resume(self, saved: Saved) -> None:
        """Continue a unit that was saved."""

    def place(self, pc: int) -> str:
        """Where an instruction is executed, for errors."""


@dataclass(slots=True)
class _Waiting[Saved]:
    """A unit that is to run from `pc`: for the first time if `saved` is None."""

    unit: int
    pc: int = 0
    saved: Saved | None = None


def run_in_turn[Saved](
    state: State[Saved], local_size: Size3, units: Iterable[int], blocks_of: Callable[[int], Blocks], budget: int
) -> int:
    """Run `units` of a workgroup to their ends; returns how many instructions their threads executed.

    blocks_of: of a unit, the kernel's blocks. Raises `BudgetExceeded`, and what the steps raise.
    """
    left = budget
    waiting = [_Waiting[Saved](unit) for unit in units]
    while waiting:
        for one in waiting:
            if one.saved is None:
                state.start(local_size, one.unit)
            else:
                state.resume(one.saved)
            one.pc, left = _run_to_barrier(state, blocks_of(one.unit), one.pc, left)
            if one.pc != END:
                one.pc, one.saved = behind_barrier(one.pc), state.save()
        waiting = [one for one in waiting if one.pc != END]
    return budget - left


def _run_to_barrier[Saved](state: State[Saved], blocks: Blocks, pc: int, budget: int) -> tuple[int, int]:
    """Run the current unit from `pc` until it ends or waits; returns `END` or `barrier(pc)`, and what is left of the budget."""
    threads = state.threads
    while pc >= 0:
        block = blocks[pc]
        budget -= block.weight * threads
        if budget < 0:
            raise BudgetExceeded(f"{state.place(pc)}: the instruction budget is used up; it may be an endless loop")
        for step in block.steps:
            step()
        pc = block.leave()
    return pc, budget
