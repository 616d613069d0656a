"""ELF objects: what is in them, compared with what LLVM was asked for."""

import struct

import llvmlite.binding as llvm
import pytest

from autoclave.compiler.objects import amd_launch, code_section, cpu_launch, undefined_symbols
from autoclave.errors import CompileError


def compile_object(ir: str, triple: str = "x86_64-none-unknown-elf", cpu: str = "") -> bytes:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, reloc="pic", codemodel="default")
    return bytes(machine.emit_object(llvm.parse_assembly(ir, context=llvm.create_context())))


ET_DYN = 3
_KERNEL = "define amdgpu_kernel void @nothing() {\n  ret void\n}\n"
_ALONE = "define i32 @seven() {\n  ret i32 7\n}\n"
_CALLING = "declare double @sin(double)\ndeclare double @exp(double)\ndefine double @f(double %x) {\n  %a = call double @sin(double %x)\n  %b = call double @exp(double %a)\n  ret double %b\n}\n"


def test_the_code_section_is_where_the_instructions_are() -> None:
    image = compile_object(_ALONE)

    code = code_section(image)

    # movl $7, %eax; ret  (Intel SDM, volume 2: B8 imm32, C3)
    assert image[code.offset : code.offset + code.size] == b"\xb8\x07\x00\x00\x00\xc3"
    assert cpu_launch(image) == {"code_offset": code.offset, "code_length": 6}


def test_functions_of_a_library_are_named() -> None:
    assert undefined_symbols(compile_object(_CALLING)) == ["exp", "sin"]
    assert undefined_symbols(compile_object(_ALONE)) == []


def test_a_kernel_that_calls_a_library_is_refused() -> None:
    with pytest.raises(CompileError, match="a CPU kernel calls exp, sin"):
        cpu_launch(compile_object(_CALLING))


def linked(image: bytes, entry: int) -> bytes:
    """An AMD kernel's object as a linker would leave it, its code and its descriptor at address 0, with this entry."""
    changed = bytearray(image)
    # e_type, and the descriptor's KERNEL_CODE_ENTRY_BYTE_OFFSET (LLVM's User Guide for AMDGPU Backend).
    struct.pack_into("<H", changed, 16, ET_DYN)
    struct.pack_into("<q", changed, amd_launch(image)["descriptor_offset"] + 16, entry)
    return bytes(changed)


def test_a_linked_kernel_says_the_same_as_a_relocatable_one() -> None:
    image = compile_object(_KERNEL, "amdgcn-amd-amdhsa", "gfx1200")

    assert amd_launch(linked(image, 0)) == amd_launch(image)


def test_a_linked_kernel_that_starts_elsewhere_than_its_code_is_refused() -> None:
    image = compile_object(_KERNEL, "amdgcn-amd-amdhsa", "gfx1200")

    with pytest.raises(CompileError, match="does not start at the start of its code"):
        amd_launch(linked(image, 64))


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(CompileError, match="something else than a 64-bit little-endian ELF object"):
        code_section(b"MZ" + bytes(100))
