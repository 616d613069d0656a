"""A loader for the relocatable x86-64 objects that LLVM makes of CPU kernels.

A kernel's object has one function, constant pools, and relocations between them; nothing outside is referred to. So
this loader links an object with itself and refuses everything else by name. Sources: the System V ABI, chapter 4
(object files), and its AMD64 supplement, section 4.4 (relocation types).
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from autoclave.errors import ArtifactError

MAX_SECTIONS = 256
"""More sections than any kernel has: the largest seen has 10."""

MAX_ALIGNMENT = 4096

_FILE_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELA = struct.Struct("<QQq")

_IDENT = b"\x7fELF\x02\x01\x01"  # 64-bit, little-endian, version 1
_ET_REL = 1
_EM_X86_64 = 62

_SHT_PROGBITS = 1
_SHT_SYMTAB = 2
_SHT_STRTAB = 3
_SHT_RELA = 4
_SHT_REL = 9

_SHF_WRITE = 1
_SHF_ALLOC = 2
_SHF_EXECINSTR = 4

_SHN_UNDEF = 0
_STT_FUNC = 2
_STB_GLOBAL = 1

_UNWIND_SECTION = ".eh_frame"  # for debuggers and exceptions; nobody unwinds through a kernel


@dataclass(frozen=True, slots=True)
class RelocationType:
    """How to compute a relocated field: `S + A`, less the field's own address if `relative`; signed, `width` bytes."""

    name: str
    width: int
    relative: bool


RELOCATION_TYPES = {
    1: RelocationType("R_X86_64_64", 8, relative=False),
    2: RelocationType("R_X86_64_PC32", 4, relative=True),
    4: RelocationType("R_X86_64_PLT32", 4, relative=True),  # without a procedure linkage table: the function itself
    24: RelocationType("R_X86_64_PC64", 8, relative=True),
}

REFUSED_RELOCATION_TYPES = {
    3: "R_X86_64_GOT32",
    9: "R_X86_64_GOTPCREL",
    10: "R_X86_64_32",
    11: "R_X86_64_32S",
    41: "R_X86_64_GOTPCRELX",
    42: "R_X86_64_REX_GOTPCRELX",
}
"""Known by name for the message's sake: they need a global offset table or addresses below 4 GiB."""


@dataclass(frozen=True, slots=True)
class Relocation:
    """Patch the field at `offset` of the image with an address computed from `target`, an offset of the image too."""

    type: RelocationType
    offset: int
    target: int


@dataclass(frozen=True, slots=True)
class LoadableObject:
    """A validated object, laid out: its `image` must start at a multiple of `alignment`; `entry` is an offset in it."""

    image: bytes
    alignment: int
    entry: int
    relocations: tuple[Relocation, ...]

    def relocated(self, base: int) -> bytes:
        """The image as it must stand in memory if its first byte is at address `base`."""
        image = bytearray(self.image)
        for relocation in self.relocations:
            value = relocation.target + (-relocation.offset if relocation.type.relative else base)
            width = relocation.type.width
            field = (value % (1 << 8 * width)).to_bytes(width, "little")
            image[relocation.offset : relocation.offset + width] = field
        return bytes(image)


@dataclass(frozen=True, slots=True)
class _Section:
    index: int
    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int

    @property
    def loaded(self) -> bool:
        return bool(self.flags & _SHF_ALLOC) and self.name != _UNWIND_SECTION and self.size > 0


@dataclass(frozen=True, slots=True)
class _Symbol:
    name: str
    kind: int
    binding: int
    section: int
    value: int


def load_object(data: bytes | memoryview, kernel: str) -> LoadableObject:
    """Read the object of `kernel` and lay out what it loads.

    Raises `ArtifactError` if the bytes are not such an object, refer to anything outside it, or hold writable data.
    """
    return _Reader(bytes(data), kernel).load()


