"""What there is a rule for. All that has none is named before a kernel is translated."""

from collections.abc import Iterable, Mapping, Sequence

from autoclave.emulator.launch import KernelCode
from autoclave.emulator.rdna4.instruction import Instruction
from autoclave.emulator.rdna4.translator.alu import SATURATING
from autoclave.emulator.rdna4.translator.flow import Block
from autoclave.emulator.rdna4.translator.lane_moves import known_dpp
from autoclave.errors import UnknownInstruction

_FLOATS = ("f16", "f32", "f64")
_PACKED_FLOATS = "f16x2"


def refuse_unknown(kernel: KernelCode, blocks: Sequence[Block], rules: Mapping[str, object]) -> None:
    """Raise `UnknownInstruction` with all that has no rule, and how often it comes."""
    found: dict[str, list[int]] = {}
    for block in blocks:
        for instruction in block.instructions:
            for part in parts_of(instruction):
                reason = _reason(part, rules)
                if reason is not None:
                    found.setdefault(f"{part.name} {reason}".strip(), []).append(part.pc)
    if found:
        listed = "; ".join(f"{what} ({len(pcs)} times, first at pc {pcs[0]})" for what, pcs in sorted(found.items()))
        raise UnknownInstruction(f"translating kernel {kernel.name!r}: there is no rule for {listed}")


def parts_of(instruction: Instruction) -> Iterable[Instruction]:
    """Both operations of a pair; an instruction that is none."""
    return instruction.dual or (instruction,)


def _reason(instruction: Instruction, rules: Mapping[str, object]) -> str | None:
    """Why there is no rule; None if there is one."""
    if instruction.name not in rules:
        return ""
    if instruction.dpp is not None and not known_dpp(instruction.dpp):
        return f"with a DPP control of {instruction.dpp.control:#x}"
    kind = instruction.destinations[0].type if instruction.destinations else ""
    if instruction.clamp and kind not in (*_FLOATS, _PACKED_FLOATS) and instruction.name not in SATURATING:
        return "with CLAMP"
    return "with OMOD" if instruction.multiplier and kind not in _FLOATS else None
