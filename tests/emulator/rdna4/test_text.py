"""gfx1200 instructions as text: LLVM 20 assembles it to the code that it was printed from, and prints the same itself."""

from dataclasses import replace

import llvmlite.binding as llvm
import pytest
from artifact.kernel_code import amd_object
from emulator.rdna4.encoding_samples import assembled

from autoclave.artifact.disassembly.elf import function_code
from autoclave.emulator.rdna4.decoder import decode, decode_kernel
from autoclave.emulator.rdna4.text import text
from autoclave.errors import UnknownInstruction

COMPILED = """
@lds = internal addrspace(3) global [64 x i32] poison
define amdgpu_kernel void @kernel(ptr addrspace(1) %out, ptr addrspace(1) %in, i32 %n) #0 {
entry:
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %base = mul i32 %group, 32
  %element = add i32 %base, %lane
  %from = getelementptr <2 x half>, ptr addrspace(1) %in, i32 %element
  %pair = load <2 x half>, ptr addrspace(1) %from
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%next.i, %loop]
  %sum = phi <2 x half> [%pair, %entry], [%next.sum, %loop]
  %single = phi float [1.0, %entry], [%next.single, %loop]
  %double = phi double [2.0, %entry], [%next.double, %loop]
  %square = fmul <2 x half> %sum, %sum
  %next.sum = fadd <2 x half> %square, <half 1.5, half 0xH4100>
  %upper = extractelement <2 x half> %next.sum, i32 1
  %wide = fpext half %upper to float
  %power = call float @llvm.exp2.f32(float %wide)
  %fused = call float @llvm.fma.f32(float %single, float %power, float 3.25)
  %quotient = fdiv float %fused, 7.0
  %absolute = call float @llvm.fabs.f32(float %quotient)
  %negative = fneg float %absolute
  %next.single = call float @llvm.minnum.f32(float %negative, float %wide)
  %as.double = fpext float %next.single to double
  %product = fmul double %double, 3.5
  %next.double = fadd double %product, %as.double
  %next.i = add i32 %i, 1
  %again = icmp slt i32 %next.i, %n
  br i1 %again, label %loop, label %done
done:
  %odd = and i32 %element, 1
  %even = icmp eq i32 %odd, 0
  br i1 %even, label %then, label %end
then:
  %to = getelementptr i64, ptr addrspace(1) %out, i32 %element
  %integer = fptosi float %next.single to i32
  %long = sext i32 %integer to i64
  %bits = bitcast double %next.double to i64
  %long.product = mul i64 %long, %bits
  %result = add i64 %long.product, 123456789
  store i64 %result, ptr addrspace(1) %to
  %old = atomicrmw add ptr addrspace(1) %out, i32 %integer seq_cst
  %mine = getelementptr [64 x i32], ptr addrspace(3) @lds, i32 0, i32 %lane
  store i32 %old, ptr addrspace(3) %mine
  call void @llvm.amdgcn.s.barrier()
  %theirs = getelementptr [64 x i32], ptr addrspace(3) @lds, i32 0, i32 %odd
  %read = load i32, ptr addrspace(3) %theirs
  %far = getelementptr i32, ptr addrspace(1) %to, i32 77
  store i32 %read, ptr addrspace(1) %far
  br label %end
end:
  ret void
}
declare void @llvm.amdgcn.s.barrier()
declare float @llvm.exp2.f32(float)
declare float @llvm.fabs.f32(float)
declare float @llvm.minnum.f32(float, float)
declare float @llvm.fma.f32(float, float, float)
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
attributes #0 = { "amdgpu-flat-work-group-size"="1,64" }
"""
"""Loops, a branch that lanes take apart, packed halves, doubles, a division, an atomic, a barrier and shared memory."""


def printed_by_llvm(source: str) -> list[str]:
    """What LLVM writes as assembly while it compiles `source`; branches with the number of the instruction that they go to."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple("amdgcn-amd-amdhsa").create_target_machine(
        "gfx1200", "+cumode", opt=2, reloc="pic"
    )
    body = machine.emit_assembly(llvm.parse_assembly(source)).split("\nkernel:")[1].split("\t.section")[0]
    instructions: list[str] = []
    labels: dict[str, int] = {}
    for line in body.splitlines():
        shown = " ".join(line.split(";")[0].split())
        if shown.endswith(":"):
            labels[shown[:-1]] = len(instructions)
        elif shown and not shown.startswith("."):
            instructions.append(shown)
    return [" ".join(str(labels.get(word, word)) for word in line.split()) for line in instructions]


def printed_by_us(source: str) -> list[str]:
    """The same of the code that LLVM compiles `source` to."""
    instructions = decode_kernel(function_code(amd_object(source), "kernel"), "kernel")
    numbers = {instruction.pc: number for number, instruction in enumerate(instructions)}
    return [text(each) if each.target is None else f"{each.name} {numbers[each.target]}" for each in instructions]


def test_an_instruction_is_printed_as_llvm_reads_it() -> None:
    differing = [(expected, text(decode(code))) for code, expected in assembled() if text(decode(code)) != expected]

    assert differing == []


def test_compiled_code_is_printed_as_llvm_prints_it() -> None:
    expected = printed_by_llvm(COMPILED)

    assert len(expected) > 100
    assert printed_by_us(COMPILED) == expected


def test_an_unknown_operation_has_no_text() -> None:
    nop = decode(bytes.fromhex("000080bf"))

    with pytest.raises(UnknownInstruction, match="s_no_such"):
        text(replace(nop, name="s_no_such"))
