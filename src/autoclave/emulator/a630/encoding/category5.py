"""Category 5: textures, and exchanges between lanes (ir3-cat5.xml)."""

from dataclasses import dataclass

from autoclave.emulator.a630.encoding.form import HALF_TYPES, TYPES, Form, form
from autoclave.emulator.a630.encoding.layout import Fields
from autoclave.emulator.a630.encoding.operands import Destinations, Gpr, Half, Sources, full, half
from autoclave.emulator.a630.encoding.parts import Choice, Number, Part, Power, Record, Scheduling, Width, image_of
from autoclave.emulator.a630.instruction import Image, Instruction


@dataclass(frozen=True)
class _Operation:
    """What an operation reads besides its destination: registers, and whether it names a sampler and a texture."""

    code: str
    sources: int = 1
    sampler: bool = True
    texture: bool = True


_OPERATIONS = {
    "isam": _Operation("00000"),
    "isaml": _Operation("00001", sources=2),
    "isamm": _Operation("00010"),
    "sam": _Operation("00011"),
    "samb": _Operation("00100", sources=2),
    "saml": _Operation("00101", sources=2),
    "samgq": _Operation("00110"),
    "getlod": _Operation("00111"),
    "conv": _Operation("01000", sources=2),
    "convm": _Operation("01001", sources=2),
    "getsize": _Operation("01010", sampler=False),
    "getbuf": _Operation("01011", sources=0, sampler=False),
    "getpos": _Operation("01100", sampler=False),
    "getinfo": _Operation("01101", sources=0, sampler=False),
    "dsx": _Operation("01110", sampler=False, texture=False),
    "dsy": _Operation("01111", sampler=False, texture=False),
    "gather4r": _Operation("10000"),
    "gather4g": _Operation("10001"),
    "gather4b": _Operation("10010"),
    "gather4a": _Operation("10011"),
    "samgp0": _Operation("10100"),
    "samgp1": _Operation("10101"),
    "samgp2": _Operation("10110"),
    "samgp3": _Operation("10111"),
    "dsxpp.1": _Operation("11000", sampler=False, texture=False),
    "dsypp.1": _Operation("11001", sampler=False, texture=False),
    "rgetpos": _Operation("11010", sampler=False, texture=False),
    "rgetinfo": _Operation("11011", sources=0, sampler=False, texture=False),
}
_SHUFFLES = {
    "quad_shuffle.brcst": ("00", 2),
    "quad_shuffle.horiz": ("01", 1),
    "quad_shuffle.vert": ("10", 1),
    "quad_shuffle.diag": ("11", 1),
}
"""Variant, and number of sources."""

_UNTYPED_OPERATIONS = ("dsxpp.1", "dsypp.1")
"""Their type is encoded, and not printed."""


@dataclass(frozen=True)
class _Binding:
    """One way in which texture and sampler are found: the bit s2en, the bits 31 to 21, and the flags that name it.

    With a base, descriptors count from one of eight (#cat5-s2en-bindless-desc-mode).
    """

    indirect: str
    slots: str
    flags: tuple[str, ...]

    @property
    def based(self) -> bool:
        """Whether descriptors count from a base."""
        return "base" in self.flags


_BINDINGS = (
    _Binding("0", "texture:7 sampler:4", ()),
    _Binding("1", "000 src3:8", ("s2en", "uniform")),
    _Binding("1", "001 src3:8", ("s2en", "uniform", "base", "a1")),
    _Binding("1", "010 src3:8", ("s2en", "nonuniform", "base")),
    _Binding("1", "011 src3:8", ("s2en", "nonuniform", "base", "a1")),
    _Binding("1", "100 src3:8", ("s2en", "nonuniform")),
    _Binding("1", "101 src3:8", ("s2en", "uniform", "base")),
    _Binding("1", "110 texture:4 sampler:4", ("base",)),
    _Binding("1", "111 sampler:8", ("base", "a1")),
)

_FLAG_FIELDS = {"p": "bit53", "s": "bit50", "v": "bit50"}
_FLAG_ORDER = ("o", "p", "s", "v", "s2en", "uniform", "nonuniform", "base", "1d", "a1")


def _half_source(fields: Fields) -> bool:
    return not fields["full"]


def _half_destination(fields: Fields) -> bool:
    return fields["type"] in HALF_TYPES


@dataclass(frozen=True)
class _Image:
    """`Image` of a texture instruction. flags: those it may have; those that have no field are implied by the form."""

    flags: tuple[str, ...]
    texture: bool
    sampler: bool

    def read(self, fields: Fields, record: Record) -> None:
        flags = tuple([name for flag in self.flags if (name := self._read_flag(flag, fields))])
        texture = fields["texture"] if self.texture else None
        sampler = fields["sampler"] if self.sampler else None
        dimensions, array = 2 + fields["three"], bool(fields["a"])
        record["image"] = Image(texture, sampler, fields["mask"], dimensions, array, flags=flags)

    def _read_flag(self, flag: str, fields: Fields) -> str:
        if flag == "base":
            return f"base{fields['base_high'] << 1 | fields['base_low']}"
        if flag == "1d":
            return "" if fields["not1d"] else flag
        return flag if flag not in _FLAG_FIELDS or fields[_FLAG_FIELDS[flag]] else ""

    def write(self, instruction: Instruction, fields: Fields) -> None:
        image = image_of(instruction)
        fields["mask"], fields["three"], fields["a"] = image.mask, image.dimensions - 2, int(image.array)
        if self.texture:
            fields["texture"] = -1 if image.texture is None else image.texture
        if self.sampler:
            fields["sampler"] = -1 if image.sampler is None else image.sampler
        for flag in self.flags:
            self._write_flag(flag, image.flags, fields)

    def _write_flag(self, flag: str, flags: tuple[str, ...], fields: Fields) -> None:
        if flag == "base":
            bases = [int(name.removeprefix("base")) for name in flags if name.startswith("base")]
            fields["base_high"], fields["base_low"] = divmod(sum(bases), 2)
        elif flag == "1d":
            fields["not1d"] = int("1d" not in flags)
        elif flag in _FLAG_FIELDS:
            fields[_FLAG_FIELDS[flag]] = int(flag in flags)


