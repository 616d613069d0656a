"""Kernels of an artifact on public emulators, beside this project's: the measure `public` of emulator.py.

A public emulator is a Python file somewhere else, given by its path. It is loaded into this process and called directly,
without the driver and the command stream around it, so what is timed is the emulation alone. Three forms are known. Two are
of a630 emulators that were proposed for tinygrad's tests (test/mockgpu/qcom) and never merged:

    run(Dispatch)   all threads of a launch at once: emu.py of imperatormk/tinygrad, in NumPy at
                    27f695c595ee32e4b12b4d858887b650c4006970, and with blocks that tinygrad compiles for its device CPU at
                    0d2dbca56588a6b080ba284795c04541f017d070 (for a tinygrad after 0.14.0)
    launch(...)     an interpreter in C, one thread after the other: ir3.py with ir3emu.c beside it, of tinygrad/tinygrad
                    at f172e10b3dc2b5d714e78324e351a1468fcaf081

The third is that of tinygrad's own mock of AMD's GPUs:

    run_asm(...)    test/mockgpu/amd/emu.py in a source tree of tinygrad/tinygrad, whose test folder it needs; measured at
                    a9069c177a9da9cca18593edf55acd2e6073cca6 (2026-08-22); instructions one by one, each compiled by
                    tinygrad's device CPU: set DEV=CPU, and have a clang

Each kernel's first launch in a run is taken, with the inputs that it has there, and timed by the clock: here on as many
threads as the command line says, there on the one thread that public emulators use. The same is printed for one thread
here, by CPU seconds, which hardly depend on what else the machine does. Without a public emulator the baseline is this
project's own scalar interpreter, on the first workgroup of each launch.
"""

import hashlib
import importlib.util
import statistics
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from autoclave.artifact.reader import open_artifact
from autoclave.emulator.interpretations import interpretation_of
from autoclave.emulator.jit import best_target
from autoclave.emulator.launch import Launch
from autoclave.emulator.memory import BoundImage
from autoclave.emulator.model import EmulatedModel, Placement, Step
from autoclave.emulator.overlay import Overlay
from autoclave.emulator.program import Sequence
from autoclave.parity.inputs import CHECK_SEED, check_inputs

OWN_RUNS = 5
SERIES = 5
QUICK = 20.0
"""A public emulator gets a second run, without its own decoding, where the first took fewer seconds than this."""

CLOSE = 1e-2
"""Outputs are close if they differ by no more than this, as a share of the largest: rounding may be done otherwise."""

Run = Callable[[Launch], float]
"""Run a launch. The share of it that was run: 1 but for a baseline that takes a sample."""


@dataclass(frozen=True)
class Seconds:
    """By the clock, and of all processors."""

    wall: float
    cpu: float

    def __add__(self, other: "Seconds") -> "Seconds":
        return Seconds(self.wall + other.wall, self.cpu + other.cpu)


@dataclass(frozen=True)
class OwnTimes:
    """Of one launch here: on one thread, and on several."""

    alone: Seconds
    together: Seconds

    def __add__(self, other: "OwnTimes") -> "OwnTimes":
        return OwnTimes(self.alone + other.alone, self.together + other.together)


NONE = Seconds(0, 0)


@dataclass
class Tally:
    """What one other emulator did. Ratios by kernel are to several threads here, by the clock."""

    name: str
    run: Run
    sampled: bool = False
    spent: float = 0
    seconds: Seconds = NONE
    own: OwnTimes = OwnTimes(NONE, NONE)
    kernels: int = 0
    outputs: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    ratios: dict[str, float] = field(default_factory=dict)


