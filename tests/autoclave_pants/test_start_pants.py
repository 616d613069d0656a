"""The start of Pants: no scheduler is made to find plugins where none are configured, and inputs of sandboxes do not stay."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from bootstrap.start_pants import (
    Later,
    make_later,
    only_where_configured,
    remove_inputs,
    with_folder_of_its_own,
)
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
