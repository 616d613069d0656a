"""Choosing the disassembler for a kernel."""

from collections.abc import Callable, Mapping, Sequence

from autoclave.artifact.disassembly.instruction import Instruction
from autoclave.artifact.model import Header
from autoclave.artifact.reader import Artifact
from autoclave.errors import ArtifactError, ToolchainError

Decoder = Callable[[Sequence[tuple[str, bytes]]], list[tuple[Instruction, ...]]]
"""Takes kernels as name and code, gives the instructions of each."""

Decoders = Mapping[str, Callable[[], Decoder]]
"""Decoders that lie elsewhere: how the architecture's name starts, and how to get its decoder."""


def _a630() -> Decoder:
    from autoclave.artifact.disassembly.a630 import decode

    return decode


def _x86() -> Decoder:
    from autoclave.artifact.disassembly.x86 import decode

    return decode


_INSTRUCTION_SETS = (
    ("a6", _a630, "tinymesa"),
    ("x86_64", _x86, "capstone"),
)
"""How the architecture's name starts, how to get its decoder, and the package that the decoder leans on."""


def disassemble(artifact: Artifact, kernels: Sequence[int], decoders: Decoders) -> list[tuple[Instruction, ...]]:
    """The instructions of each of `kernels`, given by their numbers; many at once are much faster than one by one.

    decoders: those that this package does not have, which imports no emulator.
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
            decoded.update(zip(numbers, _decoder(arch, decoders)(codes), strict=True))
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


def _decoder(arch: str, decoders: Decoders) -> Decoder:
    for start, load_other in decoders.items():
        if arch.startswith(start):
            return load_other()
    for start, load, package in _INSTRUCTION_SETS:
        if arch.startswith(start):
            try:
                return load()
            except ModuleNotFoundError as error:
                if error.name is None or error.name.split(".")[0] != package:
                    raise
                raise ToolchainError(
                    f"disassembling {arch} needs the package {package}: pip install {package}"
                ) from error
    raise ArtifactError(f"architecture {arch!r} has no disassembler; there are ones for a630, gfx1200 and x86-64")
