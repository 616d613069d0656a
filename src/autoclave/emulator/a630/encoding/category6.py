"""Category 6: loads, stores and atomics (ir3-cat6.xml)."""

from dataclasses import dataclass

from autoclave.emulator.a630.encoding.form import ATOMIC_TYPES, HALF_TYPES, TYPES, Form, form
from autoclave.emulator.a630.encoding.layout import Fields, Reserved
from autoclave.emulator.a630.encoding.operands import (
    ConstantTarget,
    Destinations,
    Gpr,
    GprOrLiteral,
    Sources,
    register_number,
    register_source,
)
from autoclave.emulator.a630.encoding.parts import (
    Choice,
    Modifiers,
    Number,
    Part,
    Record,
    Scaled,
    Scheduling,
    SplitNumber,
)
from autoclave.emulator.a630.instruction import Image, Instruction, Source

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

_MODES = ("imm", "uniform", "nonuniform")
"""How an image or a buffer of constants is named (#cat6-src-mode)."""


def _half(fields: Fields) -> bool:
    return fields["type"] in HALF_TYPES


_DESTINATION = Destinations(("dst",), _half)


@dataclass(frozen=True)
class _Dimensions:
    """`Image` of the older encodings: dimensions, whether typed, and, if `slot` says so, which image is meant."""

    typed: bool = True
    slot: bool = False

    def read(self, fields: Fields, record: Record) -> None:
        texture = None
        if self.slot and fields["slot_literal"]:
            texture = fields["slot"]
        elif self.slot:
            record["sources"] = (register_source(fields["slot"], False),)
        typed = not self.typed or bool(fields["typed"])
        record["image"] = Image(texture, dimensions=fields["d"] + 1, typed=typed)

    def write(self, instruction: Instruction, fields: Fields) -> None:
        image = _image(instruction)
        fields["d"] = image.dimensions - 1
        if self.typed:
            fields["typed"] = int(image.typed)
        if self.slot:
            fields["slot_literal"] = int(image.texture is not None)
            fields["slot"] = _slot_bits(instruction)


@dataclass(frozen=True)
class _BoundImage:
    """`Image` of the newer encodings, after the `sources` of the instruction: a slot, or a register that names it."""

    sources: tuple[str, ...] = ()
    half_first: bool = False

    def read(self, fields: Fields, record: Record) -> None:
        flags = _binding(fields)
        sources = [self._source(fields, index) for index in range(len(self.sources))]
        texture = fields["slot"] if flags[0] == "imm" else None
        if texture is None:
            sources.append(register_source(fields["slot"], False))
        record["sources"] = tuple(sources)
        record["image"] = Image(texture, dimensions=fields["d"] + 1, typed=bool(fields["typed"]), flags=tuple(flags))

    def _source(self, fields: Fields, index: int) -> Source:
        return register_source(fields[self.sources[index]], self.half_first and index == 0 and _half(fields))

    def write(self, instruction: Instruction, fields: Fields) -> None:
        image = _image(instruction)
        _set_binding(image.flags, fields)
        fields["d"], fields["typed"] = image.dimensions - 1, int(image.typed)
        fields["slot"] = _slot_bits(instruction)
        for name, source in zip(self.sources, instruction.sources, strict=False):
            fields[name] = register_number(source.operand)


def _image(instruction: Instruction) -> Image:
    if instruction.image is None:
        raise Reserved("no image")
    return instruction.image


def _slot_bits(instruction: Instruction) -> int:
    texture = _image(instruction).texture
    return register_number(instruction.sources[-1].operand) if texture is None else texture


def _binding(fields: Fields) -> list[str]:
    """Flags that say how a slot is found: the mode, and the base of descriptors if there is one."""
    if fields["mode"] >= len(_MODES):
        raise Reserved(f"mode {fields['mode']}")
    flags = [_MODES[fields["mode"]]]
    if fields["bindless"]:
        return [*flags, f"base{fields['base']}"]
    if fields["base"]:
        raise Reserved("a base without descriptors below it")
    return flags


def _set_binding(flags: tuple[str, ...], fields: Fields) -> None:
    modes = [number for number, mode in enumerate(_MODES) if mode in flags]
    bases = [int(flag.removeprefix("base")) for flag in flags if flag.startswith("base")]
    if len(modes) != 1:
        raise Reserved(f"flags {flags} name no mode")
    fields["mode"], fields["bindless"], fields["base"] = modes[0], int(bool(bases)), sum(bases)


@dataclass(frozen=True)
class _ConstantBuffer:
    """Sources of ldc: an offset, and a slot or a register that names it; `modifiers` say how it is found, and .u."""

    upper: bool

    def read(self, fields: Fields, record: Record) -> None:
        flags = _binding(fields)
        slot = _SLOT.read({**fields, "slot_literal": int(flags[0] == "imm")})
        record["sources"] = (_OFFSET.read(fields), slot)
        record["modifiers"] = (*(("u",) if self.upper and fields["u"] else ()), *flags)

    def write(self, instruction: Instruction, fields: Fields) -> None:
        flags = tuple(modifier for modifier in instruction.modifiers if modifier != "u")
        _set_binding(flags, fields)
        if self.upper:
            fields["u"] = int("u" in instruction.modifiers)
        offset, slot = instruction.sources
        _OFFSET.write(offset, fields)
        _SLOT.write(slot, fields)
        del fields["slot_literal"]


