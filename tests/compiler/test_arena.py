"""The arena: nothing in use at the same time overlaps, and little is wasted."""

from hypothesis import given
from hypothesis import strategies as st

from autoclave.compiler.arena import ALIGNMENT, Lifetime, live_peak, plan_arena

_LIFETIMES = st.builds(
    lambda first, length, nbytes: Lifetime(first, first + length, nbytes),
    st.integers(0, 40),
    st.integers(0, 40),
    st.integers(1, 1 << 20),
)


@given(st.dictionaries(st.integers(0, 1000), _LIFETIMES, max_size=40))
def test_buffers_in_use_at_the_same_call_never_overlap(lifetimes: dict[int, Lifetime]) -> None:
    plan = plan_arena(lifetimes)

    assert set(plan.offsets) == set(lifetimes)
    for one, lifetime in lifetimes.items():
        start, end = plan.offsets[one], plan.offsets[one] + lifetime.nbytes
        assert start % ALIGNMENT == 0
        assert end <= plan.nbytes
        for other, neighbour in lifetimes.items():
            if other != one and lifetime.first <= neighbour.last and neighbour.first <= lifetime.last:
                assert end <= plan.offsets[other] or plan.offsets[other] + neighbour.nbytes <= start


@given(st.dictionaries(st.integers(0, 1000), _LIFETIMES, max_size=40))
def test_the_arena_is_at_least_the_live_peak_and_at_most_the_sum(lifetimes: dict[int, Lifetime]) -> None:
    plan = plan_arena(lifetimes)

    by_call = [sum(each.nbytes for each in lifetimes.values() if each.first <= call <= each.last) for call in range(82)]
    assert plan.live_peak == max(by_call)
    assert plan.live_peak <= plan.nbytes <= sum(each.nbytes + ALIGNMENT for each in lifetimes.values())


@given(st.dictionaries(st.integers(0, 1000), _LIFETIMES, max_size=20), st.randoms(use_true_random=False))
def test_the_plan_does_not_depend_on_the_order_of_the_mapping(lifetimes: dict[int, Lifetime], random) -> None:  # type: ignore[no-untyped-def]
    items = list(lifetimes.items())
    random.shuffle(items)

    assert plan_arena(dict(items)) == plan_arena(lifetimes)


def test_a_chain_of_layers_takes_what_two_neighbours_take() -> None:
    chain = {layer: Lifetime(layer, layer + 1, 1024) for layer in range(100)}

    plan = plan_arena(chain)

    assert plan.nbytes == plan.live_peak == 2048


def test_a_gap_is_filled_before_the_arena_grows() -> None:
    lifetimes = {0: Lifetime(0, 9, 4096), 1: Lifetime(0, 3, 2048), 2: Lifetime(4, 9, 1024), 3: Lifetime(4, 9, 1024)}

    plan = plan_arena(lifetimes)

    assert plan.nbytes == 4096 + 2048


def test_nothing_to_place() -> None:
    assert plan_arena({}).nbytes == 0
    assert live_peak([]) == 0
