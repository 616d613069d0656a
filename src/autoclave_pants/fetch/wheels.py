"""Fetch the wheels of one lock, each checked by its sha256.

The only input of its action besides the lock, so it stands alone: standard library only, valid on Python 3.9. It runs
under any interpreter that has pip, for a target interpreter that may not be on this machine.

    python wheels.py --component numpy --lock numpy.lock --python-abi cp313 --output wheels

A wheel is looked up by sha256 in each `--mirror` (a directory or an address that serves files named by their sha256) and
each that the variable AUTOCLAVE_MIRRORS names (separated by commas), then asked of the package index that pip is configured for by environment variables (PIP_INDEX_URL, PIP_CERT, proxies).
Exit code: 0, or 2 with one `error:` message that names the component, the file and what to do.
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
import urllib.request
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PLATFORMS = tuple(f"manylinux_2_{minor}_x86_64" for minor in range(36, 4, -1)) + (
    "manylinux2014_x86_64",
    "manylinux2010_x86_64",
    "manylinux1_x86_64",
    "linux_x86_64",
)
"""Platform tags that run in the sandbox: glibc up to 2.36 (Debian 12), the older of the supported hosts."""

ABIS = ("cp312", "cp313")
NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
PIN = re.compile(r"(?P<name>\S+?)==(?P<version>[^\s;]+)(?P<hashes>(\s+--hash=\S+)*)")
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
PIP_TAIL = 6
"""How many of pip's last lines an error that we do not know quotes."""


class FetchError(Exception):
    """A component cannot be fetched as locked; the message is for the user."""


@dataclass(frozen=True)
class Pin:
    """One line of a lock: a release and the sha256 of each file of it that may be used."""

    name: str
    version: str
    hashes: tuple[str, ...]
    line: int

    def __str__(self) -> str:
        return f"{self.name}=={self.version}"

    def requirement(self) -> str:
        """The pin as a line of a requirements file."""
        return " ".join([str(self), *(f"--hash=sha256:{digest}" for digest in self.hashes)])


@dataclass(frozen=True)
class Tags:
    """What a wheel says about itself: name, version and `python-abi-platform` tags."""

    name: str
    version: str
    tags: tuple[tuple[str, str, str], ...]

    def filename(self) -> str:
        """One name for one wheel, whichever way it came."""
        columns = (".".join(sorted(set(column))) for column in zip(*self.tags))
        return "-".join([self.name, self.version, *columns]) + ".whl"

    def suits(self, abi: str) -> bool:
        """Whether CPython of `abi` on x86-64 Linux can import this wheel."""
        return any(_tag_suits(tag, abi) for tag in self.tags)


def _tag_suits(tag: tuple[str, str, str], abi: str) -> bool:
    python, tag_abi, platform = tag
    minor = int(abi[3:])
    if platform != "any" and platform not in PLATFORMS:
        return False
    if tag_abi == abi:
        return python == abi
    if tag_abi == "abi3":
        return bool(re.fullmatch(r"cp3\d+", python)) and int(python[3:]) <= minor
    return tag_abi == "none" and python in ("py3", f"py3{minor}", abi)


