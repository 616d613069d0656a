"""Workgroup sizes by a fixed rule, where tinygrad would time them on the device.

The rule is a pure function of the kernel and its number of threads, so that artifacts do not depend on a measurement.
"""

from collections.abc import Mapping
from itertools import product
from typing import Any

from autoclave.errors import CompileError

Size3 = tuple[int, int, int]

_A630_WAVE = 64
_A630_PREFERRED = 128
_A630_REGISTERS = 384 * 32
_A630_MAX_THREADS = 1024


def a630_max_threads(launch: Mapping[str, Any]) -> int:
    """How many threads of a kernel fit into one workgroup of an a630, by the registers that each of them takes.

    A half register is half a full one. The formula is tinygrad's own (QCOMProgram.max_threads), with one wave as the least.
    """
    registers = max(1, int(launch["full_registers"]) + (int(launch["half_registers"]) + 1) // 2)
    fitting = _A630_REGISTERS // (registers * 128) * 128
    return max(_A630_WAVE, min(_A630_MAX_THREADS, fitting))


def choose_local_size(threads: Size3, launch: Mapping[str, Any]) -> Size3:
    """The workgroup (x, y, z) for an a630 kernel that runs `threads` in each direction.

    Each side divides the number of threads, since the hardware is given whole workgroups only. Among the shapes of at most
    two waves the rule takes the one that leaves the fewest lanes idle, then the larger, then the widest in x, whose
    threads are neighbours in memory. Raises `CompileError` if a number of threads is not positive.
    """
    if min(threads) < 1:
        raise CompileError(f"choosing a workgroup for {threads} threads: each number must be positive")
    limit = min(_A630_PREFERRED, a630_max_threads(launch))
    sides = tuple(_divisors(count, limit) for count in threads)
    shapes = ((x, y, z) for x, y, z in product(*sides) if x * y * z <= limit)
    return max(shapes, key=_merit)


def workgroups(threads: Size3, local_size: Size3) -> Size3:
    """How many workgroups of `local_size` make `threads`."""
    return (threads[0] // local_size[0], threads[1] // local_size[1], threads[2] // local_size[2])


def _merit(shape: Size3) -> tuple[int, int, int, int]:
    lanes = shape[0] * shape[1] * shape[2]
    waves = -(-lanes // _A630_WAVE)
    # The share of busy lanes in whole numbers: 128 lanes of 2 waves and 64 of 1 wave are equal.
    return (lanes * (_A630_PREFERRED // _A630_WAVE) // waves, lanes, shape[0], shape[1])


def _divisors(count: int, limit: int) -> tuple[int, ...]:
    return tuple(size for size in range(1, min(count, limit) + 1) if count % size == 0)
