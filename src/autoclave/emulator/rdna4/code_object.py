"""A code object as LLVM's amdgcn target makes it, an ELF file: its kernel descriptor and its relocations.

Sources: System V ABI, chapters 4 and 5; LLVM, "User Guide for AMDGPU Backend", "Kernel Descriptor". Trusts no number in the
file.
"""

import struct
from dataclasses import dataclass

from autoclave.errors import ArtifactError

DESCRIPTOR_BYTES = 64

_FILE_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_IDENT = b"\x7fELF\x02\x01"
"""Of a 64-bit little-endian file."""

_MAX_SECTIONS = 1024
_RELOCATIONS = frozenset({4, 9})
"""Types of sections with relocations: SHT_RELA and SHT_REL."""

_EXECUTABLE = 4
_DESCRIPTOR = struct.Struct("<III4xq20xIIIHH4x")


@dataclass(frozen=True, slots=True)
class Descriptor:
    """What a kernel descriptor says; fields are named as an artifact's launch fields are."""

    shared_bytes: int
    private_bytes: int
    argument_bytes: int
    rsrc1: int
    rsrc2: int
    rsrc3: int
    properties: int


def read_descriptor(lib: bytes, offset: int) -> Descriptor:
    """The descriptor at `offset`, which lies within `lib`. Raises `ArtifactError` if it wants arguments preloaded."""
    shared, private, arguments, _, rsrc3, rsrc1, rsrc2, properties, preload = _DESCRIPTOR.unpack_from(lib, offset)
    if preload:
        raise ArtifactError(
            f"its descriptor asks for arguments in registers (preload {preload:#x}), which is not emulated"
        )
    return Descriptor(shared, private, arguments, rsrc1, rsrc2, rsrc3, properties)


def check_relocations(lib: bytes) -> None:
    """Raise `ArtifactError` if `lib` is no ELF file of 64 bits, or if its code has relocations: nothing resolves them."""
    if len(lib) < _FILE_HEADER.size or not lib.startswith(_IDENT):
        raise ArtifactError("its code object is not a 64-bit little-endian ELF file")
    fields = _FILE_HEADER.unpack_from(lib)
    table, entry_size, count = fields[6], fields[11], fields[12]
    if entry_size != _SECTION.size or count > _MAX_SECTIONS or table + count * entry_size > len(lib):
        raise ArtifactError("its ELF file's section table is malformed")
    sections = [_SECTION.unpack_from(lib, table + number * entry_size) for number in range(count)]
    for _, kind, _, _, _, size, _, target, _, _ in sections:
        if kind in _RELOCATIONS and size and target < count and sections[target][2] & _EXECUTABLE:
            raise ArtifactError("its code has relocations: it refers to something outside of itself")
