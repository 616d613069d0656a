"""The object loader: what LLVM writes loads, everything else is refused by name."""

import random
import struct

import pytest
from native.cpu_artifacts import DOUBLE, compile_ir

from autoclave.errors import ArtifactError
from autoclave.native.elf import RELOCATION_TYPES, LoadableObject, Relocation, load_object

SECTION_SIZE = 64


@pytest.fixture(scope="module")
def kernel() -> bytes:
    return compile_ir(DOUBLE)


def section_headers(data: bytes) -> list[int]:
    """Offsets of the section headers of an object."""
    (table,) = struct.unpack_from("<Q", data, 40)
    (count,) = struct.unpack_from("<H", data, 60)
    return [table + SECTION_SIZE * index for index in range(count)]


def find_section(data: bytes, kind: int, flags: int = 0) -> int:
    """Offset of the header of the first section of `kind` that has all of `flags`."""
    for header in section_headers(data):
        found_kind, found_flags = struct.unpack_from("<IQ", data, header + 4)
        if found_kind == kind and found_flags & flags == flags:
            return header
    raise LookupError(kind)


def patched(data: bytes, offset: int, layout: str, *values: int) -> bytes:
    """`data` with `values` packed over its bytes at `offset`."""
    copy = bytearray(data)
    struct.pack_into(layout, copy, offset, *values)
    return bytes(copy)


def first_relocation(data: bytes) -> int:
    (offset,) = struct.unpack_from("<Q", data, find_section(data, kind=4) + 24)
    return int(offset)


def test_real_kernel_is_laid_out_with_its_constants(kernel: bytes) -> None:
    loaded = load_object(kernel, "double")

    assert struct.pack("<f", 1.5) in loaded.image
    assert {relocation.type.name for relocation in loaded.relocations} == {"R_X86_64_PC32"}
    assert 0 <= loaded.entry < len(loaded.image)


def test_relative_relocations_do_not_depend_on_the_address(kernel: bytes) -> None:
    loaded = load_object(kernel, "double")

    assert loaded.relocated(0x7F00_0000_0000) == loaded.relocated(0x1000)


def test_pc32_field_holds_target_minus_place(kernel: bytes) -> None:
    loaded = load_object(kernel, "double")
    relocation = loaded.relocations[0]

    (field,) = struct.unpack_from("<i", loaded.relocated(0), relocation.offset)

    # The instruction ends 4 bytes after its field and addresses the constant from there.
    assert struct.unpack_from("<f", loaded.image, relocation.offset + 4 + field) == (1.5,)


def test_absolute_relocation_holds_the_address() -> None:
    loaded = LoadableObject(bytes(24), 16, 0, (Relocation(RELOCATION_TYPES[1], offset=8, target=20),))

    assert loaded.relocated(0x7F12_3456_7000) == bytes(8) + struct.pack("<Q", 0x7F12_3456_7014) + bytes(8)


def test_table_of_addresses_is_refused() -> None:
    source = """
@table = private constant [2 x ptr] [ptr @one, ptr @two]
@one = private constant float 1.0
@two = private constant float 2.0
define void @pick(ptr %0, i64 %1) {
  %at = getelementptr ptr, ptr @table, i64 %1
  %address = load ptr, ptr %at
  %value = load float, ptr %address
  store float %value, ptr %0
  ret void
}
"""
    # LLVM puts such a table into .data.rel.ro, which a dynamic linker writes to; kernels have none.
    with pytest.raises(ArtifactError, match=r"\.data\.rel\.ro.*writable"):
        load_object(compile_ir(source), "pick")


def external_call(callee: str) -> str:
    return f"declare float @{callee}(float)\ndefine void @k(ptr %0) {{\n  %v = load float, ptr %0\n  %r = call float @{callee}(float %v)\n  store float %r, ptr %0\n  ret void\n}}"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param(external_call("sinf"), "needs the symbol 'sinf'", id="undefined-symbol"),
        pytest.param(
            "define void @a(ptr %0) {\n ret void\n}\ndefine void @b(ptr %0) {\n ret void\n}",
            "defines 2 global functions",
            id="two-functions",
        ),
        pytest.param("@x = constant i32 1", "defines 0 global functions", id="no-function"),
        pytest.param(
            "@state = global i32 7\ndefine void @k(ptr %0) {\n store i32 1, ptr @state\n ret void\n}",
            "'.data' is writable",
            id="writable-data",
        ),
        pytest.param(
            "@state = global i32 0\ndefine void @k(ptr %0) {\n store i32 1, ptr @state\n ret void\n}",
            "'.bss' is writable",
            id="zeroed-data",
        ),
        pytest.param(
            "@e = external constant i32\ndefine void @k(ptr %0) {\n %v = load i32, ptr @e\n store i32 %v, ptr %0\n ret void\n}",
            "R_X86_64_REX_GOTPCRELX is not supported",
            id="global-offset-table",
        ),
    ],
)
def test_object_that_no_kernel_is_refused(source: str, message: str) -> None:
    with pytest.raises(ArtifactError, match=message):
        load_object(compile_ir(source), "k")


