"""Simulated builds, small enough to work out by hand what must come of them."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autoclave.simulation.actions import Action, Blob
from autoclave.simulation.farm import Farm, Known, simulate
from autoclave.simulation.limits import critical_path, limits

FAST = 1e12
IDEAL = Farm(workers=1, cache_rate=FAST, worker_rate=FAST, client_rate=FAST)
SLOW = replace(IDEAL, cache_rate=10, worker_rate=10, client_rate=10)


def action(name: str, seconds: float, inputs: tuple[Blob, ...] = (), outputs: tuple[Blob, ...] = (), **more) -> Action:
    """An action with a stage of its own, so that its key is its own too."""
    return Action(name, "model", seconds, more.pop("tools", ()), inputs, outputs, **more)


def test_workers_divide_the_work() -> None:
    four = [action(name, 10) for name in "abcd"]

    assert simulate(four, IDEAL).seconds == pytest.approx(40)
    assert simulate(four, replace(IDEAL, workers=2)).seconds == pytest.approx(20)
    assert simulate(four, replace(IDEAL, workers=3)).seconds == pytest.approx(20)
    assert simulate(four, replace(IDEAL, workers=9)).seconds == pytest.approx(10)


def test_an_action_waits_for_its_inputs() -> None:
    middle, left, right = Blob("middle", 0), Blob("left", 0), Blob("right", 0)
    diamond = [
        action("last", 1, (left, right)),
        action("left", 5, (middle,), (left,)),
        action("right", 3, (middle,), (right,)),
        action("first", 2, (), (middle,)),
    ]

    assert simulate(diamond, replace(IDEAL, workers=2)).seconds == pytest.approx(2 + 5 + 1)
    assert simulate(diamond, IDEAL).seconds == pytest.approx(2 + 5 + 3 + 1)
    assert critical_path(diamond, IDEAL) == pytest.approx(8)


def test_a_worker_takes_what_it_lacks_and_sends_what_is_new() -> None:
    source, result = Blob("source", 50), Blob("result", 20)

    outcome = simulate([action("compile", 7, (source,), (result,))], SLOW)

    assert outcome.seconds == pytest.approx(5 + 7 + 2)
    assert (outcome.from_cache, outcome.to_cache) == (50, 20)
    assert (outcome.computing, outcome.occupied) == (7, pytest.approx(14))


def test_a_worker_keeps_what_it_had_and_what_it_made() -> None:
    tool, result = Blob("tool", 50), Blob("result", 20)
    chain = [action("make", 1, (), (result,), tools=(tool,)), action("use", 1, (result,), tools=(tool,))]

    outcome = simulate(chain, SLOW)

    assert outcome.from_cache == 50
    assert outcome.seconds == pytest.approx(5 + 1 + 2 + 1)


def test_another_worker_has_to_take_it_too() -> None:
    tool = Blob("tool", 50)
    two = [action(name, 1, tools=(tool,)) for name in "ab"]

    outcome = simulate(two, replace(SLOW, workers=2))

    assert outcome.from_cache == 100
    assert outcome.seconds == pytest.approx(100 / 10 + 1)  # both at once, through one line


def test_workers_that_have_the_tools_take_none() -> None:
    tool = Blob("tool", 50)
    two = [action(name, 1, tools=(tool,)) for name in "ab"]

    outcome = simulate(two, replace(SLOW, workers=2), Known(on_workers={"tool"}))

    assert (outcome.from_cache, outcome.seconds) == (0, pytest.approx(1))


def test_what_an_action_takes_beside_its_process() -> None:
    tree = Blob("tree", 50, files=4)
    farm = replace(SLOW, start=100, lookup=0.5, dispatch=2, per_file=0.25)

    assert simulate([action("run", 7, tools=(tree,))], farm).seconds == pytest.approx(100 + 0.5 + 2 + 4 * 0.25 + 5 + 7)


def test_a_worker_that_takes_whole_models_keeps_their_files() -> None:
    def model(name: str) -> list[Action]:
        artifact = Blob(f"artifact {name}", 20)
        return [
            Action("compile", name, 1, (), (Blob(f"source {name}", 50),), (artifact,)),
            Action("record", name, 1, (), (artifact,), (Blob(f"check {name}", 0),)),
            Action("test", name, 1, (), (artifact,), (Blob(f"report {name}", 0),)),
        ]

    build = [*model("a"), *model("b")]
    apart = simulate(build, replace(SLOW, workers=3))
    together = simulate(build, replace(SLOW, workers=3, by_model=True))

    assert apart.from_cache > 100
    # Both sources at once, through one line: 10 s. Then compile, send both artifacts (4 s), record and test.
    assert (together.from_cache, together.seconds) == (100, pytest.approx(10 + 1 + 4 + 1 + 1))


def test_equal_actions_are_carried_out_once() -> None:
    kernels, code = Blob("kernels", 1), Blob("code", 1)
    one, other = (Action("translate", model, 9, (), (kernels,), (code,)) for model in ("a", "b"))

    outcome = simulate([one, other], IDEAL)

    assert outcome.seconds == pytest.approx(9)
    assert outcome.carried_out == {"translate": 1}


def test_a_known_result_is_not_carried_out_again() -> None:
    source, middle, result = Blob("source", 50), Blob("middle", 10), Blob("result", 20)
    first, second = action("first", 7, (source,), (middle,)), action("second", 5, (middle,), (result,))
    known = Known(keys={first.key}, cached={"middle"})

    outcome = simulate([first, second], replace(SLOW, lookup=1), known)

    assert (outcome.hits, outcome.carried_out) == (1, {"second": 1})
    assert outcome.from_cache == 10
    assert outcome.seconds == pytest.approx(1 + 1 + 1 + 5 + 2)


def test_a_changed_tool_that_gives_the_same_bytes_runs_nothing_after_it() -> None:
    source, artifact, check = Blob("source", 10), Blob("artifact", 100), Blob("check", 10)
    record = action("record", 5, (artifact,), (check,))
    before = [action("compile", 7, (source,), (artifact,), tools=(Blob("compiler 1", 10),)), record]
    after = [action("compile", 7, (source,), (artifact,), tools=(Blob("compiler 2", 10),)), record]
    known = Known(keys={each.key for each in before}, cached={"artifact", "check"})

    outcome = simulate(after, SLOW, known)

    assert outcome.carried_out == {"compile": 1}
    assert outcome.to_cache == 0
    assert outcome.seconds == pytest.approx(2 + 7)


def test_who_asked_takes_what_is_delivered_and_lacks() -> None:
    new, same = Blob("new", 100), Blob("same", 500)
    asked = [action("a", 1, (), (new,), delivered=True), action("b", 1, (), (same,), delivered=True), action("c", 1)]
    farm = replace(SLOW, cache_rate=FAST, worker_rate=FAST, client_rate=4, workers=3)

    outcome = simulate(asked, farm, Known(with_client={"same"}))

    assert outcome.built == pytest.approx(1)
    assert (outcome.delivered, outcome.seconds) == (100, pytest.approx(1 + 25))


def test_nothing_to_do_takes_the_start_only() -> None:
    assert simulate([], replace(IDEAL, start=3)).seconds == pytest.approx(3)


def test_actions_that_wait_for_each_other_are_an_error() -> None:
    chicken, egg = Blob("chicken", 1), Blob("egg", 1)

    with pytest.raises(ValueError, match="2 actions wait"):
        simulate([action("lay", 1, (chicken,), (egg,)), action("hatch", 1, (egg,), (chicken,))], IDEAL)


def test_the_limits_of_a_build() -> None:
    source, artifact = Blob("source", 30), Blob("artifact", 40)
    build = [
        action("compile", 8, (source,), (artifact,), delivered=True),
        action("record", 2, (artifact,)),
        action("other", 6),
    ]
    farm = replace(SLOW, workers=2, client_rate=5, dispatch=1)

    found = limits(build, farm, simulate(build, farm))

    # compile: 1 + 3 + 8 + 4 = 16 s on worker 0, which then records: it has the artifact. Other: worker 1.
    assert found.workers == pytest.approx((8 + 2 + 6 + 3 * 1) / 2)
    assert found.cache == pytest.approx(40 / 10)  # 30 B to workers, 40 B back
    assert found.delivery == pytest.approx(40 / 5)
    assert found.critical_path == pytest.approx((1 + 8 + 4) + (1 + 2))
    assert found.largest == "critical path"


@st.composite
def builds(draw) -> tuple[list[Action], Farm]:
    """Actions that take some of what those before them made, on some farm."""
    blobs = [Blob("source", draw(st.integers(0, 500)))]
    actions = []
    for number in range(draw(st.integers(1, 12))):
        inputs = tuple(draw(st.lists(st.sampled_from(blobs), max_size=3, unique=True)))
        output = Blob(f"output {number}", draw(st.integers(0, 500)))
        actions.append(
            action(f"stage {number}", draw(st.integers(0, 50)), inputs, (output,), delivered=draw(st.booleans()))
        )
        blobs.append(output)
    rates = [draw(st.integers(1, 100)) for _ in range(3)]
    return actions, Farm(
        draw(st.integers(1, 5)), *rates, lookup=draw(st.integers(0, 2)), dispatch=draw(st.integers(0, 2))
    )


@settings(deadline=None)
@given(builds())
def test_no_build_is_faster_than_its_limits_or_slower_than_one_thing_at_a_time(
    build: tuple[list[Action], Farm],
) -> None:
    actions, farm = build

    outcome = simulate(actions, farm)

    found = limits(actions, farm, outcome)
    assert outcome.built >= max(found.by_name().values()) - 1e-6
    assert outcome.seconds - outcome.built >= found.delivery - 1e-6
    slowest = min(farm.cache_rate, farm.worker_rate, farm.client_rate)
    moved = outcome.from_cache + outcome.to_cache + outcome.delivered
    each = sum(action.seconds + farm.lookup + farm.dispatch for action in actions)
    assert outcome.seconds <= each + moved / slowest + 1e-6
    assert sum(outcome.carried_out.values()) == len(actions)
