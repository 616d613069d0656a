"""Compiles functions of the vector library for a named set of CPU features, and runs them over NumPy arrays.

The driver loop is IR too: it sets MXCSR as the emulator's kernels have it, with FTZ and DAZ or without, and puts it back.
"""

import ctypes
from dataclasses import dataclass

import llvmlite.binding as llvm
import numpy as np

from autoclave.emulator.vector import ATTRIBUTES, FUNCTIONS, GRADUAL_ATTRIBUTES, library, symbol

LANES = (4, 8, 16, 32)
HOSTS = ("x86-64", "x86-64-v3", "x86-64-v4")

DTYPES = {
    "float": np.dtype(np.uint32),
    "double": np.dtype(np.uint64),
    "i32": np.dtype(np.uint32),
    "i16": np.dtype(np.uint16),
}
"""Floats come and go as patterns."""

FLUSH_MODES = 0x9FC0
"""MXCSR: FTZ, DAZ, all exceptions masked, round to nearest."""

GRADUAL_MODES = 0x1F80
"""The same without FTZ and DAZ."""


def usable_hosts() -> tuple[str, ...]:
    """The feature sets that this machine can run."""
    features = llvm.get_host_cpu_features()
    needed = {"x86-64-v3": ("avx2", "f16c"), "x86-64-v4": ("avx512f", "avx512dq", "avx512vl", "avx512bw")}
    return tuple(host for host in HOSTS if all(features.get(name) for name in needed.get(host, ())))


@dataclass
class Compiled:
    """Machine code of some functions, each callable on whole arrays."""

    engine: llvm.ExecutionEngine
    lanes: int

    def __call__(self, name: str, *arguments: np.ndarray) -> np.ndarray:
        """Results as patterns, as many as arguments have elements."""
        signature = FUNCTIONS[name].signature
        size = arguments[0].size
        padded = -(-size // self.lanes) * self.lanes
        inputs = []
        for argument, element in zip(arguments, signature.arguments, strict=True):
            array = np.zeros(padded, DTYPES[element])
            array[:size] = argument
            inputs.append(array)
        output = np.empty(padded, DTYPES[signature.result])
        pointers = [array.ctypes.data for array in (*inputs, output)]
        run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers), ctypes.c_int64)(
            self.engine.get_function_address(f"run.{name}")
        )
        run(*pointers, padded)
        return output[:size]


def compiled(names: tuple[str, ...], lanes: int, host: str, level: int = 2, *, gradual: bool = False) -> Compiled:
    """`names` for `lanes` lanes; `host` is "x86-64" (SSE2 alone), "x86-64-v3" or "x86-64-v4". gradual: denormals are kept."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    modern, widest = host != "x86-64", host == "x86-64-v4"
    parts = library(names, lanes, f16c=modern, fma=modern, avx512=widest, gradual=gradual)
    text = "\n".join(
        [*_DECLARATIONS, *parts.declarations, parts.definitions, *(_driver(name, lanes, gradual) for name in names)]
    )
    module = llvm.parse_assembly(text, context=llvm.create_context())
    module.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(cpu=host, features="", opt=level)
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return Compiled(engine, lanes)


_DECLARATIONS = ("declare void @llvm.x86.sse.ldmxcsr(ptr)", "declare void @llvm.x86.sse.stmxcsr(ptr)")


def _driver(name: str, lanes: int, gradual: bool) -> str:
    """A loop over arrays, vector by vector."""
    signature = FUNCTIONS[name].signature
    attributes, modes = (GRADUAL_ATTRIBUTES, GRADUAL_MODES) if gradual else (ATTRIBUTES, FLUSH_MODES)
    inputs = range(len(signature.arguments))
    loads = []
    for n, element in enumerate(signature.arguments):
        loads += [
            f"  %p{n} = getelementptr {element}, ptr %in{n}, i64 %i",
            f"  %v{n} = load <{lanes} x {element}>, ptr %p{n}, align 2",
        ]
    listed = ", ".join(f"<{lanes} x {element}> %v{n}" for n, element in enumerate(signature.arguments))
    kind = f"<{lanes} x {signature.result}>"
    return "\n".join(
        [
            f"define void @run.{name}({', '.join(f'ptr %in{n}' for n in inputs)}, ptr %out, i64 %size) {attributes} {{",
            "entry:",
            "  %old = alloca i32",
            "  %new = alloca i32",
            "  call void @llvm.x86.sse.stmxcsr(ptr %old)",
            f"  store i32 {modes}, ptr %new",
            "  call void @llvm.x86.sse.ldmxcsr(ptr %new)",
            "  br label %loop",
            "loop:",
            "  %i = phi i64 [0, %entry], [%next, %loop]",
            *loads,
            f"  %r = call {kind} {symbol(name, lanes)}({listed})",
            f"  %q = getelementptr {signature.result}, ptr %out, i64 %i",
            f"  store {kind} %r, ptr %q, align 2",
            f"  %next = add i64 %i, {lanes}",
            "  %more = icmp ult i64 %next, %size",
            "  br i1 %more, label %loop, label %done",
            "done:",
            "  call void @llvm.x86.sse.ldmxcsr(ptr %old)",
            "  ret void",
            "}",
        ]
    )
