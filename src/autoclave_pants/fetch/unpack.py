"""Unpack fetched packages into one tree of plain files, the same tree on every machine.

The only input of its action besides the packages, so it stands alone: standard library only, valid on Python 3.9.

    python unpack.py --component numpy --kind wheel --output tree wheels/
    python unpack.py --component python --kind deb --output tree --flat flat debs/
    python unpack.py --component tinygrad --kind tar --keep tinygrad --output tree tinygrad.tar.gz

Nothing of a package is run, and nothing is kept that an installer would add: no scripts, no RECORD (pip writes
interpreter paths into these), no maintainer scripts. Modes are 0644 or 0755, links are relative and stay inside, times
do not count. Exit code: 0, or 2 with one `error:` message that names the component, the file and what to do.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import io
import json
import lzma
import os
import posixpath
import shutil
import stat
import subprocess
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import IO, Callable

MAX_FILES = 100_000
MAX_BYTES = 4 << 30
"""Bounds of a component's tree; the largest today has 9,000 files and 0.2 GB."""

LAYOUT = "layout.json"
REGULAR, EXECUTABLE, LINK = "100644", "100755", "120000"
"""Modes of a tree's entries, written as git does."""

INSTALLER_FILES = frozenset(["RECORD", "RECORD.jws", "RECORD.p7s", "INSTALLER", "REQUESTED", "direct_url.json"])
WHEEL_SCHEMES = {"purelib": "", "platlib": "", "data": "", "scripts": None, "headers": None}
"""Where the folders of a wheel's .data go in the tree; None: nowhere."""

DEB_DROPS = (
    "etc/*",
    "var/*",
    "usr/sbin/*",
    "usr/bin/ld.so",
    "usr/share/*",
    "usr/lib/binfmt.d/*",
    "usr/lib/x86_64-linux-gnu/audit/*",
    "usr/lib/x86_64-linux-gnu/gconv/*",
    "usr/lib/python3*/ensurepip/*",
    "usr/lib/python3*/idlelib/*",
    "usr/lib/python3*/lib2to3/*",
    "usr/lib/python3*/pydoc_data/*",
    "usr/lib/python3*/test/*",
    "usr/lib/python3*/turtledemo/*",
)
"""What no action needs of the interpreter's packages: documentation, configuration, character sets, the
interpreter's own tests.
"""

MERGED_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
"""Top folders that a merged Debian system keeps below usr/."""

ANYWHERE_DROPS = ("*/__pycache__/*", "__pycache__/*", "*.pyc")
DEB_MAGIC = b"!<arch>\n"
DEB_HEADER_BYTES = 60
DEB_ARCHITECTURES = ("amd64", "all")

