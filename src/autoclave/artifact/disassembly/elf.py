"""Just enough of ELF to find a kernel's instructions in an object file: executable sections and function symbols.

Source: System V ABI, chapters 4 and 5. Trusts no number in the file.
"""

import struct
from dataclasses import dataclass

from autoclave.errors import ArtifactError

_FILE_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_IDENT = b"\x7fELF\x02\x01"  # 64-bit, little-endian
_SYMBOL_TABLE = 2
_EXECUTABLE = 4
_FUNCTION = 2
_MAX_SECTIONS = 1024


@dataclass(frozen=True, slots=True)
class _Section:
    type: int
    flags: int
    address: int
    data: bytes
    link: int


def function_code(elf: bytes, name: str) -> bytes:
    """The instructions of function `name`, else of the only function, else of the first executable section with code.

    Raises `ArtifactError` if `elf` is not a 64-bit little-endian ELF file with code in it.
    """
    try:
        sections = _sections(elf)
    except ArtifactError as error:
        raise ArtifactError(f"kernel {name!r}: {error}") from None
    functions = {found: code for found, code in _functions(sections) if code}
    if name in functions:
        return functions[name]
    if len(functions) == 1:
        return next(iter(functions.values()))
    for section in sections:
        if section.flags & _EXECUTABLE and section.data:
            return section.data
    raise ArtifactError(f"kernel {name!r}: its ELF file has no code")


def _sections(elf: bytes) -> list[_Section]:
    if len(elf) < _FILE_HEADER.size or not elf.startswith(_IDENT):
        raise ArtifactError("its code is not a 64-bit little-endian ELF file")
    fields = _FILE_HEADER.unpack_from(elf)
    table, entry_size, count = fields[6], fields[11], fields[12]
    if entry_size != _SECTION.size or count > _MAX_SECTIONS or table + count * entry_size > len(elf):
        raise ArtifactError("its ELF file's section table is malformed")
    return [_section(elf, table + number * entry_size) for number in range(count)]


def _section(elf: bytes, at: int) -> _Section:
    _, kind, flags, address, offset, size, link, _, _, _ = _SECTION.unpack_from(elf, at)
    return _Section(kind, flags, address, elf[offset : offset + size] if kind != 8 else b"", link)


def _functions(sections: list[_Section]) -> list[tuple[str, bytes]]:
    found = []
    for table in sections:
        if table.type != _SYMBOL_TABLE or table.link >= len(sections):
            continue
        names = sections[table.link].data
        for at in range(0, len(table.data) - _SYMBOL.size + 1, _SYMBOL.size):
            name, info, _, index, value, size = _SYMBOL.unpack_from(table.data, at)
            if info & 15 == _FUNCTION and index < len(sections) and sections[index].flags & _EXECUTABLE:
                start = value - sections[index].address
                found.append((_name(names, name), sections[index].data[start : start + size] if start >= 0 else b""))
    return found


def _name(names: bytes, at: int) -> str:
    return names[at : names.find(b"\0", at)].decode(errors="replace")
