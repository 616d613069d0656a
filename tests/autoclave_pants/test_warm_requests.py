from __future__ import annotations

import inspect

from pants.build_graph.build_configuration import BuildConfiguration
from pants.init import extension_loader, options_initializer
from pkg_resources import WorkingSet

from autoclave_pants.warm_requests import kept, load_backends_once

BACKENDS = ["pants.backend.python", "autoclave_pants"]


def load(backends: list[str], entries: list[str] | None = None) -> BuildConfiguration:
    return options_initializer.load_backends_and_plugins([], WorkingSet(entries or []), backends)


def test_a_second_request_gets_the_configuration_that_the_first_one_loaded() -> None:
    load_backends_once()

    assert load(BACKENDS) is load(list(BACKENDS))


def test_the_kept_configuration_is_the_one_that_pants_loads() -> None:
    load_backends_once()

    fresh = extension_loader.load_backends_and_plugins([], WorkingSet([]), BACKENDS)

    assert load(BACKENDS) == fresh


def test_other_backends_are_another_configuration() -> None:
    load_backends_once()

    assert load(BACKENDS) != load(["pants.backend.python"])


def test_plugins_in_other_places_are_loaded_anew() -> None:
    calls: list[list[str]] = []
    keeping = kept(lambda plugins, working_set, backends: calls.append(plugins))

    for entries in ([], ["elsewhere"], []):
        keeping(["plugin"], WorkingSet(entries), BACKENDS)

    assert len(calls) == 2


def test_loading_once_twice_wraps_once() -> None:
    load_backends_once()
    load_backends_once()

    loader = options_initializer.load_backends_and_plugins
    assert inspect.unwrap(loader) is extension_loader.load_backends_and_plugins
    assert not hasattr(loader.__wrapped__, "__wrapped__")
