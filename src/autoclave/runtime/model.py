"""A loaded model: its parts, ready to run, and the state that they feed back."""

import difflib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .check_file import read_check_header, read_recordings
from .device import Device
from .errors import FormatError, InputError, VerificationError
from .file import ArtifactFile
from .interface import Launch
from .memory import Memory
from .outputs import Output, check_output, input_bytes, nbytes, put_output
from .records import Argument, Call, Copy, Part, PartKey, Program, Span, Tensor, arguments, key_text
from .replay import Replay, replay


class LoadedPart:
    """One part of a model on its device."""

    def __init__(self, model: "Model", part: Part, device: Device, calls: "list[_Call]", buffers: list[Any]) -> None:
        """Made by `Model`."""
        self.key = part.key
        self.inputs = {tensor.name: tensor for tensor in part.inputs}
        """What `run` takes: name, shape and dtype."""
        self.outputs = {tensor.name: tensor for tensor in part.outputs}
        """What `run` gives."""
        self.device = device
        self._model = model
        self._calls = calls
        self._memory = {
            tensor: device.view(buffers[tensor.buffer], tensor.offset, nbytes(tensor))
            for tensor in part.inputs + part.outputs
            if nbytes(tensor)
        }
        self._run = 0

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Output]:
        """Run the part once. It is not waited for: reading an output waits.

        `inputs` are arrays, their bytes, or outputs of parts, by name; those that are state of the model need not be there.
        Afterwards the part's next state is the model's. Raises `InputError`, and then nothing has run.
        """
        self._put(inputs)
        self._run += 1
        for call in self._calls:
            call.launch()
        outputs = {name: self._output(tensor) for name, tensor in self.outputs.items()}
        self._model.feed_back(outputs)
        return outputs

    def _put(self, inputs: Mapping[str, Any]) -> None:
        for name in inputs:
            if name not in self.inputs:
                near = difflib.get_close_matches(name, self.inputs, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(self.inputs)}"
                raise InputError(f"part {key_text(self.key)} has no input {name!r}; {hint}")
        for name, tensor in self.inputs.items():
            if name not in inputs and name not in self._model.state:
                raise InputError(
                    f"part {key_text(self.key)}: input {name!r} is missing: {tensor.dtype} {list(tensor.shape)}"
                )
        ready = [(self.inputs[name], self._checked(self.inputs[name], value)) for name, value in inputs.items()]
        for tensor, value in ready:
            if isinstance(value, Output):
                put_output(self.device, self._memory[tensor], value)
            else:
                self.device.write(self._memory[tensor], value)

    def _checked(self, tensor: Tensor, value: Any) -> "memoryview | Output":
        if not isinstance(value, Output):
            return input_bytes(tensor, value)
        check_output(tensor, value)
        value.memory  # noqa: B018  raises if it is stale, before anything is written
        return value

    def _output(self, tensor: Tensor) -> Output:
        run = self._run
        return Output(tensor, self.device, self._memory[tensor], lambda: self._run == run)


