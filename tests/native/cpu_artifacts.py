"""CPU artifacts small enough to calculate by hand, compiled from LLVM IR as the compiler does."""

from pathlib import Path

import llvmlite.binding as llvm
import numpy as np

from autoclave.artifact.model import Argument, Buffer, Call, Copy, Header, Kernel, Parameter, Part, Program, Target
from autoclave.artifact.model import TensorSpec as Spec
from autoclave.artifact.writer import ArtifactWriter

CPU = Target("CPU", "LLVM", "x86_64,x86-64-v3")
WEIGHTS = np.arange(1, 9, dtype=np.float32) / 4
SIZE = 8

_LOOP = """
define void @{name}(ptr noalias align 32 %0, ptr noalias align 32 %1, ptr noalias align 32 %2) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at0 = getelementptr float, ptr %0, i64 %i
  %at1 = getelementptr float, ptr %1, i64 %i
  %at2 = getelementptr {right}, ptr %2, i64 %i
  %left = load float, ptr %at1
  %word = load {right}, ptr %at2
{body}
  store float %result, ptr %at0
  %next = add i64 %i, 1
  %done = icmp eq i64 %next, 8
  br i1 %done, label %exit, label %loop
exit:
  ret void
}}
"""

DOUBLE = _LOOP.format(
    name="double",
    right="float",
    body="  %sum = fadd float %left, %word\n  %result = fmul float %sum, 0x3FF8000000000000",
)
"""out = (a + b) * 1.5, with the 1.5 in a constant pool."""

MULTIPLY = _LOOP.format(name="multiply", right="float", body="  %result = fmul float %left, %word")
"""out = a * b"""

ADD_BYTES = _LOOP.format(
    name="add_bytes", right="i8", body="  %number = uitofp i8 %word to float\n  %result = fadd float %left, %number"
)
"""out = a + uint8 b"""


def compile_ir(source: str) -> bytes:
    """The relocatable object that LLVM makes of `source` for x86-64-v3, with the settings of the CPU renderer."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple("x86_64-none-unknown-elf")
    machine = target.create_target_machine(cpu="x86-64-v3", opt=2, reloc="pic", codemodel="default")
    module = llvm.parse_assembly(source)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return bytes(machine.emit_object(module))


def write_artifact(path: Path, target: Target = CPU, add_bytes: str = ADD_BYTES, workgroups: int = 1) -> str:
    """Write an artifact with the part "run": result = x * 3 * WEIGHTS + pixels. Returns its sha256.

    It uses all kinds of buffers and calls: `init` makes 3 * WEIGHTS once, `calls` multiplies into the arena, copies within
    it, and adds. `add_bytes` is the IR of the last kernel and `workgroups` its launch size, for tests that want them wrong.
    """
    with ArtifactWriter(path) as writer:
        constant = writer.add_weight(WEIGHTS)
        kernels = tuple(
            Kernel(
                name=name,
                renderer="LLVM",
                lib=writer.add_blob(compile_ir(source)),
                signature=tuple(Parameter(f"data{slot}", slot, "float32") for slot in range(3)),
                globals=(0, 1, 2),
                outs=(0,),
                ins=(1, 2),
            )
            for name, source in (("double", DOUBLE), ("multiply", MULTIPLY), ("add_bytes", add_bytes))
        )
        floats = SIZE * 4
        buffers = (
            Buffer("input", floats, name="x"),
            Buffer("input", SIZE, name="pixels"),
            Buffer("constant", floats, data=constant),
            Buffer("persistent", floats),
            Buffer("arena", 256),
            Buffer("output", floats, name="result"),
        )
        x, pixels, weight, tripled, result = (_whole(buffers, number) for number in (0, 1, 2, 3, 5))
        product, copied = Argument(4, 0, floats, "float32"), Argument(4, 128, floats, "float32")
        part = Part(
            key="run",
            target=target,
            inputs=(Spec("pixels", (SIZE,), "uint8", 1), Spec("x", (2, 4), "float32", 0)),
            outputs=(Spec("result", (2, 4), "float32", 5),),
            buffers=buffers,
            init=(_launch(0, tripled, weight, weight),),
            calls=(
                _launch(1, product, x, tripled),
                Copy(copied, product),
                _launch(2, result, copied, pixels, workgroups=workgroups),
            ),
        )
        return writer.finish(Header({"synthetic": True}, kernels, (part,)))


def expected_result(x: np.ndarray, pixels: np.ndarray) -> np.ndarray:
    """What `write_artifact`'s part gives, by numpy: every step is exact or correctly rounded, so bit for bit."""
    tripled = (WEIGHTS + WEIGHTS) * np.float32(1.5)
    return ((x.reshape(-1) * tripled) + pixels.astype(np.float32)).reshape(2, 4)


def example_inputs() -> dict[str, np.ndarray]:
    """Inputs for `write_artifact`'s part."""
    return {
        "x": np.linspace(-1, 1, SIZE, dtype=np.float32).reshape(2, 4),
        "pixels": np.arange(0, 256, 32, dtype=np.uint8),
    }


def _whole(buffers: tuple[Buffer, ...], number: int) -> Argument:
    return Argument(number, 0, buffers[number].nbytes, "float32" if buffers[number].nbytes > SIZE else "uint8")


def _launch(kernel: int, *arguments: Argument, workgroups: int = 1) -> Call:
    return Program(kernel, (workgroups, 1, 1), (1, 1, 1), arguments)
