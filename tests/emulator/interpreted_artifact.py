"""Runs a part of an a630 artifact on the interpreter alone, all threads of all launches: for small models only."""

from collections.abc import Mapping
from itertools import product
from pathlib import Path

import numpy as np

from autoclave.artifact.model import Argument, Buffer, Copy, Program
from autoclave.artifact.reader import Artifact, open_artifact
from autoclave.emulator.a630.interpreter import Interpreter
from autoclave.emulator.a630.launch import bind_launch, kernel_code
from autoclave.emulator.launch import Bound, Launch
from autoclave.emulator.overlay import Overlay

BUDGET = 1 << 22
FILL = 0xA5
"""What is in scratch memory before the run."""


class InterpretedPart:
    """The part "run" of an artifact, with memory of its own."""

    def __init__(self, artifact: Artifact) -> None:
        self.part = artifact.part("run")
        self._kernels = artifact.header.kernels
        self._codes = [
            kernel_code(kernel.name, bytes(artifact.read(kernel.lib)), kernel.launch) for kernel in self._kernels
        ]
        self._interpreters = [Interpreter(code) for code in self._codes]
        self._buffers = [_memory(artifact, buffer) for buffer in self.part.buffers]

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """All calls of `init` and of a run; gives the outputs."""
        for spec in self.part.inputs:
            self._tensor(spec)[...] = inputs[spec.name]
        for call in (*self.part.init, *self.part.calls):
            if isinstance(call, Copy):
                self._at(call.destination)[...] = self._at(call.source)
            else:
                self._launch(call)
        return {spec.name: self._tensor(spec).copy() for spec in self.part.outputs}

    def _launch(self, call: Program) -> None:
        launch, overlay = self._bound(call), Overlay()
        for z, y, x in product(*map(range, reversed(call.global_size))):
            self._interpreters[call.kernel].run_workgroup(launch, (x, y, z), overlay, budget=BUDGET)
        overlay.commit()

    def _bound(self, call: Program) -> Launch:
        kernel = self._kernels[call.kernel]
        arguments = dict(zip(kernel.globals, call.args, strict=True))
        bound = [Bound(self._at(arguments[one.slot]), one.shape, one.dtype) for one in kernel.signature]
        return bind_launch(self._codes[call.kernel], call.global_size, call.local_size, bound, call.values)

    def _at(self, argument: Argument) -> np.ndarray:
        return self._buffers[argument.buffer][argument.offset : argument.offset + argument.nbytes]

    def _tensor(self, spec) -> np.ndarray:
        dtype = np.dtype(spec.dtype)
        nbytes = int(np.prod(spec.shape)) * dtype.itemsize
        return self._buffers[spec.buffer][spec.offset : spec.offset + nbytes].view(dtype).reshape(spec.shape)


def _memory(artifact: Artifact, buffer: Buffer) -> np.ndarray:
    if buffer.data is None:
        return np.full(buffer.nbytes, FILL, np.uint8)
    return np.frombuffer(artifact.read(buffer.data), np.uint8)


def interpret_artifact(path: Path, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs of the artifact's part "run"."""
    with open_artifact(path) as artifact:
        return InterpretedPart(artifact).run(inputs)
