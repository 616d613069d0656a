"""Check inputs: tensors made from a seed, the same on every machine and with every version of numpy.

They come from the raw words of numpy's PCG64, whose stream numpy promises to keep; no distribution of numpy's is used,
because those may change. Each input has a stream of its own, seeded by (seed, sha256 of its name), so that neither the
order of inputs nor the presence of others matters. Values by dtype:

    uint8                    all of 0..255, as camera frames have
    float16 float32 float64  k / 2^(b-1) - 1 for uniform k in [0, 2^b), b = 11, 24, 53: [-1, 1), exact in the dtype
    bool                     one bit
    other integers           0..127: within the range of any index or count that a model takes

A camera's matrix, float32 (3, 3) whose name ends in "tfm", is one that a car could have: see `_MATRIX_MEAN`.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from autoclave.artifact.model import Part, TensorSpec
from autoclave.errors import AutoclaveError
from autoclave.native.model import Array, Tensors

CHECK_SEED = 42
VARIED_SEED = 43

_FLOAT_BITS = {"float16": 11, "float32": 24, "float64": 53}
_SMALL_INTEGERS = frozenset({"int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"})
_ATTEMPTS = 64
_MATRIX_NAME = "tfm"
_MATRIX_MEAN = np.array([[2.0, 0.0, -16.0], [0.0, 2.0, -16.0], [0.0, 0.0, 1.0]])
_MATRIX_SPREAD = np.array([[0.75, 0.125, 8.0], [0.125, 0.75, 8.0], [2**-13, 2**-13, 0.0]])
"""Each element is uniform within its spread around its mean: the first pixels come from beyond the frame's edges, many of
the others from within, however small it is."""


def check_input(spec: TensorSpec, seed: int) -> Array:
    """The tensor that `seed` gives for the input `spec`. Raises `AutoclaveError` for a dtype without a rule."""
    count = int(np.prod(spec.shape, dtype=np.int64))
    words = _words(spec.name, seed, count)
    if spec.name.endswith(_MATRIX_NAME) and (spec.dtype, tuple(spec.shape)) == ("float32", (3, 3)):
        return np.asarray(_MATRIX_MEAN + _MATRIX_SPREAD * _values(words, spec).reshape(3, 3), np.float32)
    return _values(words, spec).reshape(spec.shape)


def check_inputs(part: Part, seed: int) -> Tensors:
    """The tensors that `seed` gives for all inputs of `part`, by name."""
    return {spec.name: check_input(spec, seed) for spec in part.inputs}


def varied_input(spec: TensorSpec, seed: int) -> Array:
    """A tensor that differs from `check_input(spec, seed)`: that of the next seed which gives another one."""
    original = check_input(spec, seed)
    for other in range(seed + 1, seed + 1 + _ATTEMPTS):
        varied = check_input(spec, other)
        if varied.tobytes() != original.tobytes():
            return varied
    raise AutoclaveError(
        f"input {spec.name!r} of {spec.dtype} {list(spec.shape)} cannot be varied: it has one value only"
    )


def _words(name: str, seed: int, count: int) -> NDArray[np.uint64]:
    digest = hashlib.sha256(name.encode()).digest()
    entropy = [seed, *(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))]
    generator = np.random.PCG64(np.random.SeedSequence(entropy))
    return np.asarray(generator.random_raw(count), np.uint64).reshape(count)


def _values(words: NDArray[np.uint64], spec: TensorSpec) -> Array:
    if spec.dtype == "uint8":
        return (words >> np.uint64(56)).astype(np.uint8)
    if spec.dtype == "bool":
        return (words >> np.uint64(63)).astype(np.bool_)
    if spec.dtype in _SMALL_INTEGERS:
        return (words >> np.uint64(57)).astype(spec.dtype)
    if spec.dtype in _FLOAT_BITS:
        bits = _FLOAT_BITS[spec.dtype]
        steps = (words >> np.uint64(64 - bits)).astype(np.float64)
        return (steps / 2.0 ** (bits - 1) - 1.0).astype(spec.dtype)
    raise AutoclaveError(f"making check input {spec.name!r}: there is no rule for dtype {spec.dtype}")