class Model:
    """The parts of an artifact on their devices, by key: `model["run_policy"]`, `model[1928, 1208]`.

    An input X of which the metadata says that it is state is zero at first, and then what the output next_X of any part was last; a caller
    may set it in a run. All parts that have an input X share it.
    """

    def __init__(self, artifact: ArtifactFile, devices: Mapping[str, Device], sha256: str | None) -> None:
        """Put all parts of `artifact` on `devices`, by their target's device, and run what is to be run once.

        Raises `DeviceError` or `FormatError`. `sha256` is the file's, if it was computed.
        """
        header = artifact.header
        self.metadata = header.metadata
        self.sha256 = sha256
        self.state = _state_pairs(header.metadata)
        """Which output is the next content of which input, by the input's name."""
        self._memory = Memory(artifact, set(self.state))
        self._kernels: dict[tuple[Device, int, int], Launch] = {}
        self._artifact: ArtifactFile | None = artifact
        self._recorded_parts = header.parts
        self._parts: dict[PartKey, LoadedPart] = {}
        try:
            self._parts = self._load(header.parts, devices)
        except BaseException:
            self.close()
            raise
        self._artifact = None

    @property
    def parts(self) -> tuple[PartKey, ...]:
        """The keys of all parts."""
        return tuple(self._parts)

    def __getitem__(self, key: PartKey) -> LoadedPart:
        """The part `key`. Raises `InputError` if there is none."""
        if key not in self._parts:
            raise InputError(f"there is no part {key_text(key)}; there are {', '.join(map(key_text, self._parts))}")
        return self._parts[key]

    def __iter__(self) -> Iterator[PartKey]:
        return iter(self._parts)

    def reset(self) -> None:
        """Forget all state, as if no part had run."""
        self._memory.reset()

    def feed_back(self, outputs: Mapping[str, Output]) -> None:
        """Make `outputs`, where they are the next content of state, the state."""
        for name, following in self.state.items():
            if following in outputs:
                self._memory.feed_back(name, outputs[following])

    def replay(self, check: str | os.PathLike[str], runs: int = 1) -> Replay:
        """Run every part on the inputs that the check file `check` holds, `runs` times, and compare what comes out.

        Forgets all state. Raises `VerificationError` unless the file is of this artifact, which `load` must have been given evidence for,
        and `LoadError` if runs differ from each other.
        """
        path = Path(check)
        bound = read_check_header(path).get("artifact_sha256")
        if self.sha256 is None or bound != self.sha256:
            raise VerificationError(f"{path}: it is of artifact {bound}, the model was loaded from {self.sha256}")
        return replay(self, self.sha256, read_recordings(path, self._recorded_parts), runs)

    def close(self) -> None:
        """Give the devices' memory back. The parts cannot run any more."""
        self._parts = {}
        self._kernels.clear()
        self._memory.close()

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _load(self, parts: tuple[Part, ...], devices: Mapping[str, Device]) -> dict[PartKey, LoadedPart]:
        for part in parts:
            self._memory.add_arena(devices[part.target.device], part)
        loaded = {part.key: self._load_part(part, devices[part.target.device]) for part in parts}
        self._memory.drop_constants(set(_constants(parts)))
        return loaded

    def _load_part(self, part: Part, device: Device) -> LoadedPart:
        buffers = self._memory.buffers(device, part)
        for call in part.init:
            self._prepare(call, part, device, buffers).launch()
        device.synchronize()
        calls = [self._prepare(call, part, device, buffers) for call in part.calls]
        return LoadedPart(self, part, device, calls, buffers)

    def _prepare(self, call: Call, part: Part, device: Device, buffers: list[Any]) -> "_Call":
        views = [device.view(buffers[each.buffer], each.offset, each.nbytes) for each in arguments(call)]
        if isinstance(call, Copy):
            return _CopyCall(device, views[0], views[1], call.source.nbytes)
        if device.name == "CPU" and (call.global_size, call.local_size) != ((1, 1, 1), (1, 1, 1)):
            raise FormatError(f"part {key_text(part.key)}: a CPU kernel is called once, not {call.global_size} times")
        return _ProgramCall(self._kernel(call, part, device), views, call)

    def _kernel(self, call: Program, part: Part, device: Device) -> Launch:
        """The kernel of `call`, once for all that launch it."""
        key = (device, call.kernel, len(call.values))
        if key not in self._kernels:
            assert self._artifact is not None
            kernel = self._artifact.header.kernels[call.kernel]
            code = bytes(self._artifact.read(kernel.lib))
            self._kernels[key] = device.program(part.target, kernel, code, len(call.values))
        return self._kernels[key]


class _ProgramCall:
    """A launch with its arguments bound."""

    def __init__(self, launch: Launch, buffers: list[Any], call: Program) -> None:
        self._launch, self._buffers, self._call = launch, buffers, call

    def launch(self) -> None:
        """Launch it."""
        self._launch(self._buffers, self._call.global_size, self._call.local_size, self._call.values)


class _CopyCall:
    """A copy with its arguments bound."""

    def __init__(self, device: Device, destination: Any, source: Any, size: int) -> None:
        self._device, self._destination, self._source, self._size = device, destination, source, size

    def launch(self) -> None:
        """Copy."""
        self._device.copy(self._destination, self._source, self._size)


_Call = _ProgramCall | _CopyCall


def _state_pairs(metadata: Mapping[str, Any]) -> dict[str, str]:
    pairs = metadata.get("state", [])
    if not isinstance(pairs, list) or not all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(name, str) for name in pair) for pair in pairs
    ):
        raise FormatError("metadata: state should be a list of [input, output] names")
    return {name: following for name, following in pairs}


def _constants(parts: Iterable[Part]) -> Iterator[Span]:
    """The constants that runs read."""
    for part in parts:
        used: list[Argument] = [argument for call in part.calls for argument in arguments(call)]
        for number in {argument.buffer for argument in used}:
            data = part.buffers[number].data
            if data is not None:
                yield data
