"""The file of frames that a drive goes through: an .npz of arrays with one row per frame, read as untrusted."""

import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from autoclave.artifact.model import Part, TensorSpec
from autoclave.driving.nv12 import Nv12Frame
from autoclave.errors import AutoclaveError
from autoclave.native.model import Array, Tensors
from autoclave.native.tensor_files import UNREADABLE, check_rows, read_rows

FRAME, WIDE_FRAME = "frame", "big_frame"
MATRIX, WIDE_MATRIX = "tfm", "big_tfm"
MAX_FRAMES = 2400
"""Two minutes."""


@dataclass(frozen=True)
class Video:
    """`count` frames of the file at `path`, which has a row for each of `specs`, or of those of `fixed` one array for all.

    `nbytes` of a frame are what a warp is given.
    """

    path: Path
    count: int
    specs: tuple[TensorSpec, ...]
    fixed: frozenset[str]
    nbytes: int

    def frames(self) -> Iterator[Tensors]:
        """What comes with each frame, read when it is asked for. Raises `AutoclaveError` where the file is damaged."""
        for row in read_rows(self.path, self.specs, self.fixed):
            yield row | {name: row[name][: self.nbytes] for name in (FRAME, WIDE_FRAME) if name in row}


def read_video(path: Path, warp: Part, host_inputs: Mapping[str, TensorSpec]) -> Video:
    """The frames at `path` for the camera of `warp`.

    It has `frame` and `big_frame`, (N, bytes) uint8, `tfm` and `big_tfm`, (N, 3, 3) or (3, 3) float32, and any of `host_inputs` with
    N rows. A frame is the two planes of an NV12 buffer, or all of it. Raises `AutoclaveError` if it has not, or has anything else.
    """
    if isinstance(warp.key, str):
        raise AutoclaveError(f"the part {warp.key} is no camera's warp")
    camera = Nv12Frame(*warp.key)
    shapes = _shapes(path)
    needed = {spec.name: spec for spec in warp.inputs if spec.name in (FRAME, WIDE_FRAME, MATRIX, WIDE_MATRIX)}
    known = needed | dict(host_inputs)
    count = shapes.get(FRAME, (0,))[0] if shapes.get(FRAME) else 0
    if not 0 < count <= MAX_FRAMES:
        raise AutoclaveError(
            f"reading frames from {path}: {FRAME!r} should have 1 to {MAX_FRAMES} rows, it has {count}"
        )
    fixed = {name for name in (MATRIX, WIDE_MATRIX) if name in needed and shapes.get(name) == needed[name].shape}
    whole = {name for name in (FRAME, WIDE_FRAME) if shapes.get(name) == (count, camera.size)}
    known |= {name: replace(needed[name], shape=(camera.size,)) for name in whole & set(needed)}
    specs = [
        _rows(spec, None if name in fixed else count)
        for name, spec in known.items()
        if name in needed or name in shapes
    ]
    check_rows(path, tuple(specs))
    return Video(path, count, tuple(specs), frozenset(fixed), camera.nbytes)


def _rows(spec: TensorSpec, count: int | None) -> TensorSpec:
    return TensorSpec(spec.name, spec.shape if count is None else (count, *spec.shape), spec.dtype, 0)


def _shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """The shapes of the arrays in the file, which `read_tensors` checks again; () for what cannot be told."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {name.removesuffix(".npy"): _shape(archive, name) for name in archive.namelist()[:64]}
    except UNREADABLE as error:
        raise AutoclaveError(f"reading frames from {path}: {error}; write the file with numpy.savez") from error


def _shape(archive: zipfile.ZipFile, name: str) -> tuple[int, ...]:
    with archive.open(name) as file:
        if np.lib.format.read_magic(file) != (1, 0):
            return ()
        shape: tuple[int, ...] = np.lib.format.read_array_header_1_0(file)[0]
        return shape


def zeros(spec: TensorSpec) -> Array:
    """What an input is if nobody says anything."""
    return np.zeros(spec.shape, spec.dtype)
