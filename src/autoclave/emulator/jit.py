"""LLVM IR text to relocatable x86-64 objects, for a declared set of processor features.

`autoclave.native.elf` loads the objects, which refer to nothing outside of themselves. LLVM works under one lock, so that
several modules at once take several processes.
"""

from dataclasses import dataclass
from functools import cache

import llvmlite.binding as llvm

from autoclave.native.host import host_features, required_features

TRIPLE = "x86_64-unknown-linux-gnu"
_SPEED = 2
_TUNING = {"x86-64-v3": "+fast-gather"}
"""By `cpu`: what else LLVM is told. Its x86-64-v3 has gather instructions and prefers some thirty others to each."""

LANES = (4, 8, 16, 32)
"""Widths that a vector may have."""


@dataclass(frozen=True, slots=True)
class HostTarget:
    """What code is made for: `cpu` and `features` in LLVM's words, and the SIMD lanes (GPU threads) of one vector.

    lanes: 4, 8, 16 or 32.
    quick: code is made in about a seventh of the time and runs several times slower, for kernels that do little.
    None of them changes a result.
    """

    cpu: str
    features: str
    lanes: int
    quick: bool = False

    @property
    def f16c(self) -> bool:
        """Whether the processor converts halves."""
        return self._has("f16c")

    @property
    def fma(self) -> bool:
        """Whether the processor multiplies and adds with one rounding."""
        return self._has("fma")

    @property
    def avx512(self) -> bool:
        """Whether the processor has AVX-512: an operation can bring its own rounding mode."""
        return self.cpu == "x86-64-v4"

    def _has(self, feature: str) -> bool:
        """Whether it has a feature that came with x86-64-v3."""
        return self.cpu in ("x86-64-v3", "x86-64-v4") or f"+{feature}" in self.features.split(",")


BASELINE = HostTarget("x86-64", "", 8)
"""SSE2 only: any x86-64 machine."""

PORTABLE = HostTarget("x86-64-v3", "", 8)
"""AVX2, F16C: what translations that are shared between machines are made for."""

WIDE = HostTarget("x86-64-v4", "", 16)
"""AVX-512."""


def best_target() -> HostTarget:
    """The fastest of the above that this machine runs. Raises `AutoclaveError` if its features cannot be had."""
    present = host_features()
    for target in (WIDE, PORTABLE):
        if required_features(f"x86_64,{target.cpu}") <= present:
            return target
    return BASELINE


def compile_object(text: str, target: HostTarget) -> bytes:
    """The object of a module of IR. The text is the emulator's own: an error in it is a defect."""
    with llvm.create_context() as context, llvm.parse_assembly(text, context=context) as module:
        _optimise(module, target)
        return bytes(_machine(target).emit_object(module))


def compile_assembly(text: str, target: HostTarget) -> str:
    """As `compile_object`, but as assembly, for people."""
    with llvm.create_context() as context, llvm.parse_assembly(text, context=context) as module:
        _optimise(module, target)
        return str(_machine(target).emit_assembly(module))


def _optimise(module: llvm.ModuleRef, target: HostTarget) -> None:
    """Make values of variables, and simplify. LLVM's standard pipelines take several times as long and gain little here."""
    module.verify()
    builder = llvm.create_pass_builder(_machine(target), llvm.create_pipeline_tuning_options(speed_level=_SPEED))
    passes = llvm.create_new_module_pass_manager()
    if not target.quick:
        passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    if not target.quick:
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
    passes.run(module, builder)


def llvm_version() -> str:
    """LLVM's version, which host code depends on."""
    return ".".join(str(part) for part in llvm.llvm_version_info)


@cache
def _machine(target: HostTarget) -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = ",".join(filter(None, (target.features, _TUNING.get(target.cpu))))
    return llvm.Target.from_triple(TRIPLE).create_target_machine(
        cpu=target.cpu, features=features, opt=0 if target.quick else _SPEED, reloc="pic", codemodel="small"
    )