def compare(artifact: Path, modules: list[Path], seconds: float, threads: int, verbose: bool) -> None:
    """Measure and print: each kernel of a run of `artifact` here and on every one of `modules`, `seconds` for each."""
    tallies = [Tally(described(path), adapter(load(path))) for path in modules]
    if not tallies:
        name = "no public emulator given: this project's interpreter, first workgroups"
        tallies = [Tally(name, interpret_first_workgroup, sampled=True)]
    with open_artifact(artifact) as opened:
        model = EmulatedModel(opened, "run", Placement(best_target()))
        done: set[int] = set()
        for step in model.start_run(check_inputs(model.part, CHECK_SEED)):
            if step.launch is None or step.number is None or step.number in done:
                model.execute(step)
                continue
            done.add(step.number)
            measure_step(step, step.launch, tallies, seconds, threads)
    for tally in tallies:
        print_tally(artifact.name, len(done), tally, threads, verbose)


def measure_step(step: Step, launch: Launch, tallies: list[Tally], seconds: float, threads: int) -> None:
    """Run one launch here and there, each time on the same memory; leave this project's results in it."""
    before = [memory.copy() for memory in written(launch)]
    own = OwnTimes(own_time(step, 1), own_time(step, threads))
    restore(launch, before)
    Sequence([step.prepared]).run()
    after = [memory.copy() for memory in written(launch)]
    results = [tensor.values.copy() for tensor in step.written]
    for tally in tallies:
        if tally.spent < seconds:
            measure_other(step, launch, tally, before, results, own)
    restore(launch, after)


def own_time(step: Step, threads: int) -> Seconds:
    """Seconds of one launch here, as within a model's run: the median of several series in native code."""
    sequence = Sequence([step.prepared] * SERIES, threads)
    sequence.run()
    times = []
    for _ in range(OWN_RUNS):
        wall, cpu = time.perf_counter(), time.process_time()
        sequence.run()
        times.append(((time.perf_counter() - wall) / SERIES, (time.process_time() - cpu) / SERIES))
    walls, cpus = zip(*times, strict=True)
    return Seconds(statistics.median(walls), statistics.median(cpus))


def measure_other(
    step: Step, launch: Launch, tally: Tally, before: list[Any], results: list[Any], own: OwnTimes
) -> None:
    """Run one launch on another emulator and enter it."""
    begun = time.process_time()
    try:
        elapsed, share = timed(tally.run, launch, before)
        if elapsed.wall < QUICK:
            elapsed, share = timed(tally.run, launch, before)
    except Exception as error:  # whatever a public emulator does is a result
        tally.failures[f"{type(error).__name__}: {error}"[:100]] += 1
        return
    finally:
        tally.spent += time.process_time() - begun
    tally.seconds += Seconds(elapsed.wall / share, elapsed.cpu / share)
    tally.own += own
    tally.kernels += 1
    tally.ratios[f"{step.number} {step.name}"] = elapsed.wall / share / own.together.wall
    others = [each.values for each in step.written]
    tally.outputs["not compared" if tally.sampled else likeness(results, others)] += 1


def timed(run: Run, launch: Launch, before: list[Any]) -> tuple[Seconds, float]:
    """Seconds of running a launch on what memory held before, and the share of it that was run."""
    restore(launch, before)
    wall, cpu = time.perf_counter(), time.process_time()
    share = run(launch)
    return Seconds(time.perf_counter() - wall, time.process_time() - cpu), share


def written(launch: Launch) -> list[Any]:
    """The launch's memory that it may write."""
    bound = (*launch.buffers, *launch.images)
    return [each.memory for each in bound if each.memory.flags.writeable]


def restore(launch: Launch, contents: list[Any]) -> None:
    """Put back what the launch's memory held."""
    for memory, content in zip(written(launch), contents, strict=True):
        memory[...] = content


def likeness(ours: list[Any], others: list[Any]) -> str:
    """How near another emulator's results are."""
    if all(mine.tobytes() == other.tobytes() for mine, other in zip(ours, others, strict=True)):
        return "same bits"
    return "close" if all(is_close(mine, other) for mine, other in zip(ours, others, strict=True)) else "different"


