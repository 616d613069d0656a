"""A network link that transfers share.

Each transfer gets the same share of the link (max-min fairness: Bertsekas and Gallager, "Data Networks", 2nd edition, 6.5.2),
but never more than its own end of the line carries; what one of them cannot use, the others get. That is what many long
TCP connections through one interface come to.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from autoclave.simulation.clock import Clock

_SOON = 1e-9
"""Seconds: transfers that end this close together end at one moment, so that rounding plans no event twice."""


@dataclass
class _Transfer:
    left: float
    most: float
    done: Callable[[], None]
    rate: float = 0.0


class SharedLink:
    """One direction of a link of `rate` bytes a second. `moved` counts the bytes of all transfers, `busy` the seconds with any."""

    def __init__(self, clock: Clock, rate: float) -> None:
        self.moved = 0
        self.busy = 0.0
        self._clock = clock
        self._rate = rate
        self._transfers: list[_Transfer] = []
        self._counted_until = 0.0
        self._plan = 0

    def send(self, size: int, most: float, done: Callable[[], None]) -> None:
        """Begin to move `size` bytes, at no more than `most` bytes a second; `done` is called at the end."""
        if size == 0:
            self._clock.after(0.0, done)
            return
        self.moved += size
        self._count()
        self._transfers.append(_Transfer(float(size), most, done))
        self._share()

    def _count(self) -> None:
        """Take off what has been moved since the last time."""
        elapsed = self._clock.now - self._counted_until
        self._counted_until = self._clock.now
        if self._transfers:
            self.busy += elapsed
        for transfer in self._transfers:
            transfer.left -= transfer.rate * elapsed

    def _share(self) -> None:
        """Give each its rate, and plan for the moment when the first of them is through."""
        rates = fair_rates(self._rate, [transfer.most for transfer in self._transfers])
        for transfer, rate in zip(self._transfers, rates, strict=True):
            transfer.rate = rate
        self._plan += 1
        if self._transfers:
            plan = self._plan
            first = min(transfer.left / transfer.rate for transfer in self._transfers)
            self._clock.after(max(first, 0.0), lambda: self._arrive(plan))

    def _arrive(self, plan: int) -> None:
        if plan != self._plan:
            return  # the shares have changed since
        self._count()
        through = [each for each in self._transfers if each.left <= each.rate * _SOON]
        self._transfers = [each for each in self._transfers if each.left > each.rate * _SOON]
        self._share()
        for transfer in through:
            transfer.done()


def fair_rates(rate: float, most: Sequence[float]) -> list[float]:
    """The share of each of the transfers that can use at most so much: the slowest ones all they can, the others equal shares."""
    if sum(most) <= rate:
        return list(most)
    if min(most) * len(most) >= rate:
        return [rate / len(most)] * len(most)
    rates = [0.0] * len(most)
    left = rate
    order = sorted(range(len(most)), key=most.__getitem__)
    for taken, index in enumerate(order):
        rates[index] = min(most[index], left / (len(order) - taken))
        left -= rates[index]
    return rates
