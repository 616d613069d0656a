"""Programs of a Debian suite, unpacked into a folder of the user's cache and started by the suite's own ld.so.

Neither root nor the machine's own suite matters: the packages come with all the libraries they need, the C library
included. They are resolved when they are first needed, not pinned, because a suite that moves drops superseded
packages; apt verifies the suite's signed indexes, and each package by its sha256. What was unpacked is used from then
on, without a network, until `programs` is told to fetch anew; the folder's `packages.lock` says what it is.
"""

import fcntl
import hashlib
import os
import shutil
import stat
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from autoclave.errors import ToolchainError
from autoclave.lock.debs import LockedDeb, private_apt, render_deb_lock
from autoclave.servers.errors import ProgramsUnavailable, ServerError

DEFAULT_SUITE = "forky"
"""The oldest suite whose buildbox serves as cache and executor on its own."""

LIBRARIES = "usr/lib/x86_64-linux-gnu"
LOADER = "ld-linux-x86-64.so.2"
LOCK = "packages.lock"
UNPACKER = "dpkg-deb"

WRAPPER = """\
#!/bin/sh
# Starts the program beside it, in .elf/, by the C library that came with it. Works wherever the whole folder lies.
here="$(CDPATH='' cd -- "${{0%/*}}" && pwd -P)"
exec "$here/{libraries}/{loader}" --inhibit-cache --argv0 "$here/{name}" --library-path "$here/{libraries}" "$here/.elf/{name}" "$@"
"""


@dataclass(frozen=True)
class ProgramSet:
    """Debian packages, and what of them is unpacked besides shared libraries.

    `programs` and `files` are patterns of paths as the packages have them (fnmatch); `unneeded` are patterns of names of
    packages that only Debian's maintainer scripts want.
    """

    name: str
    packages: tuple[str, ...]
    programs: tuple[str, ...]
    files: tuple[str, ...] = ()
    unneeded: tuple[str, ...] = ()


BUILDBOX = ProgramSet(
    name="buildbox",
    packages=("buildbox",),
    programs=(
        "usr/bin/buildbox-casd",
        "usr/bin/buildbox-run-hosttools",
        "usr/bin/buildbox-worker",
        "usr/bin/casdownload",
        "usr/bin/casupload",
    ),
    unneeded=("bubblewrap", "fuse3", "libdb5*", "mount", "libsasl2-modules-db", "libc-gconv-modules-extra"),
)
"""BuildGrid's CAS, action cache and worker."""


def programs(
    wanted: ProgramSet,
    suite: str = DEFAULT_SUITE,
    *,
    anew: bool = False,
    say: Callable[[str], None] = lambda text: None,
) -> Path:
    """The folder that has the programs of `wanted` at their paths, `usr/bin/...`; fetched if it is not there yet.

    `anew` resolves and fetches in any case; `say` is told of each step that takes time. Processes that want the same
    programs at once wait for the first of them.

    Raises:
        ProgramsUnavailable: the packages cannot be had on this machine; the message says why and what to do.
        ServerError: they were fetched, and cannot be unpacked or lack a program.
    """
    folder = cache_folder() / f"{wanted.name}-{suite}-{_fingerprint(wanted)}"
    if not anew and (folder / LOCK).is_file():
        return folder
    with _locked(folder.with_name(folder.name + ".lock")):
        if anew or not (folder / LOCK).is_file():
            _install(wanted, suite, folder, say)
    return folder


def cache_folder() -> Path:
    """Where servers' programs and data lie by default: `autoclave/servers` in the user's cache.

    Raises `ServerError` if the environment does not say where that is: a folder that others can guess and make, as in
    /tmp, is none to start programs from.
    """
    if cache := os.environ.get("XDG_CACHE_HOME"):
        return Path(cache, "autoclave/servers")
    if home := os.environ.get("HOME"):
        return Path(home, ".cache/autoclave/servers")
    raise ServerError("neither XDG_CACHE_HOME nor HOME says where your cache is; set one of them")


def _fingerprint(wanted: ProgramSet) -> str:
    return hashlib.sha256(repr((wanted, WRAPPER)).encode()).hexdigest()[:12]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w")
    except OSError as error:
        raise ServerError(
            f"cannot keep programs in {path.parent}: {error.strerror}; set XDG_CACHE_HOME to a folder that you may write"
        ) from None
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _install(wanted: ProgramSet, suite: str, folder: Path, say: Callable[[str], None]) -> None:
    for left_behind in folder.parent.glob(f"{folder.name}.*.part"):
        shutil.rmtree(left_behind, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}.", suffix=".part") as scratch:
        tree, packages = Path(scratch, "tree"), Path(scratch, "packages")
        packages.mkdir()
        debs = _fetch(wanted, suite, Path(scratch, "apt"), packages, say)
        say(f"unpacking {len(debs)} packages")
        for package in sorted(packages.iterdir()):
            unpack(package, tree, wanted)
        wrap_programs(tree, wanted)
        (tree / LOCK).write_text(
            render_deb_lock(debs, f"autoclave lock debs {' '.join(wanted.packages)} --suite {suite}")
        )
        _replace(tree, folder, Path(scratch, "old"))