@dataclass(frozen=True)
class _Mask:
    """The write mask of an exchange between lanes, and nothing else of an `Image`."""

    def read(self, fields: Fields, record: Record) -> None:
        record["image"] = Image(None, mask=fields["mask"])

    def write(self, instruction: Instruction, fields: Fields) -> None:
        fields["mask"] = image_of(instruction).mask


def _texture(name: str, operation: _Operation, binding: _Binding, second: str) -> Form:
    """`second`: what bits 52 and 53 make of the second source: "" what the operation has, "o", or isam's "offset"."""
    slots = _slots(operation, binding)
    sources = _sources(operation, binding, second)
    is_isam = name == "isam"
    named = {*binding.flags, second, *(("v", "1d") if is_isam else ("p", "s"))}
    flags = tuple(flag for flag in _FLAG_ORDER if flag in named)
    row = (
        f"101 sy jp {operation.code} {_BIT53[second] if is_isam else 'bit53'} {int(second == 'o')} "
        f"{binding.indirect} bit50 a three {'base_low' if binding.based else '-'} type:3 mask:4 dst:8 {slots} "
        f"{'base_high:2' if binding.based else '--'} {'not1d' if is_isam else '0'} - "
        f"{_field('src2', 'src2' in sources) if second != 'offset' else 'offset:8'} "
        f"{_field('src1', 'src1' in sources)} {'full' if {'src1', 'src2'} & sources.keys() else '-'}"
    )
    parts: list[Part] = [
        *([_WIDTH] if {"src1", "src2"} & sources.keys() else []),
        _SCHEDULING,
        _TYPE,
        _DESTINATION,
        Sources(tuple(Gpr(field, half) for field, half in sources.items())),
        *([Number("offset", "offset", nonzero=True)] if second == "offset" else []),
        _Image(flags, "texture" in slots, "sampler" in slots),
    ]
    kind = "" if name in _UNTYPED_OPERATIONS else "{image_type}"
    return form(name, row, parts, f"{{sy}}{{jp}}{{name}}{{image_flags}} {kind}({{mask}}){{d0}}{{image_operands}}")


_BIT53 = {"": "0", "offset": "1", "o": "-"}
"""Of isam: whether the second source is an offset."""


def _field(name: str, present: bool) -> str:
    return f"{name}:8" if present else "-" * 8


def _slots(operation: _Operation, binding: _Binding) -> str:
    """The binding's bits, less the texture or sampler that the operation has not."""
    unused = [] if operation.texture else ["texture"]
    unused += [] if operation.sampler else ["sampler"]
    parts = [part.split(":") for part in binding.slots.split()]
    return " ".join("-" * int(part[1]) if part[0] in unused else ":".join(part) for part in parts)


def _sources(operation: _Operation, binding: _Binding, second: str) -> dict[str, Half]:
    """The fields of the sources, and how wide they are; a register that names slots comes last."""
    fields: dict[str, Half] = {}
    if operation.sources:
        fields["src1"] = _half_source
    if operation.sources > 1 or second == "o":
        fields["src2"] = _half_source
    if "src3" in binding.slots:
        fields["src3"] = full if binding.based else half
    return fields


def _shuffle(name: str, variant: str, sources: int) -> Form:
    row = (
        f"101 sy jp 111111 - - 0 - - - type:3 mask:4 dst:8 {'-' * 11} {variant} 0 - "
        f"{_field('src2', sources == 2)} src1:8 full"
    )
    slots = (Gpr("src1", _half_source), Gpr("src2", _half_source))[:sources]
    return form(name, row, [*_EXCHANGE, Sources(slots)], "{sy}{jp}{name} {image_type}({mask}){d0}, {sources}")


_WIDTH = Width()
_SCHEDULING = Scheduling(("sy", "jp"))
_TYPE = Choice("type", "type", TYPES)
_DESTINATION = Destinations(("dst",), _half_destination)
_EXCHANGE: tuple[Part, ...] = (_WIDTH, _SCHEDULING, _TYPE, _DESTINATION, _Mask())

FORMS = (
    *(
        _texture(name, operation, binding, second)
        for name, operation in _OPERATIONS.items()
        for binding in _BINDINGS
        for second in (("", "o", "offset") if name == "isam" else ("", "o"))
    ),
    *(_shuffle(name, *encoding) for name, encoding in _SHUFFLES.items()),
    form(
        "brcst.active",
        f"101 sy jp 111110 - - 0 - - - type:3 mask:4 dst:8 {'-' * 11} cluster:2 0 - {'-' * 8} src1:8 full",
        [*_EXCHANGE, Power("cluster", "count", first=2), Sources((Gpr("src1", _half_source),))],
        "{sy}{jp}{name}.w{count} {image_type}({mask}){d0}, {sources}",
    ),
    form("tcinv", f"101 sy jp 11100 {'-' * 54}", [_SCHEDULING], "{sy}{jp}{name}"),
)
