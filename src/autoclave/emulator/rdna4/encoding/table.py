"""The table of all forms, by opcode and by name."""

from collections.abc import Mapping
from dataclasses import replace

from autoclave.emulator.rdna4.encoding import (
    compare,
    dual,
    global_memory,
    local_memory,
    packed,
    program_control,
    scalar1,
    scalar2,
    scalar_memory,
    vector1,
    vector2,
    vector3,
)
from autoclave.emulator.rdna4.encoding.form import Form, Slot
from autoclave.emulator.rdna4.instruction import Encoding

_PROMOTED = {"VOPC": 0, "VOP2": 256, "VOP1": 384}
"""What VOP3 adds to the opcodes of encodings that it covers as well."""

_NOT_PROMOTED = ("v_fmamk_", "v_fmaak_", "v_swap", "v_permlane64", "v_readfirstlane", "v_pk_fmac_f16")
"""Beginnings of names that have no VOP3 encoding."""


def _promoted(form: Form) -> Form:
    """The VOP3 form of an operation of VOP1, VOP2 or VOPC; VOP3SD if it writes a mask as well. What was VCC becomes a field."""
    carries = len(form.destinations) == 2
    encoding: Encoding = "VOP3SD" if carries else "VOP3"
    return replace(
        form,
        encoding=encoding,
        opcode=form.opcode + _PROMOTED[form.encoding],
        destinations=tuple(_field(slot, "sdst" if carries else "vdst") for slot in form.destinations),
        sources=tuple(_field(slot, "src2") for slot in form.sources),
    )


def _field(slot: Slot, mask: str) -> Slot:
    """The slot as VOP3 has it; `mask` is the field of a mask."""
    if slot.place == "vcc":
        return replace(slot, place=mask, kind="scalar", written=True)
    return replace(slot, place="src1", kind="source") if slot.place == "vsrc1" else slot


_SHORT = (*vector1.FORMS, *vector2.FORMS, *compare.FORMS)

FORMS: tuple[Form, ...] = (
    *scalar1.FORMS,
    *scalar2.FORMS,
    *program_control.FORMS,
    *scalar_memory.FORMS,
    *_SHORT,
    *(_promoted(form) for form in _SHORT if not form.name.startswith(_NOT_PROMOTED)),
    *vector3.FORMS,
    *packed.FORMS,
    *dual.FORMS,
    *local_memory.FORMS,
    *global_memory.FORMS,
)

BY_OPCODE: Mapping[tuple[str, int], Form] = {
    ("VOP3" if form.encoding == "VOP3SD" else form.encoding, form.opcode): form for form in FORMS
}
"""Forms by encoding and opcode; VOP3 and VOP3SD share their opcodes."""

BY_NAME: Mapping[tuple[str, str], Form] = {(form.encoding, form.name): form for form in FORMS}
