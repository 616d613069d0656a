"""The numpy reference of camera warps: pixels worked out by hand, and a second writing of the formula."""

import numpy as np
import pytest
from compiler import driving_reference

from autoclave.artifact.model import Part, Target, TensorSpec
from autoclave.driving.nv12 import Nv12Frame
from autoclave.errors import AutoclaveError
from autoclave.parity.gates import pixels_gate
from autoclave.parity.inputs import check_inputs
from autoclave.parity.warp_reference import EQUAL_SHARE, six_planes, warp_outputs

SIZE = (16, 8)
CAMERA = Nv12Frame(64, 48)
IDENTITY = np.eye(3, dtype=np.float32)


def warp(outputs: dict[str, tuple[int, ...]], state: dict[str, tuple[int, ...]] | None = None) -> Part:
    """A warp of 64x48 frames that gives `outputs`; only what says what goes in and out matters."""
    inputs = {"frame": ("uint8", (CAMERA.nbytes,)), "tfm": ("float32", (3, 3))}
    inputs |= {f"big_{name}": form for name, form in inputs.items()}
    inputs |= {name: ("uint8", shape) for name, shape in (state or {}).items()}
    specs = tuple(TensorSpec(name, shape, dtype, 0) for name, (dtype, shape) in inputs.items())
    results = tuple(TensorSpec(name, shape, "uint8", 0) for name, shape in outputs.items())
    return Part((64, 48), Target("CPU", "LLVM", "x86_64"), specs, results, (), (), ())


def numbered_frame() -> np.ndarray:
    """Luma (x, y) is 4 x + y, U is 100 + x, V is 200 + y; padding is 255."""
    frame = np.full(CAMERA.nbytes, 255, np.uint8)
    rows = frame.reshape(-1, CAMERA.stride)
    y, x = np.mgrid[:48, :64]
    rows[:48, :64] = 4 * x + y
    y, x = np.mgrid[:24, :32]
    rows[CAMERA.y_height : CAMERA.y_height + 24, 0:64:2] = 100 + x
    rows[CAMERA.y_height : CAMERA.y_height + 24, 1:64:2] = 200 + y
    return frame


def test_planes_are_rows_and_columns_of_luma_and_then_chroma() -> None:
    planes = six_planes(CAMERA, numbered_frame(), IDENTITY, SIZE)

    assert planes.shape == (6, 4, 8)
    # Row 1, column 2 of each: luma at (4, 2), (4, 3), (5, 2), (5, 3); chroma at (2, 1).
    assert planes[:, 1, 2].tolist() == [4 * 4 + 2, 4 * 4 + 3, 4 * 5 + 2, 4 * 5 + 3, 102, 201]


def test_chroma_moves_half_as_far_as_luma() -> None:
    shifted = np.array([[1, 0, 4], [0, 1, 2], [0, 0, 1]], np.float32)

    planes = six_planes(CAMERA, numbered_frame(), shifted, SIZE)

    assert planes[:, 0, 0].tolist() == [4 * 4 + 2, 4 * 4 + 3, 4 * 5 + 2, 4 * 5 + 3, 102, 201]


def test_pixels_beyond_the_frame_are_those_of_its_edge() -> None:
    beyond = np.array([[1, 0, 1000], [0, 1, -1000], [0, 0, 1]], np.float32)

    planes = six_planes(CAMERA, numbered_frame(), beyond, SIZE)

    assert [np.unique(plane).tolist() for plane in planes] == [[4 * 63]] * 4 + [[131], [200]]


