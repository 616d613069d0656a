"""Lock wheels: a requirements file with the sha256 of one wheel per supported Python, as pip would choose them."""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from autoclave.errors import ToolchainError

PYTHONS = ("3.12", "3.13")
"""Versions of CPython that the sandbox can run, and a lock is made for by default."""

PLATFORMS = tuple(f"manylinux_2_{minor}_x86_64" for minor in range(36, 4, -1)) + (
    "manylinux2014_x86_64",
    "manylinux2010_x86_64",
    "manylinux1_x86_64",
    "linux_x86_64",
)
"""Platform tags that run in the sandbox: glibc up to 2.36 (Debian 12), the oldest of the supported hosts."""

REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9.!+_-]+)")
PIP_TAIL = 6


@dataclass(frozen=True)
class LockedWheel:
    """One wheel file: its name, size in bytes, sha256, and the ABIs (`cp313`) whose interpreters it is for."""

    filename: str
    size: int
    sha256: str
    abis: tuple[str, ...]


@dataclass(frozen=True)
class LockedRelease:
    """One line of a wheel lock: an exact release and its wheels."""

    requirement: str
    wheels: tuple[LockedWheel, ...]


def lock_wheels(requirements: Sequence[str], pythons: Sequence[str]) -> tuple[LockedRelease, ...]:
    """Download the wheels of exact `requirements` (`NAME==VERSION`) for each of `pythons` (`3.13`) and hash them.

    Dependencies are not followed: a lock names everything a component needs, and nothing else. Uses this interpreter's
    pip and the index it is configured for. Raises `ToolchainError` for a requirement that is not exact, a Python that
    is not supported, or a release that has no wheel.
    """
    for requirement in requirements:
        if not REQUIREMENT.fullmatch(requirement):
            raise ToolchainError(
                f"cannot lock `{requirement}`: write one exact release, NAME==VERSION, for example numpy==2.5.5"
            )
    for python in pythons:
        if python not in PYTHONS:
            raise ToolchainError(f"cannot lock for Python {python}: the sandbox runs {' and '.join(PYTHONS)}")
    return tuple(_lock_release(requirement, pythons) for requirement in sorted(requirements, key=str.lower))


def _lock_release(requirement: str, pythons: Iterable[str]) -> LockedRelease:
    found: dict[str, LockedWheel] = {}
    for python in pythons:
        abi = "cp" + python.replace(".", "")
        with tempfile.TemporaryDirectory() as folder:
            wheel = _download(requirement, abi, Path(folder))
            known = found.get(wheel.sha256)
            found[wheel.sha256] = (
                wheel if known is None else LockedWheel(wheel.filename, wheel.size, wheel.sha256, (*known.abis, abi))
            )
    return LockedRelease(requirement, tuple(found.values()))


def _download(requirement: str, abi: str, folder: Path) -> LockedWheel:
    platforms = [option for platform in PLATFORMS for option in ("--platform", platform)]
    result = subprocess.run(
        [
            sys.executable, "-I", "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir", "--only-binary", ":all:",
            "--implementation", "cp", "--python-version", abi[2:], "--abi", abi, *platforms, "--dest", str(folder), requirement,
        ],
        # A `constraint =` in a machine's global configuration must not choose for us.
        env={**os.environ, "PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"},
        capture_output=True,
        text=True,
    )  # fmt: skip
    if result.returncode != 0:
        raise ToolchainError(_explain(requirement, abi, result.stderr))
    (path,) = folder.iterdir()
    return LockedWheel(path.name, path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest(), (abi,))


def _explain(requirement: str, abi: str, log: str) -> str:
    if "No module named pip" in log:
        return (
            f"locking wheels needs pip, which {sys.executable} does not have; use an interpreter or a venv that has it"
        )
    if "No matching distribution" in log:
        return (
            f"locking {requirement}: the package index has no wheel of it for CPython {abi} on x86-64 Linux (a source distribution "
            "does not serve: Autoclave runs no build scripts). Choose another version, or leave that Python out with --python"
        )
    return f"locking {requirement}: pip failed:\n" + "\n".join(log.strip().splitlines()[-PIP_TAIL:])


def render_wheel_lock(releases: Iterable[LockedRelease], command: str) -> str:
    """The text of the lock. `command` is what writes it anew."""
    releases = tuple(releases)
    wheels = [wheel for release in releases for wheel in release.wheels]
    lines = ["# Wheels by hash: x86-64 Linux, CPython and file beside each size in bytes. Written by", f"#   {command}"]
    lines += [f"# {' '.join(wheel.abis)}  {wheel.filename}  {wheel.size}" for wheel in wheels]
    for release in releases:
        hashes = [f"    --hash=sha256:{wheel.sha256}" for wheel in release.wheels]
        lines.append(" \\\n".join([release.requirement, *hashes]))
    return "\n".join(lines) + "\n"
