"""`./pants affected` against what a build then really runs, in a git repository, through the real ./pants."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from e2e.catalogue_models import declare, started, succeeded, tiny_model

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Workspace  # pants: no-infer-dep


def git(root: Path, *arguments: str) -> None:
    identity = {f"GIT_{role}_{what}": "test" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {**os.environ, **identity, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *arguments], cwd=root, env=environment, check=True, capture_output=True)


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "-q", "-m", "A change")


def edit(root: Path, path: str, old: str, new: str) -> None:
    text = (root / path).read_text()
    assert old in text
    (root / path).write_text(text.replace(old, new, 1))


@pytest.fixture
def repository(catalogue: Workspace) -> Workspace:
    """A committed catalogue of two models."""
    declare(catalogue, "one", tiny_model(seed=31), hardware=("cpu", "qcom"))
    declare(catalogue, "two", tiny_model(seed=32), hardware=("cpu",))
    (catalogue.root / "README.md").write_text("Read me.\n")
    (catalogue.root / ".gitignore").write_text("/dist/\n/.pants.d/\n__pycache__/\n")
    git(catalogue.root, "init", "-q")
    commit(catalogue.root)
    return catalogue


def compared(workspace: Workspace) -> tuple[set[str], set[str]]:
    """The models that `affected` names: those whose artifacts a build runs for, and those whose checks alone."""
    found = json.loads(succeeded(workspace.pants("affected", "--since=HEAD", "--json")).stdout)["include"]
    artifacts = {each["model"] for each in found if each["artifact"]}
    return artifacts, {each["model"] for each in found} - artifacts


def built(workspace: Workspace) -> tuple[set[str], set[str]]:
    """The models that a build compiles, and those that it only records anew. What it did is committed."""
    result = succeeded(workspace.pants("package", "models::"))
    commit(workspace.root)
    compiled = set(started(result, "Compile"))
    return compiled, set(started(result, "Record")) - compiled


ONE = {"models:one@hardware=cpu", "models:one@hardware=qcom"}


def test_affected_names_what_a_build_then_compiles_and_records(repository: Workspace) -> None:
    root = repository.root
    succeeded(repository.pants("package", "models::"))
    edit(root, "README.md", "Read", "Do read")
    edit(root, "models/BUILD.one", "onnx_file", "# A comment.\nonnx_file")
    edit(root, "src/autoclave/emulator/a630/decoder.py", '"""', '"""Edited. ')
    (root / "models/two.onnx").write_bytes(tiny_model(seed=33))
    assert compared(repository) == ({"models:two"}, {"models:one@hardware=qcom"})
    assert built(repository) == ({"models:two"}, {"models:one@hardware=qcom"})

    edit(root, "src/autoclave/compiler/lowering.py", '"""', '"""Edited. ')
    assert compared(repository) == ({*ONE, "models:two"}, set())
    assert built(repository) == ({*ONE, "models:two"}, set())


def test_without_a_forecast_of_the_other_revision_every_model_is_affected(repository: Workspace) -> None:
    """A catalogue adopts this with a commit whose parent knows nothing of it."""
    git(repository.root, "rm", "-q", "-r", "--cached", "src/autoclave_pants/forecast")
    git(repository.root, "commit", "-q", "-m", "Before")
    result = succeeded(repository.pants("affected", "--since=HEAD", "--list=artifacts"))
    assert set(result.stdout.split()) == {*ONE, "models:two"}
    assert "every model counts as affected" in result.stderr
    assert "autoclave_pants.forecast" in result.stderr


def test_a_revision_that_does_not_exist_is_an_error(repository: Workspace) -> None:
    result = repository.pants("affected", "--since=no-such-branch")
    assert result.returncode == 1
    assert "'no-such-branch' names no commit" in result.stderr
    assert "Traceback" not in result.stderr