class _Reader:
    """Reads one object; every offset and count in it is checked against the bytes that are there."""

    def __init__(self, data: bytes, kernel: str) -> None:
        self._data = data
        self._kernel = kernel

    def load(self) -> LoadableObject:
        sections = self._sections()
        self._check_loadable(sections)
        places, image = self._lay_out(sections)
        symbols = self._symbols(sections)
        return LoadableObject(
            image=image,
            alignment=max((section.alignment for section in sections if section.loaded), default=1),
            entry=self._entry(sections, symbols, places),
            relocations=tuple(self._relocations(sections, symbols, places)),
        )

    def _error(self, problem: str) -> ArtifactError:
        return ArtifactError(
            f"loading the object of kernel {self._kernel!r}: {problem}. "
            f"It is not what Autoclave's CPU compiler writes; build the artifact again"
        )

    def _records(self, layout: struct.Struct, offset: int, size: int, what: str) -> Iterator[tuple[int, ...]]:
        """The records of a table of `size` bytes at `offset`."""
        if offset + size > len(self._data):
            raise self._error(f"{what} ends at byte {offset + size}, the object has {len(self._data)}")
        if size % layout.size:
            raise self._error(f"{what} has {size} bytes, not a multiple of {layout.size}")
        return layout.iter_unpack(self._data[offset : offset + size])

    def _sections(self) -> list[_Section]:
        if len(self._data) < _FILE_HEADER.size:
            raise self._error(f"it has {len(self._data)} bytes, fewer than an ELF file header")
        header = _FILE_HEADER.unpack_from(self._data)
        ident, kind, machine, offset = header[0], header[1], header[2], header[6]
        entry_size, count, names_index = header[11:14]
        if not ident.startswith(_IDENT) or kind != _ET_REL or machine != _EM_X86_64:
            raise self._error("it is not a relocatable little-endian ELF file for x86-64")
        if entry_size != _SECTION_HEADER.size or not 0 < count <= MAX_SECTIONS or names_index >= count:
            raise self._error(f"its section table ({count} sections of {entry_size} bytes) is malformed")
        table = list(self._records(_SECTION_HEADER, offset, count * entry_size, "the section table"))
        names = self._strings(table[names_index][4], table[names_index][5], "the table of section names")
        return [self._section(index, record, names) for index, record in enumerate(table)]

    def _section(self, index: int, record: tuple[int, ...], names: bytes) -> _Section:
        name, kind, flags, _, offset, size, link, info, alignment, entry_size = record
        return _Section(
            index, self._string(names, name), kind, flags, offset, size, link, info, max(alignment, 1), entry_size
        )

    def _strings(self, offset: int, size: int, what: str) -> bytes:
        if offset + size > len(self._data):
            raise self._error(f"{what} ends at byte {offset + size}, the object has {len(self._data)}")
        return self._data[offset : offset + size]

    def _string(self, table: bytes, offset: int) -> str:
        end = table.find(b"\0", offset) if offset < len(table) else -1
        if end < 0:
            raise self._error(f"a name at byte {offset} of a string table of {len(table)} bytes has no end")
        return table[offset:end].decode("ascii", "backslashreplace")

    def _check_loadable(self, sections: list[_Section]) -> None:
        loaded = [section for section in sections if section.loaded]
        for section in loaded:
            self._check_section(section)
        if sum(section.size for section in loaded) > len(self._data):
            raise self._error("its sections overlap")

    def _check_section(self, section: _Section) -> None:
        if section.kind != _SHT_PROGBITS or section.flags & _SHF_WRITE:
            raise self._error(
                f"section {section.name!r} is writable or not plain data; kernels have code and constants"
            )
        if section.offset + section.size > len(self._data):
            raise self._error(f"section {section.name!r} ends after the object's {len(self._data)} bytes")
        if section.alignment > MAX_ALIGNMENT or section.alignment & (section.alignment - 1):
            raise self._error(f"section {section.name!r} wants an alignment of {section.alignment}")

    def _lay_out(self, sections: list[_Section]) -> tuple[dict[int, int], bytes]:
        """Where each loaded section starts in the image, by section index, and the image before relocation."""
        places: dict[int, int] = {}
        image = bytearray()
        for section in sections:
            if section.loaded:
                image += bytes(-len(image) % section.alignment)
                places[section.index] = len(image)
                image += self._data[section.offset : section.offset + section.size]
        return places, bytes(image)

    def _symbols(self, sections: list[_Section]) -> list[_Symbol]:
        tables = [section for section in sections if section.kind == _SHT_SYMTAB]
        if len(tables) != 1:
            raise self._error(f"it has {len(tables)} symbol tables, expected one")
        table = tables[0]
        if table.link >= len(sections) or sections[table.link].kind != _SHT_STRTAB:
            raise self._error("its symbol table has no table of names")
        names = self._strings(sections[table.link].offset, sections[table.link].size, "the table of symbol names")
        records = self._records(_SYMBOL, table.offset, table.size, "the symbol table")
        return [
            _Symbol(self._string(names, name), info & 15, info >> 4, section, value)
            for name, info, _, section, value, _ in records
        ]

    def _entry(self, sections: list[_Section], symbols: list[_Symbol], places: dict[int, int]) -> int:
        functions = [
            symbol
            for symbol in symbols
            if symbol.kind == _STT_FUNC and symbol.binding == _STB_GLOBAL and symbol.section != _SHN_UNDEF
        ]
        if len(functions) != 1:
            raise self._error(f"it defines {len(functions)} global functions, expected one, the kernel")
        function = functions[0]
        if function.section not in places or not sections[function.section].flags & _SHF_EXECINSTR:
            raise self._error(f"its function {function.name!r} is not in a section of code")
        if function.value >= sections[function.section].size:
            raise self._error(f"its function {function.name!r} starts outside its section")
        return places[function.section] + function.value

    def _relocations(
        self, sections: list[_Section], symbols: list[_Symbol], places: dict[int, int]
    ) -> Iterator[Relocation]:
        for section in sections:
            if section.kind == _SHT_REL:
                raise self._error(f"section {section.name!r} has relocations without addends")
            if section.kind == _SHT_RELA and section.info in places:
                limit = sections[section.info].size
                for offset, info, addend in self._records(_RELA, section.offset, section.size, repr(section.name)):
                    kind = self._relocation_type(info & 0xFFFFFFFF)
                    if offset + kind.width > limit:
                        raise self._error(f"a relocation of {section.name!r} patches byte {offset} of {limit}")
                    target = self._target(sections, symbols, places, info >> 32) + addend
                    place = places[section.info] + offset
                    self._check_range(kind, target - place)
                    yield Relocation(kind, place, target)

    def _relocation_type(self, number: int) -> RelocationType:
        if number not in RELOCATION_TYPES:
            name = REFUSED_RELOCATION_TYPES.get(number, f"number {number}")
            known = ", ".join(kind.name for kind in RELOCATION_TYPES.values())
            raise self._error(f"relocation type {name} is not supported (supported: {known})")
        return RELOCATION_TYPES[number]

    def _target(self, sections: list[_Section], symbols: list[_Symbol], places: dict[int, int], number: int) -> int:
        if number >= len(symbols):
            raise self._error(f"a relocation names symbol {number}, it has {len(symbols)}")
        symbol = symbols[number]
        if symbol.section == _SHN_UNDEF:
            raise self._error(f"it needs the symbol {symbol.name!r}, which it does not define")
        if symbol.section not in places:
            raise self._error(f"its symbol {symbol.name!r} is in no section that is loaded")
        if symbol.value > sections[symbol.section].size:
            raise self._error(f"its symbol {symbol.name!r} lies outside its section")
        return places[symbol.section] + symbol.value

    def _check_range(self, kind: RelocationType, distance: int) -> None:
        bits = 8 * kind.width - 1
        if not -(1 << bits) <= distance < 1 << bits:
            raise self._error(f"a relocation of type {kind.name} reaches {distance} bytes far, more than it can say")
