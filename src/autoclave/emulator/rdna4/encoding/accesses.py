"""Records of memory accesses: SMEM, DS, FLAT, GLOBAL and SCRATCH."""

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
from autoclave.emulator.rdna4.encoding.layout import Fields, Reserved, signed, unsigned
from autoclave.emulator.rdna4.instruction import NULL, Instruction

_OFFSET_BITS = 24
RETURNS = 1
"""The bit of an atomic's temporal hint that asks for the value from before (the manual, "Temporal Hints")."""

_SCALAR_OFFSET = Slot("soffset", "u32", "scalar")


_LONGEST_PREFETCH = 31
_RESERVED_LOAD_HINT = 7
_CASCADE = 4
"""Of an atomic's temporal hint: wanted by the scopes above; such an atomic returns nothing."""


def _policy(form: Form, fields: Fields) -> int:
    """Scope and temporal hint. `Reserved` if there is no such hint for what the form does."""
    scope, hint = fields["scope"], fields["th"]
    if "atomic" in form.flags:
        wrong = bool(hint & _CASCADE and hint & RETURNS) or (hint, scope) == (3, 3)
    elif form.flags & {"plain", "prefetch"}:
        wrong = bool(hint) or (bool(scope) and "prefetch" in form.flags)
    else:
        wrong = bool(form.destinations) and hint == _RESERVED_LOAD_HINT
    if wrong:
        raise Reserved(f"temporal hint {hint} at scope {scope}")
    return scope | hint << 2


def _policy_fields(policy: int) -> Fields:
    return {"scope": policy & 3, "th": policy >> 2}


class ScalarMemory:
    """SMEM. Sources: the base, and an offset in a register unless that is null. The field of the base counts pairs."""

    def read(self, form: Form, words: Words, pc: int) -> Record:
        """Operands, offset and policy; see `Codec`."""
        fields = words.fields
        fields["sbase"] *= 2
        if form.sources and fields["sbase"] == NULL:
            raise Reserved("null as the base")
        record: Record = {
            "immediate": signed(fields["ioffset"], _OFFSET_BITS),
            "scope_or_policy": _policy(form, fields),
        }
        if "prefetch" in form.flags:
            record["second_immediate"] = fields.pop("sdata")
            if record["second_immediate"] > _LONGEST_PREFETCH:
                raise Reserved(f"length {record['second_immediate']}")
        unused(form, words, [place for place in ("sdata", "sbase") if place in fields])
        record["destinations"] = read_destinations(form, words)
        slots = form.sources if "plain" in form.flags or fields["soffset"] == NULL else (*form.sources, _SCALAR_OFFSET)
        record["sources"] = tuple(source(read_operand(slot, words), slot.type) for slot in slots)
        record["has_scalar_base"] = bool(form.sources)
        if "plain" in form.flags and (fields["ioffset"] or fields["soffset"] or record["scope_or_policy"]):
            raise Reserved(f"an offset or policy, which {form.name} lacks")
        return record

    def write(self, form: Form, instruction: Instruction) -> Words:
        """Operands, offset and policy; see `Codec`."""
        words = Words()
        fields = words.fields
        write_destinations(form, instruction.destinations, words)
        if "plain" in form.flags:
            return words
        fields |= {"soffset": NULL, "ioffset": unsigned(instruction.immediate, _OFFSET_BITS)}
        fields |= _policy_fields(instruction.scope_or_policy)
        write_sources((*form.sources, _SCALAR_OFFSET)[: len(instruction.sources)], instruction.sources, words)
        if "sbase" in fields:
            fields["sbase"], odd = divmod(fields["sbase"], 2)
            if odd:
                raise Reserved("a base that begins at an odd register")
        if "prefetch" in form.flags:
            fields["sdata"] = instruction.second_immediate
        return words


