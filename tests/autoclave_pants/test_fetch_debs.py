"""Debian packages come as locked, from mirrors or the machine's archive, or an exit code tells why not."""

from __future__ import annotations

import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
from package_files import make_deb, sha256  # pants: no-infer-dep

from autoclave_pants.fetch import debs as module
from autoclave_pants.fetch.debs import FetchError, bases_for, parse_lock

SCRIPT = Path(module.__file__).resolve()
"""Absolute: the first releases of Python 3.9 leave `__file__` relative when the search path is."""
WRONG, UNAVAILABLE = 2, 3
POOL = "pool/main/p/part"


class Archive:
    """A Debian archive on this machine's loopback, and an `apt-get` that is configured for it."""

    def __init__(self, root: Path, port: int) -> None:
        self.root, self.address = root, f"http://127.0.0.1:{port}"
        self.programs = root / "programs"
        self.programs.mkdir(parents=True)
        self.know("debian", "bookworm", "debian", "bookworm-updates", "security", "bookworm-security")

    def know(self, *pairs: str) -> None:
        """Let apt's configuration name these (base, suite) pairs."""
        lines = [
            f"'{self.address}/{base}/dists/{suite}/InRelease' list 0" for base, suite in zip(pairs[::2], pairs[1::2])
        ]
        script = self.programs / "apt-get"
        script.write_text("#!/bin/sh\ncat <<END\n" + "\n".join(lines) + "\nEND\n")
        script.chmod(0o755)

    def add(self, base: str, deb: Path, pool: str = POOL) -> str:
        """Put a package into a base's pool and return its line of a lock."""
        place = self.root / base / pool / deb.name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(deb.read_bytes())
        suite = "trixie-security" if base == "security" else "trixie"
        name, version, architecture = deb.stem.split("_")
        return f"{name} {version} {architecture} {suite} {pool}/{deb.name} {deb.stat().st_size} {sha256(deb)}\n"


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    root = tmp_path / "archive"
    root.mkdir()
    handler = partial(QuietHandler, directory=str(root))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield Archive(root, server.server_address[1])
        server.shutdown()
        thread.join()


def fetch(tmp_path: Path, lock: str, path: Path, mirrors: Sequence[object] = ()) -> subprocess.CompletedProcess[str]:
    """Run the script as the backend does, with `path` before the machine's programs."""
    (tmp_path / "part.lock").write_text(lock)
    options = [word for mirror in mirrors for word in ("--mirror", str(mirror))]
    return subprocess.run(
        [
            sys.executable,
            "-I",
            SCRIPT,
            "--component",
            "python",
            "--lock",
            "part.lock",
            "--output",
            "out",
            *options,
        ],
        cwd=tmp_path,
        env={"PATH": f"{path}:/usr/bin:/bin", "no_proxy": "127.0.0.1"},
        capture_output=True,
        text=True,
    )


def error_of(result: subprocess.CompletedProcess[str], code: int) -> str:
    assert result.returncode == code, result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    return result.stderr.strip().splitlines()[-1]


def test_packages_of_both_archives_come(tmp_path: Path, archive: Archive) -> None:
    plain = make_deb(tmp_path, "part", {"./usr/bin/part": b"1"})
    fixed = make_deb(tmp_path, "libfixed", {"./usr/lib/fixed": b"2"})
    lock = archive.add("debian", plain) + archive.add("security", fixed, "pool/updates/main/libf")

    result = fetch(tmp_path, lock, archive.programs)

    assert result.returncode == 0, result.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "libfixed_1.0_amd64.deb",
        "part_1.0_amd64.deb",
    ]
    assert f"{sha256(plain)} {plain.stat().st_size} part_1.0_amd64.deb" in result.stdout


def test_a_version_with_an_epoch_and_odd_characters(tmp_path: Path, archive: Archive) -> None:
    deb = make_deb(tmp_path, "part", {"./usr/bin/part": b"1"})
    odd = deb.rename(tmp_path / "part_1.3~dfsg+really-1_amd64.deb")
    line = archive.add("debian", odd).replace("part 1.3", "part 1:1.3")

    result = fetch(tmp_path, line, archive.programs)

    assert result.returncode == 0, result.stderr
    assert (tmp_path / "out/part_1%3a1.3~dfsg+really-1_amd64.deb").exists()


def test_a_mirror_needs_no_package_client(tmp_path: Path, archive: Archive) -> None:
    deb = make_deb(tmp_path, "part", {"./usr/bin/part": b"1"})
    lock = archive.add("debian", deb)
    (tmp_path / "mirror").mkdir()
    deb.rename(tmp_path / "mirror" / sha256(deb))
    (archive.programs / "apt-get").write_text("#!/bin/sh\nexit 1\n")

    assert fetch(tmp_path, lock, archive.programs, [tmp_path / "mirror"]).returncode == 0