UNREADABLE = (
    ArithmeticError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    ValueError,
    lzma.LZMAError,
    subprocess.CalledProcessError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What the standard library raises for damaged packages, beside what their format's reader does."""


class UnpackError(Exception):
    """A package cannot be unpacked safely or reproducibly; the message is for the user."""


@dataclass(frozen=True)
class Entry:
    """One file of a package: where it goes, whether it is executable, and its bytes or, for a link, its target in
    the tree.
    """

    path: str
    executable: bool = False
    size: int = 0
    open: Callable[[], IO[bytes]] | None = None
    target: str | None = None


@dataclass
class Tree:
    """The tree being written. Every path is checked before anything is written under it."""

    component: str
    root: Path
    drops: tuple[str, ...] = ()
    written: int = 0
    dropped: set[str] = field(default_factory=set)
    _files: dict[str, str] = field(default_factory=dict)
    _folded: dict[str, str] = field(default_factory=dict)
    _links: dict[str, tuple[str, str]] = field(default_factory=dict)

    def add(self, entry: Entry, package: str) -> None:
        """Write a file, or remember a link. Raises `UnpackError` if the path is unsafe, taken, or beyond the bounds."""
        matching = [pattern for pattern in self.drops + ANYWHERE_DROPS if fnmatchcase(entry.path, pattern)]
        self.dropped.update(matching)
        if matching:
            return
        self._check_path(entry.path, package)
        if entry.target is not None:
            self._add_link(entry.path, entry.target, package)
        else:
            self._add_file(entry, package)

    def finish(self, dangling: str) -> None:
        """Write the links.

        One whose target is not in the tree is left out (`dangling="drop"`) or refused ("refuse"). One in whose place
        the tree has a folder is refused: what lies in that folder would lead elsewhere.
        """
        folders = {path[:end] for path in (*self._files, *self._links) for end in range(len(path)) if path[end] == "/"}
        for path, (target, package) in sorted(self._links.items()):
            if not self._resolves(path):
                if dangling == "refuse":
                    raise self._error(package, f"the link {path} points to {target}, which the package does not have")
                continue
            if path in folders:
                raise self._error(package, f"{path} is a link, and also a folder with other files in it")
            place = self.root / path
            self._make_folder(path, package)
            place.symlink_to(posixpath.relpath(target, posixpath.dirname(path) or "."))

    def _resolves(self, path: str) -> bool:
        folders = {posixpath.dirname(file) for file in self._files}
        seen: set[str] = set()
        while path in self._links and path not in seen:
            seen.add(path)
            path = self._links[path][0]
        return path in self._files or any(folder == path or folder.startswith(path + "/") for folder in folders)

    def _check_path(self, path: str, package: str) -> None:
        parts = path.split("/")
        if (
            not path
            or path.startswith("/")
            or "\\" in path
            or "\0" in path
            or any(part in ("", ".", "..") for part in parts)
        ):
            raise self._error(
                package, f"the path `{path}` leads out of the tree or is not plain; the package is not to be trusted"
            )
        folded = self._folded.setdefault(path.casefold(), path)
        if folded != path:
            raise self._error(package, f"the paths {folded} and {path} differ in case only")
        for length in range(1, len(parts)):
            if "/".join(parts[:length]) in self._links:
                raise self._error(package, f"the path {path} goes through the link {'/'.join(parts[:length])}")

    def _add_link(self, path: str, target: str, package: str) -> None:
        known = self._links.get(path)
        if path in self._files or (known and known[0] != target):
            raise self._error(
                package, f"{path} is also in {self._files.get(path) or (known or ('', ''))[1]}, with other content"
            )
        if target == ".." or target.startswith(("../", "/")):
            raise self._error(
                package, f"the link {path} points out of the tree, to {target}; the package is not to be trusted"
            )
        self._links[path] = (target, package)

    def _add_file(self, entry: Entry, package: str) -> None:
        if entry.path in self._links:
            raise self._error(package, f"{entry.path} is also a link in {self._links[entry.path][1]}")
        if len(self._files) >= MAX_FILES:
            raise self._error(package, f"the tree would have more than {MAX_FILES} files")
        place = self.root / entry.path
        self._make_folder(entry.path, package)
        scratch = place.with_name(place.name + ".new") if entry.path in self._files else place
        assert entry.open is not None
        with entry.open() as source, scratch.open("wb") as target:
            self._copy(source, target, entry.size, package, entry.path)
        scratch.chmod(0o755 if entry.executable else 0o644)
        if scratch is not place:
            self._settle_conflict(scratch, place, package, entry.path)
        self._files.setdefault(entry.path, package)

    def _make_folder(self, path: str, package: str) -> None:
        try:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise self._error(package, f"a folder on the way to {path} is a file in another package") from None

    def _copy(self, source: IO[bytes], target: IO[bytes], size: int, package: str, path: str) -> None:
        left = size
        for piece in iter(lambda: source.read(1 << 20), b""):
            left -= len(piece)
            self.written += len(piece)
            if left < 0 or self.written > MAX_BYTES:
                raise self._error(
                    package,
                    f"{path} has more than the {size} bytes that it declares, or the tree more than {MAX_BYTES}",
                )
            target.write(piece)
        if left:
            raise self._error(package, f"{path} declares {size} bytes and has {size - left}; fetch it anew")

    def _settle_conflict(self, scratch: Path, place: Path, package: str, path: str) -> None:
        same = scratch.read_bytes() == place.read_bytes()
        scratch.unlink()
        if not same:
            raise self._error(
                package, f"{path} is also in {self._files[path]}, with other content. Lock only one of the two packages"
            )

    def _error(self, package: str, text: str) -> UnpackError:
        return UnpackError(f"component {self.component}: {package}: {text}.")


def unpack(
    component: str, kind: str, packages: Iterable[Path], output: Path, keep: str = "", drops: tuple[str, ...] = ()
) -> None:
    """Unpack `packages` into the new directory `output`.

    `kind` is `wheel`, `deb` or `tar`; `keep` is the one folder of a tar archive that is kept; `drops` are path patterns
    (fnmatch) to leave out, each of which has to match a file. Raises `UnpackError`: see the module's heading.
    """
    output.mkdir(parents=True, exist_ok=True)
    tree = Tree(component, output, drops + (DEB_DROPS if kind == "deb" else ()))
    for package in packages:
        try:
            for entry in READERS[kind](package, keep):
                tree.add(entry, package.name)
        except (*UNREADABLE, UnpackError) as error:
            if isinstance(error, UnpackError) and str(error).startswith("component "):
                raise
            raise UnpackError(
                f"component {component}: {package.name}: cannot be read as a {kind}: {error}. Fetch it anew."
            ) from error
    for pattern in drops:
        if pattern not in tree.dropped:
            raise UnpackError(
                f"component {component}: `{pattern}` is to be left out, but matches no file: correct or remove it."
            )
    tree.finish("drop" if kind == "deb" else "refuse")
    if not any(output.iterdir()):
        raise UnpackError(
            f"component {component}: nothing to unpack" + (f": no folder `{keep}` in the archive." if keep else ".")
        )


def read_wheel(path: Path, keep: str) -> Iterator[Entry]:
    """The files of a wheel as they lie in site-packages. `keep` plays no part."""
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            mode = info.external_attr >> 16
            place = None if info.is_dir() else wheel_place(info.filename)
            if place is None:
                continue
            if stat.S_ISLNK(mode):
                raise UnpackError(f"{info.filename} is a link, which wheels do not have")
            yield Entry(place, bool(mode & 0o111), info.file_size, partial(archive.open, info))


def wheel_place(name: str) -> str | None:
    """Where a wheel's file goes in the tree, or None if it does not."""
    top, _, rest = name.partition("/")
    if top.endswith(".dist-info") and rest in INSTALLER_FILES:
        return None
    if not top.endswith(".data"):
        return name
    scheme, _, rest = rest.partition("/")
    if scheme not in WHEEL_SCHEMES:
        raise UnpackError(f"{name}: a wheel's .data has no folder `{scheme}`")
    return None if WHEEL_SCHEMES[scheme] is None else rest


def read_deb(path: Path, keep: str) -> Iterator[Entry]:
    """The files of a Debian package as they lie in a merged root file system. `keep` plays no part."""
    with path.open("rb") as file:
        members = dict(read_ar(file))
        control = _deb_control(path, file, members)
        if control.get("Architecture") not in DEB_ARCHITECTURES:
            raise UnpackError(f"is for {control.get('Architecture')}, not amd64; lock the amd64 package")
        name = next((name for name in members if name.startswith("data.tar")), None)
        if name is None:
            raise UnpackError("has no data.tar")
        with _open_tar(path, name, _slice(file, *members[name])) as archive:
            yield from _tar_entries(archive, merged)


def read_ar(file: IO[bytes]) -> Iterator[tuple[str, tuple[int, int]]]:
    """The members of an ar archive (deb(5)): name, (offset, size)."""
    file.seek(0)
    if file.read(len(DEB_MAGIC)) != DEB_MAGIC:
        raise UnpackError("is not a Debian package")
    while True:
        header = file.read(DEB_HEADER_BYTES)
        if not header:
            return
        if len(header) < DEB_HEADER_BYTES or header[58:] != b"`\n" or not header[48:58].strip().isdigit():
            raise UnpackError("is damaged or truncated")
        size = int(header[48:58])
        offset = file.tell()
        yield header[:16].decode("ascii", "replace").rstrip().rstrip("/"), (offset, size)
        file.seek(offset + size + size % 2)


def _slice(file: IO[bytes], offset: int, size: int) -> IO[bytes]:
    file.seek(offset)
    data = file.read(size)
    if len(data) < size:
        raise UnpackError("is truncated")
    return io.BytesIO(data)


def _deb_control(path: Path, file: IO[bytes], members: dict[str, tuple[int, int]]) -> dict[str, str]:
    name = next((name for name in members if name.startswith("control.tar")), None)
    if name is None:
        raise UnpackError("has no control.tar")
    with _open_tar(path, name, _slice(file, *members[name]), control=True) as archive:
        for member in archive:
            source = archive.extractfile(member) if posixpath.normpath(member.name) == "control" else None
            if source:
                lines = source.read().decode().splitlines()
                return {
                    key: value.strip()
                    for key, mark, value in (line.partition(":") for line in lines)
                    if mark and key[:1] not in " \t"
                }
    raise UnpackError("has no control file")


@contextmanager
def _open_tar(path: Path, name: str, data: IO[bytes], control: bool = False) -> Iterator[tarfile.TarFile]:
    if name.endswith(".zst"):
        data = io.BytesIO(_unzstd(path, data.read(), control))
    with tarfile.open(fileobj=data, mode="r:*") as archive:
        yield archive


def _unzstd(path: Path, data: bytes, control: bool) -> bytes:
    if shutil.which("dpkg-deb"):
        return subprocess.run(
            ["dpkg-deb", "--ctrl-tarfile" if control else "--fsys-tarfile", str(path)],
            check=True,
            stdout=subprocess.PIPE,
        ).stdout
    try:
        zstandard = importlib.import_module("zstandard")
    except ImportError:
        raise UnpackError(
            "is compressed by Zstandard, which this Python cannot read; install dpkg, or lock a package of Debian, which uses xz"
        ) from None
    content: bytes = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return content


def merged(path: str) -> str:
    """A path of a package in a merged file system: lib/x is usr/lib/x."""
    return f"usr/{path}" if path.split("/")[0] in MERGED_FOLDERS else path


def read_tar(path: Path, keep: str) -> Iterator[Entry]:
    """The files below `keep` of a source archive, whose single top folder is taken off."""

    def place(name: str) -> str:
        return name.partition("/")[2]

    with tarfile.open(path, mode="r:*") as archive:
        for entry in _tar_entries(archive, place):
            if not keep or entry.path.startswith(f"{keep}/"):
                yield entry


def _tar_entries(archive: tarfile.TarFile, place: Callable[[str], str]) -> Iterator[Entry]:
    for member in archive:
        name = member.name[2:] if member.name.startswith("./") else member.name
        if member.isdir():
            continue
        if member.issym():
            yield Entry(place(name), target=_link_target(name, member.linkname, place))
        elif member.isreg() or member.islnk():
            # A hard link is a second copy: extractfile follows it.
            content = archive.getmember(member.linkname) if member.islnk() else member
            yield Entry(place(name), bool(content.mode & 0o111), content.size, partial(_extract, archive, content))
        else:
            raise UnpackError(f"{name} is neither a file, a folder nor a link")


def _link_target(name: str, link: str, place: Callable[[str], str]) -> str:
    """Where a link points to, as a path from the tree's root, after both ends were moved."""
    target = link.lstrip("/") if link.startswith("/") else posixpath.join(posixpath.dirname(name), link)
    target = posixpath.normpath(target)
    return target if target.startswith("..") else place(target)


def _extract(archive: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    source = archive.extractfile(member)
    if source is None:
        raise UnpackError(f"{member.name} has no content")
    return source


READERS = {"wheel": read_wheel, "deb": read_deb, "tar": read_tar}


def entry_line(sha256: str, size: int, mode: str, path: str) -> str:
    """One entry of a tree as `identity` hashes it: of a link, sha256 and size are those of its target's text."""
    return f"{sha256} {size} {mode} {path}\n"


def identity(lines: Iterable[str]) -> str:
    """A tree's identity: sha256 over the sorted lines of its entries."""
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def tree_lines(root: Path) -> Iterator[str]:
    """The lines of all entries below `root`."""
    for folder, folders, files in os.walk(root):
        for name in [*files, *(name for name in folders if os.path.islink(os.path.join(folder, name)))]:
            place = Path(folder, name)
            path = place.relative_to(root).as_posix()
            if place.is_symlink():
                target = os.readlink(place).encode()
                yield entry_line(hashlib.sha256(target).hexdigest(), len(target), LINK, path)
            else:
                mode = EXECUTABLE if place.stat().st_mode & 0o100 else REGULAR
                yield entry_line(_sha256_of(place), place.stat().st_size, mode, path)


def _sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for piece in iter(lambda: file.read(1 << 20), b""):
            digest.update(piece)
    return digest.hexdigest()


def lay_flat(tree: Path, flat: Path) -> None:
    """Move the files of `tree` into the new folder `flat`, named by numbers; `layout.json` there says where each belongs.

    It holds {"files": [path, ...], "links": {path: target}}: the file called 7 is the eighth of `files`. Remote caches
    exist that give no result back whose folder has folders of its own: buildbox-casd wants each as an object, where
    Pants uploads them in one.
    """
    files, links = [], {}
    for folder, folders, names in os.walk(tree):
        for name in [*folders, *names]:
            place = Path(folder, name)
            path = place.relative_to(tree).as_posix()
            if place.is_symlink():
                links[path] = os.readlink(place)
            elif place.is_file():
                files.append(path)
    files.sort()
    flat.mkdir()
    for number, path in enumerate(files):
        (tree / path).rename(flat / str(number))
    (flat / LAYOUT).write_text(json.dumps({"files": files, "links": links}, sort_keys=True))


def packages_in(places: Iterable[Path]) -> list[Path]:
    """The given files, and the files in the given directories, in a fixed order."""
    found: list[Path] = []
    for place in places:
        found += sorted(path for path in place.iterdir() if path.is_file()) if place.is_dir() else [place]
    return found


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line, unpack, and print the tree's identity, number of entries and bytes."""
    parser = argparse.ArgumentParser(
        description="Unpack wheels, Debian packages or a source archive into one reproducible tree."
    )
    parser.add_argument("--component", required=True, help="name of the toolchain component, for messages")
    parser.add_argument("--kind", required=True, choices=sorted(READERS), help="what the packages are")
    parser.add_argument("--output", required=True, type=Path, help="directory that gets the tree")
    parser.add_argument("--keep", default="", help="the one folder of a tar archive to keep, below its top folder")
    parser.add_argument("--drop", action="append", default=[], help="pattern of paths to leave out, repeatable")
    parser.add_argument("--flat", type=Path, help="directory without directories that gets the tree's files instead")
    parser.add_argument("packages", nargs="+", type=Path, help="packages, or directories of them")
    options = parser.parse_args(arguments)
    try:
        unpack(
            options.component,
            options.kind,
            packages_in(options.packages),
            options.output,
            options.keep,
            tuple(options.drop),
        )
    except UnpackError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    lines = list(tree_lines(options.output))
    if options.flat:
        lay_flat(options.output, options.flat)
    print(f"{identity(lines)} {len(lines)} {sum(int(line.split(' ', 2)[1]) for line in lines)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
