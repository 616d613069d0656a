"""Warps against OpenCV: the pixels that cv2.warpPerspective picks, as recorded by record_opencv.py."""

from collections.abc import Iterator

import numpy as np
import pytest
from compiler.driving_actions import compile_warp
from compiler.record_opencv import CAMERAS, DATA, SIZE, chroma_matrix

from autoclave.artifact.reader import open_artifact
from autoclave.driving.nv12 import Nv12Frame
from autoclave.native.model import NativeModel

TIE = 1e-3
"""Pixels. So near to the middle between two pixels, float32 and float64 may differ on which one is nearer."""


@pytest.fixture(scope="module", params=CAMERAS, ids=lambda camera: f"{camera[0]}x{camera[1]}")
def warp(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Nv12Frame, NativeModel]]:
    camera = request.param
    done = compile_warp(tmp_path_factory.mktemp("warp"), camera, SIZE)
    assert done.code == 0, done.log
    with open_artifact(done.output) as artifact:
        yield Nv12Frame(*camera), NativeModel(artifact, camera)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_thousandth_of_the_pixels_at_most_is_another_than_opencvs_and_all_of_these_are_ties(
    warp: tuple[Nv12Frame, NativeModel], number: int
) -> None:
    camera, model = warp
    with np.load(DATA) as recorded:
        name = f"{camera.width}x{camera.height}.{number}"
        matrix, luma, chroma = (recorded[f"{name}.{what}"] for what in ("matrix", "luma", "chroma"))

    picked_luma, picked_u, picked_v = _picked(model, camera, matrix)

    _compare(picked_luma, luma, matrix.astype(np.float64))
    for picked in (picked_u, picked_v):
        _compare(picked, chroma, chroma_matrix(matrix))


def _picked(model: NativeModel, camera: Nv12Frame, matrix: np.ndarray) -> list[np.ndarray]:
    """The columns and rows of the pixels that the warp picks of luma, U and V: read off frames that hold them, byte by byte."""
    images = []
    for axis in (1, 0):
        low, high = (
            model.run({"frame": frame, "big_frame": frame, "tfm": matrix, "big_tfm": matrix})["img"]
            for frame in (_numbered(camera, axis, shift) for shift in (0, 8))
        )
        images.append(low.astype(int) + 256 * high.astype(int))
    planes = np.stack(images)
    luma = np.empty((2, SIZE[1], SIZE[0]), int)
    for number in range(4):
        luma[:, number % 2 :: 2, number // 2 :: 2] = planes[:, number]
    return [luma, planes[:, 4], planes[:, 5]]


def _numbered(camera: Nv12Frame, axis: int, shift: int) -> np.ndarray:
    """A frame whose bytes are the numbers of their column or row in their plane, shifted right."""
    luma = np.indices((camera.y_height, camera.stride))[axis]
    chroma = np.indices((camera.uv_height, camera.stride))[axis] // (2 if axis == 1 else 1)
    return np.concatenate([luma.reshape(-1), chroma.reshape(-1)]).astype(np.uint16).__rshift__(shift).astype(np.uint8)


def _compare(picked: np.ndarray, recorded: np.ndarray, matrix: np.ndarray) -> None:
    expected = np.cumsum(recorded, axis=2, dtype=int)
    different = (picked != expected).any(axis=0)
    rows, columns = np.mgrid[: expected.shape[1], : expected.shape[2]]
    at = np.einsum("ij,jhw->ihw", matrix, np.stack([columns, rows, np.ones_like(rows)]))
    from_tie = np.abs((at[:2] / at[2]) % 1 - 0.5).min(axis=0)

    assert different.mean() < 0.001
    assert (from_tie[different] < TIE).all()
    assert len(np.unique(expected[0])) > 50
