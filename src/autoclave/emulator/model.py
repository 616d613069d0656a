"""One part of an artifact for an emulated GPU, bound to memory of this process and ready to run: what `NativeModel` is for the CPU."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Literal

import numpy as np

from autoclave.artifact.model import Argument, Buffer, Call, Copy, Kernel, Part, TensorSpec
from autoclave.artifact.model import Program as ProgramCall
from autoclave.artifact.reader import Artifact
from autoclave.emulator.architecture import Architecture
from autoclave.emulator.architectures import architecture_of_device
from autoclave.emulator.jit import HostTarget
from autoclave.emulator.launch import Bound, KernelCode, Launch
from autoclave.emulator.memory import Bytes
from autoclave.emulator.processors import processors
from autoclave.emulator.program import (
    LaunchShape,
    LaunchStatistics,
    PreparedCopy,
    PreparedLaunch,
    Program,
    Sequence,
    Translation,
    launch_shape,
    load_programs,
)
from autoclave.emulator.shapes import Work, artifact_work, chosen_target, stored_kernel, translate_work
from autoclave.errors import ArtifactError, AutoclaveError
from autoclave.native.memory import aligned_bytes, release_pages
from autoclave.native.model import Array, Tensors, check_tensors

Stage = Literal["init", "run"]


@dataclass(frozen=True, slots=True)
class Placement:
    """What a model runs on and what is in its memory before it runs. Neither may change its outputs.

    target: the processor features and the lane width of its host code. fill: the byte that scratch memory is full of.
    threads: of this machine, which share the workgroups of each launch.
    """

    target: HostTarget
    fill: int = 0
    threads: int = 1


@dataclass(frozen=True, slots=True)
class Tensor:
    """An argument of a launch: its `name` for people, whether the launch writes it, and what it holds now."""

    name: str
    written: bool
    values: Array


@dataclass(frozen=True, slots=True)
class Step:
    """A call of the part: number `index` of its `stage`. `launch`, `kernel` and `number` (the kernel's) are None for a copy."""

    stage: Stage
    index: int
    number: int | None
    kernel: Kernel | None
    launch: Launch | None
    tensors: tuple[Tensor, ...]
    prepared: PreparedLaunch | PreparedCopy

    @property
    def name(self) -> str:
        """The kernel's name, or "copy"."""
        return self.kernel.name if self.kernel else "copy"

    @property
    def written(self) -> tuple[Tensor, ...]:
        """The arguments that the call writes."""
        return tuple(tensor for tensor in self.tensors if tensor.written)

    @property
    def nbytes(self) -> int:
        """Bytes that the call has to move at least: each of its arguments once."""
        return sum(tensor.values.nbytes for tensor in self.tensors)


class EmulatedModel:
    """Runs one part of an artifact, with all of its launches as host code in this process.

    The kernels can reach nothing but the memory of their own arguments. Calls of `init` run once, on loading. The artifact
    must stay open as long as the model is used: its constants are read where they are mapped.
    """

    def __init__(
        self,
        artifact: Artifact,
        part_key: str | tuple[int, int],
        placement: Placement,
        translations: Mapping[str, Translation] | None = None,
    ) -> None:
        """Load part `part_key` with `translations`, by key, of all its kernels for the target; None: translate them now.

        Raises `ArtifactError` if the part is for no emulated GPU or its launch fields are wrong, and `EmulationError` if a
        kernel cannot be translated or its code does what it must not.
        """
        self._artifact = artifact
        self._part = artifact.part(part_key)
        self._placement = placement
        self._architecture = architecture_of_device(self._part.target.device, f"running part {self._part.key!r}")
        for spec in self._part.inputs + self._part.outputs:
            if spec.dtype in _NUMPY:
                raise ArtifactError(
                    f"running part {self._part.key!r}: {spec.name!r} is {spec.dtype}, which numpy lacks"
                )
        self._buffers = [_allocate(artifact, buffer, placement.fill) for buffer in self._part.buffers]
        self._codes: dict[int, KernelCode] = {}
        self._programs = self._load(translations)
        self.init = tuple(self._step("init", index, call) for index, call in enumerate(self._part.init))
        """The calls that have been run on loading."""
        self.calls = tuple(self._step("run", index, call) for index, call in enumerate(self._part.calls))
        """The calls of a run, in order."""
        self._sequence = Sequence([step.prepared for step in self.calls], placement.threads)
        needed = {argument.buffer for call in self._part.calls for argument in _arguments(call)}
        self.init_statistics = tuple(self._load_step(step, needed) for step in self.init)
        """What each call of `init` executed."""
        self.statistics: tuple[LaunchStatistics, ...] = ()
        """What each call executed in the last run."""

    @property
    def architecture(self) -> Architecture:
        """The GPU that the part is for."""
        return self._architecture

    @property
    def part(self) -> Part:
        """The loaded part: its `inputs` and `outputs` say what `run` takes and gives."""
        return self._part

    def run(self, inputs: Mapping[str, Array]) -> Tensors:
        """Run once. `inputs` has one array per input of the part, of its dtype and shape; the outputs are fresh arrays.

        Raises `AutoclaveError` if an input is missing, unknown, or of another dtype or shape, and `EmulationError` if a
        kernel does what it must not.
        """
        self.start_run(inputs)
        self.launch()
        return self.outputs()

    def launch(self) -> None:
        """Run the part's calls on what is in its buffers: a forward pass without copying inputs and outputs."""
        self.statistics = self._sequence.run()

    def start(self, inputs: Mapping[str, Array]) -> tuple[Step, ...]:
        """Set memory to what it is before the first call of `init`, and return all calls, for `execute` one by one.

        What a call reads and writes is in its `tensors`, before and after it is executed. Raises as `run`.
        """
        self.start_run(inputs)
        for buffer, memory in zip(self._part.buffers, self._buffers, strict=True):
            if buffer.kind == "persistent":
                memory.fill(self._placement.fill)
        return self.init + self.calls

    def start_run(self, inputs: Mapping[str, Array]) -> tuple[Step, ...]:
        """As `start`, of the calls of a run alone: what `init` has made stays."""
        check_tensors(self._part.inputs, inputs, "input")
        for spec in self._part.inputs:
            self._tensor(spec)[...] = inputs[spec.name]
        for buffer, memory in zip(self._part.buffers, self._buffers, strict=True):
            if buffer.kind in ("arena", "output"):
                memory.fill(self._placement.fill)
        return self.calls

    def execute(self, step: Step) -> LaunchStatistics:
        """Run one call on what is in the buffers now. Raises as `run`."""
        if isinstance(step.prepared, PreparedCopy):
            np.copyto(step.prepared.destination, step.prepared.source)
            return LaunchStatistics(instructions=0)
        return step.prepared.run(self._placement.threads)

    def outputs(self) -> Tensors:
        """What is in the part's outputs now, as fresh arrays."""
        return {spec.name: self._tensor(spec).copy() for spec in self._part.outputs}

    def _load_step(self, step: Step, needed: set[int]) -> LaunchStatistics:
        """Run a call of `init`, and let go of constants that it has read and no run needs: the file has them."""
        done = self.execute(step)
        for argument in _arguments(self._part.init[step.index]):
            if self._part.buffers[argument.buffer].kind == "constant" and argument.buffer not in needed:
                release_pages(self._buffers[argument.buffer])
        return done

    def _tensor(self, spec: TensorSpec) -> Array:
        dtype = np.dtype(spec.dtype)
        nbytes = prod(spec.shape) * dtype.itemsize
        return self._buffers[spec.buffer][spec.offset : spec.offset + nbytes].view(dtype).reshape(spec.shape)

    def _load(self, translations: Mapping[str, Translation] | None) -> dict[LaunchShape, Program]:
        """The programs of the artifact's kernels."""
        work, target = artifact_work(self._artifact), self._placement.target
        if translations is None:
            found = translate_work(work, target, processors())
        else:
            found = tuple(_translation(each, target, translations) for each in work)
        return dict(zip((each.shape for each in work), load_programs(found), strict=True))

    def _code(self, number: int) -> KernelCode:
        if number not in self._codes:
            self._codes[number] = stored_kernel(self._artifact, self._part.target.device, number)
        return self._codes[number]

    def _step(self, stage: Stage, index: int, call: Call) -> Step:
        if isinstance(call, Copy):
            destination, source = self._memory(call.destination, True), self._memory(call.source, False)
            moved = (self._named(call.destination, True), self._named(call.source, False))
            return Step(stage, index, None, None, None, moved, PreparedCopy(destination, source))
        kernel = self._artifact.header.kernels[call.kernel]
        launch = self._bind(kernel, call)
        prepared = self._programs[launch_shape(launch)].prepare(launch)
        outs = set(kernel.outs)
        tensors = tuple(
            self._named(argument, slot in outs) for slot, argument in zip(kernel.globals, call.args, strict=True)
        )
        return Step(stage, index, call.kernel, kernel, launch, tensors, prepared)

    def _bind(self, kernel: Kernel, call: ProgramCall) -> Launch:
        arguments = dict(zip(kernel.globals, call.args, strict=True))
        outs = set(kernel.outs)
        bound = []
        for parameter in kernel.signature:
            if parameter.slot not in arguments:
                raise ArtifactError(
                    f"launching kernel {kernel.name!r}: no argument for its parameter {parameter.name!r}"
                )
            memory = self._memory(arguments[parameter.slot], parameter.slot in outs)
            bound.append(Bound(memory, parameter.shape, parameter.dtype))
        code = self._code(call.kernel)
        return self._architecture.bind_launch(code, call.global_size, call.local_size, bound, call.values)

    def _memory(self, argument: Argument, writable: bool) -> Bytes:
        memory = self._buffers[argument.buffer][argument.offset : argument.offset + argument.nbytes]
        if not writable:
            memory.flags.writeable = False
        return memory

    def _named(self, argument: Argument, written: bool) -> Tensor:
        values = self._memory(argument, writable=False).view(np.dtype(_NUMPY.get(argument.dtype, argument.dtype)))
        return Tensor(_argument_name(self._part, argument), written, values)


_NUMPY = {"bfloat16": "uint16"}
"""What stands for a dtype that numpy does not have."""


def _translation(work: Work, target: HostTarget, translations: Mapping[str, Translation]) -> Translation:
    key = work.shape.key(chosen_target(work, target))
    if key not in translations:
        raise ArtifactError(
            f"loading kernel {work.shape.kernel.name!r}: the file of translations has none of it for {target.cpu} with "
            f"{target.lanes} lanes; translate the artifact again"
        )
    return translations[key]


def _arguments(call: Call) -> tuple[Argument, ...]:
    return (call.destination, call.source) if isinstance(call, Copy) else call.args


def _argument_name(part: Part, argument: Argument) -> str:
    buffer = part.buffers[argument.buffer]
    if buffer.kind == "arena":
        return f"arena + {argument.offset}"
    name = f"{buffer.kind} {buffer.name}" if buffer.name else f"{buffer.kind} buffer {argument.buffer}"
    return f"{name} + {argument.offset}" if argument.offset else name


def _allocate(artifact: Artifact, buffer: Buffer, fill: int) -> Bytes:
    """Memory for `buffer`: where the file is mapped for a constant, which nobody can write then."""
    if buffer.data is None:
        try:
            return aligned_bytes(buffer.nbytes, fill=fill)
        except MemoryError:
            raise AutoclaveError(
                f"running {artifact.path}: this machine has no {buffer.nbytes} bytes for a {buffer.kind} buffer"
            ) from None
    return np.frombuffer(artifact.read(buffer.data), np.uint8)


def total_instructions(statistics: Iterable[LaunchStatistics]) -> int:
    """Instructions of all launches together, counted for each thread."""
    return sum(each.instructions for each in statistics)
