"""What each launch of a run wrote, in hashes: enough to find the first launch that computes something else elsewhere.

The file is canonical JSON:

    {"format": 1, "artifact_sha256": "…",
     "parts": [{"key": "run", "seed": 42, "launches": [
         {"stage": "init", "index": 0, "kernel": "E_8_8", "written": [
             {"name": "arena + 0", "dtype": "float16", "size": 4096, "blocks": ["…", …]}]}]}]}

`stage` is "init" or "run", `index` the call's place in it, a copy's kernel is "copy". A block is `BLOCK` bytes of the tensor, the
last one what is left; its hash is the first 8 bytes of its sha256. All of it is in the order of the calls.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from autoclave.artifact.model import Part
from autoclave.canonical import canonical_json
from autoclave.emulator.model import EmulatedModel, Step, Tensor
from autoclave.errors import ArtifactError
from autoclave.native.model import Array, Tensors

FORMAT = 1
BLOCK = 1024
MAX_SIZE = 1 << 28


@dataclass(frozen=True, slots=True)
class WrittenTensor:
    """A tensor as a launch left it: `size` elements, of which each block of bytes has a hash, in hex."""

    name: str
    dtype: str
    size: int
    blocks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecordedLaunch:
    """What one call wrote."""

    stage: str
    index: int
    kernel: str
    written: tuple[WrittenTensor, ...]


@dataclass(frozen=True, slots=True)
class RecordedPart:
    """All calls of one part, on the check inputs of `seed`."""

    key: Any
    seed: int
    launches: tuple[RecordedLaunch, ...]


@dataclass(frozen=True, slots=True)
class RecordedLaunches:
    """A whole file."""

    artifact_sha256: str
    parts: tuple[RecordedPart, ...]

    def part(self, key: str | tuple[int, int]) -> RecordedPart:
        """The part `key`. Raises `ArtifactError` if there is none."""
        for part in self.parts:
            if part.key == key:
                return part
        raise ArtifactError(f"the recorded launches are of other parts than {key!r}; record them again")


class LaunchRecorder:
    """A runner that notes what each call of its one run wrote."""

    def __init__(self, model: EmulatedModel) -> None:
        self._model = model
        self.launches: tuple[RecordedLaunch, ...] = ()

    @property
    def part(self) -> Part:
        """The model's part."""
        return self._model.part

    def run(self, inputs: Tensors) -> Tensors:
        """Run from the first call of `init` on, and note all of it in `launches`."""
        self.launches = tuple(self._executed(step) for step in self._model.start(inputs))
        return self._model.outputs()

    def _executed(self, step: Step) -> RecordedLaunch:
        self._model.execute(step)
        return RecordedLaunch(step.stage, step.index, step.name, tuple(map(recorded, step.written)))


def recorded(tensor: Tensor) -> WrittenTensor:
    """What is kept of a tensor."""
    values = tensor.values
    return WrittenTensor(tensor.name, values.dtype.name, values.size, block_hashes(values))


def block_hashes(values: Array) -> tuple[str, ...]:
    """The hashes of a tensor's blocks."""
    data = memoryview(values.view("u1"))
    return tuple(hashlib.sha256(data[at : at + BLOCK]).hexdigest()[:16] for at in range(0, len(data), BLOCK))


def write_launches(path: Path, artifact_sha256: str, parts: Iterable[RecordedPart]) -> None:
    """Write a file of recorded launches; the same launches give the same bytes."""
    content = {"format": FORMAT, **asdict(RecordedLaunches(artifact_sha256, tuple(parts)))}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(canonical_json(content) + b"\n")


def read_launches(path: Path) -> RecordedLaunches:
    """Read a file that `write_launches` wrote. Raises `ArtifactError` for anything else."""
    try:
        with path.open("rb") as file:
            content = json.loads(file.read(MAX_SIZE))
        if content["format"] != FORMAT:
            raise ArtifactError(f"{path}: it has format {content['format']!r}, this version reads {FORMAT}")
        return RecordedLaunches(str(content["artifact_sha256"]), tuple(_part(part) for part in content["parts"]))
    except OSError as error:
        raise ArtifactError(f"reading recorded launches from {path}: {error.strerror}") from error
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ArtifactError(
            f"reading recorded launches from {path}: it is not what `autoclave parity record --launches` writes ({error!r})"
        ) from error


def _part(plain: dict[str, Any]) -> RecordedPart:
    key = plain["key"] if isinstance(plain["key"], str) else tuple(plain["key"])
    return RecordedPart(key, int(plain["seed"]), tuple(_launch(launch) for launch in plain["launches"]))


def _launch(plain: dict[str, Any]) -> RecordedLaunch:
    return RecordedLaunch(
        str(plain["stage"]), int(plain["index"]), str(plain["kernel"]), tuple(map(_written, plain["written"]))
    )


def _written(plain: dict[str, Any]) -> WrittenTensor:
    blocks: Sequence[Any] = plain["blocks"]
    return WrittenTensor(str(plain["name"]), str(plain["dtype"]), int(plain["size"]), tuple(map(str, blocks)))
