"""The start of Pants: no scheduler to find plugins where none are configured, no rules that nobody asks for, and no inputs left."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from bootstrap.start_pants import (
    EDITOR_GOAL,
    Asked,
    Later,
    make_later,
    only_where_configured,
    possible_rules,
    remove_inputs,
    with_folder_of_its_own,
)
from pants.bsp.goal import BSPGoal
from pants.bsp.rules import rules as rules_for_editors
from pants.core.goals.package import rules as package_rules
from pants.core.goals.test import rules as test_rules
from pants.engine.addresses import Addresses
from pants.engine.console import Console
from pants.engine.fs import Workspace
from pants.engine.internals.session import SessionValues
from pants.engine.process import FallibleProcessResult
from pants.engine.rules import Get, QueryRule, RuleIndex, collect_rules, rule
from pants.engine.unions import UnionMembership, UnionRule
from pants.init.plugin_resolver import PluginResolver
from pants.option.options_bootstrapper import OptionsBootstrapper
from pants.vcs.changed import ChangedAddresses, ChangedRequest


def options(*arguments: str) -> OptionsBootstrapper:
    return OptionsBootstrapper.create(env={}, args=["./pants", *arguments], allow_pantsrc=False)


def test_a_scheduler_is_made_once_and_not_before_it_is_asked_for() -> None:
    made = []

    def make(*given: object) -> SimpleNamespace:
        made.append(given)
        return SimpleNamespace(scheduler="the scheduler")

    later = make_later(make)("options", "executor")
    assert made == []
    assert [later.scheduler, later.scheduler] == ["the scheduler"] * 2
    assert made == [("options", "executor")]


def never(*_: object) -> SimpleNamespace:
    raise AssertionError("a scheduler was made")


@pytest.fixture
def resolver() -> PluginResolver:
    return PluginResolver(Later(never))  # type: ignore[arg-type]


def test_without_plugins_none_are_looked_for(resolver: PluginResolver) -> None:
    resolve = only_where_configured(PluginResolver._resolve_plugins)
    assert list(resolve(resolver, options(), {}, resolver._request)) == []


def test_configured_plugins_are_looked_for(resolver: PluginResolver) -> None:
    resolve = only_where_configured(PluginResolver._resolve_plugins)
    with pytest.raises(AssertionError, match="a scheduler was made"):
        resolve(resolver, options("--plugins=['a-plugin==1']"), {}, resolver._request)


GOALS = {
    rule.output_type.name: rule.output_type
    for rule in RuleIndex.create([*package_rules(), *test_rules()]).rules
    if getattr(rule.output_type, "subsystem_cls", None)
}
"""Pants' own `package` and `test`."""


def registered(asked: Asked, *more: QueryRule) -> tuple[RuleIndex, UnionMembership]:
    """What is registered of the rules for packaging, for testing and for editors."""
    rules = [*package_rules(), *test_rules(), *rules_for_editors()]
    queries = [QueryRule(goal, (Console, Workspace)) for goal in GOALS.values()]
    unions = UnionMembership.from_rules(rule for rule in rules if isinstance(rule, UnionRule))
    given: list[tuple[RuleIndex, UnionMembership]] = []
    asked.registering_what_is_needed(lambda *these: given.append(these))(
        RuleIndex.create([*rules, *queries, *more]), unions
    )
    return given[0]


def noted(
    *arguments: str, goals: tuple[str, ...] = (), specs: tuple[str, ...] = (), builtin_goal: str | None = None
) -> Asked:
    """After a command line was parsed into these goals and specs."""
    asked = Asked()
    parsed = SimpleNamespace(goals=list(goals), specs=list(specs), builtin_goal=builtin_goal)
    assert asked.noting(lambda *_, **__: parsed)(None, options(*arguments), raise_=True) is parsed
    return asked


def goals_of(rules: RuleIndex) -> set[str]:
    return {query.output_type.name for query in rules.queries if query.output_type in GOALS.values()}


def test_rules_for_editors_are_left_out() -> None:
    rules, unions = registered(Asked())

    assert EDITOR_GOAL == BSPGoal.name
    modules = [rule.func.__module__ for rule in rules.rules]
    modules += [query.output_type.__module__ for query in rules.queries]
    modules += [member.__module__ for members in unions.union_rules.values() for member in members]
    assert "pants.core.goals.package" in modules
    assert [each for each in modules if each.startswith("pants.bsp")] == []


