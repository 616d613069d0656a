"""Starts Pants 2.17.1 as its own script does, but for three things.

It makes no scheduler to find third-party plugins unless some are configured. Pants makes one at every start, with the rules of its
Python backend, before it looks at which plugins are wanted; solving them takes a third of what `./pants --no-pantsd` takes to start.

It solves fewer rules. Those of Pants' server for editors (BSP) offer a second way to targets, which doubles the time of solving all others;
nothing here is built through an editor. Those that Pants keeps for plugins of its earlier versions take what nobody gives any more. And a
run without a daemon has no use for other goals than those that it was asked for.

It leaves nothing behind: what several sandboxes had as inputs, half a gigabyte after a build, stays in /tmp when Pants ends.

setup.sh puts a copy of this file, with a line that names the interpreter, into the set-up.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Callable

from pants.bin.pants_loader import main
from pants.engine.goal import Goal
from pants.engine.internals import scheduler
from pants.engine.internals.scheduler import Scheduler
from pants.engine.rules import QueryRule, RuleIndex, TaskRule
from pants.engine.unions import UnionMembership, is_union
from pants.init import options_initializer
from pants.init.options_initializer import OptionsInitializer
from pants.init.plugin_resolver import PluginResolver, ResolvedPluginDistributions
from pants.util.ordered_set import FrozenOrderedSet
from pants.vcs.changed import ChangedAddresses

Resolve = Callable[..., ResolvedPluginDistributions]

ENGINE = ("builtins", "native_engine", "pants.engine.fs", "pants.engine.internals.", "pants.engine.process")
"""The modules of the types that Pants' native engine gives to rules."""

EDITOR_SERVER = "pants.bsp."
EDITOR_GOAL = "experimental-bsp"
"""The modules of Pants' server for editors, and its goal."""


class Later:
    """Stands for a `BootstrapScheduler`, which is made when its scheduler is first asked for."""

    def __init__(self, make: Callable[..., Any], *given: Any) -> None:
        self._make, self._given = make, given
        self._made: Any = None

    @property
    def scheduler(self) -> Any:
        """The scheduler."""
        if self._made is None:
            self._made = self._make(*self._given)
        return self._made.scheduler


def make_later(make: Callable[..., Any]) -> Callable[..., Later]:
    """`make`, put off."""
    return lambda *given: Later(make, *given)


def only_where_configured(resolve: Resolve) -> Resolve:
    """`resolve`, which has a scheduler find the configured plugins, where there are any."""

    def resolved(resolver: PluginResolver, options_bootstrapper: Any, env: Any, request: Any) -> Any:
        if not options_bootstrapper.bootstrap_options.for_global_scope().plugins:
            return ResolvedPluginDistributions()
        return resolve(resolver, options_bootstrapper, env, request)

    return resolved


