"""Simulated time: events in the order of their moments, and those of one moment in the order in which they were planned."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count


class Clock:
    """Carries out what was planned, one event after another. `now` is in seconds."""

    def __init__(self) -> None:
        self.now = 0.0
        self._planned: list[tuple[float, int, Callable[[], None]]] = []
        self._number = count()

    def after(self, seconds: float, event: Callable[[], None]) -> None:
        """Plan `event` for `seconds` (at least 0) from now."""
        heappush(self._planned, (self.now + seconds, next(self._number), event))

    def run(self) -> None:
        """Until nothing is planned any more."""
        while self._planned:
            self.now, _, event = heappop(self._planned)
            event()