@dataclass(frozen=True)
class Old:
    """What nobody asks with any more."""


@dataclass(frozen=True)
class Older:
    """What is made of it."""


@dataclass(frozen=True)
class New:
    """What is asked for."""


@dataclass(frozen=True)
class Question:
    """What it is asked with."""


@rule
def older(_: Old) -> Older:
    return Older()


@rule
def new_of_older(_: Older) -> New:
    return New()


@rule
def new_of_a_question(_: Question, session: SessionValues, by_the_engine: FallibleProcessResult) -> New:
    return New()


@rule
async def asks() -> Addresses:
    await Get(New, Question())
    return Addresses()


def test_rules_that_take_what_nobody_gives_are_left_out() -> None:
    rules = RuleIndex.create(collect_rules(globals())).rules
    assert {each.func for each in rules} == {older, new_of_older, new_of_a_question, asks}

    def possible(*queries: QueryRule) -> set[object]:
        return {each.func for each in possible_rules(rules, queries, UnionMembership({}))}

    assert possible() == {new_of_a_question, asks}
    assert possible(QueryRule(New, (Old,))) == {older, new_of_older, new_of_a_question, asks}


def test_a_run_without_a_daemon_has_the_goals_that_it_was_asked_for() -> None:
    other = QueryRule(UnionMembership, ())
    rules, _ = registered(noted("--no-pantsd", goals=("package",)), other)

    assert goals_of(rules) == {"package"}
    assert other in rules.queries


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        (noted("--no-pantsd", goals=("package",), specs=("models:",)), False),
        (noted("--no-pantsd", goals=("package",)), True),
        (noted("--pantsd", goals=("package",), specs=("models:",)), True),
    ],
    ids=["named", "not named", "a daemon"],
)
def test_targets_are_found_by_their_changes_unless_they_are_named(asked: Asked, wanted: bool) -> None:
    by_changes = QueryRule(ChangedAddresses, (ChangedRequest,))
    assert (by_changes in registered(asked, by_changes)[0].queries) is wanted


@pytest.mark.parametrize(
    "asked",
    [
        noted("--pantsd", goals=("package",)),
        noted("--no-pantsd", builtin_goal="help", goals=("package",)),
        noted("--no-pantsd"),
    ],
    ids=["a daemon", "help", "nothing"],
)
def test_who_may_ask_for_any_goal_has_all(asked: Asked) -> None:
    assert goals_of(registered(asked)[0]) == {"package", "test"}


def test_the_server_for_editors_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        noted("--no-pantsd", builtin_goal=EDITOR_GOAL)

    assert refused.value.code == 1
    assert "without its server for editors" in capsys.readouterr().err


def test_sandboxes_lie_in_a_folder_of_their_own(tmp_path: Path) -> None:
    given: dict[str, object] = {}

    def initialize(scheduler: object, **options: object) -> None:
        given.update(options)

    for _ in range(2):
        with_folder_of_its_own(initialize)(
            SimpleNamespace(),
            local_execution_root_dir=str(tmp_path / "root"),
            build_root="b",
        )
        assert given["build_root"] == "b"
        assert Path(str(given["local_execution_root_dir"])).parent == tmp_path / "root"
    assert len(list((tmp_path / "root").iterdir())) == 2


def sandboxes(folder: Path) -> Path:
    """Inputs as Pants makes them, which nobody may write to."""
    content = folder / "immutable_inputs1/0a1b/lib"
    content.mkdir(parents=True)
    (content / "file").write_text("content")
    for each in (content / "file", content, content.parent):
        each.chmod(0o555)
    return folder


def test_at_exit_inputs_go_and_sandboxes_that_were_kept_stay(tmp_path: Path) -> None:
    empty, kept = sandboxes(tmp_path / "empty"), sandboxes(tmp_path / "kept")
    (kept / "pants-sandbox-1").mkdir()

    for folder in (empty, kept):
        remove_inputs(folder, os.getpid())

    assert [each.name for each in tmp_path.iterdir()] == ["kept"]
    assert [each.name for each in kept.iterdir()] == ["pants-sandbox-1"]


def test_a_fork_of_the_process_removes_nothing(tmp_path: Path) -> None:
    folder = sandboxes(tmp_path / "folder")
    remove_inputs(folder, os.getpid() + 1)
    assert (folder / "immutable_inputs1/0a1b/lib/file").read_text() == "content"
