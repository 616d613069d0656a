"""Records of vector instructions: VOP1, VOP2, VOPC, VOP3 and VOP3SD."""

from autoclave.emulator.rdna4.encoding.codec import (
    Record,
    Words,
    is_half,
    read_destinations,
    read_operand,
    source,
    unused,
    write_destinations,
    write_sources,
)
from autoclave.emulator.rdna4.encoding.form import Form, Slot
from autoclave.emulator.rdna4.encoding.lanes import read_dpp, write_dpp
from autoclave.emulator.rdna4.encoding.layout import Reserved
from autoclave.emulator.rdna4.encoding.types import FLOATS, base
from autoclave.emulator.rdna4.instruction import EXEC, Instruction, Register

_POSITION = {"src0": 0, "src1": 1, "vsrc1": 1, "src2": 2, "vdst": 3}
"""Bits of OPSEL, and, of sources, of NEG and ABS."""


_HALVES = frozenset({"source", "vector", "vector source"})
"""Kinds of operands of which OPSEL selects a half."""

_OUTPUT_FLOATS = frozenset({"f16", "f32", "f64"})
"""Results that CLAMP and OMOD are for."""


def has_signs(form: Form, slot: Slot) -> bool:
    """Whether NEG and ABS are for this source. Flag "signs": whatever its type."""
    return (
        slot.kind != "scalar"
        and slot.written
        and (slot.type in FLOATS or ("signs" in form.flags and slot.type != "mask"))
    )


class ShortVector:
    """VOP1, VOP2 and VOPC. Signs come with DPP16 only; bit 7 of a 16-bit operand's register selects the upper half."""

    def read(self, form: Form, words: Words, pc: int) -> Record:
        """Operands and DPP; see `Codec`."""
        words.narrow = True
        dpp = read_dpp(words)
        negated, absolute = _dpp_signs(words)
        if not form.destinations or not form.sources:
            unused(form, words, [place for place in ("vdst", "src0") if place in words.fields])
        _check_signs(form, negated, absolute)
        return {
            "destinations": read_destinations(form, words),
            "sources": tuple(
                source(read_operand(slot, words), slot.type, *_signs(form, slot, negated, absolute))
                for slot in form.sources
            ),
            "dpp": dpp,
        }

    def write(self, form: Form, instruction: Instruction) -> Words:
        """Operands and DPP; see `Codec`."""
        words = Words(narrow=True)
        write_destinations(form, instruction.destinations, words)
        write_sources(form.sources, instruction.sources, words)
        write_dpp(instruction.dpp, words)
        if words.dpp is not None and not words.selectors:
            for slot, operand in zip(form.sources, instruction.sources, strict=True):
                if has_signs(form, slot) and slot.place in _POSITION:
                    words.dpp[f"neg{_POSITION[slot.place]}"] = int(operand.negated)
                    words.dpp[f"abs{_POSITION[slot.place]}"] = int(operand.absolute)
        return words


