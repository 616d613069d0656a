"""A launch beside the scalar interpreter, which shares no rule with the host code."""

from collections.abc import Callable

from autoclave.emulator.launch import Launch
from autoclave.emulator.program import LaunchStatistics
from autoclave.emulator.sampling import cross_check
from autoclave.errors import BudgetExceeded, EmulationError


def checked_run(launch: Launch, run: Callable[[], LaunchStatistics]) -> tuple[LaunchStatistics, int]:
    """Interpret some threads of `launch`, then `run` it: what it returns, and how many elements of memory were compared.

    None are, if the first thread takes too long to interpret. Raises `EmulationError` if one differs.
    """
    done: list[LaunchStatistics] = []
    try:
        result = cross_check(launch, lambda: done.append(run()))
    except BudgetExceeded:
        return (done or [run()])[0], 0
    if result.differences:
        raise EmulationError(f"{result.differences[0]}; {len(result.differences)} of {result.elements} elements differ")
    return done[0], result.elements
