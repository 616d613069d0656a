"""One part of a CPU artifact, loaded and ready to run."""

import ctypes
import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from autoclave.artifact.model import Argument, Buffer, Call, Copy, Part, Program, TensorSpec
from autoclave.artifact.reader import Artifact
from autoclave.errors import ArtifactError, AutoclaveError
from autoclave.native.elf import load_object
from autoclave.native.host import require_host
from autoclave.native.memory import ALIGNMENT, Bytes, CodeMemory, aligned_bytes

Array = NDArray[np.generic]
Tensors = dict[str, Array]

SKEW_STEP = 64
"""Kernels load whole vectors of at most 64 bytes, so buffers may start at any multiple of this."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a model's buffers lie and what is in them before it runs. Neither may change its outputs.

    skew: bytes, a multiple of 64, that every buffer starts after a page; other than 0, constants are copied rather than
    mapped from the artifact. fill: the byte that fills scratch memory before each run.
    """

    skew: int = 0
    fill: int = 0

    def __post_init__(self) -> None:
        if self.skew % SKEW_STEP or not 0 <= self.skew < 4096 or not 0 <= self.fill < 256:
            raise ValueError(f"skew {self.skew} or fill {self.fill} out of range")


class NativeModel:
    """Runs one part of a CPU artifact on this machine, in this process.

    The artifact's code is trusted with the process, so start this inside the sandbox. `init` calls run once, on
    loading. The artifact must stay open as long as the model is used.
    """

    def __init__(self, artifact: Artifact, part_key: str | tuple[int, int], placement: Placement = Placement()) -> None:
        """Load part `part_key`.

        Raises `ArtifactError` if the part is not for the CPU or its code cannot be loaded, and `AutoclaveError` if this
        machine's processor cannot run it.
        """
        self._part = artifact.part(part_key)
        self._placement = placement
        _require_cpu(self._part)
        require_host(self._part.target.arch)
        self._buffers = [_allocate(artifact, buffer, placement) for buffer in self._part.buffers]
        self._code, functions = _load_kernels(artifact, self._part)
        launches = [self._launch(call, functions) for call in self._part.init]
        self._calls = [self._launch(call, functions) for call in self._part.calls]
        for launch in launches:
            launch()

    @property
    def part(self) -> Part:
        """The loaded part: its `inputs` and `outputs` say what `run` takes and gives."""
        return self._part

    def run(self, inputs: Mapping[str, Array]) -> Tensors:
        """Run once. `inputs` has one array per input of the part, of its dtype and shape; the outputs are fresh arrays.

        Raises `AutoclaveError` if an input is missing, unknown, or of another dtype or shape.
        """
        check_tensors(self._part.inputs, inputs, "input")
        for spec in self._part.inputs:
            self._tensor(spec)[...] = inputs[spec.name]
        for buffer, memory in zip(self._part.buffers, self._buffers, strict=True):
            if buffer.kind in ("arena", "output"):
                memory.fill(self._placement.fill)
        self.launch()
        return {spec.name: self._tensor(spec).copy() for spec in self._part.outputs}

    def launch(self) -> None:
        """Run the part's calls on what is in its buffers: a forward pass without copying inputs and outputs."""
        for call in self._calls:
            call()

    def _tensor(self, spec: TensorSpec) -> Array:
        dtype = np.dtype(spec.dtype)
        nbytes = prod(spec.shape) * dtype.itemsize
        return self._buffers[spec.buffer][spec.offset : spec.offset + nbytes].view(dtype).reshape(spec.shape)

    def _launch(self, call: Call, functions: Mapping[int, "ctypes._CFunctionType"]) -> Callable[[], object]:
        if isinstance(call, Copy):
            return _copy(self._memory(call.destination), self._memory(call.source))
        _require_single_workgroup(call)
        words = [self._memory(argument).ctypes.data for argument in call.args] + list(call.values)
        return _bind(functions[call.kernel], words)

    def _memory(self, argument: Argument) -> Bytes:
        return self._buffers[argument.buffer][argument.offset : argument.offset + argument.nbytes]


def check_tensors(specs: tuple[TensorSpec, ...], tensors: Mapping[str, Array], what: str) -> None:
    """Raise `AutoclaveError` unless `tensors` are those that `specs` describe. `what` is "input" or "output"."""
    names = [spec.name for spec in specs]
    for name in tensors:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; it has {', '.join(names)}"
            raise AutoclaveError(f"the model has no {what} {name!r}{hint}")
    for spec in specs:
        if spec.name not in tensors:
            raise AutoclaveError(f"{what} {spec.name!r} is missing; give an array of {spec.dtype} {list(spec.shape)}")
        tensor = tensors[spec.name]
        if tensor.dtype != np.dtype(spec.dtype) or tensor.shape != spec.shape:
            raise AutoclaveError(
                f"{what} {spec.name!r} is {tensor.dtype} {list(tensor.shape)}, expected {spec.dtype} {list(spec.shape)}"
            )


def _require_cpu(part: Part) -> None:
    if part.target.device != "CPU":
        raise ArtifactError(
            f"running part {part.key!r}: it is compiled for {part.target.device} {part.target.arch}, not for the CPU; "
            f"use the artifact of hardware=cpu"
        )


def _require_single_workgroup(call: Program) -> None:
    if (call.global_size, call.local_size) != ((1, 1, 1), (1, 1, 1)):
        raise ArtifactError(
            f"launching kernel {call.kernel} over {call.global_size} workgroups of {call.local_size}: "
            f"a CPU kernel is one function call, (1, 1, 1) of (1, 1, 1)"
        )


def _allocate(artifact: Artifact, buffer: Buffer, placement: Placement) -> Bytes:
    if buffer.data is None:
        return aligned_bytes(buffer.nbytes, placement.skew, placement.fill)
    constant = np.frombuffer(artifact.read(buffer.data), np.uint8)
    if placement.skew == 0 and constant.ctypes.data % ALIGNMENT == 0:
        return constant
    copied = aligned_bytes(buffer.nbytes, placement.skew)
    copied[...] = constant
    return copied


def _load_kernels(artifact: Artifact, part: Part) -> tuple[CodeMemory, dict[int, "ctypes._CFunctionType"]]:
    """The code of all kernels that `part` launches, and each one's function by kernel index."""
    used = sorted({call.kernel for call in part.init + part.calls if isinstance(call, Program)})
    kernels = [artifact.header.kernels[index] for index in used]
    code = CodeMemory([load_object(artifact.read(kernel.lib), kernel.name) for kernel in kernels])
    prototype = ctypes.CFUNCTYPE(None)
    return code, {index: prototype(entry) for index, entry in zip(used, code.entries, strict=True)}


def _bind(function: "ctypes._CFunctionType", words: list[int]) -> Callable[[], object]:
    """`function` with its arguments converted once: a launch costs a call and nothing else."""
    arguments = tuple(ctypes.c_int64(word) if word < 0 else ctypes.c_uint64(word) for word in words)
    return lambda: function(*arguments)


def _copy(destination: Bytes, source: Bytes) -> Callable[[], object]:
    return lambda: np.copyto(destination, source)
