"""Fetch the Debian packages of one lock, each checked by its sha256.

The only input of its action besides the lock, so it stands alone: standard library only, valid on Python 3.9.

    python debs.py --component python --lock python-3.13.lock --output debs

A package is looked up by sha256 in each `--mirror` (a directory or an address that serves files named by their sha256)
and each that the variable AUTOCLAVE_MIRRORS names (separated by commas), then fetched from the pool of the Debian
archive that this machine's own apt is configured for, by apt's downloader (its proxies and certificates apply). No
package lists are needed, so neither root nor a fresh `apt-get update`, and the lock's suite may differ from the
machine's.

Exit code: 0; 2 for an error that must be looked into (a wrong hash, a wrong lock); 3 if the packages cannot be had on
this machine (no apt, no Debian archive, a package that the suite has dropped, no network), so that a caller may turn to
another interpreter.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ARCHITECTURES = ("amd64", "all")
FIELDS = "package version architecture suite pool-path size sha256"
APT_HELPER = "/usr/lib/apt/apt-helper"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
INDEX = re.compile(r"'(?P<base>[^']+)/dists/(?P<suite>[^']+)/InRelease'")
DEBIAN_SUITES = frozenset(
    "bullseye bookworm trixie forky duke sid oldoldstable oldstable stable testing unstable".split()
)
"""First words of suite names by which an archive in apt's configuration is known to be Debian's."""

GONE = ("404", "File not found", "410")
DAMAGED = ("Hash Sum mismatch", "unexpected size", "Size mismatch")


class FetchError(Exception):
    """A component's lock or a fetched file is wrong; the message is for the user."""


class UnavailableError(Exception):
    """The packages cannot be had on this machine; the message is for the user."""


@dataclass(frozen=True)
class Deb:
    """One line of a lock: a package, its path in the archive's pool, its size in bytes and its sha256."""

    package: str
    version: str
    architecture: str
    suite: str
    path: str
    size: int
    sha256: str

    def __str__(self) -> str:
        return f"{self.package} {self.version}"

    @property
    def filename(self) -> str:
        return f"{self.package}_{self.version.replace(':', '%3a')}_{self.architecture}.deb"

    @property
    def security(self) -> bool:
        """Whether the package lies in the security archive, which has a base address of its own."""
        return is_security(self.suite)


@dataclass(frozen=True)
class Request:
    """What to fetch: the component's name and lock (for messages), and its packages."""

    component: str
    lock: str
    debs: tuple[Deb, ...]
    mirrors: tuple[str, ...]


def parse_lock(text: str, lock: str) -> tuple[Deb, ...]:
    """Read a deb lock.

    Raises `FetchError` for a line that is not seven plain fields, another architecture, or a package named twice.
    """
    debs: dict[str, Deb] = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#", 1)[0].strip()
        if line:
            deb = _parse_line(line, f"{lock}:{number}")
            if deb.package in debs:
                raise FetchError(
                    f"{lock}:{number}: {deb} conflicts with {debs[deb.package]}: a lock names each package once."
                )
            debs[deb.package] = deb
    if not debs:
        raise FetchError(
            f"{lock}: names no package. Write it with `autoclave lock debs PACKAGE --suite SUITE --output {lock}`."
        )
    return tuple(debs.values())


def _parse_line(line: str, where: str) -> Deb:
    words = line.split()
    if len(words) == 6 or (len(words) == 7 and not re.fullmatch("[0-9a-f]{64}", words[6])):
        raise FetchError(
            f"{where}: {words[0]} needs a sha256 of 64 hexadecimal digits. Write the lock anew with `autoclave lock debs`."
        )
    if len(words) != 7 or not words[5].isdigit():
        raise FetchError(
            f"{where}: expected `{FIELDS}`, found `{line}`. Write the lock anew with `autoclave lock debs`."
        )
    package, version, architecture, suite, path, size, sha256 = words
    if architecture not in ARCHITECTURES:
        raise FetchError(
            f"{where}: {package} is for {architecture}; the sandbox runs amd64. Write the lock anew with `autoclave lock debs`."
        )
    if not re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", package) or not path.startswith("pool/") or ".." in path.split("/"):
        raise FetchError(
            f"{where}: `{path}` is no path of a package in an archive's pool. Write the lock anew with `autoclave lock debs`."
        )
    return Deb(package, version, architecture, suite, path, int(size), sha256)


