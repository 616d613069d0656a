"""The interpreters of this machine, behind names that do not depend on where they live.

Actions find them in an append-only cache, which is not part of an action's key: `pants` starts the interpreter that Pants
itself runs on (for fetching and unpacking), `fetch-NAME` the same with this machine's proxies, mirrors and tokens in its
environment, and `cp313` is a link to the machine's CPython 3.13 (for a `host_python`).
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from pants.engine.rules import Rule, collect_rules, rule
from pants.option.global_options import NamedCachesDirOption

from autoclave_pants.engine import environment

CACHE_NAME = "autoclave_interpreters"
CACHE_DIRECTORY = "interpreters"
PROBE_SECONDS = 20


@dataclass(frozen=True)
class PantsInterpreter:
    """How an action starts the interpreter that Pants runs on: a path in its own directory."""

    path: str
    append_only_caches: tuple[tuple[str, str], ...]
    directory: str

    def with_environment(self, name: str, variables: Mapping[str, str]) -> str:
        """How an action starts it with `variables` in its environment, which are no part of the action's key.

        What is pinned by hash is the same whichever proxy or mirror it came through, and a token in a key would be
        uploaded to a shared cache for all its readers. The file is its owner's alone to read.
        """
        exports = "".join(f"export {key}={shlex.quote(value)}\n" for key, value in sorted(variables.items()))
        replace_file(Path(self.directory, name), starter(exports), 0o700)
        return f"{CACHE_DIRECTORY}/{name}"


@dataclass(frozen=True)
class HostPythonRequest:
    """Find one of these versions ("3.13"), best first."""

    versions: tuple[str, ...]


@dataclass(frozen=True)
class HostPython:
    """The version found and where actions find the link to it; `version` is None if there is none."""

    version: Optional[str]
    link: str


def replace_file(path: Path, content: str, mode: int) -> None:
    """Write `path` in one step, so that an action that starts meanwhile sees the old file or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_file() and path.read_text() == content:
        return
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w") as file:
        file.write(content)
    os.chmod(temporary, mode)
    os.replace(temporary, path)


def replace_link(path: Path, target: str) -> None:
    """Make `path` a link to `target` in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() and os.readlink(path) == target:
        return
    temporary = Path(tempfile.mkdtemp(dir=path.parent)) / "link"
    os.symlink(target, temporary)
    os.replace(temporary, path)
    temporary.parent.rmdir()


def candidates(
    version: str, search_path: str, home: Optional[str], pyenv_root: Optional[str], launchers: Optional[str]
) -> Iterator[Path]:
    """Places where CPython `version` usually is, in the order in which they are tried: PATH, pyenv, uv, the launcher's own."""
    name = f"python{version}"
    for directory in filter(None, search_path.split(os.pathsep)):
        if Path(directory).name != "shims":
            yield Path(directory) / name
    roots = [Path(pyenv_root)] if pyenv_root else []
    if home:
        roots.append(Path(home, ".pyenv"))
    for root in roots:
        yield from sorted((root / "versions").glob(f"{version}.*/bin/{name}"))
    if home:
        yield from sorted(Path(home, ".local/share/uv/python").glob(f"cpython-{version}*/bin/{name}"))
    if launchers:
        yield Path(launchers) / name


def is_cpython(path: Path, version: str) -> bool:
    """Whether `path` starts, says that it is CPython `version`, and has the modules that Debian's python3-minimal lacks."""
    if not os.access(path, os.X_OK):
        return False
    program = "import ctypes, numbers, sys; print(sys.implementation.name, '%d.%d' % sys.version_info[:2])"
    try:
        result = subprocess.run(
            [str(path), "-I", "-S", "-c", program], capture_output=True, text=True, timeout=PROBE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return result.stdout.split() == ["cpython", version]


def starter(exports: str = "") -> str:
    """A shell script that starts the interpreter that Pants runs on."""
    return f'#!/bin/sh\n{exports}exec "{sys.executable}" "$@"\n'


@rule
async def pants_interpreter(named_caches: NamedCachesDirOption) -> PantsInterpreter:
    directory = Path(named_caches.val, CACHE_NAME)
    replace_file(directory / "pants", starter(), 0o755)
    return PantsInterpreter(f"{CACHE_DIRECTORY}/pants", ((CACHE_NAME, CACHE_DIRECTORY),), str(directory))


@rule
async def find_host_python(request: HostPythonRequest, named_caches: NamedCachesDirOption) -> HostPython:
    variables = await environment(("PATH", "HOME", "PYENV_ROOT", "AUTOCLAVE_PYTHONS"))
    home, pyenv_root, launchers = (variables.get(name) for name in ("HOME", "PYENV_ROOT", "AUTOCLAVE_PYTHONS"))
    for version in request.versions:
        link = f"cp{version.replace('.', '')}"
        for path in candidates(version, variables.get("PATH", ""), home, pyenv_root, launchers):
            if is_cpython(path, version):
                replace_link(Path(named_caches.val, CACHE_NAME, link), os.path.realpath(path))
                return HostPython(version, f"{CACHE_DIRECTORY}/{link}")
    return HostPython(None, CACHE_DIRECTORY)


def rules() -> list[Rule]:
    return list(collect_rules())
