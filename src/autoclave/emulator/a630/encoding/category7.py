"""Category 7: barriers and caches (ir3-cat7.xml)."""

from autoclave.emulator.a630.encoding.form import Form, form
from autoclave.emulator.a630.encoding.parts import Modifiers, Part, Scheduling, flag_modifier

_BARRIERS = {"bar": "0000", "fence": "0001"}
_CACHES = {"dccln": "0100", "dcinv": "0101", "dcflu": "0110"}

_TEXT = "{sy}{ss}{jp}{name}{modifiers}"


def _operation(name: str, operation: str, middle: str, modifiers: Modifiers | None) -> Form:
    """`middle` are bits 54 to 45."""
    parts: list[Part] = [Scheduling(("sy", "ss", "jp")), *([modifiers] if modifiers else [])]
    return form(name, f"111 sy jp {operation} {middle} ss {'-' * 44}", parts, _TEXT)


FORMS = (
    *(
        _operation(name, code, "g l r w -1----", Modifiers(tuple(flag_modifier(field) for field in "glrw")))
        for name, code in _BARRIERS.items()
    ),
    *(
        _operation(name, code, "--0 all ------", Modifiers((("all", {0: "shr", 1: "all"}),)))
        for name, code in _CACHES.items()
    ),
    _operation("sleep", "0010", "--- long ------", Modifiers((("long", {0: "s", 1: "l"}),))),
    _operation("icinv", "0011", "-" * 10, None),
)
