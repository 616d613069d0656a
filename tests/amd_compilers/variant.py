"""The compile action with another compiler in the place of LLVM 20: `python -m amd_compilers.variant VARIANT CLANG REQUEST.json`.

VARIANT is `llvm` (as it is), `told` (LLVM 20, told the target's triple and data layout), `clang` (the one at CLANG) or `whole` (that one,
kept from moving matrix products to where lanes are off, as comgr is: `clang` gives wrong kernels for models that have them there).
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from autoclave.compiler import __main__ as action
from autoclave.compiler.environment import prepare_environment
from autoclave.compiler.profiles import profile_for
from autoclave.compiler.request import CompileRequest

TRIPLE = "amdgcn-amd-amdhsa"
# What clang's driver asks its compiler for at -O2, in CU mode.
CLANG_OPTIONS = [
    *("-cc1", "-triple", TRIPLE, "-target-cpu", "gfx1200", "-target-feature", "+cumode", "-mrelocation-model", "pic"),
    *("-O2", "-vectorize-loops", "-vectorize-slp", "-Wno-override-module", "-emit-obj", "-x", "ir"),
]

UNSUNK = ("-mllvm", "-disable-machine-sink")


def compile_by_clang(clang: str, source: str, options: tuple[str, ...] = ()) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "kernel.ll").write_text(source)
        command = [clang, "clang", *CLANG_OPTIONS, *options, "kernel.ll", "-o", "kernel.o"]
        subprocess.run(command, cwd=folder, env={"HOME": folder}, check=True)
        return (place / "kernel.o").read_bytes()


def replace_compiler(variant: str, clang: str) -> None:
    """tinygrad is imported here, so its settings have to be made before."""
    from autoclave.compiler.renderers import llvm20

    if variant == "clang":
        llvm20.LLVM20Compiler.compile = lambda self, src: compile_by_clang(clang, src)
    if variant == "whole":
        llvm20.LLVM20Compiler.compile = lambda self, src: compile_by_clang(clang, src, UNSUNK)
    if variant == "told":
        layout = llvm20.LLVM20Compiler(TRIPLE, "gfx1200", "+cumode").machine.target_data
        told = f'target datalayout = "{layout}"\ntarget triple = "{TRIPLE}"\n'
        untold = llvm20.LLVM20Compiler.compile
        llvm20.LLVM20Compiler.compile = lambda self, src: untold(self, told + src)


def main(variant: str, clang: str, path: str) -> int:
    request = CompileRequest.load(Path(path))
    prepare_environment(profile_for(request.hardware, request.renderer), request.absent_flags)
    replace_compiler(variant, clang)
    return action.main([path])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
