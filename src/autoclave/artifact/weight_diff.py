"""Two weights of one name compared, element by element."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from autoclave.artifact.dtypes import ITEMSIZE
from autoclave.artifact.model import Call, Copy, Part
from autoclave.artifact.reader import Artifact, key_text
from autoclave.artifact.summary import weight_name

_CHUNK = 1 << 20
"""Elements compared at a time."""


@dataclass(frozen=True, slots=True)
class WeightChange:
    """A weight of part `part`; sizes in bytes, None where the weight is missing.

    `changed` of `elements` differ in their bits, the first at index `first`, by at most `max_abs` (None if one of
    them is not finite). All are None if the sizes differ or numpy is not installed. Weights that kernels read as several dtypes
    are compared as uint8.
    """

    part: str
    name: str
    left_nbytes: int | None
    right_nbytes: int | None
    dtype: str | None = None
    elements: int | None = None
    changed: int | None = None
    first: int | None = None
    max_abs: float | None = None


def diff_weights(left: Artifact, right: Artifact) -> Iterator[WeightChange]:
    """The weights that differ, matched by part and name, in the order of the parts and buffers."""
    left_weights, right_weights = _weights(left), _weights(right)
    for key in (*left_weights, *(key for key in right_weights if key not in left_weights)):
        mine, its = left_weights.get(key), right_weights.get(key)
        if mine is None or its is None or mine[0].nbytes != its[0].nbytes:
            yield WeightChange(*key, mine and mine[0].nbytes, its and its[0].nbytes)
        elif mine[0] != its[0]:
            yield _compare(key, mine[0], its[0], mine[1] if mine[1] == its[1] else "uint8")


def count_weights(artifact: Artifact) -> int:
    """How many weights all parts of an artifact have."""
    return len(_weights(artifact))


def _weights(artifact: Artifact) -> dict[tuple[str, str], tuple[memoryview, str]]:
    return {
        (key_text(part.key), weight_name(part, number)): (artifact.read(buffer.data), dtypes.get(number, "uint8"))
        for part in artifact.header.parts
        for dtypes in (_dtypes(part),)
        for number, buffer in enumerate(part.buffers)
        if buffer.data is not None
    }


def _dtypes(part: Part) -> dict[int, str]:
    """The dtype of each buffer that all calls agree about."""
    seen: dict[int, set[str]] = {}
    for call in (*part.init, *part.calls):
        for argument in _arguments(call):
            seen.setdefault(argument.buffer, set()).add(argument.dtype)
    return {number: min(dtypes) for number, dtypes in seen.items() if len(dtypes) == 1}


def _arguments(call: Call) -> tuple[Any, ...]:
    return (call.destination, call.source) if isinstance(call, Copy) else call.args


def _compare(key: tuple[str, str], left: memoryview, right: memoryview, dtype: str) -> WeightChange:
    if left.nbytes % ITEMSIZE[dtype]:
        dtype = "uint8"
    elements = left.nbytes // ITEMSIZE[dtype]
    try:
        import numpy
    except ModuleNotFoundError:
        return WeightChange(*key, left.nbytes, right.nbytes, dtype, elements)
    changed, first, max_abs = 0, None, 0.0
    step = _CHUNK * ITEMSIZE[dtype]
    for at in range(0, left.nbytes, step):
        mine, its = (numpy.frombuffer(view[at : at + step], f"u{ITEMSIZE[dtype]}") for view in (left, right))
        places = numpy.flatnonzero(mine != its)
        if not len(places):
            continue
        if first is None:
            first = at // ITEMSIZE[dtype] + int(places[0])
        changed += len(places)
        with numpy.errstate(all="ignore"):
            distance = numpy.abs(_values(mine[places], dtype) - _values(its[places], dtype))
        max_abs = float(numpy.maximum(max_abs, distance.max()))  # of which NaN comes out
    finite = max_abs if math.isfinite(max_abs) else None
    return WeightChange(*key, left.nbytes, right.nbytes, dtype, elements, changed, first, finite)


def _values(bits: Any, dtype: str) -> Any:
    """Bits of `dtype` as float64."""
    if dtype == "bfloat16":
        return (bits.astype("u4") << 16).view("f4").astype("f8")
    return bits.view("u1" if dtype == "bool" else dtype).astype("f8")
