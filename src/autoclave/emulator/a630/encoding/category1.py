"""Category 1: moves and conversions (ir3-cat1.xml)."""

from dataclasses import dataclass

from autoclave.emulator.a630.encoding.alu_sources import CONSTANT_KIND, Multi, Repetition
from autoclave.emulator.a630.encoding.form import TYPES, Form, form
from autoclave.emulator.a630.encoding.layout import Fields, Layout, Reserved
from autoclave.emulator.a630.encoding.operands import (
    Destinations,
    Gpr,
    Implied,
    Literal,
    RelativeDestination,
    Slot,
    Sources,
    register,
)
from autoclave.emulator.a630.encoding.parts import Choice, Number, Record, Scaled, Scheduling
from autoclave.emulator.a630.instruction import ADDRESS_REGISTER, Immediate, Instruction, Source

_ROUNDING = (None, "even", "positive", "negative")
_HALF_TYPES = frozenset({0, 2, 4, 6, 7})
"""Unlike in categories 5 and 6, u8_32 is in half registers."""

_ADDRESSES = {(ADDRESS_REGISTER, 4, 4): "mova", (ADDRESS_REGISTER + 1, 2, 2): "mova1"}
"""Moves to address registers, by destination and types (s16 to a0.x, u16 to a1.x)."""


def _half_source(fields: Fields) -> bool:
    return fields["source_type"] in _HALF_TYPES


def _half_destination(fields: Fields) -> bool:
    return fields["type"] in _HALF_TYPES


@dataclass(frozen=True)
class _MoveImmediate:
    """A literal of 32 bits. (r) has a meaning for mova only, where it resolves hazards."""

    field: str

    def read(self, fields: Fields) -> Source:
        half = _half_source(fields)
        if half and fields[self.field] >> 16:
            raise Reserved(f"half literal {fields[self.field]:#x}")
        return Source(Immediate(fields[self.field], half), repeated=bool(fields["r"]))

    def write(self, source: Source, fields: Fields) -> None:
        if not isinstance(source.operand, Immediate):
            raise Reserved(f"{source} in a place for a literal")
        fields[self.field] = source.operand.bits
        fields["r"] = int(source.repeated)


@dataclass(frozen=True)
class _Mnemonic:
    """mov, cov or a move to an address register, by types and destination. Address registers have no width."""

    def read(self, fields: Fields, record: Record) -> None:
        source_type, kind = fields["source_type"], fields["type"]
        address = _ADDRESSES.get((fields["dst"], source_type, kind))
        record["name"] = address or ("mov" if source_type == kind else "cov")
        if address:
            if fields["relative"]:
                raise Reserved("a relative address register")
            record["destinations"] = (register(fields["dst"]),)

    def write(self, instruction: Instruction, fields: Fields) -> None:
        """Nothing of its own."""


_HEAD = "001 sy jp 00 rounding:2"
_TAIL = "source_type:3 relative type:3 ul ss r 0 repeat:2 dst:8"
_PARTS = (
    Scheduling(("sy", "ss", "jp", "ul")),
    Number("repeat", "repeat"),
    Choice("rounding", "rounding", _ROUNDING),
    Choice("source_type", "source_type", TYPES),
    Choice("type", "type", TYPES),
    RelativeDestination(_half_destination),
)
_MARKS = "{sy}{ss}{jp}{rpt}{ul}{name}"
_TYPED = "{conversion} {rounding}"


def _move(rest: str, source: Slot) -> Form:
    layout = Layout.parse(f"{_HEAD} {rest}")
    parts = (*_PARTS, _Mnemonic(), Sources((source,)))
    return Form(("mov", "cov", "mova", "mova1"), 1, layout, parts, _MARKS + _TYPED + "{moved}, {moving}")


def _source(bits: int, kind: int = 0) -> Multi:
    return Multi("src", _half_source, Repetition("r", shares_nops=False), bits, kind)


_MULTI_PARTS = (
    Scheduling(("sy", "ss", "jp", "ul")),
    Choice("rounding", "rounding", _ROUNDING),
    Choice("source_type", "source_type", TYPES),
    Choice("type", "type", TYPES),
)


def _multi(name: str, operation: str, fields: str, destinations: int) -> Form:
    sources = [field for field in ("src0", "src1", "src2", "src3") if field in fields + " src0"]
    row = f"001 sy jp 10 rounding:2 00 source_type:3 0 type:3 ul ss 0 0 {operation} dst0:8 {fields} src0:8"
    parts = (
        *_MULTI_PARTS,
        Destinations(("dst0", "dst1", "dst2", "dst3")[:destinations], _half_destination),
        Sources(tuple(Gpr(field, _half_source) for field in sources)),
    )
    return form(name, row, parts, "{sy}{ss}{jp}{ul}{name}" + _TYPED + "{destinations}, {sources}")


_BROADCAST = _source(11)

FORMS = (
    _move(f"10 {_TAIL} src:32", _MoveImmediate("src")),
    _move(f"01 {_TAIL} {'0' * 21} src:11", _source(11, CONSTANT_KIND)),
    _move(f"00 {_TAIL} {'0' * 20} src:12", _source(12)),
    form(
        "movs",
        f"{_HEAD} 00 {_TAIL} 1 0 lane:7 {'0' * 12} src:11",
        [*_PARTS, Sources((_BROADCAST, Literal("lane")))],
        _MARKS + _TYPED + "{d0}, {a0}, {m1}",
    ),
    form(
        "movs",
        f"{_HEAD} 00 {_TAIL} 1 1 {'0' * 19} src:11",
        [*_PARTS, Sources((_BROADCAST, Implied(ADDRESS_REGISTER)))],
        _MARKS + _TYPED + "{d0}, {a0}, {m1}",
    ),
    _multi("swz", "00", "00000000 dst1:8 src1:8", destinations=2),
    _multi("gat", "01", "src3:8 src2:8 src1:8", destinations=1),
    _multi("sct", "10", "dst3:8 dst2:8 dst1:8", destinations=4),
    form(
        "movmsk",
        f"001 sy jp 11 -- 00 011 relative 011 ul ss 0 0 words:2 dst:8 {'0' * 32}",
        [
            Scheduling(("sy", "ss", "jp", "ul")),
            Scaled("words", "count", 32),
            RelativeDestination(),
        ],
        "{sy}{ss}{jp}{ul}{name}.w{count} {d0}",
    ),
)