_OFFSET = GprOrLiteral("src1", "literal1")
_SLOT = GprOrLiteral("slot", "slot_literal")


@dataclass(frozen=True)
class _ImageOffset:
    """A number of 7 bits that is added to the coordinates of ldib.b and stib.b, if the bit `offset` is set."""

    def read(self, fields: Fields, record: Record) -> None:
        value = fields["offset_high"] << 5 | fields["offset_low"]
        if bool(value) != bool(fields["offset"]):
            raise Reserved("an offset of nothing")
        record["offset"] = value

    def write(self, instruction: Instruction, fields: Fields) -> None:
        fields["offset"] = int(instruction.offset != 0)
        fields["offset_high"], fields["offset_low"] = divmod(instruction.offset, 1 << 5)


def _load(name: str, operation: str, space: str, prefix: str) -> Form:
    row = f"110 sy jp {operation} -- type:3 {'-' * 9} dst:8 size:8 1 - src:8 offset:13 1"
    parts = [_SCHEDULING, _TYPE, _DESTINATION, Sources((Gpr("src"),)), Number("offset", "offset", bits=13), _SIZE]
    return form(name, row, parts, f"{{sy}}{{jp}}{{name}}.{{type}} {{{prefix}0}}, {space}[{{m0}}{{offset}}], {{count}}")


def _store(name: str, operation: str, space: str, last: str) -> Form:
    row = f"110 sy jp {operation} -- type:3 dst:8 1 offset_low:8 size:8 1 {'-' * 9} offset_high:5 src:8 {last}"
    offset = SplitNumber("offset_low", "offset_high", "offset", 8, bits=13)
    parts = [_SCHEDULING, _TYPE, Sources((Gpr("dst"), Gpr("src", _half))), offset, _SIZE]
    return form(name, row, parts, f"{{sy}}{{jp}}{{name}}.{{type}} {space}[{{m0}}{{offset}}], {{bare1}}, {{count}}")


_GLOBAL = (
    form(
        "ldg",
        f"110 sy jp 00000 00 type:3 {'-' * 9} dst:8 00 --- size:3 1 0 src1:8 offset:13 1",
        [_SCHEDULING, _TYPE, _DESTINATION, Sources((Gpr("src1"),)), Number("offset", "offset", bits=13), _SIZE],
        "{sy}{jp}{name}.{type} {d0}, g[{raw0}{offset}], {count}",
    ),
    form(
        "ldg.a",
        f"110 sy jp 00000 00 type:3 {'-' * 9} dst:8 00 --- size:3 1 1 src1:8 shift:2 0 offset:2 src2:8 1",
        [
            _SCHEDULING,
            _TYPE,
            _DESTINATION,
            Sources((Gpr("src1"), Gpr("src2"))),
            Number("offset", "offset"),
            Number("shift", "shift"),
            _SIZE,
        ],
        "{sy}{jp}{name}.{type} {d0}, g[{shifted}], {count}",
    ),
    form(
        "ldg.k",
        f"110 sy jp 00000 01 type:3 {'-' * 8} target:9 00 --- size:4 0 src1:8 offset:13 1",
        [
            _SCHEDULING,
            _TYPE,
            Sources((ConstantTarget("target"), Gpr("src1"))),
            Number("offset", "offset", bits=13),
            _SIZE,
        ],
        "{sy}{jp}{name}.{type} c[{target0}], g[{raw1}{offset}], {count}",
    ),
    form(
        "stg",
        f"110 sy jp 00011 00 type:3 src1:8 1 offset_low:8 00 --- size:3 1 - {'-' * 8} offset_high:5 src3:8 -",
        [
            _SCHEDULING,
            _TYPE,
            Sources((Gpr("src1"), Gpr("src3", _half))),
            SplitNumber("offset_low", "offset_high", "offset", 8, bits=13),
            _SIZE,
        ],
        "{sy}{jp}{name}.{type} g[{raw0}{offset}], {m1}, {count}",
    ),
    form(
        "stg.a",
        f"110 sy jp 00011 01 type:3 src1:8 1 src2:8 00 --- size:3 1 - {'-' * 8} shift:2 0 offset:2 src3:8 -",
        [
            _SCHEDULING,
            _TYPE,
            Sources((Gpr("src1"), Gpr("src2"), Gpr("src3", _half))),
            Number("offset", "offset"),
            Number("shift", "shift"),
            _SIZE,
        ],
        "{sy}{jp}{name}.{type} g[{shifted}], {m2}, {count}",
    ),
)

