"""What an emulated GPU is to the rest of the emulator: a record of functions. `architectures` has those that there are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from autoclave.emulator.jit import HostTarget
from autoclave.emulator.launch import Bound, KernelCode, Launch, Size3
from autoclave.emulator.translator.kernel import KernelIr

FLUSHING_MODE = 0x9FC0
"""MXCSR: flush results to zero, all exceptions masked, denormals are zeros, round to nearest."""

DENORMAL_MODE = 0x1F80
"""MXCSR: denormals are kept, all exceptions masked, round to nearest."""


class Bind(Protocol):
    """Binds `arguments`, one for each parameter of the kernel's signature, and the launch's 32-bit `values`.

    Raises `ArtifactError` if they do not fit the kernel.
    """

    def __call__(
        self, kernel: Any, global_size: Size3, local_size: Size3, arguments: Sequence[Bound], values: Sequence[int] = ()
    ) -> Launch:
        """The launch."""


class Translate(Protocol):
    """Decodes a kernel and makes LLVM IR of it. Raises `UnknownInstruction` or another `EmulationError`."""

    def __call__(
        self,
        kernel: Any,
        local_size: Size3,
        image_formats: tuple[str, ...],
        texture_formats: tuple[str, ...],
        target: HostTarget,
    ) -> KernelIr:
        """The IR, for vectors as wide as the GPU and the target ask for."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """An emulated GPU. What takes a kernel takes one of its own `KernelCode` only.

    name: what messages and keys call it. device: tinygrad's name of it, as in an artifact's target.
    mode: MXCSR while its host code runs.
    stored_kernel: of a kernel's name, `lib` and launch fields in an artifact. Raises `ArtifactError` if something is out of range.
    unpacked_kernel: of a kernel's name, `code` and `launch_fields()`. Raises likewise.
    has_loops: whether a thread of a kernel may execute an instruction again.
    sources: files that host code follows from besides the core's, as patterns relative to the emulator's package.
    """

    name: str
    device: str
    mode: int
    stored_kernel: Callable[[str, bytes, Mapping[str, Any]], KernelCode]
    unpacked_kernel: Callable[[str, bytes, Mapping[str, Any]], KernelCode]
    bind_launch: Bind
    has_loops: Callable[[Any], bool]
    translate: Translate
    sources: tuple[str, ...]
