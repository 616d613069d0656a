"""Where binary64 could round wrongly: arguments whose binary64 result lies beside the middle between two f32.

All others are right if the binary64 result is off by less than `WINDOW` units in its last place, of which it has at most two. Of
those that lie within, the scalar result is held against rational arithmetic. When the constants were chosen, all f32 were looked
at, with a window of 32 (`STEP` of 1: a minute); here a part is, where that takes long.
"""

import ctypes

import llvmlite.binding as llvm
import numpy as np
import pytest
from emulator.correct_rounding import correct32
from emulator.vector_harness import FLUSH_MODES, usable_hosts

from autoclave.emulator.scalar import single
from autoclave.emulator.vector import ATTRIBUTES, elementary
from autoclave.emulator.vector.body import Body, Value

WINDOW = 8
LANES = 8
BLOCK = 1 << 20

RANGES = {
    "exp2": ((0x00800000, 0x43200000), (0x80800000, 0xC3200000)),
    "log2": ((0x00800000, 0x7F800000),),
    "sin": ((0x00800000, 0x7F800000),),
    "cos": ((0x00800000, 0x7F800000),),
    "rsq": ((0x3F800000, 0x40800000),),
}
"""Patterns: where the function is neither odd nor even, both signs; of rsq two binades, of which all others are copies."""

STEP = {"exp2": 1, "log2": 5, "sin": 11, "cos": 11, "rsq": 1}
"""Of so many blocks of 2^20 patterns one is looked at."""


class RecordingBody(Body):
    """Remembers the binary64 that is rounded to f32."""

    rounded: Value | None = None

    def cast(self, name: str, a: Value, element: str) -> Value:
        if name == "fptrunc" and self.rounded is None:
            self.rounded = a
        return super().cast(name, a, element)


class Finder:
    """Host code that marks patterns whose binary64 result is near a tie."""

    def __init__(self, name: str) -> None:
        body = RecordingBody(LANES)
        getattr(elementary, name)(body, Value("%x", "float"))
        assert body.rounded is not None
        bits = body.cast("bitcast", body.rounded, "i64")
        low = body.op("and", bits, body.integer((1 << 29) - 1, "i64"))
        distance = body.op("add", low, body.integer(WINDOW - (1 << 28), "i64"))
        near = body.cast("zext", body.compare("icmp ule", distance, body.integer(2 * WINDOW, "i64")), "i8")
        self.engine = _engine(_text(body, near))
        address = self.engine.get_function_address("find")
        self.run = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(address)

    def near_ties(self, first: int) -> list[int]:
        """Those of a block of patterns."""
        marks = np.zeros(BLOCK, np.uint8)
        self.run(first, marks.ctypes.data, BLOCK)
        return [first + int(place) for place in np.flatnonzero(marks)]


def _engine(text: str) -> llvm.ExecutionEngine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text, context=llvm.create_context())
    machine = llvm.Target.from_default_triple().create_target_machine(cpu=usable_hosts()[-1], opt=2)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=2))
    builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


def _text(body: Body, near: Value) -> str:
    counting = ", ".join(f"i32 {lane}" for lane in range(LANES))
    return "\n".join(
        [
            *sorted(body.declarations),
            "declare void @llvm.x86.sse.ldmxcsr(ptr)",
            "declare void @llvm.x86.sse.stmxcsr(ptr)",
            f"define void @find(i64 %first, ptr %marks, i64 %count) {ATTRIBUTES} {{",
            "entry:",
            "  %old = alloca i32",
            "  %new = alloca i32",
            "  call void @llvm.x86.sse.stmxcsr(ptr %old)",
            f"  store i32 {FLUSH_MODES}, ptr %new",
            "  call void @llvm.x86.sse.ldmxcsr(ptr %new)",
            "  br label %loop",
            "loop:",
            "  %i = phi i64 [0, %entry], [%next, %loop]",
            "  %pattern = add i64 %i, %first",
            "  %cut = trunc i64 %pattern to i32",
            f"  %one = insertelement <{LANES} x i32> poison, i32 %cut, i32 0",
            f"  %all = shufflevector <{LANES} x i32> %one, <{LANES} x i32> poison, <{LANES} x i32> zeroinitializer",
            f"  %patterns = add <{LANES} x i32> %all, <{counting}>",
            f"  %x = bitcast <{LANES} x i32> %patterns to <{LANES} x float>",
            *body.lines,
            "  %p = getelementptr i8, ptr %marks, i64 %i",
            f"  store <{LANES} x i8> {near.text}, ptr %p, align 1",
            f"  %next = add i64 %i, {LANES}",
            "  %more = icmp ult i64 %next, %count",
            "  br i1 %more, label %loop, label %done",
            "done:",
            "  call void @llvm.x86.sse.ldmxcsr(ptr %old)",
            "  ret void",
            "}",
        ]
    )


@pytest.mark.parametrize("name", RANGES)
def test_results_near_ties_are_rounded_correctly(name: str):
    finder = Finder(name)
    blocks = [first for low, high in RANGES[name] for first in range(low, high, BLOCK)][:: STEP[name]]
    near = [pattern for first in blocks for pattern in finder.near_ties(first)]

    wrong = [hex(pattern) for pattern in near if getattr(single, name)(pattern) != correct32(name, pattern)]

    assert near
    assert wrong == []
