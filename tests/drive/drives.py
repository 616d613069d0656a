"""Files of frames, and what a model gives for them by numpy and ONNX Runtime."""

from pathlib import Path

import numpy as np
from compiler import driving_onnx
from compiler.driving_reference import Camera, SupercomboDrive, outputs_of, reference, six_planes

CAMERA = Camera(width=96, height=64, stride=128, y_height=64, uv_height=32)
PACKED = {"desire": (8,), "traffic_convention": (1, 2), "action_t": (1, 2)}


def write_drive(path: Path, frames: int, seed: int = 5) -> np.ndarray:
    """Write `frames` frames of noise with all that comes with them. Returns the supercombo's outputs, (frames, N), by the reference."""
    drive = SupercomboDrive(driving_onnx.supercombo(), CAMERA, driving_onnx.IMAGE, seed)
    rows = [drive.frame() for _ in range(frames)]
    arrays = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    arrays |= {name: arrays[name].reshape(frames, *shape) for name, shape in PACKED.items()}
    np.savez(path, **arrays)
    return np.concatenate([drive.step(row) for row in rows])


def write_stateful_drive(path: Path, frames: int, seed: int = 6) -> np.ndarray:
    """The same for the stateful model, whose states ONNX Runtime's outputs are fed back to."""
    random, session = np.random.default_rng(seed), reference(driving_onnx.stateful())
    pixels = random.integers(0, 256, (2, frames, CAMERA.nbytes), np.uint8)
    matrix = np.array([[0.2, 0.01, 1], [0, 0.25, 2], [0, 0, 1]], np.float32)
    desire = random.random((frames, 1, 8), np.float32)
    np.savez(path, frame=pixels[0], big_frame=pixels[1], tfm=matrix, big_tfm=matrix, desire=desire)
    state = {
        "img_buffer": np.zeros((2, 6, *driving_onnx.IMAGE), np.uint8),
        "features_buffer": np.zeros((1, 1, driving_onnx.FEATURES), np.float32),
    }
    expected = []
    for number in range(frames):
        seen = [six_planes(rows[number], matrix, CAMERA, driving_onnx.MODEL_SIZE) for rows in pixels]
        outputs = outputs_of(session, {"new_img": np.stack(seen), "desire": desire[number], **state})
        state = {name: outputs[f"next_{name}"] for name in state}
        expected.append(outputs["outputs"])
    return np.concatenate(expected)
