"""A copy of the checkout for each end-to-end test, and a way to run its ./pants."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

# Lets tests import from the other folders of tests/ as they do under Pants, whose source root it is.
sys.path.insert(0, str(Path(__file__).parent.parent))

CHECKOUT = Path(__file__).resolve().parents[2]
CONTENTS = (
    ".pants.bootstrap",
    "3rdparty",
    "BUILD",
    "models",
    "pants",
    "pants.ci.toml",
    "pants.toml",
    "pyproject.toml",
    "src",
    "tinygrad_repo",
    "toolchains",
)
IGNORED = shutil.ignore_patterns("__pycache__", ".pants.d", "dist", ".git")


@dataclass(frozen=True)
class Workspace:
    """A checkout of its own, with a store of its own, so that what ran can be counted."""

    root: Path
    store: Path

    def pants(self, *args: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run ./pants without a daemon, as CI does; the caller judges the exit code."""
        return subprocess.run(
            ["./pants", "--pants-config-files=pants.ci.toml", f"--local-store-dir={self.store}", *args],
            cwd=self.root,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
        )


@pytest.fixture(scope="session")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A store that the tests of a module share, so that toolchains are fetched once. Its checkout does not exist."""
    folder = tmp_path_factory.mktemp("warm")
    return Workspace(folder / "checkout", folder / "store")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A fresh copy of the checkout."""
    root = tmp_path / "checkout"
    root.mkdir()
    for name in CONTENTS:
        source = CHECKOUT / name
        if source.is_dir():
            shutil.copytree(source, root / name, ignore=IGNORED)
        elif source.exists():
            shutil.copy2(source, root / name)
    return Workspace(root, tmp_path / "store")


@pytest.fixture
def catalogue(workspace: Workspace, warm: Workspace) -> Workspace:
    """A checkout without models; toolchains come from a store that all tests of this module share."""
    for path in (workspace.root / "models").iterdir():
        if path.name != "prelude.py":
            path.unlink()
    return type(workspace)(workspace.root, warm.store)
