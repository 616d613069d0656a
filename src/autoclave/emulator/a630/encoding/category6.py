"""Category 6: loads, stores and atomics (ir3-cat6.xml)."""

from autoclave.emulator.a630.encoding.bindings import BoundBuffer, BoundImage, ImageOffset, PlainImage
from autoclave.emulator.a630.encoding.form import ATOMIC_TYPES, HALF_TYPES, TYPES, Form, form
from autoclave.emulator.a630.encoding.layout import Fields
from autoclave.emulator.a630.encoding.operands import ConstantTarget, Destinations, Gpr, GprOrLiteral, Sources
from autoclave.emulator.a630.encoding.parts import Choice, Modifiers, Number, Part, Scaled, Scheduling, SplitNumber

_SCHEDULING = Scheduling(("sy", "jp"))
_TYPE = Choice("type", "type", TYPES)
_ATOMIC_TYPE = Choice("type", "type", ATOMIC_TYPES)
_SIZE = Number("size", "count")
_STEPS = Scaled("steps", "count")
"""Components of a typed access, less one."""

_ATOMICS = {
    "add": "10000",
    "sub": "10001",
    "xchg": "10010",
    "inc": "10011",
    "dec": "10100",
    "cmpxchg": "10101",
    "min": "10110",
    "max": "10111",
    "and": "11000",
    "or": "11001",
    "xor": "11010",
}
_IMAGE_ATOMICS = {name: f"0{code}" for name, code in _ATOMICS.items() if name not in ("inc", "dec")}


def _half(fields: Fields) -> bool:
    return fields["type"] in HALF_TYPES


_DESTINATION = Destinations(("dst",), _half)
_OFFSET = Number("offset", "offset", bits=13)
_SPLIT_OFFSET = SplitNumber("offset_low", "offset_high", "offset", low_bits=8, bits=13)
_INDEX = (Number("offset", "offset"), Number("shift", "shift"))
"""What ldg.a and stg.a make of their second source."""

_TYPED = "{sy}{jp}{name}.{type} "


def _load(name: str, operation: str, space: str, data: str) -> Form:
    row = f"110 sy jp {operation} -- type:3 {'-' * 9} dst:8 size:8 1 - src:8 offset:13 1"
    parts: list[Part] = [_SCHEDULING, _TYPE, _DESTINATION, Sources((Gpr("src"),)), _OFFSET, _SIZE]
    return form(name, row, parts, _TYPED + data + ", " + space + "[{m0}{offset}], {count}")


def _store(name: str, operation: str, space: str, last: str) -> Form:
    row = f"110 sy jp {operation} -- type:3 dst:8 1 offset_low:8 size:8 1 {'-' * 9} offset_high:5 src:8 {last}"
    parts: list[Part] = [_SCHEDULING, _TYPE, Sources((Gpr("dst"), Gpr("src", _half))), _SPLIT_OFFSET, _SIZE]
    return form(name, row, parts, _TYPED + space + "[{m0}{offset}], {bare1}, {count}")


_GLOBAL = (
    form(
        "ldg",
        f"110 sy jp 00000 00 type:3 {'-' * 9} dst:8 00 --- size:3 1 0 src1:8 offset:13 1",
        [_SCHEDULING, _TYPE, _DESTINATION, Sources((Gpr("src1"),)), _OFFSET, _SIZE],
        _TYPED + "{d0}, g[{raw0}{offset}], {count}",
    ),
    form(
        "ldg.a",
        f"110 sy jp 00000 00 type:3 {'-' * 9} dst:8 00 --- size:3 1 1 src1:8 shift:2 0 offset:2 src2:8 1",
        [_SCHEDULING, _TYPE, _DESTINATION, Sources((Gpr("src1"), Gpr("src2"))), *_INDEX, _SIZE],
        _TYPED + "{d0}, g[{shifted}], {count}",
    ),
    form(
        "ldg.k",
        f"110 sy jp 00000 01 type:3 {'-' * 8} target:9 00 --- size:4 0 src1:8 offset:13 1",
        [_SCHEDULING, _TYPE, Sources((ConstantTarget("target"), Gpr("src1"))), _OFFSET, _SIZE],
        _TYPED + "c[{target0}], g[{raw1}{offset}], {count}",
    ),
    form(
        "stg",
        f"110 sy jp 00011 00 type:3 src1:8 1 offset_low:8 00 --- size:3 1 - {'-' * 8} offset_high:5 src3:8 -",
        [_SCHEDULING, _TYPE, Sources((Gpr("src1"), Gpr("src3", _half))), _SPLIT_OFFSET, _SIZE],
        _TYPED + "g[{raw0}{offset}], {m1}, {count}",
    ),
    form(
        "stg.a",
        f"110 sy jp 00011 01 type:3 src1:8 1 src2:8 00 --- size:3 1 - {'-' * 8} shift:2 0 offset:2 src3:8 -",
        [_SCHEDULING, _TYPE, Sources((Gpr("src1"), Gpr("src2"), Gpr("src3", _half))), *_INDEX, _SIZE],
        _TYPED + "g[{shifted}], {m2}, {count}",
    ),
)

