"""Real trees and a real bubblewrap: the locked ones, fetched once a session by the project's own fetch scripts."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandbox.launched_action import USERS, Action, deb_options, host_options, make_action
from sandbox.locked_trees import deb_tree, wheel_tree


@pytest.fixture(scope="session")
def place() -> Iterator[Path]:
    """A directory that every user of the machine can enter."""
    directory = Path(tempfile.mkdtemp(prefix="autoclave-sandbox-", dir="/tmp"))
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def bubblewrap(place: Path) -> Path:
    """The tree of the locked bubblewrap."""
    return wheel_tree("bubblewrap", "toolchains/bubblewrap.lock", place)


@pytest.fixture(scope="session")
def tinygrad(place: Path) -> Path:
    """The tree of the locked tinygrad."""
    return wheel_tree("tinygrad", "tinygrad_repo/tinygrad-0.14.0.lock", place)


@pytest.fixture(scope="session")
def deb_python(place: Path) -> Path:
    """The root file system of the locked Debian Python 3.13."""
    return deb_tree("python", "toolchains/python-3.13.lock", place)


@pytest.fixture(scope="session")
def comgr(place: Path) -> Path:
    """The tree of the locked comgr, with the libraries and the loader that it needs."""
    return deb_tree("comgr", "toolchains/comgr-7.0.2.lock", place)


@pytest.fixture(scope="session")
def host_python(place: Path) -> Path:
    """An interpreter of this machine: a copy of the one that runs the tests, where every user can read it."""
    version = f"python3.{sys.version_info.minor}"
    library = Path(os.path.realpath(os.__file__)).parent
    copy = place / "prefix"
    shutil.copytree(
        library,
        copy / library.relative_to(library.parents[1]),
        ignore=shutil.ignore_patterns("site-packages", "dist-packages", "test", "config-*", "idlelib", "ensurepip"),
        ignore_dangling_symlinks=True,
    )
    (copy / library.relative_to(library.parents[1]) / "site-packages").mkdir()
    (copy / library.relative_to(library.parents[1]) / "site-packages/undeclared.py").touch()
    (copy / "bin").mkdir()
    shutil.copy2(os.path.realpath(sys.executable), copy / "bin" / version)
    for shared in library.parent.glob("libpython3.*.so*"):
        shutil.copy2(shared, copy / library.parent.name)
    return copy / "bin" / version


@pytest.fixture(params=list(USERS.values()), ids=list(USERS))
def user(request: pytest.FixtureRequest) -> int:
    """As whom the launcher runs; root and an ordinary user when root runs the tests, who may become both."""
    uid: int = request.param
    return uid


@pytest.fixture(params=["deb", "host"])
def python(request: pytest.FixtureRequest) -> list[str]:
    """The launcher's options for each kind of interpreter."""
    if request.param == "deb":
        return deb_options(request.getfixturevalue("deb_python"))
    return host_options(request.getfixturevalue("host_python"))


@pytest.fixture
def home(place: Path, user: int) -> Iterator[Path]:
    """An empty directory for one test, owned by the test's user."""
    directory = Path(tempfile.mkdtemp(dir=place))
    directory.chmod(0o755)
    os.chown(directory, user, user)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def action(home: Path, user: int, bubblewrap: Path, python: list[str]) -> Action:
    """An action under bubblewrap, for each user and kind of interpreter."""
    return make_action(home / "action", ["--bwrap", str(bubblewrap), *python], user)


@pytest.fixture
def deb_action(home: Path, user: int, bubblewrap: Path, deb_python: Path) -> Action:
    """An action under bubblewrap with the Debian interpreter."""
    return make_action(home / "action", ["--bwrap", str(bubblewrap), *deb_options(deb_python)], user)


@pytest.fixture
def host_action(home: Path, user: int, bubblewrap: Path, host_python: Path) -> Action:
    """An action under bubblewrap with an interpreter of this machine."""
    return make_action(home / "action", ["--bwrap", str(bubblewrap), *host_options(host_python)], user)
