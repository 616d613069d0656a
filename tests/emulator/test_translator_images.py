"""Images of translated code: pixels of halves and singles, and what lies outside of an image."""

import numpy as np
import pytest
from emulator.a630_programs import ins, isam, launch_of, mov, stib
from emulator.translated_programs import TARGETS, WIDTHS, run

targets = pytest.mark.parametrize("target", TARGETS, ids=lambda target: f"{target.cpu}-{target.lanes}")
widths = pytest.mark.parametrize("target", WIDTHS, ids=lambda target: f"{target.lanes}")
formats = pytest.mark.parametrize("dtype", [np.float16, np.float32])

WIDTH, HEIGHT = 7, 5
BORDER = 2


def pixels(dtype) -> np.ndarray:
    return np.arange(HEIGHT * WIDTH * 4).reshape(HEIGHT, WIDTH, 4).astype(dtype) / dtype(8) - dtype(3)


def with_border(image: np.ndarray) -> np.ndarray:
    """What a read of each place up to `BORDER` outside gives."""
    return np.pad(image, ((BORDER, BORDER), (BORDER, BORDER), (0, 0)))


def shifted() -> list:
    """r2.xy: the thread's place less the border; r3.xy: its place."""
    return [
        ins("add.u", "r2.x", "r0.x", -BORDER),
        ins("add.u", "r2.y", "r0.y", -BORDER),
        mov("r3.x", "r0.x"),
        mov("r3.y", "r0.y"),
    ]


@targets
@formats
@pytest.mark.parametrize("kind", ["f16", "f32"])
def test_reads_outside_of_an_image_give_zeros(target, dtype, kind: str) -> None:
    texture = pixels(dtype)
    expected = with_border(texture)
    output = np.full(expected.shape, 9, dtype)
    data = "hr5.x" if kind == "f16" else "r5.x"
    program = [*shifted(), isam(data, "r2.x", kind=kind), stib(data, "r3.x", kind=kind)]
    run(
        launch_of(
            program, images=[output], textures=[texture], local_size=(WIDTH + 2 * BORDER, HEIGHT + 2 * BORDER, 1)
        ),
        target,
    )
    np.testing.assert_array_equal(output, expected)


@targets
@formats
def test_writes_outside_of_an_image_are_dropped(target, dtype) -> None:
    texture = with_border(pixels(dtype)) + dtype(1)
    output = np.zeros((HEIGHT, WIDTH, 4), dtype)
    around = np.zeros(3, dtype)
    program = [*shifted(), isam("r5.x", "r3.x"), stib("r5.x", "r2.x")]
    run(
        launch_of(
            program, images=[output], textures=[texture], local_size=(WIDTH + 2 * BORDER, HEIGHT + 2 * BORDER, 1)
        ),
        target,
    )
    np.testing.assert_array_equal(output, pixels(dtype) + dtype(1))
    assert not around.any()


@widths
@formats
@pytest.mark.parametrize(("column", "row"), [(3, 2), (0, 0), (-1, 0), (0, -1), (WIDTH, 0), (0, HEIGHT), (1 << 30, 0)])
def test_a_pixel_that_all_threads_read(target, dtype, column: int, row: int) -> None:
    texture = pixels(dtype)
    output = np.full((1, 40, 4), 9, dtype)
    program = [
        mov("r2.x", "c8.x"),
        mov("r2.y", "c8.y"),
        mov("r3.x", "r0.x"),
        mov("r3.y", 0),
        isam("r5.x", "r2.x"),
        stib("r5.x", "r3.x"),
    ]
    constants = [column & 0xFFFFFFFF, row & 0xFFFFFFFF]
    run(launch_of(program, images=[output], textures=[texture], constants=constants, local_size=(40, 1, 1)), target)
    inside = 0 <= column < WIDTH and 0 <= row < HEIGHT
    expected = texture[row, column] if inside else np.zeros(4, dtype)
    np.testing.assert_array_equal(output[0], np.broadcast_to(expected, (40, 4)))


@widths
def test_the_last_thread_wins_a_pixel_that_all_write(target) -> None:
    output = np.zeros((1, 2, 4), np.float32)
    program = [
        mov("r2.x", 1),
        mov("r2.y", 0),
        ins("cov", "r5.x", "r0.x", source_type="u32", type="f32"),
        mov("r5.y", "r5.x"),
        mov("r5.z", 0),
        mov("r5.w", 0),
        stib("r5.x", "r2.x"),
    ]
    run(launch_of(program, images=[output], local_size=(45, 1, 1)), target)
    assert output.tolist() == [[[0, 0, 0, 0], [44, 44, 0, 0]]]


@widths
def test_only_the_components_of_the_mask_are_read(target) -> None:
    texture = np.array([[[1, 2, 3, 4]]], np.float32)
    output = np.zeros((1, 1, 4), np.float32)
    program = [
        mov("r2.x", 0),
        mov("r2.y", 0),
        *(mov(f"r5.{component}", 0x41000000) for component in "xyzw"),
        isam("r5.x", "r2.x", mask=0b1010),
        stib("r5.x", "r2.x"),
    ]
    run(launch_of(program, images=[output], textures=[texture]), target)
    assert output.tolist() == [[[8, 2, 8, 4]]]


@targets
def test_halves_keep_every_bit_and_singles_are_widened_exactly(target) -> None:
    patterns = np.arange(1 << 16, dtype=np.uint16)
    texture = patterns.view(np.float16).reshape(64, 256, 4)
    same, wide = np.zeros((64, 256, 4), np.float16), np.zeros((64, 256, 4), np.float32)
    program = [
        mov("r2.x", "r0.x"),
        mov("r2.y", "r48.x"),
        isam("hr5.x", "r2.x", kind="f16"),
        isam("r6.x", "r2.x"),
        stib("hr5.x", "r2.x", 0, "f16"),
        stib("r6.x", "r2.x", 1),
    ]
    launch = launch_of(program, images=[same, wide], textures=[texture], local_size=(256, 1, 1), global_size=(64, 1, 1))
    run(launch, target)
    assert same.tobytes() == patterns.tobytes()
    with np.errstate(invalid="ignore"):
        expected = texture.astype(np.float32)
    numbers = ~np.isnan(expected)
    assert wide[numbers].tobytes() == expected[numbers].tobytes()
    # A NaN keeps sign and payload, and is quiet.
    half = patterns.reshape(64, 256, 4)[~numbers].astype(np.uint32)
    assert (wide[~numbers].view(np.uint32) == ((half & 0x8000) << 16 | 0x7FC00000 | (half & 0x3FF) << 13)).all()
