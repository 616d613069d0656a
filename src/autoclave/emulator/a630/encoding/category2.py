"""Category 2: operations on one or two sources (ir3-cat2.xml)."""

from autoclave.emulator.a630.encoding.alu_sources import Multi, Repetition
from autoclave.emulator.a630.encoding.form import Form, form
from autoclave.emulator.a630.encoding.operands import ConvertedDestination, Sources
from autoclave.emulator.a630.encoding.parts import Choice, Flag, Idle, Number, Part, Scheduling, Width

_ONE_SOURCE = {
    "sign.f": "000100",
    "absneg.f": "000110",
    "floor.f": "001001",
    "ceil.f": "001010",
    "rndne.f": "001011",
    "rndaz.f": "001100",
    "trunc.f": "001101",
    "absneg.s": "011010",
    "not.b": "011110",
    "bfrev.b": "110011",
    "clz.s": "110100",
    "clz.b": "110101",
    "setrm": "111100",
    "cbits.b": "111101",
}
_TWO_SOURCES = {
    "add.f": "000000",
    "min.f": "000001",
    "max.f": "000010",
    "mul.f": "000011",
    "add.u": "010000",
    "add.s": "010001",
    "sub.u": "010010",
    "sub.s": "010011",
    "min.u": "010110",
    "min.s": "010111",
    "max.u": "011000",
    "max.s": "011001",
    "and.b": "011100",
    "or.b": "011101",
    "xor.b": "011111",
    "mul.u24": "110000",
    "mul.s24": "110001",
    "mull.u": "110010",
    "shl.b": "110110",
    "shr.b": "110111",
    "ashr.b": "111000",
    "mgen.b": "111010",
    "getbit.b": "111011",
    "shb": "111110",
    "msad": "111111",
}
_COMPARISONS = {
    "cmps.f": "000101",
    "cmpv.f": "000111",
    "cmps.u": "010100",
    "cmps.s": "010101",
    "cmpv.u": "100001",
    "cmpv.s": "100010",
}
_INTERPOLATIONS = {"bary.f": 0, "flat.b": 1}
"""Operation 111001; one bit of the condition tells them apart."""

_CONDITIONS = ("lt", "le", "gt", "ge", "eq", "ne")

_WIDTH = Width()
_SOURCES = (Multi("src1", _WIDTH.half, Repetition("r1")), Multi("src2", _WIDTH.half, Repetition("r2")))
_MARKS = "{sy}{ss}{jp}{sat}{rpt}{nops}{ul}{name}"
_DESTINATION = " {ei}{d0}, "


def _operation(name: str, operation: str, middle: str, sources: int, condition: str = "", *more: Part) -> Form:
    """`middle` holds what lies between the sources' repetitions: the condition's three bits."""
    row = f"010 sy jp {operation} full r2 {middle} ei conv ul ss r1 sat repeat:2 dst:8 "
    parts: tuple[Part, ...] = (
        _WIDTH,
        Number("repeat", "repeat"),
        Scheduling(("sy", "ss", "jp", "ul"), nops=True),
        Flag("sat", "saturate"),
        Flag("ei", "extra"),
        Sources(_SOURCES[:sources]),
        ConvertedDestination(_WIDTH),
        *more,
    )
    text = _MARKS + condition + _DESTINATION + ("{a0}", "{a0}, {a1}")[sources - 1]
    return form(name, row + ("src2:16 src1:16" if sources == 2 else f"{'-' * 16} src1:16"), parts, text)


FORMS = (
    *(_operation(name, code, "---", 1, "", Idle("r2")) for name, code in _ONE_SOURCE.items()),
    *(_operation(name, code, "---", 2) for name, code in _TWO_SOURCES.items()),
    *(_operation(name, "111001", f"{bit}--", 2) for name, bit in _INTERPOLATIONS.items()),
    *(
        _operation(name, code, "condition:3", 2, ".{condition}", Choice("condition", "condition", _CONDITIONS))
        for name, code in _COMPARISONS.items()
    ),
)
