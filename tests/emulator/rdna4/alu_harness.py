"""Runs rules of the translator's ALU alone: machine code for a few instructions in a row, over rows of operands in memory.

Vector operands lie in registers of their own, one row for each lane; masks come as 0 or 1 for each row. Scalar operations
take row after row. All rows are run with denormals kept, as the emulator runs gfx1200's kernels: that is MXCSR's default.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

import llvmlite.binding as llvm
import numpy as np

from autoclave.emulator.ir import Builder, Module, Value, constant
from autoclave.emulator.jit import BASELINE, PORTABLE, WIDE, HostTarget, best_target
from autoclave.emulator.rdna4.encoding.table import FORMS
from autoclave.emulator.rdna4.encoding.types import width
from autoclave.emulator.rdna4.instruction import Destination, Instruction, Register, Source
from autoclave.emulator.rdna4.translator.alu import SCALAR, VECTOR
from autoclave.emulator.rdna4.translator.wave import Wave
from autoclave.emulator.vector import GRADUAL_ATTRIBUTES, library

Array = np.ndarray

FIRST_RESULT = 40
"""The number of the first destination's register; sources' are below."""


def hosts() -> tuple[HostTarget, ...]:
    """The processors that this machine can stand in for."""
    every = (BASELINE, PORTABLE, WIDE)
    return every[: every.index(best_target()) + 1]


def instruction(name: str, **fields: object) -> Instruction:
    """An instruction with each operand in registers of its own, in the first encoding that has it."""
    form = next(form for form in FORMS if form.name == name)
    scalar = name in SCALAR
    file = "s" if scalar else "v"
    sources = [
        Source(
            Register("s" if slot.type == "mask" else file, 4 * number, -(-width(slot.type) // 32)),
            slot.type,
            high_of_second=form.encoding == "VOP3P" and slot.type.endswith("16x2"),
        )
        for number, slot in enumerate(form.sources)
    ]
    destinations = [
        Destination(
            Register("s" if slot.type == "mask" else file, FIRST_RESULT + 4 * number, -(-width(slot.type) // 32)),
            slot.type,
        )
        for number, slot in enumerate(form.destinations)
    ]
    if name.startswith("v_cmpx"):
        destinations = [Destination(Register("s", FIRST_RESULT), "mask")]
    made = Instruction(0, 4, name, form.encoding, tuple(destinations), tuple(sources))
    return Instruction(**{**{field: getattr(made, field) for field in made.__slots__}, **fields})


@dataclass
class Rules:
    """Machine code for some sequences of instructions; `run` takes the number of one of them."""

    engine: llvm.ExecutionEngine
    sequences: Sequence[Sequence[Instruction]]
    lanes: int

    def run(self, number: int, columns: Sequence[Array], scc: Array | None = None) -> list[Array]:
        """Columns of the first one's sources to columns of the last one's destinations; of scalars, and of SCC (0 or 1) last."""
        one, last = self.sequences[number][0], self.sequences[number][-1]
        rows = columns[0].size if columns else scc.size if scc is not None else 0
        padded = -(-rows // self.lanes) * self.lanes
        words = [
            word for source, column in zip(one.sources, columns, strict=True) for word in _words(source.type, column)
        ]
        if one.name in SCALAR:
            words.append(np.zeros(rows, np.uint32) if scc is None else scc)
        taken = np.zeros((max(len(words), 1), padded), np.uint32)
        for index, word in enumerate(words):
            taken[index, :rows] = word
        given = np.zeros((8, padded), np.uint32)
        address = self.engine.get_function_address(f"run.{number}")
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(address)
        call(taken.ctypes.data, given.ctypes.data, padded)
        results = [
            _joined(given[_STRIDE * index :, :rows], width(destination.type) // 32)
            for index, destination in enumerate(last.destinations)
        ]
        if one.name in SCALAR:
            results.append(given[_STRIDE * len(last.destinations), :rows].astype(np.uint64))
        return results


_STRIDE = 4
"""Words that a result has room for."""


def _joined(words: Array, count: int) -> Array:
    if count <= 1:
        return words[0].astype(np.uint64)
    if count == 2:
        return words[0] | words[1].astype(np.uint64) << np.uint64(32)
    return sum(words[index].astype(object) << 32 * index for index in range(count))


def _words(type_: str, column: Array) -> list[Array]:
    if width(type_) == 128:
        return [(column >> 32 * index & 0xFFFFFFFF).astype(np.uint32) for index in range(4)]
    low = (column & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    return [low, (column >> np.uint64(32)).astype(np.uint32)] if width(type_) == 64 else [low]


def compiled(sequences: Sequence[Sequence[Instruction]], lanes: int, target: HostTarget) -> Rules:
    """Machine code of the rules of each sequence of instructions, for vectors of `lanes`."""
    module = Module(GRADUAL_ATTRIBUTES)
    functions: set[tuple[str, int]] = set()
    for number, sequence in enumerate(sequences):
        module.definitions.append(_function(module, number, sequence, lanes, target, functions))
        module.definitions.append(_driver(number, 1 if sequence[0].name in SCALAR else lanes))
    for wide in sorted({each for _, each in functions}):
        names = [name for name, each in functions if each == wide]
        part = library(names, wide, f16c=target.f16c, fma=target.fma, avx512=target.avx512, gradual=True)
        for line in part.declarations:
            module.declarations.setdefault(line.split("@")[1].split("(")[0], line)
        module.definitions.append(part.definitions)
    return Rules(_engine(module.text(), target), sequences, lanes)


def _engine(text: str, target: HostTarget) -> llvm.ExecutionEngine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    parsed = llvm.parse_assembly(text, context=llvm.create_context())
    parsed.verify()
    machine = llvm.Target.from_default_triple().create_target_machine(cpu=target.cpu, features="", opt=2)
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(parsed, llvm.create_pass_builder(machine, options))
    engine = llvm.create_mcjit_compiler(parsed, machine)
    engine.finalize_object()
    return engine


def _function(
    module: Module,
    number: int,
    sequence: Sequence[Instruction],
    lanes: int,
    target: HostTarget,
    functions: set[tuple[str, int]],
) -> str:
    builder = Builder(module)
    builder.label("start")
    wave = Wave(builder, lanes, target.f16c)
    wave.begin(full=True, literals={})
    if sequence[0].name in SCALAR:
        _scalar(wave, sequence)
    else:
        _vector(wave, sequence)
    builder.effect("ret void")
    functions |= wave.forms.functions
    return builder.function(f"define internal void @rule.{number}(ptr %in, ptr %out, i64 %row, i64 %rows)")


def _vector(wave: Wave, sequence: Sequence[Instruction]) -> None:
    at = 0
    for source in sequence[0].sources:
        if not isinstance(source.operand, Register):
            at += -(-width(source.type) // 32)
            continue
        for step in range(-(-width(source.type) // 32)):
            word = wave.ir.load(_place(wave, "%in", at), wave.type("i32"), 4)
            if source.operand.file == "s":
                mask = wave.ir.compare("ne", word, constant(0, word.type))
                wave.write_mask(Destination(source.operand, "mask"), mask)
            else:
                wave.write(Destination(Register("v", source.operand.number + step), "b32"), word)
            at += 1
    for one in sequence:
        VECTOR[one.name](wave, one)
    for index, destination in enumerate(sequence[-1].destinations):
        for step in range(-(-width(destination.type) // 32)):
            wave.ir.store(_result(wave, destination, step), _place(wave, "%out", _STRIDE * index + step), 4)


def _result(wave: Wave, destination: Destination, step: int) -> Value:
    operand = destination.operand
    if operand.file == "s":
        return wave.ir.convert("zext", wave.mask(Source(operand, "mask")), "i32")
    if width(destination.type) == 16:
        return wave.ir.convert("zext", wave.bits(Source(operand, "b16")), "i32")
    return wave.bits(Source(Register("v", operand.number + step), "b32"))


def _scalar(wave: Wave, sequence: Sequence[Instruction]) -> None:
    at = 0
    for source in sequence[0].sources:
        assert isinstance(source.operand, Register)
        for step in range(-(-width(source.type) // 32)):
            wave.scalars.write(source.operand.number + step, wave.ir.load(_place(wave, "%in", at), "i32", 4))
            at += 1
    scc = wave.ir.load(_place(wave, "%in", at), "i32", 4)
    wave.set_scc(wave.ir.compare("ne", scc, constant(0, "i32")))
    for one in sequence:
        SCALAR[one.name](wave, one)
    for index, destination in enumerate(sequence[-1].destinations):
        for step in range(-(-width(destination.type) // 32)):
            word = wave.scalars.read(destination.operand.number + step)
            wave.ir.store(word, _place(wave, "%out", _STRIDE * index + step), 4)
    wave.ir.store(
        wave.ir.convert("zext", wave.scc(), "i32"), _place(wave, "%out", _STRIDE * len(sequence[-1].destinations)), 4
    )


def _place(wave: Wave, base: str, column: int) -> Value:
    """Where a column holds the current row."""
    skipped = wave.ir.with_constant("mul", Value("%rows", "i64"), column)
    index = wave.ir.binary("add", skipped, Value("%row", "i64"))
    return wave.ir.offset(Value(base, "ptr"), index, "i32")


def _driver(number: int, step: int) -> str:
    return f"""
define void @run.{number}(ptr %in, ptr %out, i64 %rows) {{
entry:
  br label %loop
loop:
  %row = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void @rule.{number}(ptr %in, ptr %out, i64 %row, i64 %rows)
  %next = add i64 %row, {step}
  %more = icmp ult i64 %next, %rows
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""
