"""ELF objects: what is in them, compared with what LLVM was asked for."""

import llvmlite.binding as llvm
import pytest

from autoclave.compiler.objects import code_section, cpu_launch, undefined_symbols
from autoclave.errors import CompileError


def compile_object(ir: str) -> bytes:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple("x86_64-none-unknown-elf").create_target_machine(reloc="pic", codemodel="default")
    return bytes(machine.emit_object(llvm.parse_assembly(ir, context=llvm.create_context())))


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


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(CompileError, match="something else than a 64-bit little-endian ELF object"):
        code_section(b"MZ" + bytes(100))
