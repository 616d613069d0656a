"""gfx1200 records against tinygrad's decoder, which follows AMD's machine-readable manual: a second reading of the same words."""

from typing import Any

from emulator.rdna4.encoding_samples import assembled
from tinygrad.renderer.amd import decode_inst

from autoclave.emulator.rdna4.decoder import decode
from autoclave.emulator.rdna4.encoding.form import Slot
from autoclave.emulator.rdna4.encoding.table import BY_NAME
from autoclave.emulator.rdna4.instruction import Instruction, Operand, Register

_NARROW = ("VOP1", "VOP2", "VOPC")
_NO_WIDTH = frozenset({*range(124, 128), *range(235, 239), *range(240, 256)})
"""Registers and constants that tinygrad gives no width."""

_COMPARES = "cmp"
"""In a name, for tinygrad the sign of a comparison, whose result is a mask: it takes ds_cmpstore_rtn_b64 for one."""


def test_tinygrad_finds_the_same_operations_and_sizes() -> None:
    differing = []
    for code, text in _known_to_tinygrad():
        ours, theirs = decode(code), decode_inst(code, "rdna4")
        if (ours.size, _names(ours)) != (theirs.size(), _their_names(theirs)):
            differing.append((text, theirs))

    assert differing == []


def test_tinygrad_finds_the_same_operands() -> None:
    differing = []
    for code, text in _known_to_tinygrad():
        ours, theirs = decode(code), decode_inst(code, "rdna4")
        for place, code_of_ours, count in _operands(ours):
            found = getattr(theirs, place)
            if found.offset != code_of_ours or (count and found.sz != count):
                differing.append((text, place, found, code_of_ours, count))

    assert differing == []


def _known_to_tinygrad() -> list[tuple[bytes, str]]:
    """All samples but DPP8, and DPP of comparisons in VOP3, of which tinygrad's decoder does not see the last word."""
    return [
        (code, text)
        for code, text in assembled()
        if "dpp8:" not in text and not (text.startswith("v_cmp") and "_e64_dpp" in text)
    ]


def _names(instruction: Instruction) -> tuple[str, ...]:
    return tuple(operation.name for operation in instruction.dual or (instruction,))


def _their_names(instruction: Any) -> tuple[str, ...]:
    operations = [instruction.op] if hasattr(instruction, "op") else [instruction.opx, instruction.opy]
    return tuple(operation.name.lower().removesuffix("_e32").removesuffix("_e64") for operation in operations)


def _operands(instruction: Instruction) -> list[tuple[str, int, int]]:
    """Field, code and number of registers (0: not to be compared) of each operand that a field encodes."""
    if instruction.dual is not None:
        halves = zip("xy", instruction.dual, strict=True)
        return [(_of_half(place, half), *rest) for half, one in halves for place, *rest in _plain_operands(one)]
    return _plain_operands(instruction)


def _of_half(place: str, half: str) -> str:
    return {"vdst": f"vdst{half}", "src0": f"src{half}0", "vsrc1": f"vsrc{half}1"}[place]


def _plain_operands(instruction: Instruction) -> list[tuple[str, int, int]]:
    form = BY_NAME[instruction.encoding, instruction.name]
    pairs = list(zip(form.destinations, (each.operand for each in instruction.destinations), strict=False))
    if instruction.encoding in ("FLAT", "GLOBAL", "SCRATCH"):
        pairs += [(slot, instruction.sources[int(instruction.has_vector_address)].operand) for slot in form.sources]
    else:
        pairs += list(zip(form.sources, (each.operand for each in instruction.sources), strict=False))
    return [_operand(instruction, slot, operand) for slot, operand in pairs if slot.kind not in ("fixed", "literal")]


def _operand(instruction: Instruction, slot: Slot, operand: Operand) -> tuple[str, int, int]:
    if not isinstance(operand, Register):
        assert operand.encoded is not None
        return slot.place, operand.encoded if operand.inline else 255, 0
    high = 128 if operand.high and instruction.encoding in _NARROW else 0
    code = operand.number + (256 + high if operand.file == "v" else 0)
    if instruction.dpp is not None and slot.place == "src0":
        return "vsrc0", code, 0
    mistaken = _COMPARES in instruction.name and slot.place == "vdst" and operand.count > 1
    compared = instruction.encoding != "VOPD" and code not in _NO_WIDTH and not mistaken
    return slot.place, code, operand.count if compared else 0
