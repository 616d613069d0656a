"""Kernels as host code: translated once, loaded, and launched without further work in Python.

    shape = launch_shape(launch)                    # what of a launch the host code depends on
    translation = translate(shape, best_target())   # slow; bytes, to be kept and shared
    (program,) = load_programs([translation])
    prepared = program.prepare(launch)
    prepared.run()                                  # again and again: reads and writes the launch's own memory

Many shapes at once: `translate_all`, in parallel processes. A whole model: `Sequence`, whose launches follow one another in
native code, on several host threads if wanted.
"""

import ctypes
import struct
import threading
from collections.abc import Sequence as Items
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import prod

import numpy as np

from autoclave.emulator import driver
from autoclave.emulator.architecture import FLUSHING_MODE
from autoclave.emulator.architectures import architecture
from autoclave.emulator.jit import BASELINE
from autoclave.emulator.launch import MAX_CONSTANT_BYTES, Launch
from autoclave.emulator.memory import BUFFER_STRIDE, BoundBuffer, BoundImage, Bytes, guest_address
from autoclave.emulator.translation import (
    LaunchShape,
    Translation,
    launch_shape,
    pack_translations,
    translate,
    translate_all,
    unpack_translations,
)
from autoclave.emulator.translator import frame
from autoclave.emulator.translator.geometry import Geometry
from autoclave.errors import BudgetExceeded, EmulationError, MemoryFault
from autoclave.native.elf import load_object
from autoclave.native.host import require_host
from autoclave.native.memory import CodeMemory, aligned_bytes

__all__ = [
    "DEFAULT_BUDGET",
    "LaunchShape",
    "LaunchStatistics",
    "PreparedCopy",
    "PreparedLaunch",
    "Program",
    "Sequence",
    "Translation",
    "launch_shape",
    "load_programs",
    "pack_translations",
    "translate",
    "translate_all",
    "unpack_translations",
]

DEFAULT_BUDGET = 1 << 34
"""Instructions, counted for each thread, that one launch may execute: some 30 GFLOP, or half a minute of an endless loop."""

MAX_WORKGROUPS = 1 << 30
MAX_CLEARED = 1 << 38
"""Bytes of shared and private memory that the workgroups of one launch find cleared. With the budget, both bound its time."""

MAX_PIXELS = 1 << 29
"""Of an image: what signed numbers of 32 bits can count in halves of a pixel."""

_PIECES = 8
"""Pieces of a launch's workgroups for each host thread, so that all finish at about the same time."""

_PIXEL_BYTES = {"float16": 8, "float32": 16}


@dataclass(frozen=True, slots=True)
class LaunchStatistics:
    """What one launch executed: `instructions` is the sum over all threads, repetitions counted one by one."""

    instructions: int


class Program:
    """One translation, loaded. Made by `load_programs`."""

    def __init__(self, translation: Translation, code: CodeMemory, entry: int) -> None:
        self.translation = translation
        self.entry = entry
        self._code = code

    def prepare(self, launch: Launch) -> "PreparedLaunch":
        """Bind the launch's memory for repeated runs. Raises `EmulationError` if its shape is not the translation's."""
        if launch_shape(launch).key(self.translation.target) != self.translation.key:
            raise EmulationError(
                f"launching kernel {launch.kernel.name!r}: its code or shape is not that which was translated; "
                f"translate launch_shape(launch), with this version"
            )
        return PreparedLaunch(self, launch)

    def run(self, launch: Launch, threads: int = 1, budget: int = DEFAULT_BUDGET) -> LaunchStatistics:
        """`prepare` and run once. Raises as `PreparedLaunch.run`."""
        return self.prepare(launch).run(threads, budget)


def load_programs(translations: Items[Translation]) -> tuple[Program, ...]:
    """Load host code into executable memory. Raises `AutoclaveError` if this machine cannot run or hold it."""
    for target in {translation.target for translation in translations}:
        require_host(f"x86_64,{target.cpu}")
    code = CodeMemory([load_object(translation.code, translation.kernel) for translation in translations])
    return tuple(
        Program(translation, code, entry) for translation, entry in zip(translations, code.entries, strict=True)
    )


