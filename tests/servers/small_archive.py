"""A Debian archive in a folder, with packages of programs that this machine has."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

SUITE = "forky"
LIBRARIES = "usr/lib/x86_64-linux-gnu"


class SmallArchive:
    """An archive of one suite; `add` packages, then `publish`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._stanzas: dict[str, str] = {}

    def add(self, name: str, files: dict[str, Path | str], version: str = "1", depends: str = "") -> Path:
        """Build a real package of files: by path, a file to copy, or the text of one. Returns the package."""
        tree = self.root / "build" / name
        shutil.rmtree(tree, ignore_errors=True)
        for path, content in files.items():
            place = tree / path
            place.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Path):
                shutil.copy(content, place)
            elif content.startswith("-> "):
                place.symlink_to(content.removeprefix("-> "))
            else:
                place.write_text(content)
        control = f"Package: {name}\nVersion: {version}\nArchitecture: amd64\nMaintainer: nobody <n@example.invalid>\n"
        control += f"Depends: {depends}\n" if depends else ""
        (tree / "DEBIAN").mkdir()
        (tree / "DEBIAN/control").write_text(f"{control}Description: {name}\n")
        package = self.root / f"pool/{name}_{version}_amd64.deb"
        package.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["dpkg-deb", "--build", "--root-owner-group", "-Zgzip", tree, package],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        self.index(name, package)
        return package

    def index(self, name: str, package: Path) -> None:
        """Take a package, as it is now, into the index that `publish` writes."""
        data = package.read_bytes()
        control = subprocess.run(["dpkg-deb", "--field", package], check=True, capture_output=True, text=True).stdout
        digest = hashlib.sha256(data).hexdigest()
        self._stanzas[name] = f"{control}Filename: pool/{package.name}\nSize: {len(data)}\nSHA256: {digest}\n"

    def publish(self) -> None:
        """Write the suite's indexes."""
        for suite, stanzas in ((SUITE, self._stanzas.values()), (f"{SUITE}-updates", ())):
            folder = self.root / "dists" / suite
            (folder / "main/binary-amd64").mkdir(parents=True, exist_ok=True)
            text = "\n".join(stanzas).encode()
            (folder / "main/binary-amd64/Packages").write_bytes(text)
            digest = hashlib.sha256(text).hexdigest()
            (folder / "Release").write_text(
                f"Suite: {suite}\nCodename: {suite}\nArchitectures: amd64\nComponents: main\n"
                f"Date: Mon, 30 Nov 2026 00:00:00 UTC\nSHA256:\n {digest} {len(text)} main/binary-amd64/Packages\n"
            )

    def add_shell(self, version: str = "1", extra: dict[str, Path | str] | None = None) -> None:
        """Publish a package `greeter` whose program is this machine's /bin/sh, and one of the libraries it needs.

        The shell is a small program that starts others, as buildbox does.
        """
        shell = Path("/bin/sh").resolve()
        listed = subprocess.run(["ldd", shell], capture_output=True, text=True, check=True).stdout
        needed = [Path(path) for path in re.findall(r"(/\S+) \(0x", listed)]
        self.add("libgreeter", {f"{LIBRARIES}/{path.name}": path for path in needed})
        self.add("unwanted", {"usr/share/doc/unwanted": "what nobody needs\n"})
        files: dict[str, Path | str] = {"usr/bin/greeter": shell, "usr/bin/other": shell, **(extra or {})}
        self.add("greeter", files, version, depends="libgreeter, unwanted")
        self.publish()
