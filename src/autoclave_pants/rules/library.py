"""Which files of the runtime library an action needs: those that its entry module imports, and nothing else.

The closure is read from the sources, so that an edit of the emulator or of the `autoclave` command is not an input of a
compile action, and nobody has to keep a list of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Optional

from pants.engine.fs import Digest
from pants.engine.rules import Rule, collect_rules, rule

from autoclave_pants.engine import add_prefix, contents_of, files_in_checkout, remove_prefix, subset
from autoclave_pants.subsystem import AutoclaveSubsystem

PACKAGE = "autoclave"
LAUNCHER = f"{PACKAGE}/sandbox/launch.sh"
SOURCES = "src"
IMPORT = re.compile(r"^[ \t]*import[ \t]+([^\n#;]+)", re.MULTILINE)
FROM_IMPORT = re.compile(r"^[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]*(\([^)]*\)|[^\n#;]+)", re.MULTILINE)
QUOTED_MODULE = re.compile(r"""["'](autoclave(?:\.\w+)+)["']""")
COMMENT = re.compile(r"#[^\n]*")


@dataclass(frozen=True)
class LibrarySources:
    """All of the library, relative to its source root."""

    digest: Digest


@dataclass(frozen=True)
class LibraryClosureRequest:
    """The entry module of an action, for example "autoclave.compiler". `without`: packages that it never imports, see `closure`."""

    module: str
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class LibraryClosure:
    """The modules that an entry module needs, below `src/`."""

    digest: Digest


@dataclass(frozen=True)
class Launcher:
    """The sandbox launcher, as `launch.sh`."""

    digest: Digest


def imported_modules(source: bytes, module: str, is_package: bool) -> Iterator[str]:
    """The names under `autoclave` that a module imports, anywhere in it; for `from m import n` both m and m.n.

    A module name in quotes counts too: that is how modules are named that are imported late. Read line by line, not by
    `ast`, because the library is written in a newer Python than the one that Pants runs on.
    """
    text = source.decode(errors="replace")
    yield from (match[1] for match in QUOTED_MODULE.finditer(text))
    for match in IMPORT.finditer(text):
        yield from (name.split()[0] for name in match[1].split(",") if name.strip())
    for match in FROM_IMPORT.finditer(text):
        base = match[2]
        if match[1]:
            parents = module.split(".")
            parents = parents[: len(parents) - len(match[1]) + (1 if is_package else 0)]
            base = ".".join([*parents, *filter(None, [base])])
        yield base
        names = COMMENT.sub("", match[3]).strip("()").split(",")
        yield from (f"{base}.{name.split()[0]}" for name in names if name.strip())


def path_of(module: str, files: Mapping[str, bytes]) -> Optional[str]:
    """The file of a module or package, or None if there is no such module in the library."""
    base = module.replace(".", "/")
    return next((path for path in (f"{base}/__init__.py", f"{base}.py") if path in files), None)


def closure(entry: str, files: Mapping[str, bytes], without: tuple[str, ...] = ()) -> frozenset[str]:
    """The files that `python -m entry` reads: the module (of a package, its `__main__` too), all that these import, and
    every package on the way. What is in the packages `without` is left out: an import of them is not carried out."""
    waiting = [entry, f"{entry}.__main__"]
    found: set[str] = set()
    while waiting:
        module = waiting.pop()
        parts = module.split(".")
        if parts[0] != PACKAGE or any(f"{module}.".startswith(f"{package}.") for package in without):
            continue
        for length in range(1, len(parts) + 1):
            name = ".".join(parts[:length])
            path = path_of(name, files)
            if path is not None and path not in found:
                found.add(path)
                waiting.extend(imported_modules(files[path], name, path.endswith("/__init__.py")))
    return frozenset(found)


@rule
async def library_sources(autoclave: AutoclaveSubsystem) -> LibrarySources:
    globs = (f"{autoclave.library}/{PACKAGE}/**/*.py", f"{autoclave.library}/{LAUNCHER}")
    return LibrarySources(await remove_prefix(await files_in_checkout(globs, "[autoclave].library"), autoclave.library))


@rule
async def library_closure(request: LibraryClosureRequest, library: LibrarySources) -> LibraryClosure:
    paths = closure(request.module, await contents_of(library.digest), request.without)
    return LibraryClosure(await add_prefix(await subset(library.digest, sorted(paths)), SOURCES))


@rule
async def launcher(library: LibrarySources) -> Launcher:
    script = await subset(library.digest, (LAUNCHER,))
    return Launcher(await remove_prefix(script, LAUNCHER.rpartition("/")[0]))


def rules() -> list[Rule]:
    return list(collect_rules())
