"""Shared links: who gets how much, and when they are through. All expected moments are worked out by hand."""

import pytest

from autoclave.simulation.clock import Clock
from autoclave.simulation.link import SharedLink, fair_rates

ANY = 1000.0


@pytest.mark.parametrize(
    ("rate", "most", "rates"),
    [
        (10, [100], [10]),
        (10, [4], [4]),
        (10, [100, 100], [5, 5]),
        (10, [2, 8, 8], [2, 4, 4]),
        (12, [8, 1, 3, 8], [4, 1, 3, 4]),
        (10, [3, 3], [3, 3]),
        (10, [], []),
    ],
)
def test_what_a_slow_transfer_cannot_use_the_others_get(rate: float, most: list[float], rates: list[float]) -> None:
    assert fair_rates(rate, most) == pytest.approx(rates)


def ends(rate: float, *transfers: tuple[float, int, float]) -> list[float]:
    """When transfers end that begin at a moment, move so many bytes, and are limited to a rate."""
    clock = Clock()
    link = SharedLink(clock, rate)
    ended = [-1.0] * len(transfers)

    def begin(index: int, size: int, most: float) -> None:
        link.send(size, most, lambda: ended.__setitem__(index, clock.now))

    for index, (moment, size, most) in enumerate(transfers):
        clock.after(moment, lambda index=index, size=size, most=most: begin(index, size, most))
    clock.run()
    return ended


def test_a_transfer_alone_has_the_whole_link() -> None:
    assert ends(10, (3, 50, ANY)) == pytest.approx([8])


def test_a_transfer_is_no_faster_than_its_own_line() -> None:
    assert ends(10, (0, 50, 2)) == pytest.approx([25])


def test_two_share_until_the_shorter_one_is_through() -> None:
    # 5 B/s each: the second ends at 2 s; the first has 20 B left and the whole link: 2 s more.
    assert ends(10, (0, 30, ANY), (0, 10, ANY)) == pytest.approx([4, 2])


def test_one_that_comes_later_slows_the_first_from_then_on() -> None:
    # The first moves 20 B until 2 s, then 5 B/s: 10 B more until 4 s. The second has moved 10 B by then, and 10 B are left: 5 s.
    assert ends(10, (0, 30, ANY), (2, 20, ANY)) == pytest.approx([4, 5])


def test_a_slow_line_leaves_the_rest_to_the_other() -> None:
    # 2 B/s and 8 B/s: the second ends at 5 s, the first at 10 s.
    assert ends(10, (0, 20, 2), (0, 40, ANY)) == pytest.approx([10, 5])


def test_equal_transfers_end_together() -> None:
    assert ends(9, *[(0, 7, ANY)] * 3) == pytest.approx([7 / 3] * 3)


def test_nothing_takes_no_time() -> None:
    assert ends(10, (1, 0, ANY), (0, 100, ANY)) == pytest.approx([1, 10])


def test_it_counts_what_it_moved_and_when_it_was_busy() -> None:
    clock = Clock()
    link = SharedLink(clock, 10)
    link.send(20, ANY, lambda: None)
    clock.after(5, lambda: link.send(30, ANY, lambda: None))
    clock.run()
    assert (link.moved, link.busy, clock.now) == (50, pytest.approx(5), pytest.approx(8))
