"""The workspace itself: a fresh copy of the checkout lists its targets, and formats are checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Workspace  # pants: no-infer-dep


def test_a_fresh_checkout_lists_its_targets(workspace: Workspace) -> None:
    result = workspace.pants("list", "src/autoclave_pants::")

    assert result.returncode == 0, result.stderr
    assert "src/autoclave_pants/register.py" in result.stdout.splitlines()


def test_an_unknown_target_is_an_error_that_names_it(workspace: Workspace) -> None:
    result = workspace.pants("list", "models:no_such_model")

    assert result.returncode == 1
    assert "no_such_model" in result.stderr