def normalise(name: str) -> str:
    """The one spelling of a distribution's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def parse_lock(text: str, lock: str) -> tuple[Pin, ...]:
    """Read a requirements file of exact, hashed pins.

    Raises `FetchError` for anything else: options, addresses, ranges, a pin without a sha256, a release named twice.
    """
    pins: dict[str, Pin] = {}
    for number, line in _logical_lines(text):
        pin = _parse_pin(line, f"{lock}:{number}", number)
        earlier = pins.get(normalise(pin.name))
        if earlier:
            raise FetchError(
                f"{lock}:{number}: {pin} conflicts with {earlier} on line {earlier.line}: a lock names each distribution once. "
                "Remove one of the two lines, or write the lock anew with `autoclave lock wheels`."
            )
        pins[normalise(pin.name)] = pin
    if not pins:
        raise FetchError(
            f"{lock}: names no wheel. Write it with `autoclave lock wheels NAME==VERSION --output {lock}`."
        )
    return tuple(pins.values())


def _logical_lines(text: str) -> list[tuple[int, str]]:
    lines: list[tuple[int, str]] = []
    start = 0
    parts: list[str] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split("#", 1)[0].strip()
        start = start if parts else number
        parts.append(line.rstrip("\\").strip())
        if not line.endswith("\\"):
            lines.append((start, " ".join(parts).strip()))
            parts = []
    if parts:
        lines.append((start, " ".join(parts).strip()))
    return [(number, line) for number, line in lines if line]


def _parse_pin(line: str, where: str, number: int) -> Pin:
    match = PIN.fullmatch(line)
    if not match or not NAME.fullmatch(match["name"]):
        raise FetchError(
            f"{where}: expected `NAME==VERSION --hash=sha256:...`, found `{line}`. A lock holds exact releases with hashes, "
            "no options, addresses or ranges; write it with `autoclave lock wheels`."
        )
    hashes = tuple(HASH.findall(match["hashes"]))
    if not hashes or len(hashes) != len(match["hashes"].split()):
        raise FetchError(
            f"{where}: {match['name']}=={match['version']} needs at least one `--hash=sha256:` of 64 hexadecimal digits, and no "
            f"other kind of hash. Write the lock anew with `autoclave lock wheels {match['name']}=={match['version']}`."
        )
    return Pin(match["name"], match["version"], hashes, number)


def read_tags(path: Path, source: str) -> Tags:
    """Read a wheel's name, version and tags from its own metadata. `source` names the file in errors."""
    try:
        with zipfile.ZipFile(path) as archive:
            folders = {name.split("/")[0] for name in archive.namelist() if name.split("/")[0].endswith(".dist-info")}
            if len(folders) != 1:
                raise FetchError(
                    f"{source} has {len(folders)} .dist-info folders; a wheel has one. Lock another release."
                )
            folder = folders.pop()
            text = archive.read(f"{folder}/WHEEL").decode()
    except (zipfile.BadZipFile, KeyError, UnicodeDecodeError):
        raise FetchError(
            f"{source} is not a wheel (a source distribution?). Autoclave runs no build scripts: lock a release that has a wheel."
        ) from None
    name, _, version = folder[: -len(".dist-info")].rpartition("-")
    expanded = [tag for line in text.splitlines() if line.startswith("Tag:") for tag in _expand(line[4:].strip())]
    return Tags(name, version, tuple(sorted(set(expanded))))


def _expand(tag: str) -> list[tuple[str, str, str]]:
    pythons, abis, platforms = (part.split(".") for part in tag.split("-", 2))
    return [(python, abi, platform) for python in pythons for abi in abis for platform in platforms]


def sha256_of(path: Path) -> str:
    """Hex sha256 of a file, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for piece in iter(lambda: file.read(1 << 20), b""):
            digest.update(piece)
    return digest.hexdigest()


def take_from_mirrors(digest: str, mirrors: tuple[str, ...], target: Path) -> bool:
    """Copy the file named `digest` from the first mirror that has it; whether one had.

    Raises `FetchError` if a mirror serves other bytes under that name. A mirror that does not answer is passed over
    with a warning on stderr.
    """
    for mirror in mirrors:
        place = f"{mirror.rstrip('/')}/{digest}"
        if not _copy_from(place, target):
            continue
        found = sha256_of(target)
        if found != digest:
            target.unlink()
            raise FetchError(
                f"mirror file {place}: its name says sha256 {digest}, its bytes have {found}. Remove it from the mirror."
            )
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


@dataclass(frozen=True)
class Request:
    """What to fetch: the component's name and lock (for messages), its pins, and for which interpreter."""

    component: str
    lock: str
    pins: tuple[Pin, ...]
    abi: str
    mirrors: tuple[str, ...]

    def relock(self) -> str:
        """The command that writes the lock anew."""
        return f"autoclave lock wheels {' '.join(map(str, self.pins))} --output {self.lock}"


