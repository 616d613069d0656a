"""Choosing the disassembler for a kernel."""

from collections.abc import Callable, Sequence
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


Decoder = Callable[[Sequence[tuple[str, bytes]]], list[tuple[Instruction, ...]]]
"""Takes kernels as name and code, gives the instructions of each."""


def disassemble(artifact: Artifact, kernels: Sequence[int]) -> list[tuple[Instruction, ...]]:
    """The instructions of each of `kernels`, given by their numbers; many at once are much faster than one by one.

    Raises `ToolchainError` if the package that decodes the instruction set is not installed, `ArtifactError` if the set
    is unknown or the code of a kernel cannot be decoded.
    """
    header = artifact.header
    by_architecture: dict[str, list[int]] = {}
    for number in kernels:
        by_architecture.setdefault(architecture(header, number), []).append(number)
    decoded: dict[int, tuple[Instruction, ...]] = {}
    for arch, numbers in by_architecture.items():
        codes = [(header.kernels[number].name, bytes(artifact.read(header.kernels[number].lib))) for number in numbers]
        try:
            decoded.update(zip(numbers, _decoder(arch)(codes), strict=True))
        except ArtifactError as error:
            raise ArtifactError(f"{artifact.path}: {error}") from error
    return [decoded[number] for number in kernels]


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


def _decoder(arch: str) -> Decoder:
    for start, module, package in _MODULES:
        if arch.startswith(start):
            try:
                decode: Decoder = import_module(f"{__package__}.{module}").decode
            except ModuleNotFoundError as error:
                if error.name is not None and error.name.split(".")[0] == package:
                    raise ToolchainError(
                        f"disassembling {arch} needs the package {package}: pip install {package}"
                    ) from error
                raise
            return decode
    known = ", ".join(module for _, module, _ in _MODULES)
    raise ArtifactError(f"architecture {arch!r} has no disassembler; there are ones for {known}")
