"""The second implementation of a GPU, which checks the translator, and what is known of its instructions.

`interpretations` has those that there are. What takes a kernel or an instruction takes one of its own GPU only.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from autoclave.emulator.evidence import Rule
from autoclave.emulator.launch import Launch, Size3, thread_count
from autoclave.emulator.overlay import Overlay
from autoclave.emulator.trace_lines import Report

DEFAULT_BUDGET = 1 << 24
"""Instructions that one call may execute, counted for each thread: some 20 seconds."""


class Interpreter(Protocol):
    """A kernel, ready to be interpreted: use one for all of its launches."""

    @property
    def instructions(self) -> tuple[Any, ...]:
        """The kernel's instructions, as decoded."""

    def run_workgroup(
        self,
        launch: Launch,
        workgroup: Size3,
        overlay: Overlay,
        units: Iterable[int] | None = None,
        budget: int = DEFAULT_BUDGET,
        observed: int | None = None,
    ) -> int:
        """Run some units (all if None) of one workgroup; returns how many instructions their threads executed.

        What they write goes to `overlay`, whose bytes they also read. observed: the unit that an observer sees, or `executed` counts.
        Raises `MemoryFault`, `BudgetExceeded` or `UnknownInstruction`, each with kernel, pc and what was wrong.
        """

    def executed(self) -> tuple[tuple[Any, int], ...]:
        """Instructions that observed units have executed, and how often, repetitions counted one by one; none if an observer saw them."""


class Trace(Protocol):
    """Interprets one thread and tells of every instruction that it executes, and of the values."""

    def __call__(self, launch: Launch, workgroup: Size3, thread: int, report: Report) -> int:
        """Returns how many instructions were executed, those of other threads that had to run included."""


@dataclass(frozen=True, slots=True)
class MatrixUse:
    """How many products of matrices a kernel has, and at which program counters those are that lanes may not all reach."""

    products: int
    partial: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Interpretation:
    """What interprets a GPU's kernels.

    unit: threads that are interpreted as one: 1, or those of a wave.
    interpreter: of a kernel.
    works_together: whether units of a workgroup see each other's work. changes_buffers_in_turn: whether workgroups do, by atomics.
    decode, disassembly: a kernel's instructions, and as lines of text, from its code and its name.
    operations: the names of what an instruction does, which are two where it is a pair.
    rules: the table of arithmetic. rules_of: the names of those that an instruction's results rely on.
    matrix_use: of a launch, whose kernel has these instructions; None of a GPU without products of matrices.
    """

    unit: int
    interpreter: Callable[[Any], Interpreter]
    works_together: Callable[[Iterable[Any]], bool]
    changes_buffers_in_turn: Callable[[Iterable[Any]], bool]
    decode: Callable[[bytes, str], tuple[Any, ...]]
    disassembly: Callable[[bytes, str], list[str]]
    operations: Callable[[Any], tuple[str, ...]]
    rules: Mapping[str, Rule]
    rules_of: Callable[[Any], tuple[str, ...]]
    trace: Trace
    matrix_use: Callable[[Launch, Sequence[Any]], MatrixUse] | None = None

    def units(self, launch: Launch) -> int:
        """Units of a workgroup; the last may have fewer threads."""
        return -(-thread_count(launch) // self.unit)

    def threads(self, launch: Launch, units: Iterable[int] | None) -> int:
        """Threads of those units of a workgroup, of all if None."""
        count = thread_count(launch)
        return count if units is None else sum(min(self.unit, count - self.unit * unit) for unit in units)