_LOCAL_AND_PRIVATE = (
    _load("ldl", "00001", "l", "{bare_d0}"),
    _load("ldp", "00010", "p", "{d0}"),
    _load("ldlw", "01010", "l", "{bare_d0}"),
    _store("stl", "00100", "l", "-"),
    _store("stp", "00101", "p", "0"),
    _store("stlw", "01011", "l", "-"),
    form(
        "ldlv",
        f"110 sy jp 11111 -- type:3 {'-' * 9} dst:8 size:8 11 00000000 offset:13 0",
        [_SCHEDULING, _TYPE, _DESTINATION, Number("offset", "offset"), _SIZE],
        _TYPED + "{bare_d0}, l[{plain_offset}], {count}",
    ),
)

_CONSTANTS = (
    form(
        "stc",
        f"110 sy jp 11100 -- type:3 {'-' * 8} target:9 ----- size:3 1 {'0' * 9} ----- src:8 -",
        [_SCHEDULING, _TYPE, Sources((ConstantTarget("target"), Gpr("src", _half))), _SIZE],
        _TYPED + "c[{target0}], {bare1}, {count}",
    ),
    form(
        "ldc",
        "110 sy jp 00000 10 -11 slot:8 0 dst:8 src1:8 literal1 1-- 011110 steps:2 u offset:2 "
        "bindless mode:2 00 base:3 -",
        [_SCHEDULING, Destinations(), BoundBuffer(("u",)), Number("offset", "offset"), _STEPS],
        "{sy}{jp}{name}{u}.offset{plain_offset}.{count}{constant_binding} {d0}, {raw0}, {raw1}",
    ),
    form(
        "ldc.k",
        "110 sy jp 00000 11 -11 slot:8 0 steps:8 src1:8 literal1 1-- 011110 -- - -- bindless mode:2 00 base:3 -",
        [_SCHEDULING, BoundBuffer(), _STEPS],
        "{sy}{jp}ldc.{count}.k{constant_binding} c[a1.x], {raw0}, {raw1}",
    ),
)


def _lane(name: str, operation: str, bits: str) -> Form:
    row = f"110 sy jp 00000 1- type:3 {'-' * 8} 0 dst:8 {'-' * 8} {bits} {operation} -- - -- - -- 00 --- 0"
    return form(name, row, [_SCHEDULING, _TYPE, Destinations()], _TYPED + "{d0}")


_IMAGE_PARTS = (_SCHEDULING, _TYPE, _STEPS)
_ACCESS = "{image_access}.{count}{image_binding}"


def _image_query(name: str, operation: str) -> Form:
    row = (
        f"110 sy jp 00000 1- type:3 slot:8 0 dst:8 {'-' * 8} 0110 {operation} steps:2 typed d:2 "
        "bindless mode:2 00 base:3 0"
    )
    parts: list[Part] = [*_IMAGE_PARTS, Destinations(), BoundImage()]
    return form(name, row, parts, "{sy}{jp}{name}" + _ACCESS + " {d0}, {slot}")