def test_a_mirror_that_lies_is_an_error(tmp_path: Path, archive: Archive) -> None:
    deb = make_deb(tmp_path, "part", {"./usr/bin/part": b"1"})
    (tmp_path / "mirror").mkdir()
    (tmp_path / "mirror" / sha256(deb)).write_bytes(b"other")

    message = error_of(fetch(tmp_path, archive.add("debian", deb), archive.programs, [tmp_path / "mirror"]), WRONG)

    assert "Remove it from the mirror" in message


def test_a_package_that_the_suite_has_dropped(tmp_path: Path, archive: Archive) -> None:
    deb = make_deb(tmp_path, "part", {"./usr/bin/part": b"1"})
    lock = archive.add("debian", deb)
    (archive.root / "debian" / POOL / deb.name).unlink()

    message = error_of(fetch(tmp_path, lock, archive.programs), UNAVAILABLE)

    assert "component python: part.lock: the suite trixie no longer has part 1.0" in message
    assert "write the lock anew" in message
    assert f"give a mirror that has the file as {sha256(deb)}" in message


def test_a_changed_package_is_never_a_reason_to_fall_back(tmp_path: Path, archive: Archive) -> None:
    deb = make_deb(tmp_path, "part", {"./usr/bin/part": b"1"})
    lock = archive.add("debian", deb)
    place = archive.root / "debian" / POOL / deb.name
    place.write_bytes(place.read_bytes()[:-1] + b"?")

    message = error_of(fetch(tmp_path, lock, archive.programs), WRONG)

    assert f"should have sha256 {sha256(deb)}" in message
    assert not list((tmp_path / "out").glob("*.deb"))


def test_an_archive_that_does_not_answer(tmp_path: Path, archive: Archive) -> None:
    deb = make_deb(tmp_path, "part", {"./usr/bin/part": b"1"})
    lock = archive.add("debian", deb)
    archive.address = "http://127.0.0.1:9"
    archive.know("debian", "bookworm")

    message = error_of(fetch(tmp_path, lock, archive.programs), UNAVAILABLE)

    assert "component python: part 1.0 cannot be downloaded: " in message


def test_a_machine_whose_package_client_knows_no_debian(tmp_path: Path, archive: Archive) -> None:
    lock = archive.add("debian", make_deb(tmp_path, "part", {"./usr/bin/part": b"1"}))
    archive.know("ubuntu", "noble", "ubuntu", "noble-security", "tools", "cloud-sdk-bookworm")

    message = error_of(fetch(tmp_path, lock, archive.programs), UNAVAILABLE)

    assert "this machine's apt names no Debian archive" in message


def test_a_machine_without_a_package_client(tmp_path: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)

    with pytest.raises(module.UnavailableError, match=r"component python: this machine has no Debian package client"):
        module.archive_bases("python")


@pytest.mark.parametrize(("suite", "first"), [("trixie", "a"), ("trixie-security", "b"), ("buster/updates", "b")])
def test_the_likeliest_base_is_asked_first(suite: str, first: str) -> None:
    (deb,) = parse_lock(f"part 1 amd64 {suite} pool/x.deb 1 {'a' * 64}", "a.lock")

    bases = bases_for(deb, [("bookworm-security", "b/"), ("bookworm", "a/"), ("bookworm-updates", "a/")], "python")

    assert (bases[0], sorted(bases)) == (first, ["a", "b"])


def test_security_updates_are_sought_beside_an_archive_that_comes_without() -> None:
    (deb,) = parse_lock(f"part 1 amd64 trixie-security pool/x.deb 1 {'a' * 64}", "a.lock")

    bases = bases_for(deb, [("trixie", "http://archive/debian/"), ("bookworm", "http://other/mirror/")], "python")

    assert bases == ("http://archive/debian-security", "http://archive/debian", "http://other/mirror")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("part 1 amd64 trixie pool/x.deb 1", "a.lock:1: part needs a sha256"),
        ("part 1 amd64 trixie pool/x.deb 1 abc", "a.lock:1: part needs a sha256"),
        (f"part 1 arm64 trixie pool/x.deb 1 {'a' * 64}", "a.lock:1: part is for arm64; the sandbox runs amd64"),
        (f"part 1 amd64 trixie http://example.invalid/x.deb 1 {'a' * 64}", "no path of a package in an archive's pool"),
        (f"part 1 amd64 trixie pool/../../x.deb 1 {'a' * 64}", "no path of a package in an archive's pool"),
        ("part", "expected `package version architecture suite pool-path size sha256`, found `part`"),
        (
            f"part 1 amd64 trixie pool/x.deb 1 {'a' * 64}\npart 2 amd64 trixie pool/y.deb 1 {'b' * 64}",
            "part 2 conflicts with part 1",
        ),
        ("# nothing", "a.lock: names no package"),
    ],
)
def test_a_lock_that_is_none(line: str, message: str) -> None:
    with pytest.raises(FetchError) as error:
        parse_lock(line, "a.lock")

    assert message in str(error.value)
