"""Real servers for end-to-end tests, and checkouts that share them.

Programs come from Debian's packages and from the package index, whatever this machine's own release is; where Debian's
cannot be had, the tests that need them skip, with the reason.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

# Lets tests import from the other folders of tests/ as they do under Pants, whose source root it is.
sys.path.insert(0, str(Path(__file__).parent.parent))

from e2e.workspaces import CHECKOUT
from remote.cache_fixtures import ci, developer, kept  # noqa: F401 (fixtures)
from remote.checkouts import Checkout, new_checkout

from autoclave.servers.buildgrid import BuildGrid, install_buildgrid, start_buildgrid
from autoclave.servers.casd import start_casd
from autoclave.servers.debian import BUILDBOX, ProgramSet, programs
from autoclave.servers.errors import ProgramsUnavailable
from autoclave.servers.farm import Farm, start_farm
from autoclave.servers.postgresql import POSTGRESQL
from autoclave.servers.running import RunningServer

BUILDGRID_PYTHON = "python3.13"
"""What 3rdparty/buildgrid.lock is for."""


def unpacked(wanted: ProgramSet) -> Path:
    """The programs' folder; skips where they cannot be had."""
    try:
        return programs(wanted)
    except ProgramsUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def casd_programs() -> Path:
    """The folder of buildbox' programs."""
    return unpacked(BUILDBOX)


@pytest.fixture(scope="session")
def postgresql_programs() -> Path:
    """The folder of PostgreSQL's programs."""
    return unpacked(POSTGRESQL)


def buildgrid_python() -> str | None:
    """A whole interpreter of that version: the one that ./pants brought, or one on PATH."""
    search = f"{os.environ.get('AUTOCLAVE_PYTHONS', '')}{os.pathsep}{os.environ.get('PATH', '')}"
    for folder in filter(None, search.split(os.pathsep)):
        python = shutil.which(BUILDGRID_PYTHON, path=folder)
        if python and subprocess.run([python, "-c", "import ensurepip, ssl"], capture_output=True).returncode == 0:
            return python
    return None


@pytest.fixture(scope="session")
def bgd() -> Iterator[Path]:
    """BuildGrid's command, installed once for all tests of a run."""
    own = f"python{sys.version_info.major}.{sys.version_info.minor}" == BUILDGRID_PYTHON
    python = sys.executable if own else buildgrid_python()
    if python is None:
        pytest.skip(f"BuildGrid needs {BUILDGRID_PYTHON} with its venv module; none is in AUTOCLAVE_PYTHONS or on PATH")
    with tempfile.TemporaryDirectory(prefix="autoclave-buildgrid-") as folder:
        yield install_buildgrid(python, CHECKOUT / "3rdparty/buildgrid.lock", Path(folder, "venv"))


@pytest.fixture
def casd(casd_programs: Path, tmp_path: Path) -> Iterator[RunningServer]:
    """An empty cache."""
    server = start_casd(tmp_path / "casd", folder=casd_programs)
    yield server
    server.stop()


@pytest.fixture
def execution(casd_programs: Path, tmp_path: Path) -> Iterator[RunningServer]:
    """An empty casd that executes two actions at once, by our runner."""
    server = start_casd(tmp_path / "execution", jobs=2, folder=casd_programs)
    yield server
    server.stop()


@pytest.fixture
def buildgrid(bgd: Path, casd: RunningServer, tmp_path: Path) -> Iterator[BuildGrid]:
    """An empty cache with TLS and rights: subject `ci` writes, `dev` reads."""
    server = start_buildgrid(bgd, tmp_path / "buildgrid", casd)
    yield server
    server.server.stop()


@pytest.fixture
def farm(bgd: Path, casd: RunningServer, postgresql_programs: Path, tmp_path: Path) -> Iterator[Farm]:
    """An empty farm with two workers."""
    # PostgreSQL, which does not run as root, must be able to enter its folder; pytest's are closed to others.
    with tempfile.TemporaryDirectory(prefix="autoclave-queue-") as place:
        Path(place).chmod(0o755)
        farm = start_farm(bgd, tmp_path / "farm", Path(place, "postgresql"), casd)
        yield farm
        farm.stop()


@pytest.fixture
def checkout(tmp_path: Path) -> Callable[..., Checkout]:
    """Makes checkouts with an empty catalogue: `checkout(NAME)` lies in a folder of its own and has an empty store.

    `store=` names another's, `models=True` keeps the catalogue.
    """

    def make(name: str = "checkout", store: Path | None = None, models: bool = False) -> Checkout:
        return new_checkout(tmp_path / name, store or tmp_path / f"{name}-store", models)

    return make
