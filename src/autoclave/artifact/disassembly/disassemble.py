"""Choosing the disassembler for a kernel."""

from collections.abc import Callable
from importlib import import_module

from autoclave.artifact.disassembly.instruction import Instruction
from autoclave.artifact.model import Header
from autoclave.artifact.reader import Artifact
from autoclave.errors import ArtifactError, ToolchainError

_MODULES = (
    ("a6", "a630", "tinymesa"),
    ("gfx12", "gfx1200", "tinygrad"),
    ("x86_64", "x86", "capstone"),
)
"""Start of the architecture's name, the module that knows it, and the package that the module leans on."""


def disassemble(artifact: Artifact, kernel: int) -> tuple[Instruction, ...]:
    """The instructions of kernel number `kernel`.

    Raises `ToolchainError` if the package that decodes its instruction set is not installed, `ArtifactError` if the set
    is unknown or the code cannot be decoded.
    """
    header = artifact.header
    decode = _decoder(architecture(header, kernel))
    chosen = header.kernels[kernel]
    try:
        return decode(bytes(artifact.read(chosen.lib)), chosen.name)
    except ArtifactError as error:
        raise ArtifactError(f"{artifact.path}: kernel {chosen.name!r}: {error}") from error


def architecture(header: Header, kernel: int) -> str:
    """The architecture that kernel number `kernel` is for: that of the parts that launch it."""
    found = {
        part.target.arch
        for part in header.parts
        if any(kernel == getattr(call, "kernel", None) for call in (*part.init, *part.calls))
    }
    found = found or {part.target.arch for part in header.parts}
    if len({arch.split(",")[0] for arch in found}) > 1:
        raise ArtifactError(f"kernel {kernel} belongs to several architectures: {', '.join(sorted(found))}")
    return min(found)


def _decoder(arch: str) -> Callable[[bytes, str], tuple[Instruction, ...]]:
    for start, module, package in _MODULES:
        if arch.startswith(start):
            try:
                decode: Callable[[bytes, str], tuple[Instruction, ...]] = import_module(
                    f"{__package__}.{module}"
                ).decode
            except ModuleNotFoundError as error:
                if error.name is not None and error.name.split(".")[0] == package:
                    raise ToolchainError(
                        f"disassembling {arch} needs the package {package}: pip install 'autoclave[disasm]'"
                    ) from error
                raise
            return decode
    known = ", ".join(module for _, module, _ in _MODULES)
    raise ArtifactError(f"architecture {arch!r} has no disassembler; there are ones for {known}")