def _image_access(name: str, operation: str, operands: list[Part], last: str, first: str) -> Form:
    row = (
        f"110 sy jp offset_low:5 10 type:3 slot:8 0 {first} src2:8 offset 110 {operation} steps:2 typed d:2 "
        f"bindless mode:2 offset_high:2 base:3 {last}"
    )
    text = "{sy}{jp}{name}" + _ACCESS + " {image_data}, {image_coordinates}{plus_offset}, {slot}"
    return form(name, row, [*_IMAGE_PARTS, *operands, ImageOffset()], text)


def _image_atomic(name: str, operation: str) -> Form:
    row = (
        f"110 sy jp 00000 11 type:3 slot:8 - dst:8 src2:8 0 110 {operation} steps:2 typed d:2 "
        "bindless mode:2 00 base:3 -"
    )
    parts: list[Part] = [_SCHEDULING, _ATOMIC_TYPE, _STEPS, Destinations(), BoundImage((Gpr("src2"),))]
    return form(name, row, parts, "{sy}{jp}{name}" + _ACCESS + " {d0}, {image_coordinates}, {slot}")


_IMAGES = (
    form(
        "resinfo",
        f"110 sy jp 01111 slot_literal - type:3 slot:8 0 dst:8 {'-' * 8} {'0' * 10} -- - d:2 {'-' * 8} -",
        [_SCHEDULING, _TYPE, Destinations(), PlainImage(typed=False, slot=True)],
        "{sy}{jp}{name}.{type}.{dimensions}d {d0}, g[{slot}]",
    ),
    _image_query("resinfo.b", "001111"),
    _image_query("resbase", "001100"),
    _image_access("stib.b", "011101", [BoundImage((Gpr("src1", _half), Gpr("src2")))], "0", "src1:8"),
    _image_access("ldib.b", "000110", [_DESTINATION, BoundImage((Gpr("src2"),))], "-", "dst:8"),
    *(_image_atomic(f"atomic.b.{name}", code) for name, code in _IMAGE_ATOMICS.items()),
)

_LANES = (
    _lane("getspid", "100100", "-1--"),
    _lane("getwid", "100101", "-1--"),
    _lane("getfiberid", "100110", "11--"),
    form(
        "shfl",
        f"110 sy jp 11011 10 type:3 - mode:3 ----- dst:8 src2:8 literal2 {'0' * 14} src1:8 0",
        [
            _SCHEDULING,
            _TYPE,
            _DESTINATION,
            Modifiers((("mode", {1: "xor", 2: "up", 3: "down", 6: "rup", 7: "rdown"}),)),
            Sources((Gpr("src1", _half), GprOrLiteral("src2", "literal2"))),
        ],
        "{sy}{jp}{name}{modifiers}.{type} {d0}, {m0}, {raw1}",
    ),
)


def _atomic(name: str, operation: str, is_global: int, types: Choice, text: str) -> Form:
    row = (
        f"110 sy jp {operation} 0 {is_global} type:3 00000000 - dst:8 src2:8 literal2 literal1 src1:8 steps:2 typed d:2 "
        "00000000 1"
    )
    sources = Sources((GprOrLiteral("src1", "literal1"), GprOrLiteral("src2", "literal2")))
    return form(name, row, [_SCHEDULING, types, _STEPS, Destinations(), PlainImage(), sources], text)


_BUFFER_ATOMICS = (
    *(
        _atomic(f"atomic.{name}", code, 0, _TYPE, "{sy}{jp}{name}{image_access}.{count}.l {d0}, l[{raw0}], {raw1}")
        for name, code in _ATOMICS.items()
    ),
    *(
        _atomic(
            f"atomic.g.{name}", code, 1, _ATOMIC_TYPE, "{sy}{jp}{name}{image_access}.{count}.g {d0}, {raw0}, {raw1}"
        )
        for name, code in _ATOMICS.items()
    ),
)

FORMS = (*_GLOBAL, *_LOCAL_AND_PRIVATE, *_CONSTANTS, *_IMAGES, *_LANES, *_BUFFER_ATOMICS)
