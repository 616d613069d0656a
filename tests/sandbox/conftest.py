"""Real trees and a real bubblewrap: the locked ones, fetched once a session by the project's own fetch scripts.

AUTOCLAVE_TEST_TREES may name a directory that has some of them already: `bubblewrap/`, `python/`, `comgr/`, `tinygrad/`.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from sandbox.launched_action import USERS, Action, deb_options, host_options, make_action

CHECKOUT = Path(__file__).resolve().parents[2]
FETCH = CHECKOUT / "src/autoclave_pants/fetch"
LOCKS = CHECKOUT / "toolchains"

UNAVAILABLE = 3


@pytest.fixture(scope="session")
def place() -> Iterator[Path]:
    """A directory that every user of the machine can enter."""
    directory = Path(tempfile.mkdtemp(prefix="autoclave-sandbox-", dir="/tmp"))
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture(scope="session")
def pip_python(place: Path) -> str:
    """An interpreter that has pip: this one, or a venv's."""
    if find_spec("pip"):
        return sys.executable
    venv.create(place / "venv", with_pip=True, symlinks=True)
    return str(place / "venv/bin/python")


def unpacked(kind: str, packages: Path, tree: Path) -> Path:
    """Unpack fetched packages with the project's script."""
    subprocess.run(
        [sys.executable, FETCH / "unpack.py", "--component", "test", "--kind", kind, "--output", tree, packages],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return tree


def given_tree(name: str) -> Path | None:
    """The tree of this name that the test's user has already."""
    tree = Path(os.environ.get("AUTOCLAVE_TEST_TREES", "/nonexistent"), name)
    return tree if tree.is_dir() else None


def wheel_tree(name: str, lock: Path, place: Path, request: pytest.FixtureRequest) -> Path:
    """The tree of locked wheels."""
    if given := given_tree(name):
        return given
    wheels = place / f"{name}-wheels"
    command = [request.getfixturevalue("pip_python"), FETCH / "wheels.py", "--component", name]
    subprocess.run([*command, "--lock", lock, "--python-abi", "cp313", "--output", wheels], check=True)
    return unpacked("wheel", wheels, place / name)


def deb_tree(name: str, lock: Path, place: Path) -> Path:
    """The tree of locked Debian packages; skips where they cannot be had, with the reason."""
    if given := given_tree(name):
        return given
    debs = place / f"{name}-debs"
    command: list[str | Path] = [sys.executable, FETCH / "debs.py", "--component", name]
    result = subprocess.run([*command, "--lock", lock, "--output", debs], stderr=subprocess.PIPE, text=True)
    if result.returncode == UNAVAILABLE:
        pytest.skip(result.stderr)
    assert result.returncode == 0, result.stderr
    return unpacked("deb", debs, place / name)


@pytest.fixture(scope="session")
def bubblewrap(place: Path, request: pytest.FixtureRequest) -> Path:
    """The tree of the locked bubblewrap."""
    return wheel_tree("bubblewrap", LOCKS / "bubblewrap.lock", place, request)


@pytest.fixture(scope="session")
def tinygrad(place: Path, request: pytest.FixtureRequest) -> Path:
    """The tree of the locked tinygrad."""
    return wheel_tree("tinygrad", CHECKOUT / "tinygrad_repo/tinygrad-0.14.0.lock", place, request)


@pytest.fixture(scope="session")
def deb_python(place: Path) -> Path:
    """The root file system of the locked Debian Python 3.13."""
    return deb_tree("python", LOCKS / "python-3.13.lock", place)


@pytest.fixture(scope="session")
def comgr(place: Path) -> Path:
    """The tree of the locked comgr, with the libraries and the loader that it needs."""
    return deb_tree("comgr", LOCKS / "comgr-7.0.2.lock", place)


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
