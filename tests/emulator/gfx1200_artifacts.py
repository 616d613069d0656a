"""Artifacts for gfx1200 small enough to calculate by hand, of kernels that LLVM 20 compiles: as `a630_artifacts`, the same model."""

from pathlib import Path
from typing import Any

import numpy as np
from artifact.kernel_code import CHESTNUT, amd_object
from emulator.a630_artifacts import DTYPES, WEIGHTS, model_part

from autoclave.artifact.model import Header, Kernel, Parameter
from autoclave.artifact.writer import ArtifactWriter
from autoclave.compiler.objects import amd_launch

_KERNEL = """
define amdgpu_kernel void @{name}(ptr addrspace(1) %out, ptr addrspace(1) %left, ptr addrspace(1) %right) #0 {{
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %first = mul i32 %group, 4
  %element = add i32 %first, %lane
  %left.at = getelementptr float, ptr addrspace(1) %left, i32 %element
  %right.at = getelementptr {type}, ptr addrspace(1) %right, i32 %element
  %out.at = getelementptr float, ptr addrspace(1) %out, i32 %element
  %a = load float, ptr addrspace(1) %left.at
  %b = load {type}, ptr addrspace(1) %right.at
{body}
  store float %result, ptr addrspace(1) %out.at
  ret void
}}
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half>, <8 x half>, <8 x float>)
attributes #0 = {{ "amdgpu-flat-work-group-size"="1,4" "amdgpu-no-implicitarg-ptr" "amdgpu-no-dispatch-ptr" "amdgpu-no-queue-ptr" "amdgpu-no-dispatch-id" }}
"""

DOUBLE = ("float", "  %sum = fadd float %a, %b\n  %result = fmul float %sum, 1.5")
MULTIPLY = ("float", "  %result = fmul float %a, %b")
ADD_BYTES = ("i8", "  %wide = uitofp i8 %b to float\n  %result = fadd float %a, %wide")
ASTRAY = ("i8", "  %past = getelementptr float, ptr addrspace(1) %out.at, i32 1000\n  store float %a, ptr addrspace(1) %past\n  %result = fadd float %a, %a")  # fmt: skip
MULTIPLY_MATRICES = ("i8", """  %product = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half> zeroinitializer, <8 x half> zeroinitializer, <8 x float> zeroinitializer)
  %zero = extractelement <8 x float> %product, i32 0
  %wide = uitofp i8 %b to float
  %sum = fadd float %a, %wide
  %result = fadd float %sum, %zero""")  # fmt: skip
"""Type of the right operand and what is computed. ASTRAY writes outside of its buffer; MULTIPLY_MATRICES, with 4 of a wave's 32 lanes."""


def write_gfx1200_artifact(path: Path, last: tuple[str, str] = ADD_BYTES, weights: np.ndarray = WEIGHTS) -> str:
    """Write an artifact with the part "run": result = x * 3 * WEIGHTS + pixels. Returns its sha256."""
    with ArtifactWriter(path) as writer:
        constant = writer.add_weight(weights)
        named: tuple[tuple[str, tuple[str, str]], ...] = (
            ("double", DOUBLE),
            ("multiply", MULTIPLY),
            ("add_bytes", last),
        )
        kernels = tuple(_kernel(writer, name, kernel, DTYPES[name]) for name, kernel in named)
        return writer.finish(Header({"synthetic": True}, kernels, (model_part(constant, CHESTNUT),)))


def _kernel(writer: ArtifactWriter, name: str, kernel: tuple[str, str], dtypes: tuple[str, ...]) -> Kernel:
    kind, body = kernel
    image = amd_object(_KERNEL.format(name=name, type=kind, body=body))
    launch: dict[str, Any] = amd_launch(image)
    signature = tuple(Parameter(f"data{slot}", slot, dtype) for slot, dtype in enumerate(dtypes))
    return Kernel(name, "LLVM", writer.add_blob(image), signature, (0, 1, 2), (0,), (1, 2), launch)
