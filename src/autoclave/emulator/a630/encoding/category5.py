"""Category 5: textures, and exchanges between lanes (ir3-cat5.xml)."""

from dataclasses import dataclass

from autoclave.emulator.a630.encoding.form import HALF_TYPES, TYPES, Form, form
from autoclave.emulator.a630.encoding.layout import Fields, Reserved
from autoclave.emulator.a630.encoding.operands import Destinations, Gpr, Sources, register_number, register_source
from autoclave.emulator.a630.encoding.parts import Choice, Power, Record, Scheduling, Width
from autoclave.emulator.a630.instruction import Image, Instruction, Source


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

_DESCRIPTORS = (
    ("s2en", "uniform"),
    ("s2en", "uniform", "base", "a1"),
    ("s2en", "nonuniform", "base"),
    ("s2en", "nonuniform", "base", "a1"),
    ("s2en", "nonuniform"),
    ("s2en", "uniform", "base"),
    ("base",),
    ("base", "a1"),
)
"""How the slots are found, by descriptor mode (#cat5-s2en-bindless-desc-mode): "s2en" in a register, "base" below a
base of descriptors, "a1" with a1.x saying more."""

_IN_REGISTER = range(6)
_IN_INSTRUCTION, _SAMPLER_IN_INSTRUCTION = 6, 7


def _half_source(fields: Fields) -> bool:
    return not fields["full"]


def _half_destination(fields: Fields) -> bool:
    return fields["type"] in HALF_TYPES


def _unless(allowed: bool, value: int, what: str) -> None:
    if value and not allowed:
        raise Reserved(f"{what} of an operation without one")


@dataclass(frozen=True)
class _Access:
    """Sources, offset and `Image`.

    Bit 53 is .p, but in isam says that the second source is an offset; bit 50 is .s, or .v in isam.
    """

    operation: _Operation
    is_isam: bool

    def read(self, fields: Fields, record: Record) -> None:
        operation = self.operation
        _unless(operation.sources > 0, fields["src1"] or fields["full"], "source")
        sources = [register_source(fields["src1"], _half_source(fields))][: operation.sources]
        if operation.sources > 1 or fields["o"]:
            sources.append(register_source(fields["src2"], _half_source(fields)))
        self._read_offset(fields, record)
        flags = [name for name, field in self._flags() if fields[field]]
        texture, sampler, found = self._slots(fields, sources)
        flags += found
        if self.is_isam and not fields["not1d"]:
            flags.append("1d")
        mask, dimensions, array = fields["mask"], 2 + fields["three"], bool(fields["a"])
        record["sources"] = tuple(sources)
        record["type"] = TYPES[fields["type"]]
        record["image"] = Image(texture, sampler, mask, dimensions, array, True, tuple(flags))

    def _flags(self) -> tuple[tuple[str, str], ...]:
        return (("o", "o"), ("v", "sv")) if self.is_isam else (("o", "o"), ("p", "p"), ("s", "sv"))

    def _read_offset(self, fields: Fields, record: Record) -> None:
        second_is_source = self.operation.sources > 1 or fields["o"]
        if self.is_isam and fields["p"] and not second_is_source:
            if not fields["src2"]:
                raise Reserved("an offset of nothing")
            record["offset"] = fields["src2"]
            return
        _unless(bool(second_is_source), fields["src2"], "second source")
        _unless(not self.is_isam, fields["p"], "offset")

    def _slots(self, fields: Fields, sources: list[Source]) -> tuple[int | None, int | None, list[str]]:
        """Texture, sampler, and the flags that say how they are found; a register that names them joins `sources`."""
        slots, operation = fields["slots"], self.operation
        if not fields["s2en"]:
            _unless(False, fields["base_low"] or fields["base_high"], "base")
            _unless(operation.sampler, slots & 0xF, "sampler")
            _unless(operation.texture, slots >> 4, "texture")
            return (slots >> 4 if operation.texture else None), (slots & 0xF if operation.sampler else None), []
        mode, slots = slots >> 8, slots & 0xFF
        flags = [self._base(fields) if flag == "base" else flag for flag in _DESCRIPTORS[mode]]
        _unless("base" in _DESCRIPTORS[mode], fields["base_low"] or fields["base_high"], "base")
        if mode in _IN_REGISTER:
            sources.append(register_source(slots, "base" not in _DESCRIPTORS[mode]))
            return None, None, flags
        if mode == _SAMPLER_IN_INSTRUCTION:
            _unless(operation.sampler, slots, "sampler")
            return None, (slots if operation.sampler else None), flags
        _unless(operation.sampler, slots & 0xF, "sampler")
        _unless(operation.texture, slots >> 4, "texture")
        return (slots >> 4 if operation.texture else None), (slots & 0xF if operation.sampler else None), flags

    def _base(self, fields: Fields) -> str:
        return f"base{fields['base_high'] << 1 | fields['base_low']}"

    def write(self, instruction: Instruction, fields: Fields) -> None:
        image = instruction.image
        if image is None:
            raise Reserved("no image")
        flags = image.flags
        fields["type"] = TYPES.index(instruction.type or "")
        fields["mask"], fields["three"], fields["a"] = image.mask, image.dimensions - 2, int(image.array)
        for name, field in self._flags():
            fields[field] = int(name in flags)
        if self.is_isam:
            fields["not1d"] = int("1d" not in flags)
            fields["p"] = int(instruction.offset != 0)
        registers = [register_number(source.operand) for source in instruction.sources]
        self._write_slots(image, registers, fields)
        fields["src1"] = registers.pop(0) if self.operation.sources else 0
        fields["src2"] = registers.pop(0) if registers else instruction.offset
        fields["full"] = int(bool(self.operation.sources) and not instruction.sources[0].operand.half)

    def _write_slots(self, image: Image, registers: list[int], fields: Fields) -> None:
        bases = [flag for flag in image.flags if flag.startswith("base")]
        ways = {"s2en", "uniform", "nonuniform", "a1"}.intersection(image.flags) | ({"base"} if bases else set())
        direct = (image.texture or 0) << 4 | (image.sampler or 0)
        fields["s2en"] = int(bool(ways))
        fields["slots"] = direct
        if not ways:
            return
        modes = [mode for mode, way in enumerate(_DESCRIPTORS) if set(way) == ways]
        if not modes:
            raise Reserved(f"flags {image.flags}")
        (mode,) = modes
        fields["base_high"], fields["base_low"] = divmod(int(bases[0].removeprefix("base")) if bases else 0, 2)
        named = {_IN_INSTRUCTION: direct, _SAMPLER_IN_INSTRUCTION: image.sampler or 0}.get(mode)
        fields["slots"] = mode << 8 | (registers.pop() if named is None else named)