def is_security(suite: str) -> bool:
    """Whether a suite (`trixie-security`, `buster/updates`) is of the security archive."""
    return suite.endswith(("-security", "/updates"))


def sha256_of(path: Path) -> str:
    """Hex sha256 of a file, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for piece in iter(lambda: file.read(1 << 20), b""):
            digest.update(piece)
    return digest.hexdigest()


def fetch(request: Request, output: Path) -> list[Path]:
    """Put every package of `request` into `output` (created), and return their paths.

    Raises `FetchError` for a wrong hash, and `UnavailableError` if a package cannot be had here.
    """
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output, prefix=".fetch-") as scratch:
        missing = [deb for deb in request.debs if not _fetch_from_mirrors(request, deb, Path(scratch), output)]
        if missing:
            _fetch_from_archive(request, missing, Path(scratch), output)
    return [output / deb.filename for deb in request.debs]


def _fetch_from_mirrors(request: Request, deb: Deb, scratch: Path, output: Path) -> bool:
    target = scratch / deb.sha256
    for mirror in request.mirrors:
        place = f"{mirror.rstrip('/')}/{deb.sha256}"
        if not _copy_from(place, target):
            continue
        found = sha256_of(target)
        if found != deb.sha256:
            raise FetchError(
                f"mirror file {place}: its name says sha256 {deb.sha256}, its bytes have {found}. Remove it from the mirror."
            )
        os.replace(target, output / deb.filename)
        return True
    return False


def _copy_from(place: str, target: Path) -> bool:
    if "://" not in place:
        if not os.path.isfile(place):
            return False
        shutil.copyfile(place, target)
        return True
    try:
        with urllib.request.urlopen(place, timeout=60) as response, target.open("wb") as file:
            shutil.copyfileobj(response, file)
        return True
    except urllib.error.HTTPError as error:
        if error.code != 404:
            print(f"warning: mirror {place}: {error}", file=sys.stderr)
    except OSError as error:
        print(f"warning: mirror {place}: {error}", file=sys.stderr)
    target.unlink(missing_ok=True)
    return False


def _fetch_from_archive(request: Request, debs: list[Deb], scratch: Path, output: Path) -> None:
    bases = archive_bases(request.component)
    jobs = {deb: scratch / deb.filename for deb in debs}
    first = {deb: bases_for(deb, bases, request.component) for deb in debs}
    download([(f"{first[deb][0]}/{quoted(deb.path)}", target, deb.sha256) for deb, target in jobs.items()])
    for deb, target in jobs.items():
        if not _is_whole(deb, target):
            _fetch_one(request, deb, first[deb], target)
        os.replace(target, output / deb.filename)


def _is_whole(deb: Deb, target: Path) -> bool:
    return target.is_file() and target.stat().st_size == deb.size and sha256_of(target) == deb.sha256


def _fetch_one(request: Request, deb: Deb, bases: tuple[str, ...], target: Path) -> None:
    """Ask one base after the other for one package, and say why none has it."""
    logs = []
    for base in bases:
        logs.append(download([(f"{base}/{quoted(deb.path)}", target, deb.sha256)]))
        if _is_whole(deb, target):
            return
        if any(word in logs[-1] for word in DAMAGED) or target.exists():
            received = re.findall(r"SHA256:([0-9a-f]{64})", logs[-1])
            raise FetchError(
                f"component {request.component}: {request.lock}: the archive's {deb.path} should have sha256 {deb.sha256} and has "
                f"{received[-1] if len(received) > 1 else 'another'}. A released package never changes: find out what stands between you and the archive."
            )
    if all(any(word in log for word in GONE) for log in logs):
        raise UnavailableError(
            f"component {request.component}: {request.lock}: the suite {deb.suite} no longer has {deb} ({deb.path}: not found). "
            f"Suites drop superseded packages: write the lock anew (the command is in its head), or give a mirror that has the file as {deb.sha256}."
        )
    reason = " ".join(logs[-1].split())[-400:]
    raise UnavailableError(f"component {request.component}: {deb} cannot be downloaded: {reason}")


def quoted(path: str) -> str:
    """A pool path as it is written in an address."""
    return urllib.parse.quote(path, safe="/:+~")


def archive_bases(component: str) -> tuple[tuple[str, str], ...]:
    """(suite, base address) of each Debian archive in apt's configuration.

    Raises `UnavailableError` if there is none.
    """
    try:
        result = subprocess.run(
            ["apt-get", "--print-uris", "update"],
            env=_environment(),
            capture_output=True,
            text=True,
        )
    except OSError:
        raise UnavailableError(
            f"component {component}: this machine has no Debian package client (apt-get), and no mirror has the packages."
        ) from None
    found = [(match["suite"], match["base"]) for match in INDEX.finditer(result.stdout)]
    bases = tuple((suite, base) for suite, base in found if re.split("[-/]", suite)[0] in DEBIAN_SUITES)
    if not bases:
        raise UnavailableError(
            f"component {component}: this machine's apt names no Debian archive, and no mirror has the packages."
        )
    return bases


def bases_for(deb: Deb, bases: Iterable[tuple[str, str]], component: str) -> tuple[str, ...]:
    """The base addresses that may have `deb`, likeliest first.

    Security updates lie beside an archive, whether or not this machine's apt is told of them.
    """
    plain = [base.rstrip("/") for suite, base in bases if not is_security(suite)]
    security = [base.rstrip("/") for suite, base in bases if is_security(suite)]
    if deb.security:
        beside = [f"{base}-security" for base in plain if base.endswith("/debian")]
        return tuple(dict.fromkeys([*security, *beside, *plain]))
    return tuple(dict.fromkeys([*plain, *security]))


def download(jobs: list[tuple[str, Path, str]]) -> str:
    """Fetch (address, file, sha256) triples with apt's downloader; return what it printed.

    Missing files tell of failures.
    """
    helper = APT_HELPER if os.access(APT_HELPER, os.X_OK) else None
    if helper is None:
        return "\n".join(filter(None, (_download_plainly(address, target) for address, target, _ in jobs)))
    triples = [word for address, target, sha256 in jobs for word in (address, str(target), f"SHA256:{sha256}")]
    result = subprocess.run(
        [helper, "-o", "APT::Sandbox::User=", "download-file", *triples],
        env=_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return result.stdout


def _download_plainly(address: str, target: Path) -> str | None:
    try:
        with urllib.request.urlopen(address, timeout=60) as response, target.open("wb") as file:
            shutil.copyfileobj(response, file)
    except OSError as error:
        return str(error)
    return None


def _environment() -> dict[str, str]:
    return {**os.environ, "LC_ALL": "C.UTF-8", "PATH": os.environ.get("PATH") or PATH}


def mirrors(named: Iterable[str]) -> tuple[str, ...]:
    """The mirrors that the command line names, then those of the environment."""
    return (*named, *filter(None, os.environ.get("AUTOCLAVE_MIRRORS", "").split(",")))


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line, fetch, and print one line per package."""
    parser = argparse.ArgumentParser(description="Fetch the Debian packages of a lock, each checked by its sha256.")
    parser.add_argument("--component", required=True, help="name of the toolchain component, for messages")
    parser.add_argument("--lock", required=True, type=Path, help=f"lines of `{FIELDS}`")
    parser.add_argument("--output", required=True, type=Path, help="directory that gets the packages")
    parser.add_argument("--mirror", action="append", default=[], help="directory or address with files named by sha256")
    options = parser.parse_args(arguments)
    try:
        debs = parse_lock(options.lock.read_text(), str(options.lock))
        for path in fetch(Request(options.component, str(options.lock), debs, mirrors(options.mirror)), options.output):
            print(f"{sha256_of(path)} {path.stat().st_size} {path.name}")
    except UnavailableError as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    except (FetchError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
