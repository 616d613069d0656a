"""Write the hash-locked requirements files of this folder from their `.in` files.

    python3 3rdparty/lock.py [NAME ...]

For each lock and each Python it serves, pip resolves the `.in` file as it would install it (wheels only) and reports what it chose;
the results are merged into one requirements file. A package whose version differs between Pythons gets a marker. Nothing
of the package index's address enters a lock, so that every index and mirror serves it.

The Pythons are looked for in the launcher's own folder of interpreters ($AUTOCLAVE_PYTHONS) and on PATH; the pip is the one of the Python
that runs this script (23.1 or newer, for `--python`).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Lock:
    """One requirements file and the Pythons (as "3.12") that must be able to install it."""

    name: str
    pythons: tuple[str, ...]


LOCKS = (
    Lock("bootstrap/pip", ("3.9",)),
    Lock("bootstrap/uv", ("3.9",)),
    Lock("bootstrap/pex", ("3.9",)),
    Lock("pants", ("3.9",)),
    Lock("python-default", ("3.12", "3.13")),
    Lock("buildgrid", ("3.13",)),
    Lock("pytest", ("3.9", "3.12", "3.13")),
    Lock("mypy", ("3.9", "3.12", "3.13")),
    Lock("ruff", ("3.9", "3.12", "3.13")),
    Lock("setuptools", ("3.9", "3.12", "3.13")),
    Lock("workflows", ("3.12", "3.13")),
)


def find_python(version: str) -> str:
    """The path of a CPython of this version ("3.12").

    Raises:
        SystemExit: no such interpreter was found.
    """
    search = os.pathsep.join(filter(None, (os.environ.get("AUTOCLAVE_PYTHONS"), os.environ.get("PATH"))))
    found = shutil.which(f"python{version}", path=search)
    if not found:
        sys.exit(f"error: locking needs python{version}; put it on PATH or name its folder in AUTOCLAVE_PYTHONS")
    return found


def resolve(requirements: Path, version: str) -> list[tuple[str, str, str]]:
    """What pip would install for one Python: (normalised name, version, sha256 of the wheel) of each package."""
    report = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", find_python(version), "install", "-q"]
        + ["--dry-run", "--ignore-installed", "--only-binary", ":all:", "--report", "-", "-r", str(requirements)],
        check=True,
        stdout=subprocess.PIPE,
        env={**os.environ, "PIP_CONFIG_FILE": os.devnull},
    ).stdout
    return [
        (
            item["metadata"]["name"].lower().replace("_", "-"),
            item["metadata"]["version"],
            item["download_info"]["archive_info"]["hashes"]["sha256"],
        )
        for item in json.loads(report)["install"]
    ]


def merge(lock: Lock) -> str:
    """The text of the requirements file: sorted by name, then by version."""
    served: dict[tuple[str, str], set[str]] = defaultdict(set)
    hashes: dict[tuple[str, str], set[str]] = defaultdict(set)
    for version in lock.pythons:
        for name, release, sha256 in resolve(HERE / f"{lock.name}.in", version):
            served[name, release].add(version)
            hashes[name, release].add(sha256)
    lines = [
        f"# Written by 3rdparty/lock.py from {lock.name}.in for CPython {', '.join(lock.pythons)} on Linux x86-64."
    ]
    for package in sorted(served):
        names = " or ".join(f"python_version == '{v}'" for v in lock.pythons if v in served[package])
        marker = "" if served[package] == set(lock.pythons) else f" ; {names}"
        digests = " ".join(f"\\\n    --hash=sha256:{sha256}" for sha256 in sorted(hashes[package]))
        lines.append(f"{package[0]}=={package[1]}{marker} {digests}")
    return "\n".join(lines) + "\n"


def main(chosen: list[str]) -> None:
    """Write the named locks, or all of them."""
    unknown = set(chosen) - {lock.name for lock in LOCKS}
    if unknown:
        sys.exit(f"error: no such lock: {', '.join(sorted(unknown))}; there are {', '.join(k.name for k in LOCKS)}")
    for lock in LOCKS:
        if not chosen or lock.name in chosen:
            text = merge(lock)
            (HERE / f"{lock.name}.lock").write_text(text)
            print(f"{lock.name}: {text.count('==')} packages")


if __name__ == "__main__":
    main(sys.argv[1:])
