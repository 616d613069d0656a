"""Copies of the checkout, and a way to run their ./pants."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
CONTENTS = (
    ".pants.bootstrap",
    "3rdparty",
    "BUILD",
    "models",
    "pants",
    "pants.ci.toml",
    "pants.execution.toml",
    "pants.remote.toml",
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
        with temporary_files_gone({**os.environ, **(env or {})}) as variables:
            return subprocess.run(
                ["./pants", "--pants-config-files=pants.ci.toml", f"--local-store-dir={self.store}", *args],
                cwd=self.root,
                env=variables,
                capture_output=True,
                text=True,
            )


@contextmanager
def temporary_files_gone(variables: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """`variables` with a folder of its own for temporary files: Pants leaves there what its sandboxes had as inputs."""
    with tempfile.TemporaryDirectory(prefix="autoclave-pants-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o1777)
        yield {**variables, "TMPDIR": folder}


def copy_checkout(place: Path, store: Path) -> Workspace:
    """A fresh copy of the checkout in the new folder `place`."""
    place.mkdir(parents=True)
    for name in CONTENTS:
        source = CHECKOUT / name
        if source.is_dir():
            shutil.copytree(source, place / name, ignore=IGNORED)
        elif source.exists():
            shutil.copy2(source, place / name)
    return Workspace(place, store)


def without_models(workspace: Workspace) -> Workspace:
    """The same checkout with an empty catalogue."""
    for path in (workspace.root / "models").iterdir():
        if path.name != "prelude.py":
            path.unlink()
    return workspace
