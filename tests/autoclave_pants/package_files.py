"""Small packages, made by hand: wheels, Debian packages and archives with exactly the files that a test wants."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

LINK, HARD_LINK, DEVICE = tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE


def sha256(path: Path) -> str:
    """Hex sha256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def make_wheel(
    folder: Path, name: str, version: str, tag: str = "py3-none-any", files: Mapping[str, bytes] = {}, mode: int = 0o644
) -> Path:
    """A wheel with metadata, and `files` by path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-{tag}.whl"
    pythons, abis, platforms = (part.split(".") for part in tag.split("-"))
    tags = "".join(f"Tag: {p}-{a}-{f}\n" for p in pythons for a in abis for f in platforms)
    metadata = {
        "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        "WHEEL": f"Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\n{tags}",
        "RECORD": "",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for place, data in files.items():
            info = zipfile.ZipInfo(place)
            info.external_attr = mode << 16
            archive.writestr(info, data)
        for key, text in metadata.items():
            archive.writestr(f"{name}-{version}.dist-info/{key}", text)
    return path


def make_sdist(folder: Path, name: str, version: str) -> Path:
    """A source distribution whose build would fail loudly."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}.tar.gz"
    path.write_bytes(
        tar(
            {
                f"{name}-{version}/setup.py": b"raise SystemExit('a build script ran')",
                f"{name}-{version}/PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
            },
            compression="gz",
        )
    )
    return path


def tar(
    files: Mapping[str, bytes],
    links: Sequence[tuple[bytes, str, str]] = (),
    compression: str = "",
    modes: Mapping[str, int] = {},
) -> bytes:
    """A tar archive of `files`, and of `links`: (type, path, target)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=f"w:{compression}") as archive:  # type: ignore[call-overload]
        for path, data in files.items():
            info = tarfile.TarInfo(path)
            info.size = len(data)
            info.mode = modes.get(path, 0o644)
            archive.addfile(info, io.BytesIO(data))
        for kind, path, target in links:
            info = tarfile.TarInfo(path)
            info.type, info.linkname = kind, target
            archive.addfile(info)
    return buffer.getvalue()


def make_deb(
    folder: Path,
    name: str,
    files: Mapping[str, bytes],
    links: Sequence[tuple[bytes, str, str]] = (),
    architecture: str = "amd64",
    compression: str = "xz",
    modes: Mapping[str, int] = {},
) -> Path:
    """A Debian package with a maintainer script that must not run."""
    folder.mkdir(parents=True, exist_ok=True)
    control = {
        "./control": f"Package: {name}\nVersion: 1.0\nArchitecture: {architecture}\nDescription: made by hand\n".encode(),
        "./postinst": b"#!/bin/sh\ntouch /tmp/a-maintainer-script-ran\n",
    }
    members = {
        "debian-binary": b"2.0\n",
        f"control.tar.{compression}": tar(control, compression=compression),
        f"data.tar.{compression}": tar(files, links, compression, modes),
    }
    path = folder / f"{name}_1.0_{architecture}.deb"
    path.write_bytes(b"!<arch>\n" + b"".join(_member(key, data) for key, data in members.items()))
    return path


def _member(name: str, data: bytes) -> bytes:
    header = f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode()
    return header + data + b"\n" * (len(data) % 2)
