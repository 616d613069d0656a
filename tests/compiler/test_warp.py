"""Camera warps: exact on the CPU by the declared formula, and what requests may ask for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiler.driving_actions import compile_warp, warp_request
from compiler.driving_reference import Camera, coordinates, matrices, nearest, six_planes

from autoclave.artifact.reader import open_artifact
from autoclave.compiler.warp_request import WarpRequest
from autoclave.driving.nv12 import Nv12Frame
from autoclave.errors import CompileError
from autoclave.native.model import NativeModel

ROAD = Camera(width=1928, height=1208, stride=2048, y_height=1216, uv_height=608)
SMALL = Camera(width=1344, height=760, stride=1408, y_height=768, uv_height=384)
"""The buffers of comma's two cameras, by openpilot's `nv12_info`."""
SIZE = (512, 256)


@pytest.mark.parametrize(("camera", "size"), [(ROAD, 2346 * 2048), (SMALL, 593 * 4096)])
def test_a_frame_has_the_strides_and_the_size_that_the_cameras_driver_gives_it(camera: Camera, size: int) -> None:
    frame = Nv12Frame(camera.width, camera.height)

    assert (frame.stride, frame.y_height, frame.uv_height) == (camera.stride, camera.y_height, camera.uv_height)
    assert (frame.nbytes, frame.size) == (camera.nbytes, size)


@pytest.fixture(scope="module", params=[ROAD, SMALL], ids=["1928x1208", "1344x760"])
def warp(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Camera, NativeModel]]:
    camera = request.param
    done = compile_warp(tmp_path_factory.mktemp("warp"), (camera.width, camera.height), SIZE)
    assert done.code == 0, done.log
    with open_artifact(done.output) as artifact:
        yield camera, NativeModel(artifact, (camera.width, camera.height))


def test_both_cameras_frames_become_six_planes_bit_for_bit(warp: tuple[Camera, NativeModel]) -> None:
    camera, model = warp
    random = np.random.default_rng(1)
    for matrix, big_matrix in zip(matrices(camera, SIZE, 4, seed=2), matrices(camera, SIZE, 4, seed=3), strict=True):
        frame, big_frame = random.integers(0, 256, (2, camera.nbytes), np.uint8)

        outputs = model.run({"frame": frame, "big_frame": big_frame, "tfm": matrix, "big_tfm": big_matrix})

        assert np.array_equal(outputs["img"], six_planes(frame, matrix, camera, SIZE))
        assert np.array_equal(outputs["big_img"], six_planes(big_frame, big_matrix, camera, SIZE))


def test_ties_go_to_the_even_pixel_and_all_beyond_the_edge_to_the_edge(warp: tuple[Camera, NativeModel]) -> None:
    camera, model = warp
    random = np.random.default_rng(1)
    frame = random.integers(0, 256, camera.nbytes, np.uint8)
    halves = np.array([[0.5, 0, 0], [0, 0.5, 0], [0, 0, 1]], np.float32)
    beyond = np.array([[8, 0, -1000], [0, 8, -1000], [0, 0, 1]], np.float32)

    outputs = model.run({"frame": frame, "big_frame": frame, "tfm": halves, "big_tfm": beyond})

    luma, _, _ = camera.split(frame)
    # Columns 0, 0.5, 1, 1.5, 2, 2.5 ... are pixels 0, 0, 1, 2, 2, 2 ...; the model's even columns are whole numbers.
    assert outputs["img"][0, 0, :6].tolist() == luma[0, :6].tolist()
    assert outputs["img"][2, 0, :4].tolist() == luma[0, [0, 2, 2, 4]].tolist()
    assert np.array_equal(outputs["big_img"], six_planes(frame, beyond, camera, SIZE))


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0])
def test_a_matrix_that_leads_nowhere_reads_nothing_outside_of_the_frame(
    warp: tuple[Camera, NativeModel], value: float
) -> None:
    camera, model = warp
    frame = np.full(camera.nbytes, 77, np.uint8)
    matrix = np.full((3, 3), value, np.float32)

    outputs = model.run({"frame": frame, "big_frame": frame, "tfm": matrix, "big_tfm": matrix})

    assert set(np.unique(outputs["img"])) == {77}


TINY = Camera(width=64, height=48, stride=128, y_height=64, uv_height=32)


def test_a_queue_drops_its_oldest_frame_and_appends_the_new_one(tmp_path: Path) -> None:
    done = compile_warp(tmp_path, (64, 48), (32, 16), layout="queue", history=5)
    assert done.code == 0, done.log
    random = np.random.default_rng(1)
    frame, big_frame = random.integers(0, 256, (2, TINY.nbytes), np.uint8)
    queue, big_queue = random.integers(0, 256, (2, 5, 6, 8, 16), np.uint8)
    (matrix,) = matrices(TINY, (32, 16), 1, seed=4)
    with open_artifact(done.output) as artifact:
        state = artifact.header.metadata["state"]
        outputs = NativeModel(artifact, (64, 48)).run(
            {
                "frame": frame,
                "big_frame": big_frame,
                "tfm": matrix,
                "big_tfm": matrix,
                "img_q": queue,
                "big_img_q": big_queue,
            }
        )

    assert state == [["img_q", "next_img_q"], ["big_img_q", "next_big_img_q"]]
    assert np.array_equal(outputs["next_img_q"][:4], queue[1:])
    assert np.array_equal(outputs["next_img_q"][4], six_planes(frame, matrix, TINY, (32, 16)))
    assert np.array_equal(outputs["next_big_img_q"][:4], big_queue[1:])
    assert np.array_equal(outputs["next_big_img_q"][4], six_planes(big_frame, matrix, TINY, (32, 16)))


def test_a_model_with_its_history_inside_is_given_both_frames_in_one_tensor(tmp_path: Path) -> None:
    done = compile_warp(tmp_path, (64, 48), (32, 16), layout="stacked")
    assert done.code == 0, done.log
    random = np.random.default_rng(1)
    frame, big_frame = random.integers(0, 256, (2, TINY.nbytes), np.uint8)
    matrix, big_matrix = matrices(TINY, (32, 16), 2, seed=4)
    with open_artifact(done.output) as artifact:
        outputs = NativeModel(artifact, (64, 48)).run(
            {"frame": frame, "big_frame": big_frame, "tfm": matrix, "big_tfm": big_matrix}
        )

    assert np.array_equal(outputs["new_img"][0], six_planes(frame, matrix, TINY, (32, 16)))
    assert np.array_equal(outputs["new_img"][1], six_planes(big_frame, big_matrix, TINY, (32, 16)))


def test_driver_monitoring_sees_luma_alone_and_a_fixed_value_outside_of_the_frame(tmp_path: Path) -> None:
    size = (36, 24)
    done = compile_warp(tmp_path, (64, 48), size, layout="luma", border_fill=16)
    assert done.code == 0, done.log
    frame = np.random.default_rng(1).integers(0, 256, TINY.nbytes, np.uint8)
    # Columns 2 * x - 8.5: ties, and pixels on both sides of the frame's left and upper edges.
    matrix = np.array([[2, 0, -8.5], [0, 2.5, -4], [0, 0, 1]], np.float32)
    with open_artifact(done.output) as artifact:
        outputs = NativeModel(artifact, (64, 48)).run({"frame": frame, "tfm": matrix})

    x, y = (np.rint(at) for at in coordinates(matrix, size))
    inside = (x >= 0) & (x < 64) & (y >= 0) & (y < 48)
    expected = np.where(inside, nearest(TINY.split(frame)[0], matrix, size), 16)
    assert 0.2 < inside.mean() < 0.95
    assert np.array_equal(outputs["input_img"], expected.reshape(1, 36 * 24))


def test_a_warp_is_the_same_bytes_again_and_knows_no_model(tmp_path: Path) -> None:
    first, second = (compile_warp(tmp_path / name, (64, 48), (32, 16)) for name in ("a", "another place"))

    assert first.output.read_bytes() == second.output.read_bytes()
    with open_artifact(first.output) as artifact:
        assert artifact.header.metadata == {
            "state": [],
            "synthetic": False,
            "warp": {
                "border_fill": None,
                "camera": [64, 48],
                "history": None,
                "layout": "planes",
                "model_size": [32, 16],
            },
        }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"camera": [63, 48]}, "the field 'camera': a camera frame of 63 x 48: expected even numbers from 16 to 8192"),
        ({"camera": [64]}, r"the field 'camera' should be \[width, height\] in pixels, got \[64\]"),
        ({"model_size": [30, 16]}, "the field 'model_size' should have multiples of 4 for layout 'planes'"),
        ({"layout": "cubes"}, "the field 'layout' should be one of planes, stacked, queue, luma, got 'cubes'"),
        ({"layout": "queue"}, "the field 'history' is missing, which layout 'queue' needs"),
        ({"layout": "queue", "history": 0}, "the field 'history' should be 1 to 400, got 0"),
        ({"history": 5}, "the field 'history' is for layout 'queue' alone"),
        ({"border_fill": 16}, "the field 'border_fill' is for layout 'luma' alone"),
        ({"layout": "luma", "border_fill": 256}, "the field 'border_fill' should be 0 to 255, got 256"),
        ({"model": "model.onnx"}, "unknown field 'model'"),
    ],
)
def test_a_wrong_request_is_refused_by_the_fields_name(change: dict[str, Any], message: str) -> None:
    with pytest.raises(CompileError, match=message):
        WarpRequest.from_json({**warp_request((64, 48), (32, 16)), **change})
