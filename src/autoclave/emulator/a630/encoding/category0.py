"""Category 0: flow control (ir3-cat0.xml)."""

from autoclave.emulator.a630.encoding.form import form
from autoclave.emulator.a630.encoding.operands import Predicate, Sources
from autoclave.emulator.a630.encoding.parts import Modifiers, Number, Power, Scheduling

_PLAIN = {
    "nop": ("0000", 0),
    "ret": ("0100", 0),
    "end": ("0110", 0),
    "emit": ("0111", 0),
    "cut": ("1000", 0),
    "chmask": ("1001", 0),
    "chsh": ("1010", 0),
    "flow_rev": ("1011", 0),
    "shpe": ("1000", 1),
    "predt": ("1101", 1),
    "predf": ("1110", 1),
    "prede": ("1111", 1),
}
"""Without operands: operation, and the bit that doubles the number of operations."""

_JUMPS = {"jump": ("0010", 0), "call": ("0011", 0), "bkt": ("0000", 1), "getone": ("0101", 1), "shps": ("0111", 1)}

_BRANCHES = {"br": ("000", 1), "brao": ("001", 2), "braa": ("010", 2), "bany": ("100", 1), "ball": ("101", 1)}
"""Kind of branch, and how many predicates it looks at."""

_NO_VALUE = "-" * 32
_TARGET = Number("target", "target", bits=32)
_PREDICATES = (Predicate("component1", "inverted1"), Predicate("component2", "inverted2"))

FORMS = (
    *(
        form(
            name,
            f"000 sy jp {operation} 000 --{high} eq 000 ss - repeat:3 000 000 -- {_NO_VALUE}",
            [
                Scheduling(("sy", "ss", "eq", "jp")),
                Number("repeat", "repeat"),
            ],
            "{sy}{ss}{eq}{jp}{rpt}{name}",
        )
        for name, (operation, high) in _PLAIN.items()
    ),
    *(
        form(
            name,
            f"000 sy jp {operation} --- --{high} - --- ss - --- --- ----- target:32",
            [Scheduling(("sy", "ss", "jp")), _TARGET],
            "{sy}{ss}{jp}{name} #{target}",
        )
        for name, (operation, high) in _JUMPS.items()
    ),
    *(
        form(
            name,
            "000 sy jp 0001 component1:2 inverted1 --0 eq "
            f"{'---' if predicates == 1 else 'component2:2 inverted2'} ss - --- {kind} ----- target:32",
            [Scheduling(("sy", "ss", "eq", "jp")), _TARGET, Sources(_PREDICATES[:predicates])],
            "{sy}{ss}{eq}{jp}{name} " + "{predicates}, #{target}",
        )
        for name, (kind, predicates) in _BRANCHES.items()
    ),
    form(
        "kill",
        f"000 sy jp 0101 component1:2 inverted1 --0 eq 000 ss - --- 000 00000 {_NO_VALUE}",
        [Scheduling(("sy", "ss", "eq", "jp")), Sources(_PREDICATES[:1])],
        "{sy}{ss}{eq}{jp}{name} {predicates}",
    ),
    form(
        "brac",
        "000 sy jp 0001 --- --0 eq --- ss - --- 011 index:5 target:32",
        [
            Scheduling(("sy", "ss", "eq", "jp")),
            _TARGET,
            Modifiers((("index", {index: str(index) for index in range(32)}),)),
        ],
        "{sy}{ss}{eq}{jp}{name}{modifiers} #{target}",
    ),
    form(
        "getlast",
        "000 sy jp 0100 cluster:3 --1 - --- ss - --- --- ----- target:32",
        [Scheduling(("sy", "ss", "jp")), _TARGET, Power("cluster", "count", first=2)],
        "{sy}{ss}{jp}{name}.w{count} #{target}",
    ),
)
