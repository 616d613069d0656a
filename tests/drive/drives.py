"""Files of frames, and what a model gives for them by numpy and ONNX Runtime."""

from pathlib import Path

import numpy as np
from compiler import driving_onnx
from compiler.driving_reference import Camera, SupercomboDrive

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
