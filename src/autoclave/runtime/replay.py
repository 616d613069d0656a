"""Replaying a check file on the device: whether what was recorded elsewhere comes out here, bit for bit."""

import io
import os
import struct
import tempfile
import time
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from .check_file import Recording
from .errors import LoadError
from .outputs import nbytes
from .records import ITEMSIZE, Tensor, key_text

if TYPE_CHECKING:
    from .model import LoadedPart, Model

_NPY_TYPES = {
    "bool": "|b1",
    "int8": "|i1",
    "uint8": "|u1",
    "int16": "<i2",
    "uint16": "<u2",
    "float16": "<f2",
    "int32": "<i4",
    "uint32": "<u4",
    "float32": "<f4",
    "int64": "<i8",
    "uint64": "<u8",
    "float64": "<f8",
}
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Difference:
    """How an output's elements differ from the recorded ones: how many of how many, and the first, its bytes in hex."""

    count: int
    elements: int
    index: tuple[int, ...]
    recorded: str
    found: str

    def __str__(self) -> str:
        return (
            f"{self.count} of {self.elements} elements differ, the first at {list(self.index)}: "
            f"recorded 0x{self.recorded}, here 0x{self.found}"
        )


@dataclass(frozen=True)
class ReplayedOutput:
    """An output as it came out here. `difference` is None if it is the recorded one, or none was recorded."""

    part: str
    tensor: Tensor
    data: bytes
    is_recorded: bool
    difference: Difference | None


@dataclass(frozen=True)
class Replay:
    """What a replay gave. `seconds`: the median time of a run of each part, inputs copied and outputs waited for."""

    sha256: str
    outputs: tuple[ReplayedOutput, ...]
    seconds: Mapping[str, float]

    @property
    def is_equal(self) -> bool:
        """Whether all outputs were recorded and came out bit for bit."""
        return all(output.is_recorded and output.difference is None for output in self.outputs)

    def save(self, path: Path) -> None:
        """Write all outputs, as they came out here, to an .npz file that `parity_test(device_recording=…)` takes.

        Whole or not at all. Raises `LoadError` if it cannot be written or an output has a dtype that numpy lacks.
        """
        several = len(self.seconds) > 1
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(*_member("artifact_sha256", "uint8", (32,), bytes.fromhex(self.sha256)))
            for output in self.outputs:
                name = f"{output.part}/{output.tensor.name}" if several else output.tensor.name
                archive.writestr(*_member(name, output.tensor.dtype, output.tensor.shape, output.data))
        try:
            with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
                try:
                    file.write(content.getbuffer())
                    file.flush()
                    os.chmod(file.name, 0o644)
                    os.replace(file.name, path)
                except BaseException:
                    Path(file.name).unlink(missing_ok=True)
                    raise
        except OSError as error:
            raise LoadError(f"{path}: cannot be written: {error.strerror}") from error


def replay(model: "Model", sha256: str, recordings: Mapping[str, Recording], runs: int = 1) -> Replay:
    """Run every part of `model`, whose artifact has that `sha256`, on its recorded inputs, `runs` times (at least once).

    All runs must give the same bits, or `LoadError` is raised. Afterwards the model has no state.
    """
    outputs: list[ReplayedOutput] = []
    seconds = {}
    for key in model:
        part, name = model[key], key_text(key)
        results, times = [], []
        for _ in range(max(runs, 1)):
            start = time.perf_counter()
            given = part.run(recordings[name].inputs)
            part.device.synchronize()
            times.append(time.perf_counter() - start)
            results.append({each: given[each].tobytes() for each in part.outputs})
        if any(result != results[0] for result in results):
            raise LoadError(f"part {name} gave other outputs in another of {len(results)} runs on the same inputs")
        seconds[name] = median(times)
        outputs += _compared(name, part, results[0], recordings[name].outputs)
    model.reset()
    return Replay(sha256, tuple(outputs), seconds)


def _compared(
    name: str, part: "LoadedPart", found: Mapping[str, bytes], recorded: Mapping[str, bytes]
) -> Iterator[ReplayedOutput]:
    for output, tensor in part.outputs.items():
        expected = recorded.get(output)
        difference = None if expected is None else _difference(tensor, expected, found[output])
        yield ReplayedOutput(name, tensor, found[output], expected is not None, difference)


def _difference(tensor: Tensor, recorded: bytes, found: bytes) -> Difference | None:
    if recorded == found:
        return None
    size = ITEMSIZE[tensor.dtype]
    places = [at for at in range(0, nbytes(tensor), size) if recorded[at : at + size] != found[at : at + size]]
    first = places[0]
    index, rest = [], first // size
    for extent in reversed(tensor.shape):
        rest, position = divmod(rest, extent)
        index.append(position)
    # Little-endian, so that the digits are those of the number.
    hexadecimal = [data[first : first + size][::-1].hex() for data in (recorded, found)]
    return Difference(len(places), nbytes(tensor) // size, tuple(reversed(index)), *hexadecimal)


def _member(name: str, dtype: str, shape: tuple[int, ...], data: bytes) -> tuple[zipfile.ZipInfo, bytes]:
    """An array of an .npz file: numpy's format 1.0, without numpy, the same bytes every time."""
    if dtype not in _NPY_TYPES:
        raise LoadError(f"output {name!r} is {dtype}, which numpy's files cannot hold")
    header = f"{{'descr': '{_NPY_TYPES[dtype]}', 'fortran_order': False, 'shape': {shape!r}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    member = zipfile.ZipInfo(f"{name}.npy", _EPOCH)
    member.compress_type = zipfile.ZIP_DEFLATED
    return member, b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data