class LongVector:
    """VOP3 and VOP3SD. OPSEL selects halves of 16-bit operands.

    Flags: "byte_sel", OPSEL holds the byte of an operand (its bits in reverse for a source); "select", its first two bits
    are the immediate; "clamp", integers saturate; "bare", a float without CLAMP and OMOD.
    """

    def read(self, form: Form, words: Words, pc: int) -> Record:
        """Operands, modifiers and DPP; see `Codec`."""
        dpp = read_dpp(words)
        if any(_dpp_signs(words)):
            raise Reserved("signs in the DPP word of VOP3")
        fields = words.fields
        if form.destinations and form.destinations[0].place == "exec" and fields["vdst"] != EXEC:
            raise Reserved(f"destination {fields['vdst']} of a comparison that writes EXEC")
        unused(form, words, ("src0", "src1", "src2"))
        negated, absolute, halves = fields["neg"], fields.get("abs", 0), fields.get("opsel", 0)
        _check_signs(form, negated, absolute)
        _check_output(form, fields["clamp"], fields["omod"])
        record: Record = {"dpp": dpp, "clamp": bool(fields["clamp"]), "multiplier": fields["omod"]}
        halves, record["immediate"] = _immediate(form, halves)
        _check_halves(form, halves)
        record["destinations"] = read_destinations(form, words, bool(halves & 8))
        record["sources"] = tuple(
            source(
                read_operand(
                    slot, words, bool(halves >> _POSITION[slot.place] & 1) if slot.place in _POSITION else False
                ),
                slot.type,
                *_signs(form, slot, negated, absolute),
            )
            for slot in form.sources
        )
        return record

    def write(self, form: Form, instruction: Instruction) -> Words:
        """Operands, modifiers and DPP; see `Codec`."""
        words = Words()
        write_destinations(form, instruction.destinations, words)
        write_sources(form.sources, instruction.sources, words)
        fields = words.fields
        negated = absolute = halves = 0
        for slot, operand in zip(form.sources, instruction.sources, strict=True):
            if slot.place not in _POSITION:
                continue
            position = _POSITION[slot.place]
            if has_signs(form, slot):
                negated |= operand.negated << position
                absolute |= operand.absolute << position
            if isinstance(operand.operand, Register):
                halves |= operand.operand.high << position
        if form.destinations and form.destinations[0].place == "vdst":
            halves |= instruction.destinations[0].operand.high << 3
        fields |= {"neg": negated, "clamp": int(instruction.clamp), "omod": instruction.multiplier}
        if form.encoding == "VOP3":
            fields |= {"abs": absolute, "opsel": halves | _halves(form, instruction.immediate)}
            if form.destinations and form.destinations[0].place == "exec":
                fields["vdst"] = EXEC
        write_dpp(instruction.dpp, words)
        return words


def _immediate(form: Form, halves: int) -> tuple[int, int]:
    """OPSEL without what it says of another sort, and that, the immediate."""
    if "select" in form.flags:
        return halves & ~3, halves & 3
    if "byte_sel" in form.flags:
        return halves & ~3, (halves & 1) << 1 | halves >> 1 & 1
    if "byte_sel_to" in form.flags:
        return halves & ~12, halves >> 2
    return halves, 0


def _halves(form: Form, immediate: int) -> int:
    """The bits of OPSEL that say the immediate."""
    if "byte_sel" in form.flags:
        return (immediate & 1) << 1 | immediate >> 1
    return immediate << 2 if "byte_sel_to" in form.flags else immediate


def _dpp_signs(words: Words) -> tuple[int, int]:
    """NEG and ABS of a DPP16 word."""
    if words.dpp is None or words.selectors:
        return 0, 0
    return tuple(words.dpp[f"{sign}0"] | words.dpp[f"{sign}1"] << 1 for sign in ("neg", "abs"))  # type: ignore[return-value]


def _signs(form: Form, slot: Slot, negated: int, absolute: int) -> tuple[bool, bool]:
    if not (negated or absolute) or not has_signs(form, slot):
        return False, False
    position = _POSITION[slot.place]
    return bool(negated >> position & 1), bool(absolute >> position & 1)


def _check_signs(form: Form, negated: int, absolute: int) -> None:
    if negated or absolute:
        allowed = sum(
            1 << _POSITION[slot.place] for slot in form.sources if has_signs(form, slot) and slot.place != "literal"
        )
        if (negated | absolute) & ~allowed:
            raise Reserved("signs of an operand that is no float")


def _check_output(form: Form, clamp: int, multiplier: int) -> None:
    if not (clamp or multiplier):
        return
    is_float = (
        bool(form.destinations) and base(form.destinations[0].type) in _OUTPUT_FLOATS and "bare" not in form.flags
    )
    if not is_float and (multiplier or "clamp" not in form.flags):
        raise Reserved(f"CLAMP or OMOD, which {form.name} lacks")


def _check_halves(form: Form, halves: int) -> None:
    if halves:
        slots = (*form.destinations[:1], *form.sources)
        allowed = {
            _POSITION[slot.place]
            for slot in slots
            if is_half(slot.type) and slot.place in _POSITION and slot.kind in _HALVES
        }
        if halves & ~sum(1 << position for position in allowed):
            raise Reserved("the upper half of an operand that is none of 16 bits")
