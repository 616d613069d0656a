"""A form of instruction: what it is called, how it is encoded, what it reads and writes."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from autoclave.emulator.rdna4.instruction import EXEC, M0, VCC, Encoding

FIXED: Mapping[str, int] = {"vcc": VCC, "exec": EXEC, "m0": M0}
"""Scalar registers that an operation uses without a field that says so."""


FLAGS: Mapping[str, str] = {
    "atomic": "the destination is there only if the policy asks for the value from before",
    "bare": "a float result without CLAMP and OMOD",
    "byte_sel": "in VOP3, OPSEL says which byte of the source is the operand; that is the immediate",
    "byte_sel_to": "OPSEL says which byte of the destination is written; that is the immediate",
    "clamp": "integers saturate with CLAMP",
    "dpp": "of VOP3P: the first source can be another lane's",
    "message": "the field of the source is the number of a message, the immediate",
    "mix": "OPSEL_HI says of each source whether it is a half, OPSEL which, NEG_HI is ABS",
    "no_dpp": "the first source cannot be another lane's, though no operand is wider than a register",
    "op_sel": "of VOP3: LLVM tells halves by op_sel, though the operation has a short encoding",
    "pair": "two offsets",
    "plain": "neither operands nor an immediate",
    "prefetch": "the field of the data is a length, the second immediate",
    "select": "the first two bits of OPSEL are the immediate",
    "signed": "the immediate is signed",
    "signs": "NEG and ABS, though the operands are no floats",
    "target": "the immediate is the distance of a branch, in words",
    "thread": "the lane's number is the offset: no vector address",
}
"""What a form can have besides operands."""


@dataclass(frozen=True, slots=True)
class Slot:
    """An operand of a form. place: the field that encodes it, one of `FIXED`, or "literal", the word that follows.

    kind: what the field can name: a "vector" register, a "scalar" register, a "source" of any sort (9 bits), of these only a
    "vector source" or a "scalar source", an "inline source" (a vector register or inline constant) or a "lane" (a scalar register or inline constant); of
    scalar ones, an "address" (neither M0 nor EXEC), "m0 or inline". What is "fixed" or "literal" is in no field.
    written: whether assembly shows it. high: of memory accesses, whether it is the upper half of the register.
    """

    place: str
    type: str
    kind: str
    written: bool = True
    high: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """One operation in one encoding. flags: among `FLAGS`."""

    name: str
    encoding: Encoding
    opcode: int
    destinations: tuple[Slot, ...]
    sources: tuple[Slot, ...]
    flags: frozenset[str] = frozenset()


_PLACES: Mapping[Encoding, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "SOP1": (("sdst",), ("ssrc0",)),
    "SOP2": (("sdst",), ("ssrc0", "ssrc1")),
    "SOPC": ((), ("ssrc0", "ssrc1")),
    "SOPK": (("sdst",), ()),
    "SOPP": ((), ()),
    "VOP1": (("vdst",), ("src0",)),
    "VOP2": (("vdst",), ("src0", "vsrc1")),
    "VOPC": ((), ("src0", "vsrc1")),
    "VOP3": (("vdst",), ("src0", "src1", "src2")),
    "VOP3SD": (("vdst", "sdst"), ("src0", "src1", "src2")),
    "VOP3P": (("vdst",), ("src0", "src1", "src2")),
    "VOPD": (("vdst",), ("src0", "vsrc1")),
    "SMEM": (("sdata",), ("sbase",)),
    "DS": (("vdst",), ("addr", "data0", "data1")),
    "FLAT": (("vdst",), ("vsrc",)),
    "GLOBAL": (("vdst",), ("vsrc",)),
    "SCRATCH": (("vdst",), ("vsrc",)),
}
"""Fields of destinations and sources by encoding, in the order in which operands take them."""

_KINDS: Mapping[str, str] = {
    "sdst": "scalar",
    "ssrc0": "scalar source",
    "ssrc1": "scalar source",
    "vdst": "vector",
    "vsrc1": "vector",
    "src0": "source",
    "src1": "source",
    "src2": "source",
    "sdata": "address",
    "sbase": "address",
    "addr": "vector",
    "data0": "vector",
    "data1": "vector",
    "vsrc": "vector",
}

_ROW = re.compile(r"\s*(?P<opcode>\d+)\s+(?P<name>\w+)\s*(?P<to>[^=;]*)(=\s*(?P<of>[^;]*))?(;\s*(?P<flags>.*))?")


def parse(encoding: Encoding, rows: str, prefix: str = "") -> tuple[Form, ...]:
    """The forms that `rows` write down, one a line: opcode, name (after `prefix`), destinations "=" sources; flags.

    An operand is a type, and takes the encoding's next field. "s:" and "v:" before a type: it is a scalar, a vector
    register only; "i:" a vector register or inline constant (of SOP1: M0 or one); "lane:" a scalar register or one;
    "high:" the upper half; "literal:" a word that follows; "src0:" (or another field): that field. "vcc", "exec" and
    "m0" are those registers, "old" is the destination's content. In parentheses: not shown in assembly.
    """
    return tuple(_form(encoding, line, prefix) for line in rows.splitlines() if line.strip())


def _form(encoding: Encoding, line: str, prefix: str) -> Form:
    row = _ROW.fullmatch(line)
    if row is None:
        raise ValueError(f"{encoding} row {line!r} is not of the form opcode, name, destinations = sources; flags")
    to, of = _PLACES[encoding]
    destinations = tuple(_slots(row["to"], iter(to), ()))
    sources = tuple(_slots(row["of"] or "", iter(of), destinations))
    flags = frozenset((row["flags"] or "").split())
    if not flags <= FLAGS.keys():
        raise ValueError(f"{encoding} row {line!r}: unknown flags {sorted(flags - FLAGS.keys())}")
    return Form(prefix + row["name"], encoding, int(row["opcode"]), destinations, sources, flags)


def _slots(operands: str, places: Iterator[str], destinations: tuple[Slot, ...]) -> Iterator[Slot]:
    for token in operands.split():
        written = not token.startswith("(")
        prefix, _, type = token.strip("()").rpartition(":")
        if type == "old":
            yield replace(destinations[0], written=False)
        elif type in FIXED:
            yield Slot(type, "b32" if type == "m0" else "mask", "fixed", written)
        elif prefix == "literal":
            yield Slot("literal", type, "literal", written)
        else:
            place = prefix if prefix in _KINDS else next(places)
            kind = "scalar" if type == "mask" else _RESTRICTED.get((prefix, _KINDS[place]), _KINDS[place])
            yield Slot(place, type, kind, written, prefix == "high")


_RESTRICTED: Mapping[tuple[str, str], str] = {
    ("s", "source"): "scalar source",
    ("v", "source"): "vector source",
    ("src0", "source"): "vector source",
    ("s", "vector"): "scalar",
    ("s", "scalar source"): "scalar",
    ("i", "source"): "inline source",
    ("lane", "source"): "lane",
    ("i", "scalar source"): "m0 or inline",
}
"""Kinds of operand by prefix and by what the field can name."""
