"""An action's directory with a probe in it, launched as a chosen user."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

LAUNCHER = Path(__file__).resolve().parents[2] / "src/autoclave/sandbox/launch.sh"
ABI = f"cp3{sys.version_info.minor}"
ORDINARY_USER = 65534
USERS = {"as-root": 0, "as-ordinary-user": ORDINARY_USER} if os.getuid() == 0 else {"as-this-user": os.getuid()}
"""As whom launchers run: root and an ordinary user when root runs the tests, who may become both."""


@dataclass
class Outcome:
    """What a launched module left: exit code and output."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """What the module printed, which must be JSON."""
        assert self.code == 0, self.stderr
        return json.loads(self.stdout)


@dataclass
class Action:
    """The directory of an action whose module is `probe`, and how to launch it."""

    directory: Path
    options: list[str]
    user: int
    command: list[str] = field(default_factory=lambda: ["sh", "launch.sh"])

    def arguments(self, *options: str) -> list[str]:
        """The command line that launches the probe."""
        return [*self.command, *self.options, *options, "--", "probe"]

    def identity(self) -> dict[str, Any]:
        """Arguments of `subprocess` that make this the action's user."""
        return {"user": self.user, "group": self.user, "extra_groups": []} if os.getuid() == 0 else {}

    def program(self, source: str) -> None:
        """Write the probe's source."""
        (self.directory / "src/probe.py").write_text(source)

    def run(self, source: str, *options: str) -> Outcome:
        """Launch the probe with `source` as its program. Its environment outside has what must not come in."""
        self.program(source)
        result = subprocess.run(
            self.arguments(*options),
            cwd=self.directory,
            env={**os.environ, "UNDECLARED": "1"},
            capture_output=True,
            text=True,
            timeout=120,
            **self.identity(),
        )
        return Outcome(result.returncode, result.stdout, result.stderr)


@contextmanager
def read_only(directory: Path, writable: str = "") -> Iterator[None]:
    """Take write permission from a directory and all in it but the part `writable`, and give it back to the owner."""
    inside = (path for path in directory.rglob("*") if path.relative_to(directory).parts[0] != writable)
    paths = [directory, *inside]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield
    for path in paths:
        path.chmod(0o755 if path.is_dir() else 0o644)


def make_action(directory: Path, options: list[str], user: int) -> Action:
    """An action's directory with the launcher, a probe, and an input, owned by `user`."""
    (directory / "src").mkdir(parents=True)
    shutil.copy(LAUNCHER, directory / "launch.sh")
    (directory / "src/probe.py").touch()
    (directory / "input.txt").write_text("input")
    for path in [directory, *directory.rglob("*")]:
        os.chown(path, user, user)
    return Action(directory, options, user)


def deb_options(root: Path) -> list[str]:
    """The launcher's options for an interpreter unpacked from Debian packages."""
    return ["--python-tree", str(root), "--python-abi", "cp313"]


def host_options(executable: Path) -> list[str]:
    """The launcher's options for an interpreter of this machine."""
    return ["--python-link", str(executable), "--python-abi", ABI]