def is_close(ours: Any, others: Any) -> bool:
    """Whether two arrays differ by rounding only."""
    mine, other = ours.astype(np.float64), others.astype(np.float64)
    largest = float(np.abs(mine[np.isfinite(mine)]).max(initial=0))
    return bool(np.allclose(mine, other, rtol=CLOSE, atol=CLOSE * largest, equal_nan=True))


def print_tally(artifact: str, kernels: int, tally: Tally, threads: int, verbose: bool) -> None:
    """What one other emulator did, in a few lines."""
    print(f"{artifact}: {tally.name}\n  ran {tally.kernels} of {kernels} kernels; outputs {dict(tally.outputs)}")
    for failure, count in tally.failures.most_common():
        print(f"  cannot run {count}: {failure}")
    if left := kernels - tally.kernels - tally.failures.total():
        print(f"  stopped before {left} kernels: its time was up")
    if tally.kernels:
        ordered = sorted(tally.ratios.values())
        there, own = tally.seconds, tally.own
        print(f"  {there.wall:.3f} s against {own.together.wall:.6f} s on {threads} threads", end=": ")
        print(f"{there.wall / own.together.wall:.0f} times; by kernel", end=" ")
        print(f"{ordered[0]:.0f} to {ordered[-1]:.0f}, median {ordered[len(ordered) // 2]:.0f}")
        print(f"  {there.cpu:.3f} CPU s against {own.alone.cpu:.6f} CPU s on one thread", end=": ")
        print(f"{there.cpu / own.alone.cpu:.0f} times")
    if verbose:
        print("".join(f"  {ratio:10.0f} {name}\n" for name, ratio in tally.ratios.items()), end="")
    print(flush=True)


# Public emulators


def load(path: Path) -> ModuleType:
    """The module in a file."""
    spec = importlib.util.spec_from_file_location(f"public_{path.stem}_{identity(path)}", path)
    if spec is None or spec.loader is None:
        sys.exit(f"{path} is no Python file")
    if path.parts[-4:-1] == ("test", "mockgpu", "amd"):
        import tinygrad  # noqa: F401  # the installed one: the tree has another, and a package `test`, as Python has

        sys.path.insert(0, str(path.absolute().parents[3]))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def identity(path: Path) -> str:
    """The start of a file's sha256."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


def described(path: Path) -> str:
    """A name for the table."""
    return f"{path.parent.name}/{path.name}, sha256 {identity(path)}"


def adapter(module: ModuleType) -> Run:
    """How a module's emulator is called."""
    if hasattr(module, "Dispatch"):
        return lambda launch: run_dispatch(module, launch)
    if hasattr(module, "run_asm"):
        return lambda launch: run_assembly(module, launch)
    if hasattr(module, "launch"):
        return lambda launch: run_launch(module, launch)
    sys.exit(f"{module.__file__} has neither Dispatch nor launch nor run_asm: no known public emulator")


def run_dispatch(module: ModuleType, launch: Launch) -> float:
    """Run on an emulator of the form `run(Dispatch)`."""
    kernel = launch.kernel
    values = {
        "image": kernel.code,
        "consts": np.frombuffer(host_constants(launch), np.uint32),
        "local_size": launch.local_size,
        "groups": launch.global_size,
        "localid_reg": kernel.local_invocation_id,
        "wgid_reg": kernel.work_group_id,
        "lmem_size": kernel.shared_bytes,
        "pvt_size": kernel.private_bytes,
        "ranges": ranges(launch),
        "textures": [dispatch_image(module, image) for image in launch.textures],
        "ibos": [dispatch_image(module, image) for image in launch.images],
        "demote": kernel.constant_demotion,
        "samplers": [True] * 16,
        "entry": 0,
        "merged": kernel.merged_registers,
    }
    module.run(module.Dispatch(**{each.name: values[each.name] for each in fields(module.Dispatch)}))
    return 1


