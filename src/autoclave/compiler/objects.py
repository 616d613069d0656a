"""What an ELF object, relocatable or linked, says that a launch needs: where its code is, what it lacks, how a GPU is set.

Formats: "Tool Interface Standard ELF Specification" 1.2 with the ELF-64 object file format; for AMD, LLVM's "User Guide for
AMDGPU Backend", Kernel Descriptor (64 bytes in .rodata).
"""

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from autoclave.errors import CompileError

_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMBOL_TABLE = 2
_KERNEL_DESCRIPTOR = struct.Struct("<III4xq20xIIIH")
_RELOCATABLE = 1
_WAVE32 = 1 << 10


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the object: its bytes are `size` bytes at `offset` of the file; `address` is where a linked one is loaded."""

    name: str
    kind: int
    address: int
    offset: int
    size: int
    link: int


def read_sections(image: bytes) -> tuple[Section, ...]:
    """The sections of a 64-bit little-endian ELF object. Raises `CompileError` for anything else."""
    if image[:6] != b"\x7fELF\x02\x01":
        raise CompileError("a compiler gave something else than a 64-bit little-endian ELF object")
    (table,) = struct.unpack_from("<Q", image, 0x28)
    entry_size, count, names_index = struct.unpack_from("<HHH", image, 0x3A)
    entries = [_SECTION.unpack_from(image, table + index * entry_size) for index in range(count)]
    names_at = entries[names_index][4]
    return tuple(
        Section(_text(image, names_at + name), kind, address, offset, size, link)
        for name, kind, _, address, offset, size, link, *_ in entries
    )


def code_section(image: bytes) -> Section:
    """The .text section."""
    return _section(image, ".text")


def undefined_symbols(image: bytes) -> list[str]:
    """Names that the object uses and does not define, sorted: a loader would have to provide them."""
    sections = read_sections(image)
    names: set[str] = set()
    for table in (section for section in sections if section.kind == _SYMBOL_TABLE):
        strings = sections[table.link].offset
        for at in range(table.offset + _SYMBOL.size, table.offset + table.size, _SYMBOL.size):
            name, _, _, section, _, _ = _SYMBOL.unpack_from(image, at)
            if section == 0 and name:
                names.add(_text(image, strings + name))
    return sorted(names)


def cpu_launch(image: bytes) -> dict[str, Any]:
    """Launch fields of a CPU kernel. Raises `CompileError` if the object calls functions of a library."""
    missing = undefined_symbols(image)
    if missing:
        raise CompileError(f"a CPU kernel calls {', '.join(missing)}, which no artifact can bring along")
    code = code_section(image)
    return {"code_length": code.size, "code_offset": code.offset}


def amd_launch(image: bytes) -> dict[str, Any]:
    """Launch fields of an AMD kernel, from its kernel descriptor.

    Raises `CompileError` for a linked object whose kernel does not start where its code does.
    """
    code, descriptor = code_section(image), _section(image, ".rodata")
    group, private, arguments, entry, rsrc3, rsrc1, rsrc2, properties = _KERNEL_DESCRIPTOR.unpack_from(
        image, descriptor.offset
    )
    # In a relocatable object the entry is a relocation yet to be made, and there is one kernel.
    if _object_type(image) != _RELOCATABLE and descriptor.address + entry != code.address:
        raise CompileError(
            "a compiler gave an AMD kernel that does not start at the start of its code, cannot be stored"
        )
    return {
        "argument_bytes": arguments,
        "code_length": code.size,
        "code_offset": code.offset,
        "descriptor_offset": descriptor.offset,
        "private_bytes": private,
        "properties": properties,
        "rsrc1": rsrc1,
        "rsrc2": rsrc2,
        "rsrc3": rsrc3,
        "shared_bytes": group,
        "wave": 32 if properties & _WAVE32 else 64,
    }


LAUNCH_FIELDS: Mapping[str, Callable[[bytes], dict[str, Any]]] = {"cpu": cpu_launch, "chestnut": amd_launch}
"""By hardware: the launch fields of a kernel that comes as an ELF object."""


def _object_type(image: bytes) -> int:
    return int(struct.unpack_from("<H", image, 0x10)[0])


def _section(image: bytes, name: str) -> Section:
    found = [section for section in read_sections(image) if section.name == name]
    if len(found) != 1:
        raise CompileError(f"a compiler gave an object with {len(found)} sections {name}, expected one")
    return found[0]


def _text(image: bytes, at: int) -> str:
    return image[at : image.index(b"\0", at)].decode()
