"""LLVM 20 through llvmlite, as compilers for tinygrad's own LLVM renderers.

tinygrad binds to a libLLVM of the host. The toolchain's LLVM is llvmlite's instead: one static library, by hash. With the
module's triple and data layout left unset, as tinygrad leaves them, its output is that of LLVM's own tools.
"""

import llvmlite.binding as llvm
from tinygrad.device import CompileError as TinygradCompileError
from tinygrad.device import Compiler
from tinygrad.helpers import Target
from tinygrad.renderer import Renderer, llvmir
from tinygrad.runtime.support import compiler_llvm

from autoclave.compiler.renderers.wave_matrices import pinned_matrices
from autoclave.errors import ToolchainError

LLVM_MAJOR = 20
"""Kernels of any other major version are other kernels, and tinygrad's IR is written for this one."""

_MATRICES = "@llvm.amdgcn.wmma."


class LLVM20Compiler(Compiler):  # type: ignore[misc]
    """LLVM IR as text in, a relocatable ELF object out, at -O2."""

    def __init__(self, triple: str, cpu: str, features: str) -> None:
        self.identity = (triple, cpu, features)
        _require_llvm(llvm.llvm_version_info)
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
        target = llvm.Target.from_triple(triple)
        self.machine = target.create_target_machine(cpu=cpu, features=features, opt=2, reloc="pic", codemodel="default")
        super().__init__(None)

    def __reduce__(self) -> tuple[type["LLVM20Compiler"], tuple[str, str, str]]:
        return type(self), self.identity

    def compile(self, src: str) -> bytes:
        """Raises tinygrad's CompileError with LLVM's message."""
        try:
            module = llvm.parse_assembly(src, context=llvm.create_context())
            module.verify()
            builder = llvm.create_pass_builder(self.machine, _tuning())
            builder.getModulePassManager().run(module, builder)
            pinned = pinned_matrices(str(module)) if _MATRICES in src else None
            if pinned is not None:
                module = llvm.parse_assembly(pinned, context=llvm.create_context())
            return bytes(self.machine.emit_object(module))
        except RuntimeError as error:
            raise TinygradCompileError(str(error)) from error


def _require_llvm(version: tuple[int, ...]) -> None:
    if version[0] != LLVM_MAJOR:
        found = ".".join(str(number) for number in version)
        raise ToolchainError(
            f"the toolchain's llvmlite holds LLVM {found}, expected LLVM {LLVM_MAJOR}: pin llvmlite 0.45 to 0.47"
        )


def _tuning() -> llvm.PipelineTuningOptions:
    options = llvm.create_pipeline_tuning_options(speed_level=2, size_level=0)
    options.loop_unrolling = options.loop_interleaving = True
    options.loop_vectorization = options.slp_vectorization = True
    return options


class AMDLLVM20Renderer(llvmir.AMDLLVMRenderer):  # type: ignore[misc]
    """tinygrad's AMD renderer with LLVM 20 behind it, in CU mode as tinygrad's own compiler is."""

    def __init__(self, target: Target) -> None:
        original = compiler_llvm.AMDLLVMCompiler
        compiler_llvm.AMDLLVMCompiler = lambda arch: LLVM20Compiler("amdgcn-amd-amdhsa", arch, "+cumode")
        try:
            super().__init__(target)
        finally:
            compiler_llvm.AMDLLVMCompiler = original


class CPULLVM20Renderer(llvmir.CPULLVMRenderer):  # type: ignore[misc]
    """tinygrad's CPU renderer with LLVM 20 behind it, for one thread: kernels may not depend on a number of cores."""

    has_threads = False
    global_max = None

    def __init__(self, target: Target) -> None:
        Renderer.__init__(self, target)
        machine, cpu, *features = target.arch.split(",")
        signed = ",".join(name if name[0] in "+-" else f"+{name}" for name in features)
        self.compiler = LLVM20Compiler(f"{machine}-none-unknown-elf", cpu, signed)


RENDERERS: tuple[type[Renderer], ...] = (AMDLLVM20Renderer, CPULLVM20Renderer)
