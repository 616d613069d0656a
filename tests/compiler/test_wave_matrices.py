"""Matrix operations stay where all lanes of a wave run them (renderers/wave_matrices.py)."""

import llvmlite.binding as llvm
import pytest

from autoclave.compiler.renderers.llvm20 import LLVM20Compiler, _tuning
from autoclave.compiler.renderers.wave_matrices import pinned_matrices

STORED_BY_SOME_LANES = """
define amdgpu_kernel void @product(ptr noalias %out, ptr noalias %left, ptr noalias %right) #0 {
entry:
  %lane = tail call i32 @llvm.amdgcn.workitem.id.x()
  %left.at = getelementptr <8 x half>, ptr %left, i32 %lane
  %right.at = getelementptr <8 x half>, ptr %right, i32 %lane
  %a = load <8 x half>, ptr %left.at
  %b = load <8 x half>, ptr %right.at
  %d = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half> %a, <8 x half> %b, <8 x float> zeroinitializer)
  %few = icmp slt i32 %lane, 8
  br i1 %few, label %store, label %done
store:
  %out.at = getelementptr <8 x float>, ptr %out, i32 %lane
  store <8 x float> %d, ptr %out.at
  br label %done
done:
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
declare <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half>, <8 x half>, <8 x float>)
attributes #0 = { "amdgpu-flat-work-group-size"="1,32" }
"""
"""Each of 32 lanes has a part of both matrices; 8 of them store what they get of the product."""


def compiler() -> LLVM20Compiler:
    return LLVM20Compiler("amdgcn-amd-amdhsa", "gfx1200", "+cumode")


def assembly(pinned: bool) -> list[str]:
    """LLVM's own text of the kernel, a line for each instruction."""
    machine = compiler().machine
    module = llvm.parse_assembly(STORED_BY_SOME_LANES, context=llvm.create_context())
    builder = llvm.create_pass_builder(machine, _tuning())
    builder.getModulePassManager().run(module, builder)
    if pinned:
        text = pinned_matrices(str(module))
        assert text is not None
        module = llvm.parse_assembly(text, context=llvm.create_context())
    return [
        line.split()[0] for line in machine.emit_assembly(module).splitlines() if line.startswith("\t") and line.split()
    ]


def place_of(lines: list[str], start: str) -> int:
    (found,) = (place for place, line in enumerate(lines) if line.startswith(start))
    return found


def test_llvm_alone_moves_the_product_behind_the_branch_of_its_store() -> None:
    """As long as this holds, the correction is needed."""
    lines = assembly(pinned=False)
    assert place_of(lines, "v_wmma") > place_of(lines, "v_cmpx")


def test_a_pinned_product_is_computed_before_lanes_are_switched_off() -> None:
    lines = assembly(pinned=True)
    assert place_of(lines, "v_wmma") < place_of(lines, "v_cmpx")


def test_pinning_adds_no_instruction_of_its_own() -> None:
    assert not [line for line in assembly(pinned=True) if line.startswith(("s_nop", "v_nop"))]
    assert assembly(pinned=True).count("v_wmma_f32_16x16x16_f16") == 1


def test_the_compiler_pins() -> None:
    """Its object holds the code of the pinned module: without the pin it is another."""
    machine = compiler().machine
    module = llvm.parse_assembly(STORED_BY_SOME_LANES, context=llvm.create_context())
    builder = llvm.create_pass_builder(machine, _tuning())
    builder.getModulePassManager().run(module, builder)
    pinned = pinned_matrices(str(module))
    assert pinned is not None
    alone = bytes(machine.emit_object(module))
    expected = bytes(machine.emit_object(llvm.parse_assembly(pinned, context=llvm.create_context())))
    assert compiler().compile(STORED_BY_SOME_LANES) == expected != alone


@pytest.mark.parametrize(
    "text",
    [
        "define void @f() {\nentry:\n  br i1 %c, label %a, label %b\n}",
        "define void @f() {\nentry:\n  %d = tail call <8 x float> @llvm.amdgcn.wmma.f32.x(<8 x half> %a)\n  br label %next\n}",
        "define void @f() {\nturn:\n  %d = call <8 x float> @llvm.amdgcn.wmma.f32.x(<8 x half> %a)\n  br i1 %c, label %turn, label %b\n}",
        "define void @f() {\nturn:\n  %d = call <8 x float> @llvm.amdgcn.wmma.f32.x(<8 x half> %a)\n  br i1 %c, label %b, label %turn\n}",
    ],
    ids=["no matrix", "no choice", "loop of one block", "the same the other way round"],
)
def test_other_code_is_left_alone(text: str) -> None:
    assert pinned_matrices(text) is None


def test_every_product_of_a_block_is_pinned_in_front_of_its_choice() -> None:
    text = "\n".join(
        [
            "define void @f() {",
            "entry:",
            "  %d = tail call <8 x float> @llvm.amdgcn.wmma.f32.x(<8 x half> %a)",
            "  %e = tail call contract <4 x i32> @llvm.amdgcn.wmma.i32.x(<2 x i32> %b)",
            "  br i1 %c, label %some, label %all",
            "some:",
            "  br i1 %c, label %all, label %entry",
            "}",
        ]
    )
    pinned = pinned_matrices(text)
    assert pinned is not None
    assert [line for line in pinned.splitlines() if "asm" in line] == [
        '  call void asm sideeffect "", "v"(<8 x float> %d)',
        '  call void asm sideeffect "", "v"(<4 x i32> %e)',
    ]
    assert pinned.splitlines()[6] == "  br i1 %c, label %some, label %all"
