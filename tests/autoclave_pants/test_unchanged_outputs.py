from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Callable

import pytest

from autoclave_pants import unchanged_outputs
from autoclave_pants.unchanged_outputs import written_once

FOLDER = "models/sample"


class Checkout:
    """A checkout whose `write` replaces a folder of dist with one file, whose content is the digest, as the engine would."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.writes: list[str] = []
        self.write = written_once(self._write)

    @property
    def file(self) -> Path:
        return self.root / "dist" / FOLDER / "cpu" / "artifact.pkl"

    def package(self, digest: str) -> None:
        self.write(None, digest, path_prefix="dist", clear_paths=[FOLDER])

    def _write(self, session: Any, digest: str, *, path_prefix: str, clear_paths: list[str]) -> None:
        self.writes.append(digest)
        for path in clear_paths:
            shutil.rmtree(self.root / path_prefix / path, ignore_errors=True)
        self.file.parent.mkdir(parents=True)
        self.file.write_text(digest)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    monkeypatch.setattr(unchanged_outputs, "get_buildroot", lambda: str(tmp_path))
    return Checkout(tmp_path)


def test_the_same_outputs_are_written_once(checkout: Checkout) -> None:
    checkout.package("a")
    checkout.package("a")

    assert checkout.writes == ["a"]


def test_other_outputs_are_written(checkout: Checkout) -> None:
    for digest in ("a", "b", "a"):
        checkout.package(digest)

    assert checkout.writes == ["a", "b", "a"]
    assert checkout.file.read_text() == "a"


def delete_file(checkout: Checkout) -> None:
    checkout.file.unlink()


def delete_folder(checkout: Checkout) -> None:
    shutil.rmtree(checkout.root / "dist")


def change_file(checkout: Checkout) -> None:
    checkout.file.write_text("z")


def change_mode(checkout: Checkout) -> None:
    checkout.file.chmod(0o600)


def replace_file_by_link(checkout: Checkout) -> None:
    checkout.file.unlink()
    checkout.file.symlink_to("/dev/null")


def add_file(checkout: Checkout) -> None:
    checkout.file.with_name("surplus").write_text("")


@pytest.mark.parametrize(
    "touch", [delete_file, delete_folder, change_file, change_mode, replace_file_by_link, add_file]
)
def test_outputs_that_were_touched_are_written_again(checkout: Checkout, touch: Callable[[Checkout], None]) -> None:
    checkout.package("a")
    touch(checkout)

    checkout.package("a")

    assert checkout.writes == ["a", "a"]
    assert checkout.file.read_text() == "a"


def test_a_write_that_failed_is_repeated(checkout: Checkout) -> None:
    checkout.package("a")

    def fail(*arguments: Any, **options: Any) -> None:
        raise OSError("disk full")

    failing = written_once(fail)
    for _ in range(2):
        with pytest.raises(OSError, match="disk full"):
            failing(None, "a", path_prefix="dist", clear_paths=[FOLDER])


def test_a_write_that_names_no_paths_is_always_done(checkout: Checkout) -> None:
    calls: list[object] = []
    write = written_once(lambda session, digest, **options: calls.append(digest))

    for _ in range(2):
        write(None, "a", path_prefix="dist")

    assert calls == ["a", "a"]