@dataclass(frozen=True)
class _Mask:
    """The write mask of an exchange between lanes; nothing else of an `Image`."""

    def read(self, fields: Fields, record: Record) -> None:
        record["image"] = Image(None, mask=fields["mask"])

    def write(self, instruction: Instruction, fields: Fields) -> None:
        if instruction.image is None:
            raise Reserved("no image")
        fields["mask"] = instruction.image.mask


_SCHEDULING = Scheduling(("sy", "jp"))
_DESTINATION = Destinations(("dst",), _half_destination)


def _texture(name: str, operation: _Operation) -> Form:
    is_isam = name == "isam"
    row = (
        f"101 sy jp {operation.code} p o s2en sv a three base_low type:3 mask:4 dst:8 slots:11 base_high:2 "
        f"{'not1d' if is_isam else '0'} - src2:8 src1:8 full"
    )
    kind = "" if name in _UNTYPED_OPERATIONS else "{image_type}"
    text = f"{{sy}}{{jp}}{{name}}{{image_flags}} {kind}({{mask}}){{d0}}{{image_operands}}"
    return form(name, row, [_SCHEDULING, _DESTINATION, _Access(operation, is_isam)], text)


_WIDTH = Width()
_EXCHANGE = (
    _WIDTH,
    _SCHEDULING,
    Choice("type", "type", TYPES),
    _DESTINATION,
    _Mask(),
)


def _shuffle(name: str, variant: str, sources: int) -> Form:
    row = (
        f"101 sy jp 111111 - - 0 - - - type:3 mask:4 dst:8 {'-' * 11} {variant} 0 - "
        f"{'src2:8' if sources == 2 else '-' * 8} src1:8 full"
    )
    slots = (Gpr("src1", _half_source), Gpr("src2", _half_source))[:sources]
    text = "{sy}{jp}{name} {image_type}({mask}){d0}, {sources}"
    return form(name, row, [*_EXCHANGE, Sources(slots)], text)


FORMS = (
    *(_texture(name, operation) for name, operation in _OPERATIONS.items()),
    *(_shuffle(name, *encoding) for name, encoding in _SHUFFLES.items()),
    form(
        "brcst.active",
        f"101 sy jp 111110 - - 0 - - - type:3 mask:4 dst:8 {'-' * 11} cluster:2 0 - {'-' * 8} src1:8 full",
        [*_EXCHANGE, Power("cluster", "count", first=2), Sources((Gpr("src1", _half_source),))],
        "{sy}{jp}{name}.w{count} {image_type}({mask}){d0}, {sources}",
    ),
    form("tcinv", f"101 sy jp 11100 {'-' * 54}", [_SCHEDULING], "{sy}{jp}{name}"),
)
