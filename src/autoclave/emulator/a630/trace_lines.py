"""Executions as text, one line each."""

import math
import struct
from typing import NamedTuple

from autoclave.emulator.a630.text import text
from autoclave.emulator.a630.trace import Executed, Value
from autoclave.emulator.scalar.patterns import NAN16, NAN32, SIGN16, SIGN32

_WIDTH = 44
"""Columns of an instruction's text."""


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
