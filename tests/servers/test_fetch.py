"""The command that fetches programs before they are needed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from servers.small_archive import SmallArchive

from autoclave.servers import fetch
from autoclave.servers.debian import ProgramSet

pytestmark = pytest.mark.skipif(shutil.which("apt-get") is None, reason="this machine has no Debian package client")


@pytest.fixture(autouse=True)
def greeter(archive: SmallArchive, monkeypatch: pytest.MonkeyPatch) -> None:
    archive.add_shell()
    monkeypatch.setitem(fetch.SETS, "greeter", ProgramSet("greeter", ("greeter",), ("usr/bin/greeter",)))


def test_it_prints_the_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert fetch.main(["greeter"]) == 0
    printed, said = capsys.readouterr()
    assert (Path(printed.strip()) / "usr/bin/greeter").exists()
    assert "reading the package indexes of Debian forky" in said


def test_what_cannot_be_had_is_exit_code_3(archive: SmallArchive, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(archive.root)
    assert fetch.main(["greeter"]) == 3
    assert "error: greeter of Debian forky cannot be had on this machine" in capsys.readouterr().err


def test_other_errors_are_exit_code_2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(fetch.SETS, "waver", ProgramSet("waver", ("greeter",), ("usr/bin/waver",)))
    assert fetch.main(["waver"]) == 2
    assert "error: the packages of waver have no usr/bin/waver" in capsys.readouterr().err


def test_the_real_sets_have_a_name_each() -> None:
    assert {"buildbox", "postgresql"} <= fetch.SETS.keys()