@dataclass
class Asked:
    """What this process was asked for: which goals, and whether it may be for targets by their changes (`--changed-since`).

    Of a daemon, which will be asked for anything, no goals are known (None).
    """

    goals: frozenset[str] | None = None
    by_changes: bool = True

    def noting(self, options: Callable[..., Any]) -> Callable[..., Any]:
        """`OptionsInitializer.options`, whose result is looked at for goals; Pants makes its rules after that."""

        def noted(initializer: OptionsInitializer, options_bootstrapper: Any, *others: Any, **named: Any) -> Any:
            found = options(initializer, options_bootstrapper, *others, **named)
            daemon = options_bootstrapper.bootstrap_options.for_global_scope().pantsd
            if found.builtin_goal == EDITOR_GOAL:
                print(
                    f"{EDITOR_GOAL}: ./pants starts Pants without its server for editors ({__file__})", file=sys.stderr
                )
                raise SystemExit(1)
            # `help` and the like are built in, and look at the rules of all goals.
            self.goals = None if daemon or found.builtin_goal or not found.goals else frozenset(found.goals)
            # Pants refuses targets by name and by changes at once.
            self.by_changes = self.goals is None or not found.specs
            return found

        return noted

    def registering_what_is_needed(self, register: Callable[..., Any]) -> Callable[..., Any]:
        """`register_rules`, given only what these goals need."""

        def registered(rules: RuleIndex, unions: UnionMembership) -> Any:
            members = without_editor_server(unions)
            queries = tuple(query for query in rules.queries if self.needs(query))
            possible = possible_rules((rule for rule in rules.rules if not of_editor_server(rule)), queries, members)
            needed = replace(rules, rules=FrozenOrderedSet(possible), queries=FrozenOrderedSet(queries))
            return register(needed, members)

        return registered

    def needs(self, query: QueryRule) -> bool:
        """Whether the result of this query can be asked for."""
        wanted = query.output_type
        if issubclass(wanted, Goal) and self.goals is not None:
            return wanted.name in self.goals or wanted.subsystem_cls.deprecated_options_scope in self.goals
        if wanted is ChangedAddresses:
            return self.by_changes
        return not wanted.__module__.startswith(EDITOR_SERVER)


def of_editor_server(rule: TaskRule) -> bool:
    """Whether a rule is of Pants' server for editors."""
    return rule.func.__module__.startswith(EDITOR_SERVER)


def without_editor_server(unions: UnionMembership) -> UnionMembership:
    """The members of unions, less those of Pants' server for editors."""
    return UnionMembership(
        {
            union: [member for member in members if not member.__module__.startswith(EDITOR_SERVER)]
            for union, members in unions.union_rules.items()
        }
    )


def possible_rules(
    rules: Iterable[TaskRule], queries: Iterable[QueryRule], unions: UnionMembership
) -> tuple[TaskRule, ...]:
    """The rules less those that have a parameter which no rule returns and nobody gives, nor the native engine."""
    rules = tuple(rules)
    given = {each for query in queries for each in query.input_types}
    for rule in rules:
        given.add(rule.output_type)
        for each in (each for get in rule.input_gets for each in get.input_types):
            given.update(unions.get(each) if is_union(each) else (each,))
    possible = tuple(
        rule
        for rule in rules
        if all(each in given or each.__module__.startswith(ENGINE) for each in rule.input_selectors)
    )
    return possible if len(possible) == len(rules) else possible_rules(possible, queries, unions)


def with_folder_of_its_own(initialize: Callable[..., None]) -> Callable[..., None]:
    """`Scheduler.__init__`, whose sandboxes lie in a new folder below the configured one; at exit all goes but kept sandboxes."""

    def initialized(scheduler: Scheduler, *, local_execution_root_dir: str, **others: Any) -> None:
        Path(local_execution_root_dir).mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="pants-", dir=local_execution_root_dir))
        atexit.register(remove_inputs, folder, os.getpid())
        initialize(scheduler, local_execution_root_dir=str(folder), **others)

    return initialized


def remove_inputs(folder: Path, process: int) -> None:
    """Remove the inputs of sandboxes from `folder`, and it if there is nothing else; only in `process`, not in a fork of it."""
    if os.getpid() != process:
        return
    for inputs in folder.glob("immutable_inputs*"):
        for place, _, _ in os.walk(inputs):
            os.chmod(place, 0o700)  # they are made so that nobody writes to them
        shutil.rmtree(inputs, ignore_errors=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


if __name__ == "__main__":
    asked = Asked()
    for owner, name, wrapper in (
        (options_initializer, "create_bootstrap_scheduler", make_later),
        (PluginResolver, "_resolve_plugins", only_where_configured),
        (OptionsInitializer, "options", asked.noting),
        (scheduler, "register_rules", asked.registering_what_is_needed),
        (Scheduler, "__init__", with_folder_of_its_own),
    ):
        setattr(owner, name, wrapper(getattr(owner, name)))
    main()
