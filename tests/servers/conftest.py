"""Servers' programs from a Debian archive of the test's own, and whether the real archive can be had."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

# Lets tests import from the other folders of tests/ as they do under Pants, whose source root it is.
sys.path.insert(0, str(Path(__file__).parent.parent))

from servers.small_archive import SmallArchive

from autoclave.lock import debs
from autoclave.servers.debian import BUILDBOX, programs
from autoclave.servers.errors import ProgramsUnavailable


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SmallArchive:
    """An archive in a folder, which apt is made to take although nobody signed it; the user's cache is empty."""
    small = SmallArchive(tmp_path / "archive")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(debs, "debian_archives", lambda: debs.Archives(f"file:{small.root}", None))
    monkeypatch.setattr(debs, "_keyring", lambda: Path("/nowhere"))
    plain = debs.sources
    monkeypatch.setattr(
        debs, "sources", lambda *arguments: plain(*arguments).replace("signed-by=/nowhere", "trusted=yes")
    )
    return small


@pytest.fixture(scope="session")
def casd_programs() -> Path:
    """The folder of buildbox' programs, from Debian's archive or this user's cache."""
    try:
        return programs(BUILDBOX)
    except ProgramsUnavailable as error:
        pytest.skip(str(error))
