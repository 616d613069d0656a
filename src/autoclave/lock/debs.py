"""Lock Debian packages: versions, pool paths and hashes of some packages and all they depend on.

Resolved by the machine's own apt in a private state directory, so neither root nor the machine's own suites matter.
Which archive is asked, and how (proxies, whether an index past its date is still taken), is read from the machine's
apt configuration; signatures are verified with its debian-archive-keyring.
"""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from autoclave.errors import ToolchainError

ARCHITECTURE = "amd64"
KEYRINGS = tuple(Path(f"/usr/share/keyrings/debian-archive-keyring.{suffix}") for suffix in ("pgp", "gpg"))
PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+")
SUITE = re.compile(r"[a-z][a-z0-9.-]*")
INDEX = re.compile(r"'(?P<base>[^']+)/dists/(?P<suite>[^']+)/InRelease'")
DEBIAN_SUITES = frozenset(
    "bullseye bookworm trixie forky duke sid oldoldstable oldstable stable testing unstable".split()
)  # fmt: skip
"""First words of suite names by which an archive in apt's configuration is known to be Debian's."""

CARRIED_SETTINGS = re.compile(r"Acquire::(https?|Check-|M(ax|in)-ValidTime|Retries)", re.IGNORECASE)
"""What of the machine's apt configuration holds for a private apt, too: how archives are reached, and whether their
indexes may be past their date, as a mirror's that stands still are."""
EMPTY_SETTING = ' "";'

CONFIGURATION = """\
Dir::Etc::main "-"; Dir::Etc::parts "-"; Dir::Etc::sourcelist "{state}/sources.list"; Dir::Etc::sourceparts "-";
Dir::Etc::preferences "-"; Dir::Etc::preferencesparts "-";
Dir::State "{state}"; Dir::State::status "{state}/status"; Dir::Cache "{state}/cache";
APT::Architecture "{architecture}"; APT::Architectures "{architecture}"; APT::Install-Recommends "false";
APT::Sandbox::User ""; Acquire::Languages "none";
"""


@dataclass(frozen=True)
class LockedDeb:
    """One Debian package: where it lies in the archive's pool (relative path), its size in bytes and sha256."""

    package: str
    version: str
    architecture: str
    suite: str
    path: str
    size: int
    sha256: str

    def line(self) -> str:
        """The package's line in a lock."""
        return f"{self.package} {self.version} {self.architecture} {self.suite} {self.path} {self.size} {self.sha256}"


def lock_debs(packages: Sequence[str], suite: str, exclude: Sequence[str] = ()) -> tuple[LockedDeb, ...]:
    """Resolve `packages` and their dependencies (no recommendations) in `suite`, less those of `exclude`.

    Raises `ToolchainError` if there is no apt or keyring, an unknown suite or package, or an `exclude` that nothing
    needs.
    """
    for name in [*packages, *exclude]:
        if not PACKAGE.fullmatch(name):
            raise ToolchainError(f"cannot lock `{name}`: that is no name of a Debian package")
    if not SUITE.fullmatch(suite):
        raise ToolchainError(
            f"cannot lock packages of `{suite}`: that is no name of a Debian suite; write for example trixie"
        )
    with tempfile.TemporaryDirectory() as folder:
        apt = private_apt(Path(folder), suite)
        closure = apt.closure(packages, suite)
        unneeded = sorted(set(exclude) - set(closure))
        if unneeded:
            raise ToolchainError(
                f"locking packages of {suite}: nothing depends on {', '.join(unneeded)}; remove that --exclude"
            )
        return apt.describe({name: version for name, version in closure.items() if name not in exclude})


def private_apt(state: Path, suite: str) -> "PrivateApt":
    """An apt in the folder `state` that has verified the indexes of `suite`.

    Raises `ToolchainError` if there is no apt or keyring, or if the indexes cannot be had.
    """
    apt = PrivateApt(state, sources(suite, debian_archives(), _keyring()))
    apt.update(suite)
    return apt


def render_deb_lock(debs: Iterable[LockedDeb], command: str) -> str:
    """The text of the lock. `command` is what writes it anew."""
    head = [
        "# Debian packages by hash. Written by",
        f"#   {command}",
        "# package version architecture suite pool-path size sha256",
    ]
    return "\n".join([*head, *(deb.line() for deb in debs)]) + "\n"


@dataclass(frozen=True)
class Archives:
    """Base addresses of Debian's archive and of its security archive, as this machine's apt knows them."""

    main: str
    security: str | None


