"""Data parallel primitives: the word that follows an instruction whose first source is another lane's."""

from functools import cache

from autoclave.emulator.rdna4.encoding.codec import Words
from autoclave.emulator.rdna4.encoding.form import Form
from autoclave.emulator.rdna4.encoding.layout import Fields, Reserved
from autoclave.emulator.rdna4.encoding.operands import DPP8_CODES, DPP16_CODE, FIRST_VECTOR
from autoclave.emulator.rdna4.encoding.types import width
from autoclave.emulator.rdna4.instruction import Dpp

_CONTROLS = (
    *range(0x100),
    *range(0x101, 0x110),
    *range(0x111, 0x120),
    *range(0x121, 0x130),
    0x140,
    0x141,
    *range(0x150, 0x170),
)
"""DPP_CTRL: quad_perm, row_shl, row_shr, row_ror, row_mirror, row_half_mirror, row_share, row_xmask."""


@cache
def takes_dpp(form: Form) -> bool:
    """Whether the first source can be another lane's: of VOP3P by flag "dpp"; else flag "no_dpp" says that it cannot."""
    slots = (*form.destinations, *form.sources)
    first = [slot for slot in form.sources if slot.place == "src0" and slot.kind in ("source", "vector source")]
    if form.encoding == "VOP3P":
        return "dpp" in form.flags
    return bool(first) and "no_dpp" not in form.flags and all(width(slot.type) <= 32 for slot in slots)


def read_dpp(words: Words) -> Dpp | None:
    """What the DPP word says; puts the register that it names into field "src0". None if there is no such word."""
    if words.dpp is None:
        return None
    first = words.fields["src0"]
    words.fields["src0"] = words.dpp["src0"] + FIRST_VECTOR
    if words.selectors:
        return _dpp8(words.dpp["selectors"], first == DPP8_CODES[1])
    fields = words.dpp
    if fields["control"] not in _CONTROLS:
        raise Reserved(f"DPP control {fields['control']:#x}")
    return _dpp16(
        fields["control"],
        fields["row_mask"],
        fields["bank_mask"],
        bool(fields["bound_control"]),
        bool(fields["fetch_inactive"]),
    )


def write_dpp(dpp: Dpp | None, words: Words) -> None:
    """Move field "src0" into the DPP word that `dpp` asks for."""
    if dpp is None:
        return
    fields: Fields = {"src0": words.fields["src0"] - FIRST_VECTOR}
    if dpp.selectors is not None:
        fields["selectors"] = sum(lane << 3 * number for number, lane in enumerate(dpp.selectors))
        words.fields["src0"] = DPP8_CODES[int(dpp.fetch_inactive)]
    else:
        fields |= {"control": dpp.control, "row_mask": dpp.row_mask, "bank_mask": dpp.bank_mask}
        fields |= {"bound_control": int(dpp.bound_control), "fetch_inactive": int(dpp.fetch_inactive)}
        words.fields["src0"] = DPP16_CODE
    words.dpp, words.selectors = fields, dpp.selectors is not None


@cache
def _dpp8(selectors: int, fetch_inactive: bool) -> Dpp:
    lanes = tuple(selectors >> 3 * number & 7 for number in range(8))
    return Dpp(0, lanes, 0xF, 0xF, False, fetch_inactive)


@cache
def _dpp16(control: int, row_mask: int, bank_mask: int, bound_control: bool, fetch_inactive: bool) -> Dpp:
    return Dpp(control, None, row_mask, bank_mask, bound_control, fetch_inactive)
