"""What warps and queues should give: numpy, one frame after the other, from openpilot's description of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnxruntime

_CHROMA = np.array([[1, 1, 0.5], [1, 1, 0.5], [2, 2, 1]], np.float32)


@dataclass(frozen=True)
class Camera:
    """A camera's frame: its size, and the rows and bytes that its NV12 buffer has."""

    width: int
    height: int
    stride: int
    y_height: int
    uv_height: int

    @property
    def nbytes(self) -> int:
        return self.stride * (self.y_height + self.uv_height)

    def split(self, frame: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Luma, U and V without padding."""
        rows = frame.reshape(self.y_height + self.uv_height, self.stride)
        chroma = rows[self.y_height : self.y_height + self.height // 2, : self.width]
        return rows[: self.height, : self.width], chroma[:, 0::2], chroma[:, 1::2]


def coordinates(matrix: np.ndarray, size: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Where the pixels of an image of `size` (width, height) lie: x and y, in float32 throughout."""
    y, x = (grid.astype(np.float32) for grid in np.mgrid[: size[1], : size[0]])
    m = matrix.astype(np.float32)
    horizontal, vertical, depth = ((m[row, 0] * x + m[row, 1] * y) + m[row, 2] for row in range(3))
    return horizontal / depth, vertical / depth


def nearest(picture: np.ndarray, matrix: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """`picture` at the nearest pixel of each, the edge outside of it."""
    x, y = coordinates(matrix, size)
    height, width = picture.shape
    columns, rows = (np.clip(np.rint(at), 0, last - 1).astype(int) for at, last in ((x, width), (y, height)))
    return picture[rows, columns]


def six_planes(frame: np.ndarray, matrix: np.ndarray, camera: Camera, size: tuple[int, int]) -> np.ndarray:
    """(6, height / 2, width / 2): luma in four planes, U, V."""
    luma, u, v = camera.split(frame)
    warped = nearest(luma, matrix, size)
    half = (size[0] // 2, size[1] // 2)
    chroma = [nearest(plane, matrix * _CHROMA, half) for plane in (u, v)]
    return np.stack([warped[0::2, 0::2], warped[1::2, 0::2], warped[0::2, 1::2], warped[1::2, 1::2], *chroma])


class History:
    """Every value that came, one for each frame; zeros before the first."""

    def __init__(self) -> None:
        self.values: list[np.ndarray] = []

    def append(self, value: np.ndarray) -> None:
        self.values.append(np.array(value))

    def ago(self, frames: int) -> np.ndarray:
        """The value `frames` frames before the newest."""
        newest = self.values[-1]
        return self.values[-1 - frames] if frames < len(self.values) else np.zeros_like(newest)

    def every(self, skip: int, length: int, first: int = 0) -> np.ndarray:
        """`length` values, `skip` frames apart, of which the last came `first` frames before the newest."""
        return np.stack([self.ago(first + skip * index) for index in reversed(range(length))])

    def largest(self, skip: int, length: int) -> np.ndarray:
        """The largest of each `skip` frames, `length` of them."""
        groups = [[self.ago(skip * index + within) for within in range(skip)] for index in reversed(range(length))]
        return np.stack([np.max(group, axis=0) for group in groups])

    def rows(self, count: int) -> np.ndarray:
        """The newest `count` values: the content of a queue."""
        return self.every(1, count)


def reference(model: bytes) -> onnxruntime.InferenceSession:
    """The model in ONNX Runtime, as it is written."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def outputs_of(session: onnxruntime.InferenceSession, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs by name; inputs that the model does not have are left out."""
    wanted = {value.name for value in session.get_inputs()}
    names = [value.name for value in session.get_outputs()]
    fed = {name: value for name, value in inputs.items() if name in wanted}
    return dict(zip(names, session.run(names, fed), strict=True))


class SupercomboDrive:
    """A supercombo in ONNX Runtime, driven by camera frames as a car drives it: warps and queues in numpy, everything its own."""

    def __init__(self, model: bytes, camera: Camera, image: tuple[int, int], seed: int) -> None:
        """`image` is (height, width) of a plane."""
        self.camera = camera
        self._session = reference(model)
        self._image = image
        self._random = np.random.default_rng(seed)
        self._images = {"img": History(), "big_img": History()}
        self._desires, self._hidden = History(), History()
        self._hidden.append(np.zeros((1, 512), np.float32))

    def frame(self) -> dict[str, np.ndarray]:
        """What comes with the next frame: noise from both cameras, their matrices, a desire now and then, conditions."""
        size = (2 * self._image[1], 2 * self._image[0])
        seed = int(self._random.integers(1 << 30))
        frames = self._random.integers(0, 256, (2, self.camera.nbytes), np.uint8)
        tfm, big_tfm = matrices(self.camera, size, 2, seed)
        desire = (self._random.random((1, 8)) < 0.2).astype(np.float32)
        conditions = {name: self._random.random((1, 2), np.float32) for name in ("traffic_convention", "action_t")}
        warp = {"frame": frames[0], "big_frame": frames[1], "tfm": tfm, "big_tfm": big_tfm}
        return {**warp, "desire": desire, **conditions}

    def step(self, frame: Mapping[str, np.ndarray]) -> np.ndarray:
        """The outputs for `frame`."""
        size = (2 * self._image[1], 2 * self._image[0])
        self._images["img"].append(six_planes(frame["frame"], frame["tfm"], self.camera, size))
        self._images["big_img"].append(six_planes(frame["big_frame"], frame["big_tfm"], self.camera, size))
        self._desires.append(frame["desire"])
        shown = {name: images.every(4, 2).reshape(1, 12, *self._image) for name, images in self._images.items()}
        shown["desire_pulse"] = self._desires.largest(4, 25).reshape(1, 25, 8)
        shown["features_buffer"] = self._hidden.every(4, 24, first=3).reshape(1, 24, 512)
        outputs = outputs_of(self._session, {**frame, **shown})["outputs"]
        self._hidden.append(outputs[:, -512:])
        return outputs

    def newest_image(self, name: str) -> np.ndarray:
        """What the warp of the newest frame should have given."""
        return self._images[name].ago(0)


def matrices(camera: Camera, size: tuple[int, int], count: int, seed: int) -> Sequence[np.ndarray]:
    """Inverse matrices as a calibrated camera has them: the model's image covers the frame, a little turned and beyond it."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        scale = np.diag([camera.width / size[0], camera.height / size[1], 1.0]) * random.uniform(0.8, 1.3)
        turn = random.uniform(-0.1, 0.1)
        rotation = np.array([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]])
        tilt = np.array([[1, 0, 0], [0, 1, 0], [*random.uniform(-2e-4, 2e-4, 2), 1]])
        shift = np.array([[1, 0, random.uniform(-20, 20)], [0, 1, random.uniform(-20, 20)], [0, 0, 1]])
        matrix = shift @ rotation @ scale @ tilt
        found.append((matrix / matrix[2, 2]).astype(np.float32))
    return found
