from __future__ import annotations

import inspect
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from pants.build_graph.build_configuration import BuildConfiguration
from pants.init import extension_loader, options_initializer
from pants.option.errors import ConfigValidationError
from pkg_resources import WorkingSet

from autoclave_pants.warm_requests import loaded_once, verified_once, warm_requests

BACKENDS = ["pants.backend.python", "autoclave_pants"]


def load(backends: list[str], entries: list[str] | None = None) -> BuildConfiguration:
    return options_initializer.load_backends_and_plugins([], WorkingSet(entries or []), backends)


def test_a_second_request_gets_the_configuration_that_the_first_one_loaded() -> None:
    warm_requests()

    assert load(BACKENDS) is load(list(BACKENDS))


def test_the_kept_configuration_is_the_one_that_pants_loads() -> None:
    warm_requests()

    fresh = extension_loader.load_backends_and_plugins([], WorkingSet([]), BACKENDS)

    assert load(BACKENDS) == fresh


def test_other_backends_are_another_configuration() -> None:
    warm_requests()

    assert load(BACKENDS) != load(["pants.backend.python"])


def test_plugins_in_other_places_are_loaded_anew() -> None:
    calls: list[list[str]] = []
    keeping = loaded_once(lambda plugins, working_set, backends: calls.append(plugins))

    for entries in ([], ["elsewhere"], []):
        keeping(["plugin"], WorkingSet(entries), BACKENDS)

    assert len(calls) == 2


def test_loading_once_twice_wraps_once() -> None:
    warm_requests()
    warm_requests()

    loader = options_initializer.load_backends_and_plugins
    assert inspect.unwrap(loader) is extension_loader.load_backends_and_plugins
    assert not hasattr(loader.__wrapped__, "__wrapped__")


@dataclass(frozen=True)
class ConfigFile:
    path: str
    section_to_values: dict[str, dict[str, str]]


class KnownScopes:
    known_scope_to_info = {"": None, "test": None}


def configuration(**options: str) -> Any:
    return SimpleNamespace(values=(ConfigFile("pants.toml", {"test": dict(options)}),))


def test_a_configuration_file_is_verified_again_only_when_its_content_changes() -> None:
    verified: list[object] = []
    skipping = verified_once(lambda options, config: verified.append(config))
    scopes: Any = KnownScopes()

    for content in ({"force": "a"}, {"force": "a"}, {"force": "b"}, {"force": "a"}):
        skipping(scopes, configuration(**content))

    assert len(verified) == 3


def test_a_configuration_file_that_was_found_bad_is_verified_again() -> None:
    verdicts: list[str] = []

    def refuse(options: Any, config: Any) -> None:
        verdicts.append("bad")
        raise ConfigValidationError("unknown option")

    skipping = verified_once(refuse)
    scopes: Any = KnownScopes()

    for _ in range(2):
        with pytest.raises(ConfigValidationError):
            skipping(scopes, configuration(forse="a"))

    assert verdicts == ["bad", "bad"]
