"""The start of Pants: a scheduler that finds plugins is made only where plugins are configured."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from bootstrap.start_pants import Later, make_later, only_where_configured
from pants.init.plugin_resolver import PluginResolver
from pants.option.options_bootstrapper import OptionsBootstrapper


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
