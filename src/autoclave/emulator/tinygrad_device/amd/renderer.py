"""LLVM 20 as the device's compiler, under the name by which DEV=AMD:LLVM chooses it."""

from autoclave.compiler.renderers.llvm20 import AMDLLVM20Renderer


class AMDLLVMRenderer(AMDLLVM20Renderer):
    """What `chestnut` artifacts are compiled by."""
