"""The locked trees, fetched and unpacked by the project's own scripts.

AUTOCLAVE_TEST_TREES may name a directory that has some of them already: `bubblewrap/`, `python/`, `comgr/`, `tinygrad/`, `tinygrad-0.13/`,
`ziglang/`.
"""

import os
import subprocess
import sys
import venv
from importlib.util import find_spec
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
FETCH = CHECKOUT / "src/autoclave_pants/fetch"
UNAVAILABLE = 3
"""Exit code of debs.py where the packages cannot be had."""


def wheel_tree(name: str, lock: str, place: Path, *dropped: str) -> Path:
    """The tree of locked wheels, in `place`; `lock` is a path in the checkout, `dropped` are patterns of files to leave out."""
    if given := given_tree(name):
        return given
    wheels = place / f"{name}-wheels"
    command = [pip_python(place), FETCH / "wheels.py", "--component", name]
    subprocess.run([*command, "--lock", CHECKOUT / lock, "--python-abi", "cp313", "--output", wheels], check=True)
    return unpacked("wheel", wheels, place / name, *dropped)


def deb_tree(name: str, lock: str, place: Path) -> Path:
    """The tree of locked Debian packages, in `place`; skips where they cannot be had, with the reason."""
    if given := given_tree(name):
        return given
    debs = place / f"{name}-debs"
    command: list[str | Path] = [sys.executable, FETCH / "debs.py", "--component", name]
    result = subprocess.run([*command, "--lock", CHECKOUT / lock, "--output", debs], stderr=subprocess.PIPE, text=True)
    if result.returncode == UNAVAILABLE:
        pytest.skip(result.stderr)
    assert result.returncode == 0, result.stderr
    return unpacked("deb", debs, place / name)


def given_tree(name: str) -> Path | None:
    """The tree of this name that the test's user has already."""
    tree = Path(os.environ.get("AUTOCLAVE_TEST_TREES", "/nonexistent"), name)
    return tree if tree.is_dir() else None


def pip_python(place: Path) -> str:
    """An interpreter that has pip: this one, or a venv's."""
    if find_spec("pip"):
        return sys.executable
    if not (place / "venv").exists():
        venv.create(place / "venv", with_pip=True, symlinks=True)
    return str(place / "venv/bin/python")


def unpacked(kind: str, packages: Path, tree: Path, *dropped: str) -> Path:
    """Unpack fetched packages with the project's script."""
    drops = [word for pattern in dropped for word in ("--drop", pattern)]
    subprocess.run(
        [
            sys.executable,
            FETCH / "unpack.py",
            "--component",
            "test",
            "--kind",
            kind,
            *drops,
            "--output",
            tree,
            packages,
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return tree
