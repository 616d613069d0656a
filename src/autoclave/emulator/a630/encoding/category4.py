"""Category 4: transcendentals (ir3-cat4.xml)."""

from autoclave.emulator.a630.encoding.alu_sources import Multi, Repetition
from autoclave.emulator.a630.encoding.form import form
from autoclave.emulator.a630.encoding.operands import ConvertedDestination, Sources
from autoclave.emulator.a630.encoding.parts import Flag, Number, Scheduling, Width

_OPERATIONS = {
    "rcp": "000000",
    "rsq": "000001",
    "log2": "000010",
    "exp2": "000011",
    "sin": "000100",
    "cos": "000101",
    "sqrt": "000110",
    "hrsq": "001001",
    "hlog2": "001010",
    "hexp2": "001011",
}
_WIDTH = Width()

FORMS = tuple(
    form(
        name,
        f"100 sy jp {operation} full ----- conv ul ss r sat repeat:2 dst:8 {'-' * 16} src:16",
        [
            _WIDTH,
            Number("repeat", "repeat"),
            Scheduling(("sy", "ss", "jp", "ul")),
            Flag("sat", "saturate"),
            Sources((Multi("src", _WIDTH.half, Repetition("r", shares_nops=False)),)),
            ConvertedDestination(_WIDTH),
        ],
        "{sy}{ss}{jp}{sat}{rpt}{ul}{name} {d0}, {a0}",
    )
    for name, operation in _OPERATIONS.items()
)
