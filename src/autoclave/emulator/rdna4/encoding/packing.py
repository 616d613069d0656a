"""Records of VOP3P: packed operations, v_fma_mix, dot products and matrices."""

from collections.abc import Iterable
from functools import cache

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
from autoclave.emulator.rdna4.encoding.form import Form, Slot
from autoclave.emulator.rdna4.encoding.lanes import read_dpp, write_dpp
from autoclave.emulator.rdna4.encoding.layout import Reserved
from autoclave.emulator.rdna4.encoding.operands import FIRST_VECTOR
from autoclave.emulator.rdna4.encoding.types import FLOATS, base
from autoclave.emulator.rdna4.instruction import Instruction, Source

_NEGATED_SECOND = FLOATS
_NEGATED = FLOATS | {"iu8", "iu4"}
"""Types that NEG_HI and NEG are for: of integers of either sort, NEG says that they are signed."""

_PLACES = ("src0", "src1", "src2")


class Packed:
    """VOP3P. Flag "mix": each source is a float of 32 bits or one half of a register, as OPSEL_HI says; NEG_HI is ABS.

    OPSEL is for packed pairs only: for other operands its bits are what a compiler leaves. "bare": without CLAMP. "dpp":
    with DPP.
    """

    def read(self, form: Form, words: Words, pc: int) -> Record:
        """Operands, modifiers and DPP; see `Codec`."""
        fields = words.fields
        dpp = read_dpp(words)
        if words.dpp is not None and any(words.dpp.get(sign, 0) for sign in ("neg0", "abs0", "neg1", "abs1")):
            raise Reserved("signs in the DPP word of VOP3P")
        unused(form, words, _PLACES)
        if dpp is not None and any(fields[slot.place] < FIRST_VECTOR for slot in form.sources):
            raise Reserved("DPP beside an operand that is no vector register")
        upper = fields["opsel_hi"] | fields["opsel_hi2"] << 2
        if (fields["opsel"] | ~upper) & ~_split(form) & 0b111:
            raise Reserved(f"halves of an operand that is not packed, or that {form.name} lacks")
        if fields["neg"] & ~_with_signs(form, _NEGATED) or fields["neg_hi"] & ~_with_signs(form, _NEGATED_SECOND):
            raise Reserved("signs of an operand that is no float")
        if fields["clamp"] and "bare" in form.flags:
            raise Reserved(f"CLAMP, which {form.name} lacks")
        read = _mixed if "mix" in form.flags else _packed
        return {
            "destinations": read_destinations(form, words, form.name == "v_fma_mixhi_f16"),
            "sources": tuple(
                read(
                    slot,
                    words,
                    *(bool(bits >> number & 1) for bits in (fields["neg"], fields["neg_hi"], fields["opsel"], upper)),
                )
                for number, slot in enumerate(form.sources)
            ),
            "clamp": bool(fields["clamp"]),
            "dpp": dpp,
        }

    def write(self, form: Form, instruction: Instruction) -> Words:
        """Operands, modifiers and DPP; see `Codec`."""
        words = Words()
        write_destinations(form, instruction.destinations, words)
        sources = instruction.sources
        if "mix" in form.flags:
            sources = tuple(
                Source(
                    each.operand, each.type, each.negated, False, each.high, each.high_of_second, each.negated_second
                )
                for each in sources
            )
        write_sources(form.sources, sources, words)
        upper = _bits(source.high_of_second for source in sources) | (0b111 & ~_split(form))
        words.fields |= {
            "clamp": int(instruction.clamp),
            "neg": _bits(source.negated for source in sources),
            "neg_hi": _bits(source.negated_second for source in sources),
            "opsel": _bits(source.high for source in sources),
            "opsel_hi": upper & 3,
            "opsel_hi2": upper >> 2,
        }
        write_dpp(instruction.dpp, words)
        return words


@cache
def _split(form: Form) -> int:
    """A bit for each source of which OPSEL and OPSEL_HI select halves."""
    mixed = "mix" in form.flags
    return sum(1 << number for number, slot in enumerate(form.sources) if mixed or slot.type.endswith("x2"))


@cache
def _with_signs(form: Form, types: frozenset[str]) -> int:
    """A bit for each source of these types."""
    return sum(1 << number for number, slot in enumerate(form.sources) if base(slot.type) in types)


def _packed(slot: Slot, words: Words, negated: bool, negated_second: bool, high: bool, high_of_second: bool) -> Source:
    split = slot.type.endswith("x2")
    return source(read_operand(slot, words), slot.type, negated, False, high, split and high_of_second, negated_second)


def _mixed(slot: Slot, words: Words, negated: bool, absolute: bool, high: bool, half: bool) -> Source:
    if high and not half:
        raise Reserved("the upper half of an operand of 32 bits")
    type = "f16" if half else "f32"
    operand = read_operand(Slot(slot.place, type, slot.kind), words, high)
    return source(operand, type, negated, absolute, high, half, absolute)


def _bits(flags: Iterable[bool]) -> int:
    return sum(int(flag) << number for number, flag in enumerate(flags))
