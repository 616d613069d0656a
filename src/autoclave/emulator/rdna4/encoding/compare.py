"""Comparisons, VOPC (the manual, "VOPC Instructions"): v_cmp writes VCC, v_cmpx EXEC."""

from autoclave.emulator.rdna4.encoding.form import Form, parse

_FLOAT_CONDITIONS = ("lt", "eq", "le", "gt", "lg", "ge", "o", "u", "nge", "nlg", "ngt", "nle", "neq", "nlt")
_INTEGER_CONDITIONS = ("lt", "eq", "le", "gt", "ne", "ge")
"""In the order of their opcodes, from 1 up."""

_TYPES = {
    "f16": (0, _FLOAT_CONDITIONS),
    "f32": (16, _FLOAT_CONDITIONS),
    "f64": (32, _FLOAT_CONDITIONS),
    "i16": (48, _INTEGER_CONDITIONS),
    "u16": (56, _INTEGER_CONDITIONS),
    "i32": (64, _INTEGER_CONDITIONS),
    "u32": (72, _INTEGER_CONDITIONS),
    "i64": (80, _INTEGER_CONDITIONS),
    "u64": (88, _INTEGER_CONDITIONS),
}
"""Where the opcodes of each type begin."""

_CLASSES = {"f16": 125, "f32": 126, "f64": 127}
"""Opcodes of v_cmp_class: a float, and a mask of kinds of floats."""

_WRITES_EXEC = 128
"""Added to the opcode of v_cmp for v_cmpx."""


def _rows(prefix: str, base: int, destination: str) -> list[str]:
    conditions = [
        f"{base + first + number} {prefix}_{condition}_{type} {destination} = {type} {type}"
        for type, (first, conditions) in _TYPES.items()
        for number, condition in enumerate(conditions, 1)
    ]
    classes = [
        f"{base + opcode} {prefix}_class_{type} {destination} = {type} {'u16' if type == 'f16' else 'u32'}"
        for type, opcode in _CLASSES.items()
    ]
    return conditions + classes


FORMS: tuple[Form, ...] = parse("VOPC", "\n".join(_rows("v_cmp", 0, "vcc") + _rows("v_cmpx", _WRITES_EXEC, "(exec)")))
