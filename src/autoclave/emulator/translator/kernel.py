"""The whole function of a kernel: all vectors of all workgroups of a range.

    i32 kernel(ptr launch, ptr thread, i64 first, i64 last)

runs the workgroups first..last-1 (x fastest) of the launch and returns a status, see `frame`. A vector's threads follow
one another with the workgroup's first side fastest, as `Geometry` says.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from autoclave.emulator.ir import Builder, Module
from autoclave.emulator.translator.frame import launch_bytes
from autoclave.emulator.translator.geometry import Geometry
from autoclave.emulator.translator.workgroups import Workgroups
from autoclave.emulator.vector import library


@dataclass(frozen=True, slots=True)
class KernelIr:
    """LLVM IR of a kernel, how it lays out threads, and the size of the thread block that it needs.

    ordered: it has atomics on buffers, so that its workgroups have to run one after the other.
    """

    text: str
    geometry: Geometry
    thread_bytes: int
    ordered: bool


def add_library(module: Module, functions: Iterable[tuple[str, int]], f16c: bool) -> None:
    """Define functions of the vector library, given by name and lanes."""
    used = set(functions)
    for lanes in sorted({lanes for _, lanes in used}):
        part = library((name for name, count in used if count == lanes), lanes, f16c=f16c)
        for line in part.declarations:
            module.declarations.setdefault(line.split("@")[1].split("(")[0] if "@" in line else line, line)
        module.definitions.append(part.definitions)


def kernel_ir(
    module: Module,
    builder: Builder,
    workgroups: Workgroups,
    geometry: Geometry,
    buffers: int,
    images: int,
    ordered: bool,
) -> KernelIr:
    """The kernel whose function is built. images: of its launches, textures among them."""
    size = launch_bytes(buffers, images)
    signature = (
        f"define i32 @kernel(ptr noalias readonly dereferenceable({size}) %launch, ptr noalias %thread, "
        f"i64 %first, i64 %last)"
    )
    module.definitions.append(builder.function(signature))
    text, thread_bytes = workgroups.finished(module.text())
    return KernelIr(text, geometry, thread_bytes, ordered)
