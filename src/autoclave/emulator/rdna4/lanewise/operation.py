"""What one operation computes, as the tables of this package hold it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

Computed = int | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LaneOperation:
    """A vector operation, for one lane.

    compute: from the bit patterns of the sources to that of the result, or of two results (value and carry).
    takes: "lane": the lane's number comes before the sources; "signs": two truths do, whether the first and the second source
    hold signed integers.
    saturated: what is computed in place of `compute` where an integer operation has CLAMP; None where there is no rule for that.
    """

    compute: Callable[..., Computed]
    takes: Literal["sources", "lane", "signs"] = "sources"
    saturated: Callable[..., Computed] | None = None


def operations(functions: Mapping[str, Callable[..., Computed]]) -> dict[str, LaneOperation]:
    """A table of operations that take their sources and nothing else."""
    return {name: LaneOperation(compute) for name, compute in functions.items()}


@dataclass(frozen=True, slots=True)
class ScalarOperation:
    """A scalar operation.

    compute: from SCC and the sources to (results, the new SCC or None where it stays).
    takes_exec: EXEC is the last source, and the new EXEC the last result.
    """

    compute: Callable[..., tuple[tuple[int, ...], int | None]]
    takes_exec: bool = False
