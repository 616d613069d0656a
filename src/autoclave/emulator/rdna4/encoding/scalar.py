"""Records of scalar instructions: SOP1, SOP2, SOPC, SOPK and SOPP."""

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
from autoclave.emulator.rdna4.encoding.layout import WORD_BYTES, Reserved, signed, unsigned
from autoclave.emulator.rdna4.instruction import Instruction

_OPTIONAL = ("sdst", "ssrc0", "ssrc1")


class ScalarOperation:
    """SOP1, SOP2 and SOPC. Flag "message": the source's field is the immediate."""

    def read(self, form: Form, words: Words, pc: int) -> Record:
        """Operands; see `Codec`."""
        record: Record = {"destinations": read_destinations(form, words)}
        if "message" in form.flags:
            record["immediate"] = words.fields.pop("ssrc0")
            if words.literal is not None:
                raise Reserved("a literal as the number of a message")
        unused(form, words, [place for place in _OPTIONAL if place in words.fields])
        record["sources"] = tuple(source(read_operand(slot, words), slot.type) for slot in form.sources)
        return record

    def write(self, form: Form, instruction: Instruction) -> Words:
        """Operands; see `Codec`."""
        words = Words()
        write_destinations(form, instruction.destinations, words)
        write_sources(form.sources, instruction.sources, words)
        if "message" in form.flags:
            words.fields["ssrc0"] = instruction.immediate
        return words


class ScalarImmediate(ScalarOperation):
    """SOPK and SOPP: operations with SIMM16. Flags "signed", "target" and "plain" say what that is."""

    def read(self, form: Form, words: Words, pc: int) -> Record:
        """Operands and the immediate; see `Codec`."""
        record = super().read(form, words, pc)
        value = words.fields["simm16"]
        if "plain" in form.flags and value:
            raise Reserved(f"immediate {value:#x}")
        record["immediate"] = value if form.flags.isdisjoint(("signed", "target")) else signed(value, 16)
        if "target" in form.flags:
            record["target"] = pc + WORD_BYTES + WORD_BYTES * record["immediate"]
        return record

    def write(self, form: Form, instruction: Instruction) -> Words:
        """Operands and the immediate; see `Codec`."""
        words = super().write(form, instruction)
        value = instruction.immediate
        if instruction.target is not None:
            value, rest = divmod(instruction.target - instruction.pc - WORD_BYTES, WORD_BYTES)
            if rest:
                raise Reserved(f"target {instruction.target} is not on a word")
        words.fields["simm16"] = unsigned(value, 16) if value < 0 else value
        return words