def fetch(request: Request, output: Path) -> list[Path]:
    """Put every wheel of `request` into `output` (created), and return their paths.

    Raises `FetchError`: see the module's heading.
    """
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output, prefix=".fetch-") as scratch:
        missing = [pin for pin in request.pins if not _fetch_from_mirrors(request, pin, Path(scratch), output)]
        if missing:
            _fetch_from_index(request, missing, Path(scratch), output)
    return sorted(output.glob("*.whl"))


def _fetch_from_mirrors(request: Request, pin: Pin, scratch: Path, output: Path) -> bool:
    misfits = []
    for digest in pin.hashes:
        target = scratch / digest
        if not take_from_mirrors(digest, request.mirrors, target):
            continue
        tags = read_tags(target, f"component {request.component}: {pin} (sha256 {digest})")
        if tags.suits(request.abi):
            _accept(request, pin, target, tags, output)
            return True
        misfits.append(tags.filename())
    if misfits and len(misfits) == len(pin.hashes):
        raise FetchError(_misfit(request, pin, ", ".join(misfits)))
    return False


def _misfit(request: Request, pin: Pin, found: str) -> str:
    return (
        f"component {request.component}: {request.lock}:{pin.line}: {pin} is locked as {found}, which CPython {request.abi} on x86-64 "
        f"Linux cannot import. Lock a file for it: `{request.relock()} --python 3.{request.abi[3:]}`."
    )


def _accept(request: Request, pin: Pin, wheel: Path, tags: Tags, output: Path) -> None:
    if (normalise(tags.name), tags.version) != (normalise(pin.name), pin.version):
        raise FetchError(
            f"component {request.component}: {request.lock}:{pin.line}: the file with the locked hash is {tags.name} {tags.version}, "
            f"not {pin}. Write the lock anew: `{request.relock()}`."
        )
    os.replace(wheel, output / tags.filename())


def _fetch_from_index(request: Request, pins: list[Pin], scratch: Path, output: Path) -> None:
    folder = scratch / "index"
    requirements = scratch / "requirements.txt"
    requirements.write_text("".join(f"{pin.requirement()}\n" for pin in pins))
    result = _pip(
        "download", "--require-hashes", "--no-deps", "--no-cache-dir", "--progress-bar", "off", "--dest", str(folder),
        "--requirement", str(requirements), *_target_options(request.abi),
    )  # fmt: skip
    if result.returncode != 0:
        raise FetchError(explain_pip(request, pins, result.stdout + result.stderr))
    by_name = {normalise(pin.name): pin for pin in pins}
    for wheel in sorted(folder.iterdir()):
        tags = read_tags(wheel, f"component {request.component}: {wheel.name}")
        pin = by_name[normalise(tags.name)]
        if sha256_of(wheel) not in pin.hashes:
            raise FetchError(
                f"component {request.component}: pip let {wheel.name} pass with a hash that is not in {request.lock}."
            )
        _accept(request, pin, wheel, tags, output)


def _target_options(abi: str) -> list[str]:
    platforms = [option for platform in PLATFORMS for option in ("--platform", platform)]
    return ["--only-binary", ":all:", "--implementation", "cp", "--python-version", abi[2:], "--abi", abi, *platforms]


def _pip(*arguments: str) -> subprocess.CompletedProcess[str]:
    # A global configuration's `constraint =` breaks locked installs; the index comes by environment variables.
    environment = {
        **os.environ,
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
    }
    return subprocess.run(
        [sys.executable, "-I", "-m", "pip", *arguments],
        env=environment,
        text=True,
        capture_output=True,
    )


