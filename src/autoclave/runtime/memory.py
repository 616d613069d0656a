"""The memory of a model on its devices. What parts have in common, they share."""

from dataclasses import dataclass
from typing import Any

from .device import Device
from .errors import FormatError
from .file import ArtifactFile
from .outputs import Output, check_output, put_output
from .records import Buffer, Part, Span, Tensor


@dataclass(frozen=True)
class _StateInput:
    """The buffer of an input that is state."""

    memory: Any
    nbytes: int
    tensor: Tensor

    @property
    def form(self) -> tuple[object, ...]:
        """What must be the same wherever the state is an input."""
        return self.nbytes, self.tensor.shape, self.tensor.dtype, self.tensor.offset


class Memory:
    """All that parts of a model have on their devices, by `Device`.

    Constants of equal content are there once. All parts of a device have one arena, since one part runs at a time. An input that is state
    (see `Model`) is one buffer for all parts that have it.
    """

    def __init__(self, artifact: ArtifactFile, state: set[str]) -> None:
        self._artifact = artifact
        self._state = state
        self._constants: dict[tuple[Device, Span], Any] = {}
        self._arenas: dict[Device, tuple[Any, int]] = {}
        self._inputs: dict[tuple[str, Device], _StateInput] = {}
        self._others: list[tuple[Device, Any, int]] = []

    def add_arena(self, device: Device, part: Part) -> None:
        """Make the device's arena large enough for `part`. To be called for all parts before `buffers`."""
        needed = max((buffer.nbytes for buffer in part.buffers if buffer.kind == "arena"), default=0)
        memory, nbytes = self._arenas.get(device, (None, 0))
        if needed > nbytes:
            if memory is not None:
                device.free(memory, nbytes)
            self._arenas[device] = (device.allocate(needed), needed)

    def buffers(self, device: Device, part: Part) -> list[Any]:
        """The part's buffers; state is zero."""
        inputs = {tensor.buffer: tensor for tensor in part.inputs}
        return [self._buffer(device, buffer, inputs.get(number)) for number, buffer in enumerate(part.buffers)]

    def drop_constants(self, needed: set[Span]) -> None:
        """Give back the constants that no run needs."""
        for device, span in [key for key in self._constants if key[1] not in needed]:
            device.free(self._constants.pop((device, span)), span[1])

    def reset(self) -> None:
        """Make all state zero."""
        for (_, device), state in self._inputs.items():
            device.write(state.memory, memoryview(bytearray(state.nbytes)))

    def feed_back(self, name: str, output: Output) -> None:
        """Make `output` the state `name`, on all devices that have it. Raises `InputError` if it is of another form."""
        for (other, device), state in self._inputs.items():
            if other == name:
                check_output(state.tensor, output)
                put_output(device, device.view(state.memory, state.tensor.offset, output.nbytes), output)

    def close(self) -> None:
        """Give all memory back."""
        self.drop_constants(set())
        for device, (memory, size) in self._arenas.items():
            device.free(memory, size)
        for device, memory, size in self._others:
            device.free(memory, size)
        self._arenas, self._inputs, self._others = {}, {}, []

    def _buffer(self, device: Device, buffer: Buffer, tensor: Tensor | None) -> Any:
        if buffer.data is not None:
            return self._constant(device, buffer.data)
        if buffer.kind == "arena":
            return self._arenas[device][0]
        if tensor is not None and tensor.name in self._state:
            return self._state_input(device, buffer, tensor)
        return self._allocated(device, buffer.nbytes)

    def _constant(self, device: Device, span: Span) -> Any:
        if (device, span) not in self._constants:
            memory = self._constants[device, span] = device.allocate(span[1])
            device.write(memory, self._artifact.read(span))
        return self._constants[device, span]

    def _state_input(self, device: Device, buffer: Buffer, tensor: Tensor) -> Any:
        state = self._inputs.get((tensor.name, device))
        if state is None:
            memory = self._allocated(device, buffer.nbytes)
            device.write(memory, memoryview(bytearray(buffer.nbytes)))
            state = self._inputs[tensor.name, device] = _StateInput(memory, buffer.nbytes, tensor)
        if state.form != _StateInput(None, buffer.nbytes, tensor).form:
            raise FormatError(f"{self._artifact.path}: the state {tensor.name!r} is not the same in each of two parts")
        return state.memory

    def _allocated(self, device: Device, nbytes: int) -> Any:
        memory = device.allocate(nbytes)
        self._others.append((device, memory, nbytes))
        return memory
