"""A small checkout with the real launcher, in which small wheels stand for Pants and the PEX CLI."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
START = "3rdparty/bootstrap/start_pants.py"
PEX_CLI = b"the PEX CLI"
# Prints its arguments and its server, as much as can be seen from outside of what the launcher hands on.
NATIVE_CLIENT = (
    '#!/bin/sh\necho "client: $*"\necho "server: $_PANTS_SERVER_EXE"\n'
    'echo "cache: ${PANTS_REMOTE_STORE_ADDRESS-none} read ${PANTS_REMOTE_CACHE_READ-unset}"\nexit 7\n'
)
PEX_MODULE = f"import sys\nopen(sys.argv[sys.argv.index('-o') + 1], 'wb').write({PEX_CLI!r})\n"


def write_wheel(folder: Path, name: str, contents: dict[str, str]) -> str:
    """Write version 1 of a pure wheel and return its line in a lock."""
    wheel = folder / f"{name}-1-py3-none-any.whl"
    info = f"{name}-1.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in contents.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return f"{name}==1 \\\n    --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"


@dataclass
class SmallCheckout:
    """The launcher's surroundings; change `env` and the files below `root`, then `start`."""

    root: Path
    env: dict[str, str] = field(default_factory=dict)

    def popen(self, *args: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.root / "pants", *args],
            env=self.env,
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def start(self, *args: str) -> subprocess.CompletedProcess[str]:
        process = self.popen(*args)
        stdout, stderr = process.communicate()
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


@pytest.fixture
def checkout(tmp_path: Path) -> SmallCheckout:
    """A checkout whose locks name the small wheels, and a HOME of its own."""
    root, wheels, home = tmp_path / "checkout", tmp_path / "wheels", tmp_path / "home"
    bootstrap = root / "3rdparty/bootstrap"
    for folder in (bootstrap, wheels, home):
        folder.mkdir(parents=True)
    for name in ("pants", ".pants.bootstrap", "3rdparty/bootstrap/setup.sh", "3rdparty/bootstrap/pythons.sh", START):
        shutil.copy2(CHECKOUT / name, root / name)
    (bootstrap / "pip.lock").write_text("# Keep the pip that the interpreter brings.\n")
    (bootstrap / "pex.lock").write_text(write_wheel(wheels, "pex", {"pex/__main__.py": PEX_MODULE}))
    (root / "3rdparty/pants.lock").write_text(
        write_wheel(wheels, "small_pants", {"pants/bin/native_client": NATIVE_CLIENT})
    )
    (root / "pants.toml").write_text(
        f'known_versions = ["v1|linux_x86_64|{hashlib.sha256(PEX_CLI).hexdigest()}|{len(PEX_CLI)}"]\n'
    )
    return SmallCheckout(
        root,
        {
            "HOME": str(home),
            "PATH": os.pathsep.join(filter(None, (os.environ.get("AUTOCLAVE_PYTHONS"), "/usr/bin:/bin"))),
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(wheels),
        },
    )
