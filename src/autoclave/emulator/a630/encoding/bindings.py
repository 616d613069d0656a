"""How category 6 names images and buffers of constants: by a slot, in the instruction or in a register."""

from dataclasses import dataclass

from autoclave.emulator.a630.encoding.layout import Fields, Reserved
from autoclave.emulator.a630.encoding.operands import GprOrLiteral, Slot, register_number, register_source
from autoclave.emulator.a630.encoding.parts import Record, image_of
from autoclave.emulator.a630.instruction import Image, Instruction

_MODES = ("imm", "uniform", "nonuniform")
"""Where the slot is: in the instruction, in a register that is the same for all lanes, in any (#cat6-src-mode)."""


@dataclass(frozen=True)
class PlainImage:
    """`Image` of the older encodings: dimensions, whether typed, and, if `slot`, which image is meant."""

    typed: bool = True
    slot: bool = False

    def read(self, fields: Fields, record: Record) -> None:
        texture = None
        if self.slot and fields["slot_literal"]:
            texture = fields["slot"]
        elif self.slot:
            record["sources"] = (register_source(fields["slot"]),)
        typed = not self.typed or bool(fields["typed"])
        record["image"] = Image(texture, dimensions=fields["d"] + 1, typed=typed)

    def write(self, instruction: Instruction, fields: Fields) -> None:
        image = image_of(instruction)
        fields["d"] = image.dimensions - 1
        if self.typed:
            fields["typed"] = int(image.typed)
        if self.slot:
            fields["slot_literal"] = int(image.texture is not None)
            fields["slot"] = _slot(instruction)


@dataclass(frozen=True)
class BoundImage:
    """`Image` of the newer encodings; a register that names it comes after the other sources."""

    sources: tuple[Slot, ...] = ()

    def read(self, fields: Fields, record: Record) -> None:
        flags = _binding(fields)
        sources = [slot.read(fields) for slot in self.sources]
        texture = fields["slot"] if flags[0] == "imm" else None
        if texture is None:
            sources.append(register_source(fields["slot"]))
        record["sources"] = tuple(sources)
        dimensions, typed = fields["d"] + 1, bool(fields["typed"])
        record["image"] = Image(texture, dimensions=dimensions, typed=typed, flags=flags)

    def write(self, instruction: Instruction, fields: Fields) -> None:
        image = image_of(instruction)
        _set_binding(image.flags, fields)
        fields["d"], fields["typed"], fields["slot"] = image.dimensions - 1, int(image.typed), _slot(instruction)
        for slot, source in zip(self.sources, instruction.sources, strict=False):
            slot.write(source, fields)


@dataclass(frozen=True)
class BoundBuffer:
    """Sources of ldc: an offset, and the buffer's slot. `modifiers`: `bits` that are set, then how the slot is found."""

    bits: tuple[str, ...] = ()

    def read(self, fields: Fields, record: Record) -> None:
        flags = _binding(fields)
        slot = _SLOT.read({**fields, "slot_literal": int(flags[0] == "imm")})
        record["sources"] = (_OFFSET.read(fields), slot)
        record["modifiers"] = (*(bit for bit in self.bits if fields[bit]), *flags)

    def write(self, instruction: Instruction, fields: Fields) -> None:
        for bit in self.bits:
            fields[bit] = int(bit in instruction.modifiers)
        _set_binding(instruction.modifiers, fields)
        offset, slot = instruction.sources
        _OFFSET.write(offset, fields)
        _SLOT.write(slot, fields)
        del fields["slot_literal"]


_OFFSET = GprOrLiteral("src1", "literal1")
_SLOT = GprOrLiteral("slot", "slot_literal")
"""The mode says whether it is a literal; there is no bit for it."""


@dataclass(frozen=True)
class ImageOffset:
    """A number of 7 bits that is added to the coordinates of ldib.b and stib.b, if the bit `offset` is set."""

    def read(self, fields: Fields, record: Record) -> None:
        value = fields["offset_high"] << 5 | fields["offset_low"]
        if bool(value) != bool(fields["offset"]):
            raise Reserved("an offset of nothing")
        record["offset"] = value

    def write(self, instruction: Instruction, fields: Fields) -> None:
        fields["offset"] = int(instruction.offset != 0)
        fields["offset_high"], fields["offset_low"] = divmod(instruction.offset, 1 << 5)


def _slot(instruction: Instruction) -> int:
    texture = image_of(instruction).texture
    return register_number(instruction.sources[-1].operand) if texture is None else texture


def _binding(fields: Fields) -> tuple[str, ...]:
    """The mode, and the base of descriptors if the slot counts from one."""
    if fields["mode"] >= len(_MODES):
        raise Reserved(f"mode {fields['mode']}")
    mode = _MODES[fields["mode"]]
    if fields["bindless"]:
        return mode, f"base{fields['base']}"
    if fields["base"]:
        raise Reserved("a base without descriptors below it")
    return (mode,)


def _set_binding(flags: tuple[str, ...], fields: Fields) -> None:
    modes = [number for number, mode in enumerate(_MODES) if mode in flags]
    bases = [int(flag.removeprefix("base")) for flag in flags if flag.startswith("base")]
    if len(modes) != 1:
        raise Reserved(f"flags {flags} name no mode")
    fields["mode"], fields["bindless"], fields["base"] = modes[0], int(bool(bases)), sum(bases)
