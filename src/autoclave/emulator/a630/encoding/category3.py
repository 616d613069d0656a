"""Category 3: operations on three sources (ir3-cat3.xml)."""

from dataclasses import dataclass

from autoclave.emulator.a630.encoding.alu_sources import Narrow, Repetition, Wide
from autoclave.emulator.a630.encoding.form import Form, form
from autoclave.emulator.a630.encoding.layout import Fields
from autoclave.emulator.a630.encoding.operands import ConvertedDestination, Destinations, Sources
from autoclave.emulator.a630.encoding.parts import Flag, Modifiers, Number, Part, Record, Scheduling, Width
from autoclave.emulator.a630.instruction import Instruction

_OPERATIONS = {
    "mad.u16": ("0000", False),
    "madsh.u16": ("0001", True),
    "mad.s16": ("0010", False),
    "madsh.m16": ("0011", True),
    "mad.u24": ("0100", True),
    "mad.s24": ("0101", True),
    "mad.f16": ("0110", False),
    "mad.f32": ("0111", True),
    "sel.b16": ("1000", False),
    "sel.b32": ("1001", True),
    "sel.s16": ("1010", False),
    "sel.s32": ("1011", True),
    "sel.f16": ("1100", False),
    "sel.f32": ("1101", True),
    "sad.s16": ("1110", False),
    "sad.s32": ("1111", True),
}
"""Operation, and whether the sources are full registers."""

_WITH_NUMBERS = {"shrm": "1000", "shlm": "1001", "shrg": "1010", "shlg": "1011", "andg": "1100"}
"""A bit says how wide the sources are; sources 1 and 3 may be numbers of 12 bits, but not c0.x and the like."""

_DOT_PRODUCTS = {"dp2acc": 0, "dp4acc": 1}
_MATRICES = {"wmm": 0, "wmm.accu": 1}

_MARKS = "{sy}{ss}{jp}{sat}{rpt}{nops}{ul}{name}"
_TEXT = _MARKS + " {d0}, {w0}, {w1}, {w2}"


def _row(operation: str, middle: str, sat: str, high: str, bit13: int, negated1: str) -> str:
    """`middle` is bit 46; `high` are bits 31 and 30, which with bit 14 negate sources 3, 2 and 1 where they can."""
    return (
        f"011 sy jp {operation} src2:8 {middle} ul ss r1 {sat} repeat:2 dst:8 {high} r3 src3:13 r2 {negated1} "
        f"{bit13} src1:13"
    )


def _parts(
    width: Width, numbers: tuple[bool, bool], negations: tuple[str | None, str | None, str | None]
) -> tuple[Part, ...]:
    """`numbers`: whether sources 1 and 3 may be numbers. `negations`: the bits that negate sources 1 to 3."""
    first, second, third = negations
    return (
        width,
        Number("repeat", "repeat"),
        Scheduling(("sy", "ss", "jp", "ul"), nops=True),
        Sources(
            (
                Wide("src1", width.half, first, Repetition("r1"), numbers[0]),
                Narrow("src2", width.half, second, Repetition("r2")),
                Wide("src3", width.half, third, Repetition("r3", shares_nops=False), numbers[1]),
            )
        ),
    )


_NEGATIONS = ("n1", "n2", "n3")


def _operation(name: str, operation: str, is_full: bool) -> Form:
    width = Width(is_full)
    parts = (*_parts(width, (False, False), _NEGATIONS), Flag("sat", "saturate"), ConvertedDestination(width))
    return form(name, _row(operation, "conv", "sat", "n3 n2", 0, "n1"), parts, _TEXT)


def _with_numbers(name: str, operation: str) -> Form:
    width = Width()
    parts = (*_parts(width, (True, True), _NEGATIONS), ConvertedDestination(width))
    return form(name, _row(operation, "conv", "full", "n3 n2", 1, "n1"), parts, _TEXT)


def _dot_product(name: str, bit: int) -> Form:
    parts = (
        *_parts(Width(True), (False, False), (None, None, "n3")),
        Flag("sat", "saturate"),
        Destinations(),
        Modifiers((("mixed", {0: "unsigned", 1: "mixed"}), ("high", {0: "low", 1: "high"}))),
    )
    row = _row("1101", str(bit), "sat", "n3 high", 1, "mixed")
    return form(name, row, parts, "{sy}{ss}{jp}{sat}{nops}{ul}{name}{modifiers} {d0}, {w0}, {w1}, {v2}")


def _narrow_result(fields: Fields) -> bool:
    return not fields["result"]


@dataclass(frozen=True)
class _ResultWidth:
    """The bit `result`, set for a full destination."""

    def read(self, fields: Fields, record: Record) -> None:
        """Nothing of its own: the destination says it."""

    def write(self, instruction: Instruction, fields: Fields) -> None:
        fields["result"] = int(not instruction.destinations[0].half)


def _matrix(name: str, bit: int) -> Form:
    parts = (
        *_parts(Width(), (False, True), ("n1", "n2", None)),
        Destinations(("dst",), _narrow_result),
        _ResultWidth(),
    )
    return form(name, _row("1110", "result", str(bit), "full n2", 1, "n1"), parts, _TEXT)


FORMS = (
    *(_operation(name, *encoding) for name, encoding in _OPERATIONS.items()),
    *(_with_numbers(name, operation) for name, operation in _WITH_NUMBERS.items()),
    *(_dot_product(name, bit) for name, bit in _DOT_PRODUCTS.items()),
    *(_matrix(name, bit) for name, bit in _MATRICES.items()),
)
