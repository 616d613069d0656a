"""Programs for tinygrad, and what NumPy computes in their place."""

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def uniform(*shape: int, seed: int = 1, low: float = -2, high: float = 2) -> Array:
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def integers(*shape: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).integers(-1000, 1000, shape, np.int32)


def convolution(image: Array, kernel: Array) -> Array:
    """With a border of one zero, in binary64."""
    padded = np.pad(image.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel.shape[2:], axis=(2, 3))
    return np.einsum("bchwyx,ocyx->bohw", windows, kernel.astype(np.float64))


def softmax(values: Array) -> Array:
    powers = np.exp(values.astype(np.float64))
    return powers / powers.sum(axis=-1, keepdims=True)


FLOATS: dict[str, tuple[list[Array], Callable[..., Any], Callable[..., Array]]] = {
    "product of matrices": ([uniform(33, 47), uniform(47, 29, seed=2)], lambda a, b: a @ b, lambda a, b: a @ b),
    "product in float16": (
        [uniform(64, 64), uniform(64, 64, seed=2)],
        lambda a, b: (a.half() @ b.half()).float(),
        lambda a, b: a @ b,
    ),
    "convolution": (
        [uniform(2, 3, 11, 13), uniform(8, 3, 3, 3, seed=2)],
        lambda x, w: x.conv2d(w, padding=1),
        convolution,
    ),
    "sum": ([uniform(1000, low=0)], lambda x: x.sum(), lambda x: x.sum(dtype=np.float64)),
    "sum over an axis": ([uniform(17, 300)], lambda x: x.sum(axis=0), lambda x: x.sum(axis=0)),
    "largest": ([uniform(31, 70)], lambda x: x.max(axis=1), lambda x: x.max(axis=1)),
    "standard deviation": ([uniform(500)], lambda x: x.std(), lambda x: x.std(ddof=1)),
    "softmax": ([uniform(16, 100)], lambda x: x.softmax(), softmax),
    "sine": ([uniform(999, low=-40, high=40)], lambda x: x.sin(), np.sin),
    "exponential": ([uniform(999, low=-20, high=20)], lambda x: x.exp(), np.exp),
    "logarithm": ([uniform(999, low=1e-3, high=1e3)], lambda x: x.log(), np.log),
    "square root": ([uniform(999, low=0, high=1e6)], lambda x: x.sqrt(), np.sqrt),
    "quotient": ([uniform(999), uniform(999, seed=2, low=1)], lambda a, b: a / b, lambda a, b: a / b),
    "running sum": ([uniform(600)], lambda x: x.cumsum(), lambda x: x.cumsum(dtype=np.float64)),
    "choice": ([uniform(99)], lambda x: (x > 0).where(x, x * 0.1), lambda x: np.where(x > 0, x, x * np.float32(0.1))),
}


INTEGERS: dict[str, tuple[list[Array], Callable[..., Any], Callable[..., Array]]] = {
    "sum and difference": ([integers(99), integers(99, seed=2)], lambda a, b: a + b - 7, lambda a, b: a + b - 7),
    "product that wraps": (
        [integers(99) << 16, integers(99, seed=2) << 10],
        lambda a, b: a * b,
        lambda a, b: a * b,
    ),
    "floor division": ([integers(99)], lambda a: a // 7, lambda a: a // 7),
    "remainder": ([integers(99)], lambda a: a % 13, lambda a: a % 13),
    "bits": ([integers(99), integers(99, seed=2)], lambda a, b: (a & b) ^ (a | 5), lambda a, b: (a & b) ^ (a | 5)),
    "64 bits": (
        [integers(99).astype(np.int64) << 30, integers(99, seed=2).astype(np.int64)],
        lambda a, b: a * b + (a >> 3),
        lambda a, b: a * b + (a >> 3),
    ),
    "bytes": ([integers(99).astype(np.uint8)], lambda a: a * 3 + 200, lambda a: a * np.uint8(3) + np.uint8(200)),
    "largest": ([integers(40, 30)], lambda a: a.max(axis=1), lambda a: a.max(axis=1)),
    "sort": ([integers(100)], lambda a: a.sort()[0], np.sort),
    "place of the largest": ([integers(20, 33)], lambda a: a.argmax(axis=1), lambda a: a.argmax(axis=1)),
    "gather": (
        [integers(50), np.arange(50, dtype=np.int32)[::-3].copy()],
        lambda a, places: a[places],
        lambda a, places: a[places],
    ),
    "comparison": ([integers(99), integers(99, seed=2)], lambda a, b: a < b, lambda a, b: a < b),
}