def dispatch_image(module: ModuleType, image: BoundImage) -> Any:
    """An image as the form `run(Dispatch)` has it."""
    dtype = np.dtype(image.dtype)
    return module.Image(image.memory.ctypes.data, image.width, image.height, image.width * 4 * dtype.itemsize, dtype)


def run_launch(module: ModuleType, launch: Launch) -> float:
    """Run on an emulator of the form `launch(...)`."""
    kernel = launch.kernel
    textures, images = (np.array([descriptor(each) for each in bound], np.uint32) for bound in bound_images(launch))
    module.launch(
        kernel.code,
        host_constants(launch),
        *launch.global_size,
        *launch.local_size,
        kernel.local_invocation_id,
        kernel.work_group_id,
        kernel.shared_bytes,
        kernel.private_bytes,
        textures.ctypes.data,
        images.ctypes.data,
        ranges(launch),
    )
    return 1


def bound_images(launch: Launch) -> tuple[tuple[BoundImage, ...], tuple[BoundImage, ...]]:
    """Textures and written images."""
    return launch.textures, launch.images


def descriptor(image: BoundImage) -> list[int]:
    """The 16 words by which the a630 knows an image (A6XX_TEX_CONST of Mesa's registers)."""
    from tinygrad.runtime.autogen import mesa

    dtype = np.dtype(image.dtype)
    texel = mesa.FMT6_16_16_16_16_FLOAT if dtype.itemsize == 2 else mesa.FMT6_32_32_32_32_FLOAT
    address = image.memory.ctypes.data
    return [
        texel << mesa.A6XX_TEX_CONST_0_FMT__SHIFT,
        image.width << mesa.A6XX_TEX_CONST_1_WIDTH__SHIFT | image.height << mesa.A6XX_TEX_CONST_1_HEIGHT__SHIFT,
        image.width * 4 * dtype.itemsize << mesa.A6XX_TEX_CONST_2_PITCH__SHIFT,
        0,
        address & 0xFFFFFFFF,
        address >> 32,
        *[0] * 10,
    ]


def host_constants(launch: Launch) -> bytes:
    """The constant file with addresses of this process for those that the emulated memory has."""
    file = bytearray(launch.constants)
    addresses = [buffer.memory.ctypes.data for buffer in launch.buffers]
    struct.pack_into(f"<{len(addresses)}Q", file, launch.kernel.arguments_offset, *addresses)
    return bytes(file)


def ranges(launch: Launch) -> list[tuple[int, int]]:
    """Addresses and sizes of all memory that the launch may touch."""
    bound = (*launch.buffers, *launch.images, *launch.textures)
    return list(dict.fromkeys((each.memory.ctypes.data, each.memory.size) for each in bound))


def run_assembly(module: ModuleType, launch: Launch) -> float:
    """Run on an emulator of the form `run_asm(...)`."""
    kernel, (*buffers, block) = launch.kernel, launch.buffers
    code = np.frombuffer(kernel.code, np.uint8).copy()
    arguments = block.memory.copy()
    hosts = {buffer.address: buffer.memory.ctypes.data for buffer in buffers}
    words = arguments[: 8 * len(buffers)].view(np.uint64)
    words[:] = [hosts[int(word)] for word in words]
    address = arguments.ctypes.data
    module.run_asm(
        code.ctypes.data,
        code.size,
        *launch.global_size,
        *launch.local_size,
        address,
        kernel.rsrc2,
        kernel.private_bytes,
        "rdna4",
        [address & 0xFFFFFFFF, address >> 32],
    )
    return 1


def interpret_first_workgroup(launch: Launch) -> float:
    """Run the first workgroup on the project's own interpreter."""
    interpretation_of(launch.kernel).interpreter(launch.kernel).run_workgroup(launch, (0, 0, 0), Overlay())
    return 1 / int(np.prod(launch.global_size))
