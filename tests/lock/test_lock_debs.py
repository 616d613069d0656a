"""Locks of Debian packages, resolved by a real apt from an archive in a directory."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from autoclave.errors import ToolchainError
from autoclave.lock import debs
from autoclave.lock.debs import Archives, LockedDeb, PrivateApt, debian_archives, lock_debs, render_deb_lock, sources

needs_apt = pytest.mark.skipif(shutil.which("apt-get") is None, reason="this machine has no Debian package client")

PACKAGES = """\
Package: python-part
Version: 3.13.5-2+deb13u5
Architecture: amd64
Depends: libpart1 (>= 1.2), notes
Recommends: extras
Filename: pool/main/p/part/python-part_3.13.5-2+deb13u5_amd64.deb
Size: 100
SHA256: {a}
Description: an interpreter

Package: libpart1
Version: 1:1.2~rc1-1
Architecture: amd64
Filename: pool/main/p/part/libpart1_1.2~rc1-1_amd64.deb
Size: 200
SHA256: {b}
Description: its library

Package: notes
Version: 5
Architecture: all
Filename: pool/main/n/notes/notes_5_all.deb
Size: 300
SHA256: {c}
Description: what nobody needs

Package: extras
Version: 1
Architecture: all
Filename: pool/main/e/extras/extras_1_all.deb
Size: 400
SHA256: {a}
Description: what is only recommended
"""

SECURITY = """\
Package: libpart1
Version: 1:1.2-1
Architecture: amd64
Filename: pool/updates/main/p/part/libpart1_1.2-1_amd64.deb
Size: 201
SHA256: {d}
Description: its library, mended
"""
HASHES = {letter: letter * 64 for letter in "abcd"}


def add_suite(base: Path, suite: str, packages: str) -> None:
    folder = base / "dists" / suite / "main/binary-amd64"
    folder.mkdir(parents=True)
    text = packages.format(**HASHES).encode()
    (folder / "Packages").write_bytes(text)
    digest = hashlib.sha256(text).hexdigest()
    release = f"Suite: {suite}\nCodename: {suite}\nArchitectures: amd64\nComponents: main\nDate: Mon, 30 Nov 2026 00:00:00 UTC\n"
    release += f"SHA256:\n {digest} {len(text)} main/binary-amd64/Packages\n"
    (base / "dists" / suite / "Release").write_text(release)


@pytest.fixture
def archives(tmp_path: Path) -> Archives:
    add_suite(tmp_path / "main", "trixie", PACKAGES)
    add_suite(tmp_path / "main", "trixie-updates", "")
    add_suite(tmp_path / "security", "trixie-security", SECURITY)
    return Archives(f"file:{tmp_path}/main", f"file:{tmp_path}/security")


@pytest.fixture
def trusted(archives: Archives, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lock from the archives of the test, which nobody has signed."""
    monkeypatch.setattr(debs, "debian_archives", lambda: archives)
    monkeypatch.setattr(debs, "_keyring", lambda: Path("/nowhere"))
    plain = sources
    monkeypatch.setattr(
        debs, "sources", lambda *arguments: plain(*arguments).replace("signed-by=/nowhere", "trusted=yes")
    )


PYTHON_PART = LockedDeb(
    "python-part",
    "3.13.5-2+deb13u5",
    "amd64",
    "trixie",
    "pool/main/p/part/python-part_3.13.5-2+deb13u5_amd64.deb",
    100,
    "a" * 64,
)
MENDED = LockedDeb(
    "libpart1",
    "1:1.2-1",
    "amd64",
    "trixie-security",
    "pool/updates/main/p/part/libpart1_1.2-1_amd64.deb",
    201,
    "d" * 64,
)
NOTES = LockedDeb("notes", "5", "all", "trixie", "pool/main/n/notes/notes_5_all.deb", 300, "c" * 64)


@needs_apt
@pytest.mark.usefixtures("trusted")
def test_a_package_comes_with_what_it_depends_on_mended_by_the_security_suite() -> None:
    assert lock_debs(["python-part"], "trixie") == (MENDED, NOTES, PYTHON_PART)


@needs_apt
@pytest.mark.usefixtures("trusted")
def test_dependencies_can_be_left_out() -> None:
    assert lock_debs(["python-part"], "trixie", ["notes"]) == (MENDED, PYTHON_PART)


@needs_apt
@pytest.mark.usefixtures("trusted")
def test_leaving_out_what_nothing_needs_is_an_error() -> None:
    with pytest.raises(ToolchainError, match="nothing depends on extras; remove that --exclude"):
        lock_debs(["python-part"], "trixie", ["extras"])


