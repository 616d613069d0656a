"""Operands as LLVM's assembler for gfx1200 reads them."""

from collections.abc import Mapping

from autoclave.emulator.rdna4.encoding.codec import is_half
from autoclave.emulator.rdna4.encoding.operands import code_of, literal_of
from autoclave.emulator.rdna4.encoding.types import FIRST_FLOAT, width
from autoclave.emulator.rdna4.instruction import EXEC, M0, NULL, SCC, TTMP, VCC, Literal32, Operand, Register, Source

_SPECIAL: Mapping[int, str] = {
    VCC: "vcc_lo",
    VCC + 1: "vcc_hi",
    NULL: "null",
    M0: "m0",
    EXEC: "exec_lo",
    EXEC + 1: "exec_hi",
    235: "src_shared_base",
    236: "src_shared_limit",
    237: "src_private_base",
    238: "src_private_limit",
    SCC: "src_scc",
}
_PAIRS: Mapping[int, str] = {VCC: "vcc", EXEC: "exec"}
_FLOATS = ("0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0")
_INVERSE_OF_TWO_PI = {16: "0.15915494", 32: "0.15915494", 64: "0.15915494309189532"}


def operand_text(operand: Operand, type: str, halves: bool = False) -> str:
    """A register or constant; `halves`: with ".h" or ".l" behind a vector register of which 16 bits are the operand."""
    if isinstance(operand, Literal32):
        return _constant(operand, type)
    ending = (".h" if operand.high else ".l") if halves and operand.file == "v" and is_half(type) else ""
    return _register(operand) + ending


def signed_text(source: Source, type: str, halves: bool = False) -> str:
    """A source with its signs."""
    shown = operand_text(source.operand, type, halves)
    if source.absolute:
        shown = f"|{shown}|"
    if not source.negated:
        return shown
    return f"neg({shown})" if isinstance(source.operand, Literal32) and not source.absolute else f"-{shown}"


def _register(register: Register) -> str:
    number, count = register.number, register.count
    prefix = register.file
    if register.file == "s":
        if count == 2 and number in _PAIRS:
            return _PAIRS[number]
        if number in _SPECIAL:
            return _SPECIAL[number]
        if number >= TTMP:
            number, prefix = number - TTMP, "ttmp"  # type: ignore[assignment]
    return f"{prefix}{number}" if count == 1 else f"{prefix}[{number}:{number + count - 1}]"


def _constant(constant: Literal32, type: str) -> str:
    code = code_of(constant, type)
    if not constant.inline:
        word = literal_of(constant, type)
        return hex(word)
    if code < FIRST_FLOAT:
        return str(code - 128 if code <= 192 else 192 - code)
    if code - FIRST_FLOAT < len(_FLOATS):
        return _FLOATS[code - FIRST_FLOAT]
    return _INVERSE_OF_TWO_PI[64 if width(type) == 64 else 32]
