"""Kernels of each kind of hardware, small enough to know their instructions, and artifacts that hold them."""

import struct
from collections.abc import Sequence
from pathlib import Path

import llvmlite.binding as llvm

from autoclave.artifact.model import Argument, Buffer, Header, Kernel, Parameter, Part, Program, Target, TensorSpec
from autoclave.artifact.writer import ArtifactWriter

QCOM = Target("QCOM", "IR3", "a630,IMAGE_PITCH_ALIGNMENT=64")
CHESTNUT = Target("AMD", "LLVM", "gfx1200")
CPU = Target("CPU", "LLVM", "x86_64,x86-64-v3")

A630_LOOP = struct.pack(
    "<5Q", 0x20244A0300000008, 0x4210000E000F000E, 0x6184801000101010, 0x01000000FFFFFFFE, 0x0300000000000000
)
"""Made by Mesa for a matrix product, but for the jump to the second instruction and the end."""

_HALF_EXP2 = """
define amdgpu_kernel void @{name}(ptr addrspace(1) %out, ptr addrspace(1) %in) #0 {{
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %from = getelementptr half, ptr addrspace(1) %in, i32 %lane
  %to = getelementptr half, ptr addrspace(1) %out, i32 %lane
  %value = load half, ptr addrspace(1) %from
  %result = call half @llvm.{operation}.f16(half %value)
  store half %result, ptr addrspace(1) %to
  ret void
}}
declare i32 @llvm.amdgcn.workitem.id.x()
declare half @llvm.{operation}.f16(half)
attributes #0 = {{ "amdgpu-flat-work-group-size"="1,32" }}
"""

_ADD = """
define i32 @{name}(i32 %left, i32 %right) {{
  %sum = add i32 %left, %right
  ret i32 %sum
}}
"""


def gfx1200_object(name: str, operation: str = "exp2") -> bytes:
    """A code object whose kernel applies an fp16 operation of LLVM's to each lane's element."""
    return amd_object(_HALF_EXP2.format(name=name, operation=operation))


def amd_object(source: str) -> bytes:
    """The code object of a module of LLVM IR."""
    return _compile(source, "amdgcn-amd-amdhsa", "gfx1200", "+cumode")


def x86_object(name: str) -> bytes:
    """An object whose function adds two 32-bit integers."""
    return _compile(_ADD.format(name=name), "x86_64-unknown-linux-gnu", "x86-64-v3", "")


def _compile(source: str, triple: str, cpu: str, features: str) -> bytes:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu, features, opt=2, reloc="pic")
    code: bytes = machine.emit_object(llvm.parse_assembly(source))
    return code


def write_kernels(
    path: Path,
    target: Target,
    kernels: Sequence[tuple[str, bytes]],
    weights: Sequence[tuple[str, bytes]] = (("weight", bytes(64)),),
    grid: int = 1,
) -> str:
    """Write an artifact that launches each kernel once, in order, on the first weight; return its sha256."""
    with ArtifactWriter(path) as writer:
        buffers = [
            Buffer("output", 64),
            *(Buffer("constant", len(data), writer.add_weight(data), name) for name, data in weights),
        ]
        table = tuple(_kernel(name, target, writer, code) for name, code in kernels)
        arguments = (Argument(0, 0, 64, "float16"), Argument(1, 0, buffers[1].nbytes, "float16"))
        calls = tuple(Program(number, (grid, 1, 1), (32, 1, 1), arguments) for number in range(len(kernels)))
        part = Part("run", target, (), (TensorSpec("out", (32,), "float16", 0),), tuple(buffers), (), calls)
        return writer.finish(Header({"synthetic": True}, table, (part,)))


def _kernel(name: str, target: Target, writer: ArtifactWriter, code: bytes) -> Kernel:
    signature = (Parameter("data0", 0, "float16"), Parameter("data1", 1, "float16"))
    return Kernel(name, target.renderer.lower(), writer.add_blob(code), signature, (0, 1), (0,), (1,))