def _replace(new: Path, folder: Path, old: Path) -> None:
    # A server that runs keeps the files it has open; only a start between the two renames would fail.
    if folder.exists():
        folder.rename(old)
    new.rename(folder)


def _fetch(
    wanted: ProgramSet, suite: str, state: Path, packages: Path, say: Callable[[str], None]
) -> tuple[LockedDeb, ...]:
    names = ", ".join(wanted.packages)
    try:
        if shutil.which(UNPACKER) is None:
            raise ToolchainError(f"{UNPACKER} is not on this machine")
        say(f"reading the package indexes of Debian {suite}")
        apt = private_apt(state, suite)
        closure = apt.closure(wanted.packages, suite)
        needed = {name: version for name, version in closure.items() if not _matches(name, wanted.unneeded)}
        debs = apt.describe(needed)
        megabytes = sum(deb.size for deb in debs) / 1e6
        say(f"fetching {names} with its libraries: {len(debs)} packages, {megabytes:.0f} MB")
        apt.download(debs, packages)
    except ToolchainError as error:
        raise ProgramsUnavailable(
            f"{names} of Debian {suite} cannot be had on this machine: {error}\n"
            "What helps: a machine with apt and a Debian archive in its sources (Debian itself, or a container of it), "
            "a network, or another suite. Or copy the folder of the programs from a machine that has it: it runs wherever it lies."
        ) from None
    for deb in debs:
        _check(deb, packages)
    return debs


def _check(deb: LockedDeb, packages: Path) -> None:
    (package,) = packages.glob(f"{deb.package}_*.deb")
    with package.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != deb.sha256:
        raise ServerError(f"{package.name} should have sha256 {deb.sha256} and has {found}; fetch it anew")


def unpack(package: Path, tree: Path, wanted: ProgramSet) -> None:
    """Unpack a Debian package's shared libraries, and its files that `wanted` names, into `tree`; no script is run."""
    with subprocess.Popen([UNPACKER, "--fsys-tarfile", package], stdout=subprocess.PIPE) as reader:
        with tarfile.open(fileobj=reader.stdout, mode="r|") as archive:
            archive.extractall(tree, _kept(archive, wanted), filter="data")
        assert reader.stdout is not None
        reader.stdout.read()
    if reader.returncode != 0:
        raise ServerError(
            f"{package.name} cannot be unpacked: {UNPACKER} ended with {reader.returncode}; fetch it anew"
        )


def _kept(archive: Iterable[tarfile.TarInfo], wanted: ProgramSet) -> Iterator[tarfile.TarInfo]:
    for member in archive:
        path = member.name.removeprefix("./")
        # A merged system keeps lib/ below usr/.
        path = f"usr/{path}" if path.startswith(("lib/", "lib64/", "bin/")) else path
        if member.isdir() or not (_is_library(path) or _matches(path, wanted.programs + wanted.files)):
            continue
        yield member.replace(name=path, deep=False)


def _is_library(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return folder == LIBRARIES and ".so" in name


def _matches(text: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)


def wrap_programs(tree: Path, wanted: ProgramSet) -> None:
    """Put a script in place of each program; what starts a program by its path, its own children too, is served."""
    for pattern in wanted.programs:
        found = [path for path in tree.glob(pattern) if path.is_file() and not path.is_symlink()]
        if not found:
            raise ServerError(
                f"the packages of {wanted.name} have no {pattern}: this suite's version differs from what is known here; "
                "name another suite"
            )
        for program in found:
            _wrap(tree, program)


def _wrap(tree: Path, program: Path) -> None:
    hidden = program.parent / ".elf"
    hidden.mkdir(exist_ok=True)
    program.rename(hidden / program.name)
    libraries = os.path.relpath(tree / LIBRARIES, program.parent)
    program.write_text(WRAPPER.format(libraries=libraries, loader=LOADER, name=program.name))
    program.chmod(program.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def copy_programs(folder: Path, place: Path) -> Path:
    """A copy of unpacked programs, for a user who may not enter the cache of this one."""
    return Path(shutil.copytree(folder, place, symlinks=True))
