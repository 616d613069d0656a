"""Reference outputs of camera warps, in numpy: rung 4 of the parts whose key is a camera's size.

A pixel (x, y) of the model's image lies in the camera's frame, with the inverse matrix m and in float32, at

    ((m00 * x + m01 * y) + m02) / ((m20 * x + m21 * y) + m22),    ((m10 * x + m11 * y) + m12) / the same

rounded to the nearest, ties to even, and clipped to the frame. Chroma has half the resolution, and its matrix the elements of
m times `CHROMA_SCALE`. GPUs may contract the sums and approximate the division, so that pixels between two of the frame's may fall
on the other: `EQUAL_SHARE` of all have to be equal.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from autoclave.artifact.model import Part
from autoclave.artifact.reader import key_text
from autoclave.driving.nv12 import Nv12Frame
from autoclave.errors import AutoclaveError
from autoclave.native.model import Array, Tensors

EQUAL_SHARE = 0.999
CHROMA_SCALE = np.array([[1, 1, 0.5], [1, 1, 0.5], [2, 2, 1]], np.float32)
CAMERAS = ("", "big_")
"""What the names of the road camera's and of the wide camera's tensors begin with."""
LUMA = "input_img"
"""What driver monitoring is shown: the only output of its warps."""

Bytes = NDArray[np.uint8]


def warp_outputs(part: Part, metadata: Mapping[str, Any], inputs: Tensors) -> Tensors:
    """What the warp `part` should give for `inputs`. `metadata` is that of its artifact.

    Raises `AutoclaveError` for a part whose outputs are not those of a warp.
    """
    if isinstance(part.key, str):
        raise AutoclaveError(f"the part {part.key} is no warp: a warp's key is a camera's size")
    try:
        return _outputs(part, Nv12Frame(*part.key), metadata, inputs)
    except (LookupError, StopIteration, TypeError, ValueError) as error:
        raise AutoclaveError(
            f"the part {key_text(part.key)} is no warp: its inputs, outputs or metadata are others ({error!r})"
        ) from error


def _outputs(part: Part, camera: Nv12Frame, metadata: Mapping[str, Any], inputs: Tensors) -> Tensors:
    shapes = {spec.name: spec.shape for spec in part.outputs}
    if set(shapes) == {LUMA}:
        return {LUMA: _monitored(camera, metadata["warp"], inputs).reshape(shapes[LUMA])}
    height, width = next(iter(shapes.values()))[-2:]
    planes = {
        prefix: six_planes(camera, inputs[f"{prefix}frame"], inputs[f"{prefix}tfm"], (2 * width, 2 * height))
        for prefix in CAMERAS
    }
    return {name: _arranged(name, planes, inputs) for name in shapes}


def _arranged(name: str, planes: Mapping[str, Bytes], inputs: Tensors) -> Array:
    """The output `name`, made of each camera's planes."""
    if name == "new_img":
        return np.stack(list(planes.values()))
    for prefix, image in planes.items():
        if name == f"{prefix}img":
            return image
        if name == f"next_{prefix}img_q":
            return np.concatenate([inputs[f"{prefix}img_q"][1:], image[np.newaxis]])
    raise AutoclaveError(f"there is no reference for the output {name!r} of a warp")


def six_planes(camera: Nv12Frame, frame: Array, matrix: Array, size: tuple[int, int]) -> Bytes:
    """(6, height / 2, width / 2): of luma the even and odd rows of even columns, then of odd ones; U and V."""
    width, height = size
    luma, chroma = _planes_of(camera, frame)
    y = _sampled(luma, matrix, (width, height))
    uv = _sampled(chroma, matrix.astype(np.float32) * CHROMA_SCALE, (width // 2, height // 2))
    return np.stack([y[0::2, 0::2], y[1::2, 0::2], y[0::2, 1::2], y[1::2, 1::2], uv[..., 0], uv[..., 1]])


def _monitored(camera: Nv12Frame, warp: Mapping[str, Any], inputs: Tensors) -> Bytes:
    luma, _ = _planes_of(camera, inputs["frame"])
    width, height = warp["model_size"]
    image = _sampled(luma, inputs["tfm"], (width, height))
    if warp["border_fill"] is None:
        return image
    columns, rows = _coordinates(inputs["tfm"], (width, height))
    inside = (columns >= 0) & (columns < camera.width) & (rows >= 0) & (rows < camera.height)
    return np.where(inside, image, np.uint8(warp["border_fill"]))


def _planes_of(camera: Nv12Frame, buffer: Array) -> tuple[Bytes, Bytes]:
    """Luma (height, width) and chroma (height / 2, width / 2, 2) of a buffer, without what pads them."""
    frame: Bytes = buffer.astype(np.uint8, copy=False)
    luma = frame[: camera.uv_offset].reshape(camera.y_height, camera.stride)
    chroma = frame[camera.uv_offset : camera.nbytes].reshape(camera.uv_height, camera.stride // 2, 2)
    return luma[: camera.height, : camera.width], chroma[: camera.height // 2, : camera.width // 2]


def _sampled(plane: Bytes, matrix: Array, size: tuple[int, int]) -> Bytes:
    """The nearest of `plane`'s pixels for each of an image of (width, height) `size`."""
    columns, rows = _coordinates(matrix, size)
    height, width = plane.shape[:2]
    return plane[np.clip(rows, 0, height - 1).astype(np.int64), np.clip(columns, 0, width - 1).astype(np.int64)]


def _coordinates(matrix: Array, size: tuple[int, int]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Columns and rows, whole numbers, where an image's pixels lie in the plane."""
    x = np.arange(size[0], dtype=np.float32)[np.newaxis, :]
    y = np.arange(size[1], dtype=np.float32)[:, np.newaxis]
    column, row, depth = (m[0] * x + m[1] * y + m[2] for m in matrix.astype(np.float32))
    return np.rint(column / depth), np.rint(row / depth)
