"""Two runs side by side, launch by launch: which is the first that leaves other bits?"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Protocol

import numpy as np

from autoclave.emulator.model import EmulatedModel, Step, Tensor
from autoclave.native.model import Tensors
from autoclave.parity.emulated.launches import BLOCK, RecordedPart, WrittenTensor, block_hashes
from autoclave.parity.gates import difference
from autoclave.parity.report import difference_lines


@dataclass(frozen=True, slots=True)
class TensorDifference:
    """A tensor of a launch that differs; `found` says how, in lines of a report."""

    name: str
    dtype: str
    written: bool
    found: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first launch that differs: its tensors, what it reads before what it writes, and its code on both sides.

    `other` is what the other side launches there, None if nothing. Without `tensors`, the launches themselves differ.
    """

    step: Step | None
    other: str | None
    tensors: tuple[TensorDifference, ...]
    other_code: bytes | None = None


class Side(Protocol):
    """What the artifact's launches are compared with."""

    def launches(self) -> Iterator[tuple[str, str]]:
        """Stage and kernel name of each launch, in order."""

    def compare(self, place: int, step: Step) -> tuple[TensorDifference, ...]:
        """Execute launch number `place` on this side, and compare with what `step` has left. Called in order."""

    def code(self, place: int) -> bytes | None:
        """The code of launch number `place`, if this side has it."""


class OtherModel:
    """Another artifact, executed in step."""

    def __init__(self, model: EmulatedModel, inputs: Tensors) -> None:
        self._model = model
        self._steps = model.start(inputs)

    def launches(self) -> Iterator[tuple[str, str]]:
        """As `Side.launches`."""
        return ((step.stage, step.name) for step in self._steps)

    def compare(self, place: int, step: Step) -> tuple[TensorDifference, ...]:
        """As `Side.compare`. What both only read is compared if what they wrote differs: it may be why."""
        mine = self._steps[place]
        self._model.execute(mine)
        found = list(_compared(mine, step, written=True))
        return (*_compared(mine, step, written=False), *found) if found else ()

    def code(self, place: int) -> bytes | None:
        """As `Side.code`."""
        launch = self._steps[place].launch
        return launch.kernel.code if launch else None


class Recording:
    """Recorded launches."""

    def __init__(self, recording: RecordedPart) -> None:
        self._launches = recording.launches

    def launches(self) -> Iterator[tuple[str, str]]:
        """As `Side.launches`."""
        return ((launch.stage, launch.kernel) for launch in self._launches)

    def compare(self, place: int, step: Step) -> tuple[TensorDifference, ...]:
        """As `Side.compare`."""
        recorded = self._launches[place]
        pairs = zip_longest(recorded.written, step.written)
        return tuple(found for kept, tensor in pairs if (found := _block_difference(kept, tensor)) is not None)

    def code(self, place: int) -> None:
        """None: a recording has no code."""
        return None


def first_divergence(model: EmulatedModel, inputs: Tensors, other: Side) -> Divergence | None:
    """Run `model` on `inputs` and `other` side by side; the first launch that differs, or None."""
    steps = model.start(inputs)
    for place, (step, launched) in enumerate(zip_longest(steps, other.launches())):
        name = None if launched is None else launched[1]
        if step is None or launched != (step.stage, step.name):
            return Divergence(step, name, ())
        model.execute(step)
        if differing := other.compare(place, step):
            return Divergence(step, name, differing, other.code(place))
    return None


def _compared(expected: Step, actual: Step, *, written: bool) -> Iterator[TensorDifference]:
    for wanted, found in zip_longest(
        (tensor for tensor in expected.tensors if tensor.written is written),
        (tensor for tensor in actual.tensors if tensor.written is written),
    ):
        lines = _value_lines(wanted, found)
        if lines:
            tensor = found or wanted
            yield TensorDifference(tensor.name, tensor.values.dtype.name, written, lines)


def _value_lines(wanted: Tensor | None, found: Tensor | None) -> tuple[str, ...]:
    if wanted is None or found is None:
        return ("only one of the two launches has it",)
    if (wanted.values.dtype, wanted.values.size) != (found.values.dtype, found.values.size):
        return (f"expected {_size_text(wanted)}, got {_size_text(found)}",)
    differing = difference(wanted.values, found.values)
    return tuple(difference_lines(differing)) if differing else ()


def _size_text(tensor: Tensor) -> str:
    return f"{tensor.values.size} values of {tensor.values.dtype.name}"


def _block_difference(kept: WrittenTensor | None, tensor: Tensor | None) -> TensorDifference | None:
    if kept is None or tensor is None:
        name = kept.name if kept else tensor.name if tensor else ""
        return TensorDifference(name, kept.dtype if kept else "", True, ("only one of the two launches writes it",))
    values = tensor.values
    name, dtype = tensor.name, values.dtype.name
    if (kept.dtype, kept.size) != (dtype, values.size):
        return TensorDifference(
            name, dtype, True, (f"recorded {kept.size} values of {kept.dtype}, got {_size_text(tensor)}",)
        )
    blocks = block_hashes(values)
    differing = [place for place, pair in enumerate(zip(kept.blocks, blocks, strict=False)) if pair[0] != pair[1]]
    if not differing and len(kept.blocks) == len(blocks):
        return None
    first = (differing or [0])[0] * BLOCK // values.dtype.itemsize
    last = min(first + BLOCK // values.dtype.itemsize, values.size) - 1
    shown = values[first]
    return TensorDifference(
        name,
        dtype,
        True,
        (
            f"{len(differing)} of {len(blocks)} blocks of {BLOCK} bytes differ from the recorded hashes",
            f"the first has the values {first} to {last}, of {values.size}",
            f"value {first} is {hex_text(shown)} = {shown!s} here",
        ),
    )


def hex_text(value: np.generic) -> str:
    """The bits of a number."""
    return "0x" + value.tobytes()[::-1].hex()