def debian_archives() -> Archives:
    """Read the base addresses from apt's configuration. Raises `ToolchainError` if it names no Debian archive."""
    indexes = _run(["apt-get", "--print-uris", "update"], dict(os.environ), "read apt's sources")
    bases: dict[bool, str] = {}
    for match in INDEX.finditer(indexes):
        words = re.split(r"[-/]", match["suite"])
        if words[0] in DEBIAN_SUITES:
            bases.setdefault("security" in words or words[-1:] == ["updates"] and "/" in match["suite"], match["base"])
    if False not in bases:
        raise ToolchainError(
            "locking Debian packages: this machine's apt sources name no Debian archive; run it on a Debian machine"
        )
    return Archives(bases[False], bases.get(True))


def sources(suite: str, archives: Archives, keyring: Path) -> str:
    """A sources.list for `suite` with its updates and security suites."""
    places = [(archives.main, suite), (archives.main, f"{suite}-updates")]
    if archives.security:
        places.append((archives.security, f"{suite}-security"))
    rolling = suite in ("sid", "unstable")
    return "".join(
        f"deb [signed-by={keyring}] {base} {name} main\n" for base, name in (places[:1] if rolling else places)
    )


def _keyring() -> Path:
    for keyring in KEYRINGS:
        if keyring.exists():
            return keyring
    raise ToolchainError(
        f"locking Debian packages: none of {', '.join(map(str, KEYRINGS))} exists, so signatures cannot be verified; install debian-archive-keyring"
    )


def carried_settings() -> str:
    """The lines of the machine's apt configuration that `CARRIED_SETTINGS` names."""
    lines = _run(["apt-config", "dump", "--format", '%F "%v";%n'], dict(os.environ), "read apt's configuration")
    return "".join(
        f"{line}\n" for line in lines.splitlines() if CARRIED_SETTINGS.match(line) and not line.endswith(EMPTY_SETTING)
    )


class PrivateApt:
    """apt with all its state in one directory, which sees the sources given and nothing installed."""

    def __init__(self, state: Path, source_list: str) -> None:
        for folder in ("lists/partial", "cache/archives/partial"):
            (state / folder).mkdir(parents=True)
        (state / "status").touch()
        (state / "sources.list").write_text(source_list)
        configuration = state / "apt.conf"
        configuration.write_text(CONFIGURATION.format(state=state, architecture=ARCHITECTURE) + carried_settings())
        self._environment = {**os.environ, "APT_CONFIG": str(configuration), "LC_ALL": "C.UTF-8"}

    def update(self, suite: str) -> None:
        """Fetch and verify the suite's indexes."""
        self._run(["apt-get", "update", "--error-on=any"], f"fetch the indexes of {suite}")

    def closure(self, packages: Sequence[str], suite: str) -> dict[str, str]:
        """Versions of `packages` and all they depend on, by name."""
        log = self._run(["apt-get", "install", "--simulate", *packages], f"resolve {', '.join(packages)} in {suite}")
        return dict(sorted(re.findall(r"^Inst (\S+) \((\S+) ", log, re.MULTILINE)))

    def describe(self, versions: dict[str, str]) -> tuple[LockedDeb, ...]:
        """Pool paths and hashes of packages in exact versions."""
        suites = self._suites(versions)
        exact = [f"{name}={version}" for name, version in versions.items()]
        shown = self._run(["apt-cache", "show", "--no-all-versions", *exact], "read the packages' descriptions")
        stanzas = [
            dict(re.findall(r"^(\S+): (.*)$", stanza, re.MULTILINE)) for stanza in shown.split("\n\n") if stanza.strip()
        ]
        debs = {
            stanza["Package"]: LockedDeb(
                stanza["Package"], stanza["Version"], stanza["Architecture"], suites[stanza["Package"]],
                stanza["Filename"], int(stanza["Size"]), stanza["SHA256"],
            )
            for stanza in stanzas
        }  # fmt: skip
        return tuple(debs[name] for name in versions)

    def download(self, debs: Iterable[LockedDeb], folder: Path) -> None:
        """Put the package files of `debs` into `folder`; apt checks each against the signed indexes' sha256."""
        exact = [f"{deb.package}={deb.version}" for deb in debs]
        self._run(["apt-get", "download", *exact], "download the packages", folder)

    def _suites(self, versions: dict[str, str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for line in self._run(["apt-cache", "madison", *versions], "find the packages' suites").splitlines():
            name, version, place = (part.strip() for part in line.split("|"))
            if versions.get(name) == version:
                found.setdefault(name, place.split()[1].split("/")[0])
        return found

    def _run(self, command: list[str], purpose: str, folder: Path | None = None) -> str:
        return _run(command, self._environment, purpose, folder)


def _run(command: list[str], environment: dict[str, str], purpose: str, folder: Path | None = None) -> str:
    try:
        result = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    except FileNotFoundError:
        raise ToolchainError(
            f"locking Debian packages: {command[0]} is not on this machine; run it on a Debian machine"
        ) from None
    if result.returncode != 0:
        raise ToolchainError(f"locking Debian packages: could not {purpose}:\n{result.stderr.strip()}")
    return result.stdout