class PreparedLaunch:
    """A launch whose arguments are laid out for the host code; it holds on to the launch's memory."""

    def __init__(self, program: Program, launch: Launch) -> None:
        """Use `Program.prepare`."""
        self.program = program
        self.launch = launch
        self.workgroups = prod(launch.global_size)
        if min(launch.global_size) < 1 or self.workgroups > MAX_WORKGROUPS:
            raise EmulationError(
                f"launching kernel {launch.kernel.name!r}: {launch.global_size} workgroups; expected 1 to {MAX_WORKGROUPS}"
            )
        kernel = launch.kernel
        cleared = self.workgroups * (kernel.shared_bytes + kernel.private_bytes * prod(launch.local_size))
        if cleared > MAX_CLEARED:
            raise EmulationError(
                f"launching kernel {kernel.name!r}: its {self.workgroups} workgroups have {cleared} bytes of shared and private "
                f"memory; expected at most {MAX_CLEARED}"
            )
        self.block = _launch_block(launch)

    def run(self, threads: int = 1, budget: int = DEFAULT_BUDGET) -> LaunchStatistics:
        """Run all workgroups, on `threads` host threads.

        Raises `MemoryFault` (kernel, pc, lane, workgroup, address) or `BudgetExceeded`; what was written until then stays.
        """
        return Sequence([self], threads).run(budget)[0]

    @property
    def geometry(self) -> Geometry:
        """How threads lie in vectors."""
        return self.program.translation.geometry(self.launch.local_size)


def _launch_block(launch: Launch) -> Bytes:
    images = launch.images + launch.textures
    block = aligned_bytes(frame.launch_bytes(len(launch.buffers), len(images)))
    _place(block, 0, struct.pack("<3I", *launch.global_size))
    if len(launch.constants) > MAX_CONSTANT_BYTES:
        raise EmulationError(f"launching kernel {launch.kernel.name!r}: {len(launch.constants)} bytes of constants")
    _place(block, frame.CONSTANTS_AT, launch.constants)
    if len(launch.buffers) != launch.kernel.buffers:
        raise EmulationError(f"launching kernel {launch.kernel.name!r}: {len(launch.buffers)} buffers are bound")
    for slot, buffer in enumerate(launch.buffers):
        _place(block, frame.BUFFERS_AT + frame.BUFFER_BYTES * slot, _buffer_entry(launch, slot, buffer))
    for slot, image in enumerate(images):
        entry = _image_entry(launch, image, writing=slot < len(launch.images))
        _place(block, frame.images_at(len(launch.buffers)) + frame.IMAGE_BYTES * slot, entry)
    return block


def _place(block: Bytes, offset: int, data: bytes) -> None:
    block[offset : offset + len(data)] = np.frombuffer(data, np.uint8)


def _buffer_entry(launch: Launch, slot: int, buffer: BoundBuffer) -> bytes:
    if buffer.address != guest_address(slot) or buffer.memory.size > BUFFER_STRIDE:
        raise EmulationError(
            f"launching kernel {launch.kernel.name!r}: buffer {slot} of {buffer.memory.size} bytes at "
            f"{buffer.address:#x}; expected at most {BUFFER_STRIDE} bytes at {guest_address(slot):#x}"
        )
    size = _checked(launch, buffer.memory).size
    return struct.pack("<4Q", buffer.memory.ctypes.data, size, size if buffer.memory.flags.writeable else 0, 0)


def _image_entry(launch: Launch, image: BoundImage, writing: bool) -> bytes:
    pixels = image.width * image.height
    if min(image.width, image.height) < 0 or pixels > MAX_PIXELS:
        raise EmulationError(f"launching kernel {launch.kernel.name!r}: an image of {image.width} x {image.height}")
    size = pixels * _PIXEL_BYTES[image.dtype]
    if size > _checked(launch, image.memory).size or (writing and not image.memory.flags.writeable):
        raise EmulationError(
            f"launching kernel {launch.kernel.name!r}: an image of {image.width} x {image.height} in "
            f"{image.memory.size} bytes, which {'may' if image.memory.flags.writeable else 'must not'} be written"
        )
    return struct.pack("<QII", image.memory.ctypes.data, image.width, image.height)