class LocalMemory:
    """DS. The immediate is the offset, or, of pairs, the first of two."""

    def read(self, form: Form, words: Words, pc: int) -> Record:
        """Operands and offsets; see `Codec`."""
        fields = words.fields
        unused(form, words, ("vdst", "addr", "data0", "data1"))
        pair = "pair" in form.flags
        if "plain" in form.flags and (fields["offset0"] or fields["offset1"]):
            raise Reserved(f"an offset, which {form.name} lacks")
        return {
            "destinations": read_destinations(form, words),
            "sources": tuple(source(read_operand(slot, words), slot.type) for slot in form.sources),
            "immediate": fields["offset0"] if pair else fields["offset0"] | fields["offset1"] << 8,
            "second_immediate": fields["offset1"] if pair else 0,
            "has_vector_address": any(slot.place == "addr" and slot.type == "u32" for slot in form.sources),
        }

    def write(self, form: Form, instruction: Instruction) -> Words:
        """Operands and offsets; see `Codec`."""
        words = Words()
        write_destinations(form, instruction.destinations, words)
        write_sources(form.sources, instruction.sources, words)
        offset = instruction.immediate
        pair = "pair" in form.flags
        words.fields["offset0"] = offset if pair else offset & 0xFF
        words.fields["offset1"] = instruction.second_immediate if pair else offset >> 8
        return words


class GlobalMemory:
    """FLAT, GLOBAL and SCRATCH. Sources: the vector address, or the offset to a scalar base; data; the scalar base."""

    def read(self, form: Form, words: Words, pc: int) -> Record:
        """Operands, offset and policy; see `Codec`."""
        fields = words.fields
        record: Record = {
            "immediate": signed(fields["ioffset"], _OFFSET_BITS),
            "scope_or_policy": _policy(form, fields),
        }
        base = fields["saddr"] != NULL and "plain" not in form.flags
        vector = _has_vector_address(form, fields["sve"])
        if form.encoding == "FLAT" and base:
            raise Reserved("a scalar base of FLAT")
        if form.encoding != "SCRATCH" and fields["sve"]:
            raise Reserved("bit SVE outside of SCRATCH")
        if not vector and fields["vaddr"]:
            raise Reserved("a vector address that is not used")
        if "plain" in form.flags and (fields["ioffset"] or fields["saddr"] != NULL):
            raise Reserved(f"an address, which {form.name} lacks")
        returns = "atomic" not in form.flags or bool(fields["th"] & RETURNS)
        if not returns and fields["vdst"]:
            raise Reserved("a destination of an atomic that returns nothing")
        unused(form, words, ("vdst", "vsrc"))
        slots = _slots(form, vector, base)
        return record | {
            "destinations": read_destinations(form, words) if returns else (),
            "sources": tuple(source(read_operand(slot, words), slot.type) for slot in slots),
            "has_vector_address": vector,
            "has_scalar_base": base,
        }

    def write(self, form: Form, instruction: Instruction) -> Words:
        """Operands, offset and policy; see `Codec`."""
        words = Words()
        fields = words.fields
        fields |= {"saddr": NULL, "ioffset": unsigned(instruction.immediate, _OFFSET_BITS)}
        fields |= _policy_fields(instruction.scope_or_policy)
        fields["sve"] = int(form.encoding == "SCRATCH" and instruction.has_vector_address)
        if instruction.destinations or "atomic" not in form.flags:
            write_destinations(form, instruction.destinations, words)
        slots = _slots(form, instruction.has_vector_address, instruction.has_scalar_base)
        write_sources(slots, instruction.sources, words)
        return words


def _has_vector_address(form: Form, enabled: int) -> bool:
    if form.flags & {"plain", "thread"}:
        return False
    return bool(enabled) if form.encoding == "SCRATCH" else True


def _slots(form: Form, vector: bool, base: bool) -> tuple[Slot, ...]:
    """Sources in the order of the record."""
    scratch = form.encoding == "SCRATCH"
    address = (Slot("vaddr", "u32" if scratch or base else "u64", "vector"),) if vector else ()
    scalar = (Slot("saddr", "u32" if scratch else "u64", "scalar" if scratch else "address"),) if base else ()
    return (*address, *form.sources, *scalar)
