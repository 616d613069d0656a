"""Programs of a Debian suite, resolved and fetched by a real apt and started by the C library that came with them."""

from __future__ import annotations

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from servers.small_archive import LIBRARIES, SUITE, SmallArchive

from autoclave.lock import debs
from autoclave.servers.debian import ProgramSet, cache_folder, copy_programs, programs
from autoclave.servers.errors import ProgramsUnavailable, ServerError

pytestmark = pytest.mark.skipif(shutil.which("apt-get") is None, reason="this machine has no Debian package client")

GREETER = ProgramSet("greeter", ("greeter",), ("usr/bin/greeter",), unneeded=("unwant*",))


def run(program: Path, *arguments: str, **options: object) -> str:
    return subprocess.run([program, *arguments], check=True, capture_output=True, text=True, **options).stdout  # type: ignore[call-overload]


def test_a_program_runs_by_the_c_library_of_its_own_packages(archive: SmallArchive) -> None:
    archive.add_shell()
    folder = programs(GREETER)
    maps = run(folder / "usr/bin/greeter", "-c", "read -r line </proc/self/maps; cat /proc/$$/maps").splitlines()
    loaded = {line.split()[-1] for line in maps if ".so" in line}
    assert loaded and all(path.startswith(str(folder / LIBRARIES)) for path in loaded), loaded


def test_a_program_that_starts_others_starts_them_too(archive: SmallArchive) -> None:
    archive.add_shell()
    greeter = programs(GREETER) / "usr/bin/greeter"
    assert run(greeter, "-c", f"{greeter} -c 'echo \"$0: $1 $2\"' me 'two words' \"it's\"") == "me: two words it's\n"


def test_a_program_sees_its_own_path_as_its_name(archive: SmallArchive) -> None:
    archive.add_shell()
    greeter = programs(GREETER) / "usr/bin/greeter"
    assert run(greeter, "-c", "tr '\\0' ' ' </proc/$$/cmdline").split()[2:4] == ["--argv0", str(greeter)]


def test_what_is_not_named_is_not_there(archive: SmallArchive) -> None:
    archive.add_shell(extra={"etc/greeter.conf": "hello\n", "usr/share/greeter/data": "bytes\n"})
    folder = programs(GREETER)
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert [path for path in found if not path.startswith(LIBRARIES)] == [
        "packages.lock",
        "usr/bin/.elf/greeter",
        "usr/bin/greeter",
    ]


def test_named_files_come_along(archive: SmallArchive) -> None:
    archive.add_shell(extra={"usr/share/greeter/deep/data": "bytes\n"})
    folder = programs(ProgramSet("greeter", ("greeter",), ("usr/bin/greeter",), files=("usr/share/greeter/*",)))
    assert (folder / "usr/share/greeter/deep/data").read_text() == "bytes\n"


def test_the_lock_says_what_was_unpacked(archive: SmallArchive) -> None:
    archive.add_shell()
    lines = (programs(GREETER) / "packages.lock").read_text().splitlines()
    assert [line.split()[0:4] for line in lines if not line.startswith("#")] == [
        ["greeter", "1", "amd64", SUITE],
        ["libgreeter", "1", "amd64", SUITE],
    ]


def test_they_are_fetched_once(archive: SmallArchive) -> None:
    archive.add_shell()
    first = programs(GREETER)
    shutil.rmtree(archive.root)
    said: list[str] = []
    assert programs(GREETER, say=said.append) == first
    assert said == []
    assert run(first / "usr/bin/greeter", "-c", "echo hello") == "hello\n"


def test_an_update_takes_the_suites_version_of_today(archive: SmallArchive) -> None:
    archive.add_shell()
    folder = programs(GREETER)
    archive.add_shell(version="2")
    assert programs(GREETER) == folder
    assert "greeter 1 " in (folder / "packages.lock").read_text()
    assert programs(GREETER, anew=True) == folder
    assert "greeter 2 " in (folder / "packages.lock").read_text()
    assert run(folder / "usr/bin/greeter", "-c", "echo hello") == "hello\n"


def test_an_update_that_fails_leaves_what_was_there(archive: SmallArchive) -> None:
    archive.add_shell()
    folder = programs(GREETER)
    shutil.rmtree(archive.root)
    with pytest.raises(ProgramsUnavailable):
        programs(GREETER, anew=True)
    assert run(folder / "usr/bin/greeter", "-c", "echo hello") == "hello\n"


def test_two_at_once_fetch_once(archive: SmallArchive) -> None:
    archive.add_shell()
    said: list[str] = []
    with ThreadPoolExecutor(2) as pool:
        folders = list(pool.map(lambda _: programs(GREETER, say=said.append), range(2)))
    assert folders[0] == folders[1]
    assert sum("unpacking" in text for text in said) == 1


