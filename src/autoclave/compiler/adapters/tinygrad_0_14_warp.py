"""Camera warps as tensors of tinygrad 0.14: index arithmetic and one gather, which it makes one kernel of for each camera.

The formula is the one of `autoclave.compiler.warp`.
"""

from collections.abc import Callable

from tinygrad.dtype import DType, dtypes
from tinygrad.tensor import Tensor

from autoclave.compiler.adapters.tinygrad_0_14_buffers import unknown_buffer
from autoclave.compiler.adapters.tinygrad_0_14_recorder import own_buffer
from autoclave.compiler.warp_request import LUMA, PLANES, QUEUE, STACKED, WarpRequest
from autoclave.driving.nv12 import Nv12Frame

CAMERAS = ("", "big_")
"""What the names of the road camera's and of the wide camera's tensors begin with."""
CHROMA_SCALE = ((1.0, 1.0, 0.5), (1.0, 1.0, 0.5), (2.0, 2.0, 1.0))
"""Element by element: a matrix between luma pixels times this is one between chroma pixels."""
_UNSCALED = ((1.0,) * 3,) * 3

Graph = tuple[dict[str, Tensor], dict[str, Tensor]]
"""Inputs and outputs, by name."""


def warp_graph(warp: WarpRequest) -> Graph:
    """The inputs and outputs of `warp`."""
    return _LAYOUTS[warp.layout](warp)


def _planes(warp: WarpRequest) -> Graph:
    inputs, planes = _both_cameras(warp)
    return inputs, {f"{camera}img": own_buffer(image) for camera, image in planes.items()}


def _stacked(warp: WarpRequest) -> Graph:
    inputs, planes = _both_cameras(warp)
    return inputs, {"new_img": own_buffer(Tensor.stack(*(image.contiguous() for image in planes.values())))}


def _queue(warp: WarpRequest) -> Graph:
    inputs, planes = _both_cameras(warp)
    queues = {
        f"{camera}img_q": graph_input(dtypes.uint8, warp.history or 1, *image.shape) for camera, image in planes.items()
    }
    outputs = {
        f"next_{name}": own_buffer(appended(queue, image.contiguous()))
        for (name, queue), image in zip(queues.items(), planes.values(), strict=True)
    }
    return {**inputs, **queues}, outputs


def _luma(warp: WarpRequest) -> Graph:
    frame, matrix = graph_input(dtypes.uint8, warp.camera.nbytes), graph_input(dtypes.float32, 3, 3)
    width, height = warp.model_size
    x, y = Tensor.arange(width).reshape(1, width), Tensor.arange(height).reshape(height, 1)
    horizontal, vertical = _coordinates(matrix, _UNSCALED, x.expand(height, width), y.expand(height, width))
    camera = warp.camera
    luma = _gather(frame, _nearest(vertical, camera.height) * camera.stride + _nearest(horizontal, camera.width))
    if warp.border_fill is not None:
        inside = _is_inside(horizontal, camera.width) & _is_inside(vertical, camera.height)
        luma = inside.where(luma, warp.border_fill).cast("uint8")
    return {"frame": frame, "tfm": matrix}, {"input_img": own_buffer(luma.reshape(1, height * width))}


_LAYOUTS: dict[str, Callable[[WarpRequest], Graph]] = {
    PLANES: _planes,
    STACKED: _stacked,
    QUEUE: _queue,
    LUMA: _luma,
}


def graph_input(dtype: DType, *shape: int) -> Tensor:
    """A tensor without content."""
    count = 1
    for length in shape:
        count *= length
    return Tensor(unknown_buffer(count, dtype)).reshape(shape)


def appended(queue: Tensor, newest: Tensor) -> Tensor:
    """The queue without its oldest row, and with `newest` as its last."""
    return queue[1:].cat(newest.unsqueeze(0)) if queue.shape[0] > 1 else newest.unsqueeze(0)


def _both_cameras(warp: WarpRequest) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Inputs by name, and the six planes of each camera by its prefix."""
    frames = {f"{camera}frame": graph_input(dtypes.uint8, warp.camera.nbytes) for camera in CAMERAS}
    matrices = {f"{camera}tfm": graph_input(dtypes.float32, 3, 3) for camera in CAMERAS}
    planes = {
        camera: _six_planes(frames[f"{camera}frame"], matrices[f"{camera}tfm"], warp.camera, warp.model_size)
        for camera in CAMERAS
    }
    return {**frames, **matrices}, planes


def _six_planes(frame: Tensor, matrix: Tensor, camera: Nv12Frame, size: tuple[int, int]) -> Tensor:
    """(6, height / 2, width / 2) uint8."""
    width, height = size[0] // 2, size[1] // 2
    column, row = Tensor.arange(width).reshape(1, 1, width), Tensor.arange(height).reshape(1, height, 1)

    plane = Tensor.arange(4).reshape(4, 1, 1)
    x, y = (column * 2 + plane // 2).expand(4, height, width), (row * 2 + plane % 2).expand(4, height, width)
    horizontal, vertical = _coordinates(matrix, _UNSCALED, x, y)
    luma = _gather(frame, _nearest(vertical, camera.height) * camera.stride + _nearest(horizontal, camera.width))

    plane = Tensor.arange(2).reshape(2, 1, 1)
    x, y = column.expand(2, height, width), row.expand(2, height, width)
    horizontal, vertical = _coordinates(matrix, CHROMA_SCALE, x, y)
    pixel = _nearest(vertical, camera.height // 2) * camera.stride + _nearest(horizontal, camera.width // 2) * 2
    chroma = _gather(frame, camera.uv_offset + pixel + plane)
    return luma.cat(chroma)


def _coordinates(matrix: Tensor, scale: tuple[tuple[float, ...], ...], x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Where the pixels (x, y) of the model's image lie in the camera's frame."""
    x, y = x.cast("float32"), y.cast("float32")
    horizontal, vertical, depth = (
        matrix[row, 0] * scale[row][0] * x + matrix[row, 1] * scale[row][1] * y + matrix[row, 2] * scale[row][2]
        for row in range(3)
    )
    return horizontal / depth, vertical / depth


def _nearest(coordinate: Tensor, length: int) -> Tensor:
    """The nearest of the indices 0 to `length` - 1, ties to the even one.

    tinygrad's own round adds a half, which rounds the largest float below a half up.
    """
    low = (coordinate > 0).where(coordinate, 0.0)
    clipped = (low < length - 1).where(low, float(length - 1))
    index = clipped.cast("int32")
    rest = clipped - index.cast("float32")
    return index + ((rest > 0.5) | (rest.eq(0.5) & (index & 1).eq(1))).cast("int32")


def _is_inside(coordinate: Tensor, length: int) -> Tensor:
    """Whether the coordinate, rounded, is an index of `length` pixels, an even number."""
    return (coordinate >= -0.5) & (coordinate < length - 0.5)


def _gather(frame: Tensor, index: Tensor) -> Tensor:
    """The bytes of `frame` at `index`. An index out of its range gives 0: no kernel reads beside the frame."""
    return frame.gather(0, index.flatten()).reshape(index.shape)
