"""Records of VOPD: two operations in one instruction."""

from autoclave.emulator.rdna4.encoding import dual
from autoclave.emulator.rdna4.encoding.codec import (
    Record,
    Words,
    read_destinations,
    read_operand,
    source,
    unused,
    write_destinations,
    write_sources,
)
from autoclave.emulator.rdna4.encoding.form import Form
from autoclave.emulator.rdna4.encoding.layout import Reserved
from autoclave.emulator.rdna4.instruction import Instruction

FORM = Form("v_dual", "VOPD", 0, (), ())
"""Stands for all pairs: what they do is in the two operations."""

_BY_OPCODE = {form.opcode: form for form in dual.FORMS}
_BY_NAME = {form.name: form for form in dual.FORMS}


def needs_literal(words: Words) -> bool:
    """Whether one of the two operations is one with a literal of its own."""
    return any(_takes_literal(words.fields[field]) for field in ("opx", "opy"))


def _takes_literal(opcode: int) -> bool:
    return opcode in _BY_OPCODE and any(slot.kind == "literal" for slot in _BY_OPCODE[opcode].sources)


class Dual:
    """VOPD. `size` of each operation is that of the instruction."""

    def read(self, form: Form, words: Words, pc: int) -> Record:
        """The two operations; see `Codec`."""
        fields = words.fields
        second_register = fields["vdsty"] << 1 | (~fields["vdstx"] & 1)
        first = self._read(fields["opx"], fields, words, "x", fields["vdstx"], pc)
        second = self._read(fields["opy"], fields, words, "y", second_register, pc)
        return {"dual": (first, second)}

    def _read(
        self, opcode: int, fields: dict[str, int], words: Words, half: str, register: int, pc: int
    ) -> Instruction:
        form = _BY_OPCODE.get(opcode)
        if form is None:
            raise Reserved(f"dual operation {opcode}")
        own = {"vdst": register, "src0": fields[f"src{half}0"], "vsrc1": fields[f"vsrc{half}1"]}
        operands = Words(own, words.literal)
        unused(form, operands, ("vsrc1",))
        sources = tuple(source(read_operand(slot, operands), slot.type) for slot in form.sources)
        return Instruction(pc, 0, form.name, "VOPD", read_destinations(form, operands), sources)

    def write(self, form: Form, instruction: Instruction) -> Words:
        """The two operations; see `Codec`."""
        if instruction.dual is None:
            raise Reserved("no two operations")
        words = Words()
        registers = []
        for half, operation in zip("xy", instruction.dual, strict=True):
            own_form = _BY_NAME[operation.name]
            own = Words()
            write_destinations(own_form, operation.destinations, own)
            write_sources(own_form.sources, operation.sources, own)
            if own.literal is not None:
                if words.literal not in (None, own.literal):
                    raise Reserved("two different literals")
                words.literal = own.literal
            registers.append(own.fields["vdst"])
            words.fields |= {
                f"op{half}": own_form.opcode,
                f"src{half}0": own.fields["src0"],
                f"vsrc{half}1": own.fields.get("vsrc1", 0),
            }
        if registers[0] & 1 == registers[1] & 1:
            raise Reserved("destinations that are both even or both odd")
        words.fields |= {"vdstx": registers[0], "vdsty": registers[1] >> 1}
        return words
