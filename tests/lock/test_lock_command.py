"""`autoclave lock`: what it writes, and what it says."""

import argparse
from pathlib import Path

import pytest

from autoclave.cli import lock
from autoclave.lock.changes import replace_lock
from autoclave.lock.debs import LockedDeb
from autoclave.lock.wheels import LockedRelease, LockedWheel


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    lock.configure(parser)
    return lock.run(parser.parse_args(words))


@pytest.fixture(autouse=True)
def resolvers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Resolve without pip and apt: each requirement is one wheel, each package one deb."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        lock,
        "lock_wheels",
        lambda names, pythons: tuple(
            LockedRelease(name, (LockedWheel(f"{name}.whl", 1, "a" * 64, tuple(pythons)),)) for name in names
        ),
    )
    monkeypatch.setattr(
        lock,
        "lock_debs",
        lambda names, suite, exclude: tuple(
            LockedDeb(n, "1", "all", suite, f"pool/{n}.deb", 1, "b" * 64) for n in names
        ),
    )


def test_a_lock_says_how_to_write_it_anew(tmp_path: Path) -> None:
    run("wheels", "part==1.0", "--output", "locks/part.lock")
    run("debs", "zlib1g", "libc6", "--suite", "trixie", "--exclude", "notes", "--output", str(tmp_path / "python.lock"))

    wheels = (tmp_path / "locks/part.lock").read_text()
    assert "#   autoclave lock wheels part==1.0 --python 3.12 --python 3.13 --output locks/part.lock\n" in wheels
    debs = (tmp_path / "python.lock").read_text()
    assert "#   autoclave lock debs libc6 zlib1g --suite trixie --exclude notes --output python.lock\n" in debs


def test_no_path_of_the_machine_gets_into_a_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    run("wheels", "part==1.0", "--output", str(tmp_path / "part.lock"))

    assert str(tmp_path) not in (tmp_path / "part.lock").read_text()


def test_what_changed_is_shown_and_then_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("wheels", "part==1.0", "--output", "part.lock")
    capsys.readouterr()

    run("wheels", "part==1.1", "--output", "part.lock")
    changed = capsys.readouterr().out
    run("wheels", "part==1.1", "--output", "part.lock")

    assert "-part==1.0 \\\n" in changed
    assert "+part==1.1 \\\n" in changed
    assert capsys.readouterr().out == "part.lock: nothing changed\n"


def test_a_lock_is_replaced_in_one_step_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "part.lock"
    path.write_text("before\n")
    path.chmod(0o664)

    replace_lock(path, "after\n")

    assert path.read_text() == "after\n"
    assert path.stat().st_mode & 0o777 == 0o664
    assert list(tmp_path.iterdir()) == [path]