@needs_apt
@pytest.mark.usefixtures("trusted")
def test_an_unknown_package_is_named() -> None:
    with pytest.raises(
        ToolchainError, match="(?s)could not resolve pyton-part in trixie.*Unable to locate package pyton-part"
    ):
        lock_debs(["pyton-part"], "trixie")


@needs_apt
def test_an_archive_without_a_signature_is_refused(archives: Archives, tmp_path: Path) -> None:
    keyring = tmp_path / "keyring.gpg"
    keyring.touch()
    (tmp_path / "state").mkdir()

    with pytest.raises(ToolchainError, match="(?s)could not fetch the indexes of trixie.*not signed"):
        PrivateApt(tmp_path / "state", sources("trixie", archives, keyring)).update("trixie")


def machine_says(monkeypatch: pytest.MonkeyPatch, folder: Path, *settings: str) -> None:
    """Give this machine's apt a configuration of these lines alone."""
    configuration = folder / "machine.conf"
    nowhere = f'Dir::Etc::main "{folder}/none"; Dir::Etc::parts "{folder}/none";'
    configuration.write_text("\n".join([nowhere, *settings]))
    monkeypatch.setenv("APT_CONFIG", str(configuration))


@needs_apt
@pytest.mark.usefixtures("trusted")
def test_an_archive_past_its_date_is_refused_unless_the_machine_takes_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for release in tmp_path.glob("*/dists/*/Release"):
        release.write_text(
            release.read_text().replace("SHA256:", "Valid-Until: Tue, 01 Dec 2020 00:00:00 UTC\nSHA256:")
        )

    machine_says(monkeypatch, tmp_path)
    with pytest.raises(ToolchainError, match="(?s)could not fetch the indexes of trixie.*expired"):
        lock_debs(["python-part"], "trixie")

    machine_says(monkeypatch, tmp_path, 'Acquire::Check-Valid-Until "false";')
    assert PYTHON_PART in lock_debs(["python-part"], "trixie")


@needs_apt
def test_the_machines_proxies_hold_and_the_rest_of_its_configuration_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine_says(
        monkeypatch,
        tmp_path,
        'Acquire::http::Proxy "http://near.invalid:3128"; Acquire::Retries "4";',
        'Acquire::AllowInsecureRepositories "true"; Dir::State "/elsewhere"; APT::Architecture "s390x";',
    )

    assert sorted(debs.carried_settings().splitlines()) == [
        'Acquire::Retries "4";',
        'Acquire::http::Proxy "http://near.invalid:3128";',
    ]


@needs_apt
@pytest.mark.usefixtures("trusted")
def test_an_unknown_suite_is_refused() -> None:
    with pytest.raises(ToolchainError, match="could not fetch the indexes of bookwrm"):
        lock_debs(["python-part"], "bookwrm")


@pytest.mark.parametrize(
    ("packages", "suite", "message"),
    [
        (["-oDir=/"], "trixie", "`-oDir=/`: that is no name of a Debian package"),
        (["libc6=2.41"], "trixie", "no name of a Debian package"),
        (["libc6"], "trixie main", "no name of a Debian suite"),
        (["libc6"], "../trixie", "no name of a Debian suite"),
    ],
)
def test_names_are_checked_before_apt_sees_them(packages: list[str], suite: str, message: str) -> None:
    with pytest.raises(ToolchainError, match=message):
        lock_debs(packages, suite)


def apt_says(monkeypatch: pytest.MonkeyPatch, *places: str) -> None:
    text = "".join(f"'{place}/InRelease' some_InRelease 0 \n" for place in places)
    result = subprocess.CompletedProcess([], 0, text, "")
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **options: result)


def test_the_archives_are_those_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    apt_says(
        monkeypatch,
        "https://tools.invalid/apt/dists/node_20.x",
        "https://near.invalid/debian-security/dists/bookworm-security",
        "https://near.invalid/debian/dists/bookworm-updates",
        "https://near.invalid/debian/dists/bookworm",
    )

    assert debian_archives() == Archives("https://near.invalid/debian", "https://near.invalid/debian-security")


def test_a_machine_that_is_not_debian(monkeypatch: pytest.MonkeyPatch) -> None:
    apt_says(monkeypatch, "https://near.invalid/ubuntu/dists/noble")

    with pytest.raises(ToolchainError, match="name no Debian archive"):
        debian_archives()


def test_the_text_of_a_lock() -> None:
    assert render_deb_lock([NOTES], "autoclave lock debs ...") == (
        "# Debian packages by hash. Written by\n#   autoclave lock debs ...\n"
        "# package version architecture suite pool-path size sha256\n"
        f"notes 5 all trixie pool/main/n/notes/notes_5_all.deb 300 {'c' * 64}\n"
    )