_LOCAL_AND_PRIVATE = (
    _load("ldl", "00001", "l", "bare_d"),
    _load("ldp", "00010", "p", "d"),
    _load("ldlw", "01010", "l", "bare_d"),
    _store("stl", "00100", "l", "-"),
    _store("stp", "00101", "p", "0"),
    _store("stlw", "01011", "l", "-"),
    form(
        "ldlv",
        f"110 sy jp 11111 -- type:3 {'-' * 9} dst:8 size:8 11 00000000 offset:13 0",
        [_SCHEDULING, _TYPE, _DESTINATION, Number("offset", "offset"), _SIZE],
        "{sy}{jp}{name}.{type} {bare_d0}, l[{plain_offset}], {count}",
    ),
)

_CONSTANTS = (
    form(
        "stc",
        f"110 sy jp 11100 -- type:3 {'-' * 8} target:9 ----- size:3 1 {'0' * 9} ----- src:8 -",
        [_SCHEDULING, _TYPE, Sources((ConstantTarget("target"), Gpr("src", _half))), _SIZE],
        "{sy}{jp}{name}.{type} c[{target0}], {bare1}, {count}",
    ),
    form(
        "ldc",
        "110 sy jp 00000 10 -11 slot:8 0 dst:8 src1:8 literal1 1-- 011110 steps:2 u offset:2 "
        "bindless mode:2 00 base:3 -",
        [_SCHEDULING, Destinations(), _ConstantBuffer(True), Number("offset", "offset"), _STEPS],
        "{sy}{jp}{name}{u}.offset{plain_offset}.{count}{constant_binding} {d0}, {raw0}, {raw1}",
    ),
    form(
        "ldc.k",
        "110 sy jp 00000 11 -11 slot:8 0 steps:8 src1:8 literal1 1-- 011110 -- - -- bindless mode:2 00 base:3 -",
        [_SCHEDULING, _ConstantBuffer(False), _STEPS],
        "{sy}{jp}ldc.{count}.k{constant_binding} c[a1.x], {raw0}, {raw1}",
    ),
)


def _lane(name: str, operation: str, bits: str) -> Form:
    row = f"110 sy jp 00000 1- type:3 {'-' * 8} 0 dst:8 {'-' * 8} {bits} {operation} -- - -- - -- 00 --- 0"
    return form(name, row, [_SCHEDULING, _TYPE, Destinations()], "{sy}{jp}{name}.{type} {d0}")


_IMAGE_PARTS = (_SCHEDULING, _TYPE, _STEPS)
_ACCESS = "{image_access}.{count}{image_binding}"


def _image_query(name: str, operation: str) -> Form:
    row = (
        f"110 sy jp 00000 1- type:3 slot:8 0 dst:8 {'-' * 8} 0110 {operation} steps:2 typed d:2 "
        "bindless mode:2 00 base:3 0"
    )
    parts = [*_IMAGE_PARTS, Destinations(), _BoundImage()]
    return form(name, row, parts, "{sy}{jp}{name}" + _ACCESS + " {d0}, {slot}")


def _image_access(name: str, operation: str, operands: list[Part], last: str, first: str) -> Form:
    row = (
        f"110 sy jp offset_low:5 10 type:3 slot:8 0 {first} src2:8 offset 110 {operation} steps:2 typed d:2 "
        f"bindless mode:2 offset_high:2 base:3 {last}"
    )
    text = "{sy}{jp}{name}" + _ACCESS + " {image_data}, {image_coordinates}{plus_offset}, {slot}"
    return form(name, row, [*_IMAGE_PARTS, *operands, _ImageOffset()], text)


def _image_atomic(name: str, operation: str) -> Form:
    row = (
        f"110 sy jp 00000 11 type:3 slot:8 - dst:8 src2:8 0 110 {operation} steps:2 typed d:2 "
        "bindless mode:2 00 base:3 -"
    )
    parts = [_SCHEDULING, _ATOMIC_TYPE, _STEPS, Destinations(), _BoundImage(("src2",))]
    return form(name, row, parts, "{sy}{jp}{name}" + _ACCESS + " {d0}, {image_coordinates}, {slot}")


_IMAGES = (
    form(
        "resinfo",
        f"110 sy jp 01111 slot_literal - type:3 slot:8 0 dst:8 {'-' * 8} {'0' * 10} -- - d:2 {'-' * 8} -",
        [_SCHEDULING, _TYPE, Destinations(), _Dimensions(typed=False, slot=True)],
        "{sy}{jp}{name}.{type}.{dimensions}d {d0}, g[{slot}]",
    ),
    _image_query("resinfo.b", "001111"),
    _image_query("resbase", "001100"),
    _image_access("stib.b", "011101", [_BoundImage(("src1", "src2"), half_first=True)], "0", "src1:8"),
    _image_access("ldib.b", "000110", [_DESTINATION, _BoundImage(("src2",))], "-", "dst:8"),
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
    return form(name, row, [_SCHEDULING, types, _STEPS, Destinations(), _Dimensions(), sources], text)


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
