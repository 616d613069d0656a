"""Records which pixels OpenCV picks, for test_opencv.py: `python record_opencv.py` with numpy and opencv-python-headless installed.

data/opencv-warps.npz holds for each camera and matrix, of luma and of chroma, the column and the row in the camera's plane that
cv2.warpPerspective takes for each pixel: INTER_NEAREST, WARP_INVERSE_MAP, BORDER_REPLICATE. Columns and rows are differences to
the pixel on the left, which compress well. Recorded with OpenCV 5.0.0.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

DATA = Path(__file__).parent / "data" / "opencv-warps.npz"
CAMERAS = ((1928, 1208), (1344, 760))
SIZE = (512, 256)
FOCAL, CENTRE_Y = 910.0, 47.6
"""Of the model's camera; the road camera has a focal length of 2648 at 1928 pixels, and looks at its middle."""


def matrices(camera: tuple[int, int]) -> Iterator[np.ndarray]:
    """From the model's image to the camera's frame, for a straight camera and for two that are mounted askew."""
    width, height = camera
    focal = 2648.0 * width / 1928
    intrinsics = np.array([[focal, 0, width / 2], [0, focal, height / 2], [0, 0, 1]])
    model = np.array([[FOCAL, 0, SIZE[0] / 2], [0, FOCAL, CENTRE_Y], [0, 0, 1]])
    for roll, pitch, yaw in ((0.0, 0.0, 0.0), (0.02, -0.05, 0.03), (-0.03, 0.15, -0.4)):
        turned = _rotation(0, pitch) @ _rotation(1, yaw) @ _rotation(2, roll)
        matrix = intrinsics @ turned @ np.linalg.inv(model)
        yield (matrix / matrix[2, 2]).astype(np.float32)


def _rotation(axis: int, angle: float) -> np.ndarray:
    rotation = np.eye(3)
    first, second = [other for other in range(3) if other != axis]
    rotation[first, first] = rotation[second, second] = np.cos(angle)
    rotation[first, second], rotation[second, first] = -np.sin(angle), np.sin(angle)
    return rotation


def chroma_matrix(matrix: np.ndarray) -> np.ndarray:
    """The matrix between planes of half the resolution, by multiplication in float64."""
    half = np.diag([0.5, 0.5, 1.0])
    return half @ matrix.astype(np.float64) @ np.linalg.inv(half)


def _picked(matrix: np.ndarray, plane: tuple[int, int], size: tuple[int, int]) -> np.ndarray:
    import cv2

    flags = cv2.INTER_NEAREST | cv2.WARP_INVERSE_MAP
    rows, columns = (grid.astype(np.uint16) for grid in np.mgrid[: plane[1], : plane[0]])
    warped = [
        cv2.warpPerspective(grid, matrix.astype(np.float64), size, flags=flags, borderMode=cv2.BORDER_REPLICATE)
        for grid in (columns, rows)
    ]
    return np.diff(np.stack(warped).astype(np.int16), axis=2, prepend=np.int16(0))


def main() -> None:
    """Record all."""
    found: dict[str, np.ndarray] = {}
    for width, height in CAMERAS:
        for number, matrix in enumerate(matrices((width, height))):
            name = f"{width}x{height}.{number}"
            half = (SIZE[0] // 2, SIZE[1] // 2)
            found[f"{name}.matrix"] = matrix
            found[f"{name}.luma"] = _picked(matrix, (width, height), SIZE)
            found[f"{name}.chroma"] = _picked(chroma_matrix(matrix), (width // 2, height // 2), half)
    DATA.parent.mkdir(exist_ok=True)
    np.savez_compressed(DATA, allow_pickle=False, **found)


if __name__ == "__main__":
    main()
