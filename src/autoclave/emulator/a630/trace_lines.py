"""Executions as text: one line each, with the rounds of a loop left out that are too many."""

import math
import struct
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from autoclave.emulator.a630.text import text
from autoclave.emulator.a630.trace import Executed, Report, Value
from autoclave.emulator.scalar.patterns import NAN16, NAN32, SIGN16, SIGN32

_WIDTH = 44
"""Columns of an instruction's text."""


class _Full(Exception):
    """Enough lines were written."""


class TraceLines:
    """Writes executions until there are enough lines."""

    def __init__(self, write: Callable[[str], object], limit: int, times: int, from_pc: int) -> None:
        """limit: lines, and times: executions of each instruction that are shown; 0 for all."""
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
            return f"stopped after {_count(self._shown)}; --limit shows more, --from-pc begins later"
        if not self._begun:
            return f"the thread ended and never reached pc {self._from_pc}"
        return f"the thread ended; {_count(self._seen.total())}"

    def _report(self, executed: Executed) -> None:
        pc = executed.instruction.pc
        self._begun = self._begun or pc == self._from_pc
        if not self._begun:
            return
        key = pc, executed.repetition
        self._seen[key] += 1
        if self._times and self._seen[key] > self._times:
            first, last, count = self._left_out or (pc, pc, 0)
            self._left_out = min(first, pc), max(last, pc), count + 1
            return
        self._tell_left_out()
        if self._limit and self._shown >= self._limit:
            raise _Full
        self._shown += 1
        self._write(line(executed))

    def _tell_left_out(self) -> None:
        if self._left_out is not None:
            first, last, count = self._left_out
            self._write(f"   ...  {_count(count)} of pc {first} to {last}; --times shows more")
            self._left_out = None


def _count(executions: int) -> str:
    return "1 execution" if executions == 1 else f"{executions} executions"


def line(executed: Executed) -> str:
    """An execution: pc, instruction, what it wrote, what it read."""
    instruction = text(executed.instruction) if executed.repetition == 0 else ""
    if executed.repetition:
        instruction = f"  (repetition {executed.repetition})"
    writes = ", ".join(map(value_text, executed.writes))
    reads = ", ".join(map(value_text, executed.reads))
    values = " <- ".join(filter(None, (writes, reads)))
    return f"{executed.instruction.pc:6}  {instruction:<{_WIDTH}}  {values}".rstrip()


def value_text(value: Value) -> str:
    """A register's value: "r1.x 3f800000 (1.0)"; an integer, without a point, where a float would be a denormal or odd NaN."""
    form = _HALF if value.half else _FULL
    packed = struct.pack(form.unsigned, value.bits)
    (number,), (integer,) = struct.unpack(form.floating, packed), struct.unpack(form.signed, packed)
    return f"{value.name} {value.bits:0{form.digits}x} ({_number_text(value.bits, number, integer, form)})"


def _number_text(bits: int, number: float, integer: int, form: "_Form") -> str:
    magnitude = bits & ~form.sign
    denormal = 0 < magnitude < form.smallest
    if bits == 0 or denormal or (math.isnan(number) and magnitude != form.nan):
        return str(integer)
    written = f"{number:.6g}"
    return written if set(written) & set(".en") else f"{written}.0"


class _Form(NamedTuple):
    """How bits of one width are written; `smallest`: the pattern of the smallest normal float."""

    digits: int
    unsigned: str
    signed: str
    floating: str
    sign: int
    smallest: int
    nan: int


_HALF = _Form(4, "<H", "<h", "<e", SIGN16, 1 << 10, NAN16)
_FULL = _Form(8, "<I", "<i", "<f", SIGN32, 1 << 23, NAN32)
