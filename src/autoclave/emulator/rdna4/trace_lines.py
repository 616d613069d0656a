"""Executions as text, one line each."""

import struct

from autoclave.emulator.rdna4.text import text
from autoclave.emulator.rdna4.trace import Executed, Value

_WIDTH = 52
"""Columns of an instruction's text."""


def line(executed: Executed) -> str:
    """An execution: pc, instruction, what the thread wrote, what it read; "off" where EXEC does not have its lane."""
    writes = ", ".join(map(value_text, executed.writes))
    reads = ", ".join(map(value_text, executed.reads))
    values = " <- ".join(filter(None, (writes, reads)))
    if not executed.enabled:
        values = f"off  {values}"
    return f"{executed.instruction.pc:6}  {text(executed.instruction):<{_WIDTH}}  {values}".rstrip()


_FLOATS = {"f16": "<e", "f32": "<f", "f64": "<d"}
_BYTES = {"<e": 2, "<f": 4, "<d": 8}


def value_text(value: Value) -> str:
    """A register's value in the manner of its type: "v1 3f800000 (1.0)", "v1 3c004000 (2.0, 1.0)", "s4 0000000a (10)", "exec_lo 00000003"."""
    base, _, elements = value.type.partition("x")
    form = _FLOATS.get(base)
    if form is not None:
        size = _BYTES[form]
        data = value.bits.to_bytes(size * int(elements or 1), "little")
        numbers = ", ".join(_number(number) for (number,) in struct.iter_unpack(form, data))
        return f"{value.name} {value.bits:0{2 * len(data)}x} ({numbers})"
    digits = _digits(value.type)
    if base[0] in "iu" and not elements:
        sign = 1 << (4 * digits - 1) if base[0] == "i" else 0
        return f"{value.name} {value.bits:0{digits}x} ({(value.bits ^ sign) - sign})"
    return f"{value.name} {value.bits:0{digits}x}"


def _number(number: float) -> str:
    written = f"{number:.6g}"
    return written if set(written) & set(".en") else f"{written}.0"


def _digits(kind: str) -> int:
    """Hexadecimal digits of a type that is not a float."""
    return 4 if kind in ("u16", "i16", "b16", "bf16") else 16 if kind.endswith("64") else 8
