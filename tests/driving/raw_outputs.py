"""Raw output tensors for tests: made of named values, in the places where openpilot's models have them."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

WIDTHS = {
    "lane_lines": 528,
    "lane_lines_prob": 8,
    "road_edges": 264,
    "meta": 55,
    "desire_pred": 32,
    "pose": 12,
    "wide_from_device_euler": 6,
    "road_transform": 12,
    "plan": 990,
    "lead": 144,
    "lead_prob": 3,
    "desire_state": 8,
    "action": 4,
    "hidden_state": 512,
}
"""The newest models' outputs, from openpilot's parser and StarPilot's test fixture."""


def layout(widths: Mapping[str, int]) -> tuple[dict[str, slice], int]:
    """Slices one after the other, with openpilot's `pad`, and the length of the tensor."""
    slices, place = {}, 0
    for name, width in widths.items():
        slices[name] = slice(place, place + width)
        place += width
    return {**slices, "pad": slice(-2, None)}, place


def random_outputs(length: int, seed: int) -> NDArray[np.float32]:
    """(1, length) values of a few units."""
    return np.random.Generator(np.random.PCG64(seed)).uniform(-3, 3, (1, length)).astype(np.float32)
