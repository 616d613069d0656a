"""Executions of instructions as lines of text, with the rounds of a loop left out that are too many."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution of the instruction at `pc`, or one `repetition` of it. text: makes its line."""

    pc: int
    repetition: int
    text: Callable[[], str]


Report = Callable[[Execution], None]
"""Is told each execution as it happens; may raise to end the trace."""


class _Full(Exception):
    """Enough lines were written."""


class TraceLines:
    """Writes executions until there are enough lines."""

    def __init__(self, write: Callable[[str], object], limit: int, times: int, from_pc: int) -> None:
        """limit: executions that are shown, and times: of each instruction; 0 for all."""
        self._write = write
        self._limit = limit
        self._times = times
        self._from_pc = from_pc
        self._begun = False
        self._shown = 0
        self._seen: Counter[tuple[int, int]] = Counter()
        self._left_out: tuple[int, int, int] | None = None

    def stopped(self, run: Callable[[Report], int]) -> int | None:
        """Run with this as the report; gives what `run` gives, or None if the limit stopped it."""
        try:
            return run(self._report)
        except _Full:
            return None
        finally:
            self._tell_left_out()

    def summary(self, executed: int | None) -> str:
        """The last line: how the trace ended."""
        if executed is None:
            return f"stopped, {_count(self._shown)} shown; --limit shows more, --from-pc begins later"
        if not self._begun:
            return f"the thread ended and never reached pc {self._from_pc}"
        return f"the thread ended; {_count(self._seen.total())}"

    def _report(self, execution: Execution) -> None:
        pc = execution.pc
        self._begun = self._begun or pc == self._from_pc
        if not self._begun:
            return
        key = pc, execution.repetition
        self._seen[key] += 1
        if self._times and self._seen[key] > self._times:
            first, last, count = self._left_out or (pc, pc, 0)
            self._left_out = min(first, pc), max(last, pc), count + 1
            return
        self._tell_left_out()
        if self._limit and self._shown >= self._limit:
            raise _Full
        self._shown += 1
        self._write(execution.text())

    def _tell_left_out(self) -> None:
        if self._left_out is not None:
            first, last, count = self._left_out
            self._write(f"   ...  {_count(count)} of pc {first} to {last}; --times shows more")
            self._left_out = None


def _count(executions: int) -> str:
    return "1 execution" if executions == 1 else f"{executions} executions"