def explain_pip(request: Request, pins: list[Pin], log: str) -> str:
    """Turn what a failed `pip download` printed into one message for the user."""
    if "No module named pip" in log:
        return f"component {request.component}: {sys.executable} has no pip. Run this under an interpreter that has it."
    mismatch = re.search(r"^\s+(\S+==\S+).*?Got\s+([0-9a-f]{64})", log, re.MULTILINE | re.DOTALL)
    if mismatch:
        pin = _named(pins, mismatch.group(1))
        return (
            f"component {request.component}: {request.lock}:{pin.line}: the index offers {pin} for {request.abi} with sha256 "
            f"{mismatch.group(2)}; the lock allows {', '.join(pin.hashes)}. Either the lock was made for another Python "
            f"or platform (`{request.relock()} --python 3.{request.abi[3:]}`), or the file was changed after it was locked: then find out why first."
        )
    unknown = re.search(r"No matching distribution found for (\S+)", log)
    if unknown:
        return _explain_absence(request, _named(pins, unknown.group(1)))
    tail = "\n".join(line for line in log.splitlines() if line.strip())
    return f"component {request.component}: pip could not download {', '.join(map(str, pins))}:\n" + "\n".join(
        tail.splitlines()[-PIP_TAIL:]
    )


def _named(pins: list[Pin], requirement: str) -> Pin:
    name = normalise(requirement.split("==")[0])
    return next((pin for pin in pins if normalise(pin.name) == name), pins[0])


def _explain_absence(request: Request, pin: Pin) -> str:
    sources = _versions(pin, "--no-binary", ":all:")
    wheels = _versions(pin, *_target_options(request.abi))
    start = f"component {request.component}: {request.lock}:{pin.line}: {pin}"
    if pin.version in sources:
        return (
            f"{start} has no wheel for CPython {request.abi} on x86-64 Linux, only a source distribution. Autoclave runs no build "
            "scripts: lock a release that has a wheel, or put a wheel into a mirror and its hash into the lock."
        )
    others = [abi for abi in ABIS if abi != request.abi and pin.version in _versions(pin, *_target_options(abi))]
    if others:
        return f"{start} has wheels for {', '.join(others)}, but none for CPython {request.abi}. Lock a release that has one."
    if wheels or sources:
        known = ", ".join((wheels or sources)[:8])
        return f"{start} is not on the package index for CPython {request.abi} on x86-64 Linux; it has {known}. Lock one of these, or give a mirror."
    return f"{start} is not on the package index that pip is configured for. Check the name and PIP_INDEX_URL, or give a mirror that has the file."


def _versions(pin: Pin, *options: str) -> list[str]:
    result = _pip("index", "versions", pin.name, "--pre", "--ignore-requires-python", *options)
    match = re.search(r"^Available versions: (.*)$", result.stdout, re.MULTILINE)
    return match.group(1).split(", ") if match else []


def mirrors(named: Iterable[str]) -> tuple[str, ...]:
    """The mirrors that the command line names, then those of the environment."""
    return (*named, *filter(None, os.environ.get("AUTOCLAVE_MIRRORS", "").split(",")))


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line, fetch, and print one line per wheel."""
    parser = argparse.ArgumentParser(description="Fetch the wheels of a lock, each checked by its sha256.")
    parser.add_argument("--component", required=True, help="name of the toolchain component, for messages")
    parser.add_argument("--lock", required=True, type=Path, help="requirements file with exact versions and hashes")
    parser.add_argument(
        "--python-abi", required=True, choices=ABIS, help="ABI of the interpreter that will import the wheels"
    )
    parser.add_argument("--output", required=True, type=Path, help="directory that gets the wheels")
    parser.add_argument("--mirror", action="append", default=[], help="directory or address with files named by sha256")
    options = parser.parse_args(arguments)
    try:
        pins = parse_lock(options.lock.read_text(), str(options.lock))
        request = Request(options.component, str(options.lock), pins, options.python_abi, mirrors(options.mirror))
        for wheel in fetch(request, options.output):
            print(f"{sha256_of(wheel)} {wheel.stat().st_size} {wheel.name}")
    except (FetchError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