def _checked(launch: Launch, memory: Bytes) -> Bytes:
    if memory.dtype != np.uint8 or memory.ndim != 1 or not memory.flags.c_contiguous:
        raise EmulationError(f"launching kernel {launch.kernel.name!r}: memory that is not flat bytes")
    return memory


@dataclass(frozen=True, slots=True)
class PreparedCopy:
    """A copy between launches of a sequence; both have the same size and do not overlap."""

    destination: Bytes
    source: Bytes


_RUN = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64
)
_YIELD = ctypes.CDLL(None).sched_yield


class Sequence:
    """Launches and copies that run one after the other in native code, each seeing all that earlier ones wrote."""

    def __init__(self, steps: Items[PreparedLaunch | PreparedCopy], threads: int = 1) -> None:
        """Lay out `steps` for `threads` host threads, which split each launch's workgroups."""
        self._steps = tuple(steps)
        self._threads = max(1, threads)
        launches = [step for step in self._steps if isinstance(step, PreparedLaunch)]
        self._driver = _driver_of({step.program.translation.architecture for step in launches}, launches)
        self._function = _RUN(self._driver.entries[0])
        size = max((step.program.translation.thread_bytes for step in launches), default=frame.SCRATCH_AT)
        self._blocks = [aligned_bytes(size) for _ in range(self._threads)]
        self._shared = aligned_bytes(driver.SHARED_BYTES)
        address = ctypes.cast(_YIELD, ctypes.c_void_p).value or 0
        _place(self._shared, driver.YIELD_AT, struct.pack("<Q", address))
        self._copies = [_copy_block(step) for step in self._steps if isinstance(step, PreparedCopy)]
        self._table = self._make_table()
        self._words = self._table.view(np.int64).reshape(-1, driver.STEP_BYTES // 8)
        self._others = _started_threads(self._threads - 1) if self._threads > 1 else None

    def _make_table(self) -> Bytes:
        table = aligned_bytes(driver.STEP_BYTES * max(1, len(self._steps)))
        copies = iter(self._copies)
        for number, step in enumerate(self._steps):
            if isinstance(step, PreparedLaunch):
                function, block, groups = step.program.entry, step.block, step.workgroups
            else:
                block = next(copies)
                function, groups = self._driver.entries[1], -(-step.source.size // driver.COPY_UNIT)
            ordered = isinstance(step, PreparedLaunch) and step.program.translation.ordered
            piece = groups if ordered or self._threads == 1 else groups // (_PIECES * self._threads)
            entry = struct.pack("<QQqqqq", function, block.ctypes.data, groups, max(1, piece), 0, 0)
            _place(table, driver.STEP_BYTES * number, entry)
        return table

    def run(self, budget: int = DEFAULT_BUDGET) -> tuple[LaunchStatistics, ...]:
        """Run all steps; `budget` is for each launch. One entry per step, zero for copies. Raises as `PreparedLaunch.run`."""
        if not self._steps:
            return ()
        self._words[:, driver.NEXT_AT // 8] = 0
        self._words[:, driver.STEP_LEFT_AT // 8] = budget
        self._shared[: driver.YIELD_AT] = 0
        if self._others is None:
            statuses = [self._call(0)]
        else:
            others = [self._others.submit(self._call, number) for number in range(1, self._threads)]
            statuses = [self._call(0), *(other.result() for other in others)]
        if any(statuses):
            self._raise(statuses, budget)
        used = budget - self._words[: len(self._steps), driver.STEP_LEFT_AT // 8]
        return tuple(LaunchStatistics(int(count)) for count in used)

    def _call(self, number: int) -> int:
        block = self._blocks[number].ctypes.data
        status: int = self._function(
            self._table.ctypes.data, len(self._steps), block, self._shared.ctypes.data, self._threads
        )
        return status

    def _raise(self, statuses: list[int], budget: int) -> None:
        """Raise what happened first: in the lowest workgroup, if several threads failed in the same step."""
        faults = [
            _Fault.read(self._blocks[number]) for number, status in enumerate(statuses) if status == frame.FAULTED
        ]
        if faults:
            fault = min(faults, key=lambda fault: (fault.workgroup, fault.vector, fault.lane))
            raise MemoryFault(fault.message(self._failed(fault.step)))
        number = next(number for number, status in enumerate(statuses) if status)
        fault = _Fault.read(self._blocks[number])
        raise BudgetExceeded(
            f"launching kernel {self._failed(fault.step).launch.kernel.name!r}: its threads have executed more than {budget} "
            f"instructions; it may be an endless loop. Give a larger budget if it is not"
        )

    def _failed(self, number: int) -> PreparedLaunch:
        step = self._steps[number]
        assert isinstance(step, PreparedLaunch)
        return step


def _driver_of(architectures: set[str], launches: Items[PreparedLaunch]) -> CodeMemory:
    """What runs the launches. Raises `EmulationError` if they are of several GPUs, whose floats differ."""
    if not launches:
        return driver.driver_code(BASELINE, FLUSHING_MODE)
    if len(architectures) > 1:
        raise EmulationError(
            f"a sequence has launches of {' and '.join(sorted(architectures))}; it takes those of one GPU"
        )
    return driver.driver_code(launches[0].program.translation.target, architecture(*architectures).mode)


def _started_threads(count: int) -> ThreadPoolExecutor:
    """`count` threads that are there already: host code waits for all of a sequence's threads, so none may fail to start."""
    threads = ThreadPoolExecutor(count)
    all_there = threading.Barrier(count + 1)
    try:
        for _ in range(count):
            threads.submit(all_there.wait)
    except RuntimeError as error:
        all_there.abort()
        raise EmulationError(f"starting {count} threads: {error}; use fewer") from None
    all_there.wait()
    return threads


def _copy_block(copy: PreparedCopy) -> Bytes:
    if copy.destination.size != copy.source.size or np.may_share_memory(copy.destination, copy.source):
        raise EmulationError(
            f"copying {copy.source.size} bytes to {copy.destination.size}: sizes differ, or the two overlap"
        )
    if not copy.destination.flags.writeable:
        raise EmulationError(f"copying {copy.source.size} bytes to memory that must not be written")
    block = aligned_bytes(64)
    _place(block, 0, struct.pack("<3Q", copy.destination.ctypes.data, copy.source.ctypes.data, copy.source.size))
    return block


@dataclass(frozen=True, slots=True)
class _Fault:
    """What a kernel noted of its fault."""

    kind: int
    pc: int
    lane: int
    vector: int
    workgroup: int
    address: int
    size: int
    step: int

    @classmethod
    def read(cls, block: Bytes) -> "_Fault":
        return cls(*struct.unpack("<4i q Q Q i", bytes(block[frame.FAULT_AT : frame.STATUS_AT])))

    def message(self, prepared: PreparedLaunch) -> str:
        launch = prepared.launch
        width, height, _ = launch.global_size
        behind, thread = prepared.geometry.thread(self.vector, self.lane)
        number = self.workgroup + behind
        workgroup = (number % width, number // width % height, number // (width * height))
        return (
            f"kernel {launch.kernel.name!r}, pc {self.pc}, workgroup {workgroup}, thread {thread} "
            f"(lane {self.lane} of vector {self.vector}): {self._what(launch)}"
        )

    def _what(self, launch: Launch) -> str:
        if self.kind == frame.SHARED_FAULT:
            return f"access of {self.size} bytes at {self.address:#x} of {launch.kernel.shared_bytes} bytes of shared memory"
        if self.kind == frame.PRIVATE_FAULT:
            return f"access of {self.size} bytes at {self.address:#x} of {launch.kernel.private_bytes} bytes of private memory"
        if self.kind == frame.REGISTER_FAULT:
            return f"an index names a register or constant that there is not: number {self.address - (1 << 32) * (self.address >> 31)}"
        slot, offset = self.address // BUFFER_STRIDE - 1, self.address % BUFFER_STRIDE
        verb = "write" if self.kind == frame.READ_ONLY_FAULT else "access"
        what = f"{verb} of {self.size} bytes at address {self.address:#x}"
        if not 0 <= slot < len(launch.buffers):
            return f"{what}, which is in no buffer of the launch"
        memory = launch.buffers[slot].memory
        if self.kind == frame.READ_ONLY_FAULT and offset + self.size <= memory.size:
            return f"{what}, in buffer {slot}, which must not be written"
        return f"{what}, {offset} bytes into buffer {slot}, which has {memory.size}"
