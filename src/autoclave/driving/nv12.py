"""NV12 camera frames: where luma and chroma lie in the buffer that a camera of a comma device fills.

Luma is one byte a pixel, chroma two bytes (U, V) for two by two pixels. Rows are padded to `stride` bytes, and both planes to more rows
than the picture has. What follows the chroma plane is the driver's. All numbers are those of openpilot's `nv12_info`.
"""

from dataclasses import dataclass

SMALLEST, LARGEST = 16, 8192
"""Pixels of a side."""
_PAGE = 4096


@dataclass(frozen=True)
class Nv12Frame:
    """A camera frame of `width` x `height` pixels, both even."""

    width: int
    height: int

    def __post_init__(self) -> None:
        if any(side % 2 or not SMALLEST <= side <= LARGEST for side in (self.width, self.height)):
            raise ValueError(
                f"a camera frame of {self.width} x {self.height}: expected even numbers from {SMALLEST} to {LARGEST}"
            )

    @property
    def stride(self) -> int:
        """Bytes of a row, of luma and of chroma."""
        return _align(self.width, 128)

    @property
    def y_height(self) -> int:
        """Rows of the luma plane, padding included."""
        return _align(self.height, 32)

    @property
    def uv_height(self) -> int:
        """Rows of the chroma plane, padding included."""
        return _align(self.height // 2, 16)

    @property
    def uv_offset(self) -> int:
        """Where the chroma plane starts."""
        return self.stride * self.y_height

    @property
    def nbytes(self) -> int:
        """Bytes of both planes: what a warp is given."""
        return self.stride * (self.y_height + self.uv_height)

    @property
    def size(self) -> int:
        """Bytes of the buffer that the driver fills, of which the first `nbytes` are the planes."""
        planes = self.nbytes + _PAGE + max(16 << 10, 8 * self.stride)
        return _align(_align(planes, _PAGE) + _align(self.width, 512) * 512, _PAGE)


def _align(length: int, multiple: int) -> int:
    return -(-length // multiple) * multiple