def test_debug_unwind_tables_are_left_out() -> None:
    source = "define void @k(ptr %0) uwtable {\n store float 1.0, ptr %0\n ret void\n}"
    with_tables, without = (load_object(compile_ir(text), "k") for text in (source, source.replace(" uwtable", "")))

    assert with_tables == without


@pytest.mark.parametrize(
    ("offset", "layout", "value", "message"),
    [
        pytest.param(0, "<B", 0, "not a relocatable", id="magic"),
        pytest.param(4, "<B", 1, "not a relocatable", id="32-bit"),
        pytest.param(5, "<B", 2, "not a relocatable", id="big-endian"),
        pytest.param(16, "<H", 2, "not a relocatable", id="executable"),
        pytest.param(18, "<H", 183, "not a relocatable", id="aarch64"),
        pytest.param(40, "<Q", 1 << 63, "the section table ends at byte", id="section-table-far-away"),
        pytest.param(58, "<H", 40, "malformed", id="section-entry-size"),
        pytest.param(60, "<H", 0xFFFF, "malformed", id="too-many-sections"),
        pytest.param(62, "<H", 0xFFFF, "malformed", id="section-names-index"),
    ],
)
def test_hostile_file_header(kernel: bytes, offset: int, layout: str, value: int, message: str) -> None:
    with pytest.raises(ArtifactError, match=message):
        load_object(patched(kernel, offset, layout, value), "double")


@pytest.mark.parametrize(
    ("kind", "flags", "field", "layout", "value", "message"),
    [
        pytest.param(1, 4, 24, "<Q", 1 << 60, "ends after", id="code-outside-the-file"),
        pytest.param(1, 4, 32, "<Q", 1 << 60, "ends after", id="endless-code"),
        pytest.param(1, 4, 48, "<Q", 1 << 40, "alignment", id="huge-alignment"),
        pytest.param(1, 4, 48, "<Q", 24, "alignment", id="odd-alignment"),
        pytest.param(1, 4, 4, "<I", 8, "not plain data", id="code-without-bytes"),
        pytest.param(1, 4, 8, "<Q", 7, "writable", id="writable-code"),
        pytest.param(1, 4, 8, "<Q", 2, "not in a section of code", id="code-not-executable"),
        pytest.param(2, 0, 40, "<I", 200, "no table of names", id="symbol-names"),
        pytest.param(2, 0, 32, "<Q", 25, "not a multiple", id="symbol-table-size"),
        pytest.param(4, 0, 32, "<Q", 1 << 40, "ends at byte", id="relocations-outside-the-file"),
        pytest.param(4, 0, 4, "<I", 9, "without addends", id="rel-instead-of-rela"),
        pytest.param(2, 0, 4, "<I", 0, "0 symbol tables", id="no-symbol-table"),
    ],
)
def test_hostile_section(
    kernel: bytes, kind: int, flags: int, field: int, layout: str, value: int, message: str
) -> None:
    with pytest.raises(ArtifactError, match=message):
        load_object(patched(kernel, find_section(kernel, kind, flags) + field, layout, value), "double")


@pytest.mark.parametrize(
    ("field", "layout", "value", "message"),
    [
        pytest.param(0, "<Q", 1 << 62, "patches byte", id="outside-its-section"),
        pytest.param(8, "<I", 10, "R_X86_64_32 is not supported", id="absolute-32-bit"),
        pytest.param(8, "<I", 0xDEAD, "number 57005 is not supported", id="unknown-type"),
        pytest.param(12, "<I", 0xFFFFFFFF, "names symbol 4294967295", id="no-such-symbol"),
        pytest.param(12, "<I", 0, "needs the symbol ''", id="null-symbol"),
        pytest.param(16, "<q", -(1 << 40), "more than it can say", id="out-of-range"),
    ],
)
def test_hostile_relocation(kernel: bytes, field: int, layout: str, value: int, message: str) -> None:
    with pytest.raises(ArtifactError, match=message):
        load_object(patched(kernel, first_relocation(kernel) + field, layout, value), "double")


def test_sections_may_not_multiply_the_file() -> None:
    kernel = compile_ir("@c = private constant [512 x float] zeroinitializer\n" + DOUBLE)
    copies = bytearray(kernel)
    for header in section_headers(kernel):
        if struct.unpack_from("<I", copies, header + 4)[0] == 1:
            struct.pack_into("<QQQQ", copies, header + 8, 6, 0, 0, len(kernel))

    with pytest.raises(ArtifactError, match="overlap"):
        load_object(bytes(copies), "double")


def test_every_truncation_is_refused(kernel: bytes) -> None:
    for length in range(len(kernel)):
        with pytest.raises(ArtifactError):
            load_object(kernel[:length], "double")


def test_mutations_load_or_are_refused(kernel: bytes) -> None:
    dice = random.Random(20)
    refused = 0
    for _ in range(4000):
        mutant = bytearray(kernel)
        for _ in range(dice.randint(1, 4)):
            mutant[dice.randrange(len(mutant))] = dice.choice((0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)))
        try:
            loaded = load_object(bytes(mutant), "double")
        except ArtifactError:
            refused += 1
        else:
            assert isinstance(loaded, LoadableObject)
            assert len(loaded.relocated(0x1000)) == len(loaded.image) <= len(kernel) + 4096 * 8
    assert refused > 100
