"""Immediates of SOPK and SOPP as LLVM's assembler for gfx1200 prints them: by names, where they have parts with names."""

from collections.abc import Callable, Mapping

_DEPENDENCIES = (
    "NO_DEP",
    *(f"VALU_DEP_{distance}" for distance in range(1, 5)),
    *(f"TRANS32_DEP_{distance}" for distance in range(1, 4)),
    "FMA_ACCUM_CYCLE_1",
    *(f"SALU_CYCLE_{distance}" for distance in range(1, 4)),
)
_SKIPS = ("SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4")
_DELAYS = (("instid0", 0, 15, _DEPENDENCIES), ("instskip", 4, 7, _SKIPS), ("instid1", 7, 15, _DEPENDENCIES))
"""Parts of s_delay_alu: name, lowest bit, mask, names of values (the manual, "S_DELAY_ALU")."""

_MESSAGES = {1: "MSG_INTERRUPT", 3: "MSG_DEALLOC_VGPRS"}

_DECIMAL = frozenset({"s_nop", "s_sleep", "s_setprio", "s_sethalt", "s_setkill", "s_trap"})


def immediate_text(name: str, value: int, signed: bool) -> str:
    """The immediate `value` of the operation `name`; `signed`: it is a signed number."""
    if signed or name in _DECIMAL:
        return str(value)
    return _NAMED.get(name, hex)(value)


def _delay(value: int) -> str:
    parts = []
    for name, low, mask, names in _DELAYS:
        part = value >> low & mask
        if part >= len(names):
            return hex(value)
        if part:
            parts.append(f"{name}({names[part]})")
    return " | ".join(parts) if parts and value < 1 << 11 else hex(value)


def _message(value: int) -> str:
    return f"sendmsg({_MESSAGES[value]})" if value in _MESSAGES else hex(value)


_NAMED: Mapping[str, Callable[[int], str]] = {"s_delay_alu": _delay, "s_sendmsg": _message, "s_sendmsghalt": _message}