def test_ties_go_to_the_even_pixel() -> None:
    half = np.array([[0.5, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32)

    planes = six_planes(CAMERA, numbered_frame(), half, SIZE)

    # Odd columns 1, 3, 5, 7 lie at 0.5, 1.5, 2.5, 3.5: pixels 0, 2, 2, 4.
    assert (planes[2, 0, :4] // 4).tolist() == [0, 2, 2, 4]


@pytest.mark.parametrize("seed", [42, 43])
def test_check_matrices_show_the_frame_and_what_is_beside_it_as_another_writing_of_the_formula_does(seed: int) -> None:
    part = warp({"img": (6, 128, 256), "big_img": (6, 128, 256)})
    frame = Nv12Frame(1344, 760)
    big = Part(
        (1344, 760), part.target, tuple(_frame_of(spec, frame) for spec in part.inputs), part.outputs, (), (), ()
    )
    inputs = check_inputs(big, seed)
    camera = driving_reference.Camera(1344, 760, 1408, 768, 384)

    outputs = warp_outputs(big, {}, inputs)

    for prefix in ("", "big_"):
        matrix = inputs[f"{prefix}tfm"]
        expected = driving_reference.six_planes(inputs[f"{prefix}frame"], matrix, camera, (512, 256))
        assert np.array_equal(outputs[f"{prefix}img"], expected)
        x, y = driving_reference.coordinates(matrix, (512, 256))
        assert 0.3 < np.mean((x > 0) & (x < 1343) & (y > 0) & (y < 759)) < 1


def _frame_of(spec: TensorSpec, frame: Nv12Frame) -> TensorSpec:
    return TensorSpec(spec.name, (frame.nbytes,), spec.dtype, 0) if spec.name.endswith("frame") else spec


def test_layouts_arrange_the_planes_of_both_cameras() -> None:
    queues = {"img_q": (3, 6, 4, 8), "big_img_q": (3, 6, 4, 8)}
    part = warp({"next_img_q": (3, 6, 4, 8), "next_big_img_q": (3, 6, 4, 8)}, queues)
    inputs = check_inputs(part, 42) | {"frame": numbered_frame(), "tfm": IDENTITY}
    road = six_planes(CAMERA, numbered_frame(), IDENTITY, SIZE)
    wide = six_planes(CAMERA, inputs["big_frame"], inputs["big_tfm"], SIZE)

    queued = warp_outputs(part, {}, inputs)
    stacked = warp_outputs(warp({"new_img": (2, 6, 4, 8)}), {}, inputs)

    assert np.array_equal(queued["next_img_q"], [*inputs["img_q"][1:], road])
    assert np.array_equal(queued["next_big_img_q"], [*inputs["big_img_q"][1:], wide])
    assert np.array_equal(stacked["new_img"], [road, wide])


def test_driver_monitoring_sees_luma_and_a_border() -> None:
    shifted = np.array([[1, 0, -2], [0, 1, -1], [0, 0, 1]], np.float32)
    metadata = {"warp": {"model_size": [4, 3], "border_fill": 16}}
    inputs = {"frame": numbered_frame(), "tfm": shifted}

    outputs = warp_outputs(warp({"input_img": (1, 12)}), metadata, inputs)

    assert outputs["input_img"].reshape(3, 4).tolist() == [[16, 16, 16, 16], [16, 16, 0, 4], [16, 16, 1, 5]]


def test_another_output_has_no_reference() -> None:
    part = warp({"img": (6, 4, 8), "depth": (6, 4, 8)})

    with pytest.raises(AutoclaveError, match="no reference for the output 'depth' of a warp"):
        warp_outputs(part, {}, check_inputs(part, 42))


def test_a_part_with_other_inputs_is_no_warp() -> None:
    part = warp({"img": (6, 4, 8)})

    with pytest.raises(AutoclaveError, match="is no warp: its inputs, outputs or metadata are others .*'frame'"):
        warp_outputs(part, {}, {})


@pytest.mark.parametrize(("unequal", "status"), [(0, "passed"), (1, "passed"), (2, "failed")])
def test_one_pixel_in_a_thousand_may_differ(unequal: int, status: str) -> None:
    reference = np.zeros(1000, np.uint8)
    actual = reference.copy()
    actual[:unequal] = 9

    result = pixels_gate("img", actual, reference, EQUAL_SHARE)

    assert (result.status, result.rung) == (status, 4)
    assert result.message == f"{1000 - unequal} of 1000 bytes are the reference's, 99.9 % have to be"