def test_what_a_killed_start_left_behind_is_cleared_away(archive: SmallArchive) -> None:
    archive.add_shell()
    folder = programs(GREETER)
    shutil.rmtree(folder)
    part = folder.with_name(f"{folder.name}.abc.part")
    (part / "tree").mkdir(parents=True)
    assert programs(GREETER) == folder
    assert not part.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_cache_that_may_only_be_read_serves(archive: SmallArchive) -> None:
    archive.add_shell()
    folder = programs(GREETER)
    folder.parent.chmod(0o500)
    try:
        assert run(programs(GREETER) / "usr/bin/greeter", "-c", "echo hello") == "hello\n"
    finally:
        folder.parent.chmod(0o700)


def test_suites_lie_side_by_side(archive: SmallArchive) -> None:
    archive.add_shell()
    for path in list((archive.root / "dists").iterdir()):
        shutil.copytree(path, path.with_name(path.name.replace(SUITE, "sid")))
    assert programs(GREETER) != programs(GREETER, "sid")


def test_a_damaged_package_is_refused_and_leaves_nothing(archive: SmallArchive, tmp_path: Path) -> None:
    archive.add_shell()
    package = archive.root / "pool/greeter_1_amd64.deb"
    data = bytearray(package.read_bytes())
    data[-20] ^= 1
    package.write_bytes(data)
    with pytest.raises(ProgramsUnavailable, match="could not download the packages"):
        programs(GREETER)
    assert [path.name for path in (tmp_path / "cache/autoclave/servers").iterdir() if path.suffix != ".lock"] == []


def test_a_suite_without_the_program_is_named(archive: SmallArchive) -> None:
    archive.add_shell()
    wanted = ProgramSet("greeter", ("greeter",), ("usr/bin/greeter", "usr/bin/waver"))
    with pytest.raises(ServerError, match="the packages of greeter have no usr/bin/waver"):
        programs(wanted)


def test_a_package_that_the_suite_lacks(archive: SmallArchive) -> None:
    archive.add_shell()
    with pytest.raises(
        ProgramsUnavailable, match="(?s)waver of Debian forky cannot be had.*Unable to locate.*What helps"
    ):
        programs(ProgramSet("waver", ("waver",), ("usr/bin/waver",)))


def test_set_user_id_bits_are_dropped(archive: SmallArchive, tmp_path: Path) -> None:
    shell = tmp_path / "shell"
    shutil.copy(Path("/bin/sh").resolve(), shell)
    archive.add_shell()
    tree = archive.root / "build/greeter"
    (tree / "usr/bin/greeter").chmod(0o6755)
    (tree / "DEBIAN").chmod(0o755)
    package = archive.root / "pool/greeter_1_amd64.deb"
    subprocess.run(
        ["dpkg-deb", "--build", "--root-owner-group", "-Zgzip", tree, package], check=True, stdout=subprocess.DEVNULL
    )
    archive.index("greeter", package)
    archive.publish()
    folder = programs(GREETER)
    assert {(folder / "usr/bin" / name).stat().st_mode & 0o7777 for name in ("greeter", ".elf/greeter")} == {0o755}


def test_a_copy_runs_for_who_may_not_enter_the_cache(archive: SmallArchive, tmp_path: Path) -> None:
    archive.add_shell()
    copy = copy_programs(programs(GREETER), tmp_path / "elsewhere/copy")
    shutil.rmtree(tmp_path / "cache")
    assert run(copy / "usr/bin/greeter", "-c", "echo hello", cwd="/") == "hello\n"


def test_a_machine_without_apt(archive: SmallArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        ProgramsUnavailable, match="(?s)dpkg-deb is not on this machine.*What helps: a machine with apt"
    ):
        programs(GREETER)


def test_a_machine_without_a_debian_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(debs, "DEBIAN_SUITES", frozenset())
    with pytest.raises(ProgramsUnavailable, match="(?s)apt sources name no Debian archive.*What helps"):
        programs(GREETER)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_cache_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o500)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(ServerError, match="set XDG_CACHE_HOME to a folder that you may write"):
        programs(GREETER)


def test_where_the_users_cache_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.setenv("XDG_CACHE_HOME", "/scratch")
    assert cache_folder() == Path("/scratch/autoclave/servers")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert cache_folder() == Path("/home/someone/.cache/autoclave/servers")
    monkeypatch.delenv("HOME")
    with pytest.raises(ServerError, match="neither XDG_CACHE_HOME nor HOME"):
        cache_folder()
