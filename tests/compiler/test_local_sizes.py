"""Workgroups for an a630: whole, wide, and never more than fit."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoclave.compiler.local_sizes import a630_max_threads, choose_local_size, workgroups
from autoclave.errors import CompileError

_FEW_REGISTERS = {"full_registers": 8, "half_registers": 0}


@pytest.mark.parametrize(
    ("threads", "expected"),
    [
        ((1024, 1, 1), (128, 1, 1)),
        ((64, 1, 1), (64, 1, 1)),
        ((32, 64, 1), (32, 4, 1)),
        ((100, 1, 1), (100, 1, 1)),
        ((4, 7, 4), (4, 7, 4)),
        ((3, 5, 1000), (1, 5, 25)),
        ((1, 1, 1), (1, 1, 1)),
    ],
)
def test_as_many_busy_lanes_as_divide(threads: tuple[int, int, int], expected: tuple[int, int, int]) -> None:
    assert choose_local_size(threads, _FEW_REGISTERS) == expected


@given(
    st.tuples(st.integers(1, 4096), st.integers(1, 512), st.integers(1, 64)), st.integers(1, 128), st.integers(0, 64)
)
def test_workgroups_are_whole_and_fit(threads: tuple[int, int, int], full: int, half: int) -> None:
    launch = {"full_registers": full, "half_registers": half}

    local = choose_local_size(threads, launch)

    assert all(count % side == 0 for count, side in zip(threads, local, strict=True))
    assert prod(local) <= min(128, a630_max_threads(launch))
    assert prod(workgroups(threads, local)) * prod(local) == prod(threads)


@given(st.integers(1, 64), st.integers(1, 64), st.integers(1, 8))
def test_one_thread_per_workgroup_only_if_nothing_else_divides(x: int, y: int, z: int) -> None:
    threads = (x, y, z)
    if any(side > 1 and any(side % factor == 0 for factor in range(2, 129)) for side in threads):
        assert prod(choose_local_size(threads, _FEW_REGISTERS)) > 1


def test_many_registers_leave_room_for_fewer_threads() -> None:
    # 384 * 32 registers in a core: 96 of them for each of 128 threads, and for no more.
    assert a630_max_threads({"full_registers": 96, "half_registers": 0}) == 128
    assert a630_max_threads({"full_registers": 24, "half_registers": 48}) == 256
    assert a630_max_threads({"full_registers": 1, "half_registers": 0}) == 1024


def test_a_launch_of_nothing_is_refused() -> None:
    with pytest.raises(CompileError, match="each number must be positive"):
        choose_local_size((0, 1, 1), _FEW_REGISTERS)
