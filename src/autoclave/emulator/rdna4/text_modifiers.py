"""What follows an instruction's operands, as LLVM's assembler for gfx1200 reads it."""

from collections.abc import Sequence

from autoclave.emulator.rdna4.encoding.form import Form
from autoclave.emulator.rdna4.instruction import Dpp, Instruction

_MULTIPLIERS = ("", "mul:2", "mul:4", "div:2")
_SCOPES = ("", "scope:SCOPE_SE", "scope:SCOPE_DEV", "scope:SCOPE_SYS")
_SYSTEM, _DEVICE = 3, 2

_LOAD_HINTS = ("", "NT", "HT", "LU", "NT_RT", "RT_NT", "NT_HT", "")
_STORE_HINTS = ("", "NT", "HT", "RT_WB", "NT_RT", "RT_NT", "NT_HT", "NT_WB")
_BYPASS = 3
"""The hint that, at the scope of the system, means BYPASS."""

_RETURN, _NON_TEMPORAL, _CASCADE = 1, 2, 4


def list_text(name: str, values: Sequence[int], default: int) -> str:
    """`name` with a list of bits, or nothing if all are what LLVM takes for granted."""
    return "" if all(value == default for value in values) else f"{name}:[{','.join(map(str, values))}]"


def output_text(instruction: Instruction) -> tuple[str, str]:
    """CLAMP and OMOD."""
    return "clamp" if instruction.clamp else "", _MULTIPLIERS[instruction.multiplier]


def dpp_text(dpp: Dpp | None) -> str:
    """DPP: which lanes are read, and which are written."""
    if dpp is None:
        return ""
    inactive = " fi:1" if dpp.fetch_inactive else ""
    if dpp.selectors is not None:
        return f"dpp8:[{','.join(map(str, dpp.selectors))}]{inactive}"
    bound = " bound_ctrl:1" if dpp.bound_control else ""
    return f"{_control(dpp.control)} row_mask:{dpp.row_mask:#x} bank_mask:{dpp.bank_mask:#x}{bound}{inactive}"


_ROWS = {0x100: "row_shl", 0x110: "row_shr", 0x120: "row_ror", 0x150: "row_share", 0x160: "row_xmask"}


def _control(control: int) -> str:
    if control < 0x100:
        return f"quad_perm:[{','.join(str(control >> 2 * lane & 3) for lane in range(4))}]"
    if control in (0x140, 0x141):
        return "row_mirror" if control == 0x140 else "row_half_mirror"
    return f"{_ROWS[control & 0x1F0]}:{control & 15}"


def policy_text(form: Form, instruction: Instruction) -> tuple[str, str]:
    """Temporal hint and scope of a memory access."""
    scope, hint = instruction.scope_or_policy & 3, instruction.scope_or_policy >> 2
    if "atomic" in form.flags:
        shown = _atomic_hint(hint)
    elif hint == _BYPASS and scope == _SYSTEM:
        shown = "BYPASS"
    else:
        shown = (_LOAD_HINTS if form.destinations else _STORE_HINTS)[hint]
    kind = "ATOMIC" if "atomic" in form.flags else "LOAD" if form.destinations else "STORE"
    return f"th:TH_{kind}_{shown}" if shown else "", _SCOPES[scope]


def _atomic_hint(hint: int) -> str:
    if hint & _CASCADE:
        return "CASCADE_NT" if hint & _NON_TEMPORAL else "CASCADE_RT"
    return "_".join(name for bit, name in ((_NON_TEMPORAL, "NT"), (_RETURN, "RETURN")) if hint & bit)
