from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from pants.engine.env_vars import CompleteEnvironmentVars
from pants.init import options_initializer
from pants.init.options_initializer import OptionsInitializer
from pants.option.errors import ConfigValidationError
from pants.option.options_bootstrapper import OptionsBootstrapper

from autoclave_pants.warm_requests import loaded_once, verified_once, warm_requests


def request(*backends: str, plugins: tuple[str, ...] = (), pythonpath: tuple[str, ...] = ()) -> Any:
    """What Pants knows of a request when it loads the backends."""
    chosen = SimpleNamespace(plugins=plugins, backend_packages=backends, pythonpath=pythonpath)
    return SimpleNamespace(get_bootstrap_options=lambda: SimpleNamespace(for_global_scope=lambda: chosen))


class Loading:
    """Counts how often it is asked; each answer is another."""

    def __init__(self) -> None:
        self.count = 0
        self.kept = loaded_once(self.load)

    def load(self, resolver: Any, options: Any, env: Any) -> int:
        self.count += 1
        return self.count

    def ask(self, options: Any) -> int:
        answer: int = self.kept(None, options, None)
        return answer


def test_a_second_request_gets_the_configuration_that_the_first_one_loaded() -> None:
    loading = Loading()

    assert loading.ask(request("python", "autoclave")) == loading.ask(request("python", "autoclave")) == 1


@pytest.mark.parametrize("other", [request("python"), request("python", "autoclave", pythonpath=("elsewhere",))])
def test_other_backends_are_another_configuration(other: Any) -> None:
    loading = Loading()

    assert loading.ask(request("python", "autoclave")) != loading.ask(other)


def test_plugins_are_looked_for_at_each_request() -> None:
    loading = Loading()

    assert loading.ask(request("python", plugins=("third==1",))) != loading.ask(
        request("python", plugins=("third==1",))
    )


def test_warming_twice_wraps_once() -> None:
    warm_requests()
    warm_requests()

    loader = vars(options_initializer)["_initialize_build_configuration"]
    assert not hasattr(loader.__wrapped__, "__wrapped__")


def test_pants_gives_the_kept_configuration_to_its_requests() -> None:
    warm_requests()
    bootstrapper = OptionsBootstrapper.create(
        env={}, args=["pants", "--backend-packages=['autoclave_pants']"], allow_pantsrc=False
    )
    initializer = OptionsInitializer.__new__(OptionsInitializer)
    initializer._plugin_resolver = NoPlugins()  # type: ignore[assignment]

    first, second = (initializer.build_config(bootstrapper, CompleteEnvironmentVars({})) for _ in range(2))

    assert first is second
    assert any(target.alias == "onnx_model" for target in first.target_types)


class NoPlugins:
    def resolve(self, options: Any, env: Any) -> None:
        """The set of installed plugins, which nobody asks where none are configured."""


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
