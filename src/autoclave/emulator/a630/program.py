"""a630 kernels as host code: translated once, loaded, and launched without further work in Python.

    shape = launch_shape(launch)                    # what of a launch the host code depends on
    translation = translate(shape, best_target())   # slow; bytes, to be kept and shared
    (program,) = load_programs([translation])
    prepared = program.prepare(launch)
    prepared.run()                                  # again and again: reads and writes the launch's own memory

Many shapes at once: `translate_all`, in parallel processes. A whole model: `Sequence`, whose launches follow one another in
native code, on several host threads if wanted.
"""

from collections.abc import Sequence as Items
from dataclasses import dataclass

from autoclave.emulator.a630.launch import KernelCode, Launch, Size3
from autoclave.emulator.jit import HostTarget
from autoclave.emulator.memory import Bytes

DEFAULT_BUDGET = 1 << 34
"""Instructions, counted for each thread, that one launch may execute: some 30 GFLOP, or half a minute of an endless loop."""


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """What of a launch its host code depends on; launches of equal `key()` share it. Formats are "float16" or "float32"."""

    kernel: KernelCode
    local_size: Size3
    image_formats: tuple[str, ...]
    texture_formats: tuple[str, ...]

    def key(self, target: HostTarget) -> str:
        """A hex digest of code, launch fields that matter, shape, target, translator and LLVM build; not of names."""
        raise NotImplementedError


def launch_shape(launch: Launch) -> LaunchShape:
    """The shape of `launch`."""
    return LaunchShape(
        launch.kernel,
        launch.local_size,
        tuple(image.dtype for image in launch.images),
        tuple(texture.dtype for texture in launch.textures),
    )


@dataclass(frozen=True, slots=True)
class Translation:
    """Host code of one shape. key: `LaunchShape.key`. kernel: a name for messages. code: a relocatable ELF object."""

    key: str
    kernel: str
    target: HostTarget
    code: bytes


def translate(shape: LaunchShape, target: HostTarget) -> Translation:
    """Decode, translate and compile one kernel. Raises `UnknownInstruction` or another `EmulationError`."""
    raise NotImplementedError


def translate_all(shapes: Items[LaunchShape], target: HostTarget, processes: int = 1) -> tuple[Translation, ...]:
    """`translate` each of `shapes`, equal ones once, in up to `processes` processes. Results are in the order of `shapes`."""
    raise NotImplementedError


def pack_translations(translations: Items[Translation]) -> bytes:
    """All of them as one file's bytes, the same for the same translations, each key once."""
    raise NotImplementedError


def unpack_translations(data: bytes) -> dict[str, Translation]:
    """What `pack_translations` packed, by key. Raises `ArtifactError` if it is anything else."""
    raise NotImplementedError


@dataclass(frozen=True, slots=True)
class LaunchStatistics:
    """What one launch executed: `instructions` is the sum over all threads, (rptN) counted once for each repetition."""

    instructions: int


class Program:
    """One translation, loaded. Made by `load_programs`."""

    def prepare(self, launch: Launch) -> "PreparedLaunch":
        """Bind the launch's memory for repeated runs. Raises `EmulationError` if its shape is not the translation's."""
        raise NotImplementedError

    def run(self, launch: Launch, threads: int = 1, budget: int = DEFAULT_BUDGET) -> LaunchStatistics:
        """`prepare` and run once. Raises as `PreparedLaunch.run`."""
        raise NotImplementedError


def load_programs(translations: Items[Translation]) -> tuple[Program, ...]:
    """Load host code into executable memory. Raises `AutoclaveError` if this machine cannot run or hold it."""
    raise NotImplementedError


class PreparedLaunch:
    """A launch whose arguments are laid out for the host code; it holds on to the launch's memory."""

    def run(self, threads: int = 1, budget: int = DEFAULT_BUDGET) -> LaunchStatistics:
        """Run all workgroups, on `threads` host threads.

        Raises `MemoryFault` (kernel, pc, lane, workgroup, address) or `BudgetExceeded`; what was written until then stays.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class PreparedCopy:
    """A copy between launches of a sequence; both have the same size."""

    destination: Bytes
    source: Bytes


class Sequence:
    """Launches and copies that run one after the other in native code, each seeing all that earlier ones wrote."""

    def __init__(self, steps: Items[PreparedLaunch | PreparedCopy], threads: int = 1) -> None:
        """Lay out `steps` for `threads` host threads, which split each launch's workgroups."""
        raise NotImplementedError

    def run(self, budget: int = DEFAULT_BUDGET) -> tuple[LaunchStatistics, ...]:
        """Run all steps; `budget` is for each launch. One entry per step, zero for copies. Raises as `PreparedLaunch.run`."""
        raise NotImplementedError
