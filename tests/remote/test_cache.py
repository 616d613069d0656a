"""What CI has built, nobody builds again: other checkouts, users and interpreters take every model from the cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from e2e.catalogue_models import HARDWARE, declare
from remote.cache_fixtures import Filled, declare_shared
from remote.cached_builds import Build, artifact_of, build, dense_model
from remote.checkouts import Checkout, new_checkout

from autoclave.servers.buildgrid import BuildGrid
from autoclave.servers.running import RunningServer

ORDINARY_USER = 54321
INHERITED = ("HTTP", "NO_PROXY", "PIP_", "REQUESTS_", "SSL_", "http", "no_proxy")
"""First letters of the variables by which a machine reaches its package index."""

LARGE = (6144, 6400)
"""Rows and columns of 157 MB of weights."""


def taken_from_the_cache(built: Build, ci: Filled) -> None:
    assert built.ran == []
    assert built.hits == ci.built.written
    assert (built.misses, built.read_errors, built.verdict) == (0, 0, "ok")
    assert built.artifacts == ci.built.artifacts


def test_ci_writes_all_that_it_ran(ci: Filled) -> None:
    compiled = [each for each in ci.built.ran if each.startswith("Compile models:small")]
    assert compiled == sorted(f"Compile models:small@hardware={hardware}" for hardware in HARDWARE)
    assert (ci.built.hits, ci.built.read_errors, ci.built.unwritten) == (0, 0, 0)
    assert ci.built.written == ci.built.misses == len(ci.built.ran)
    assert len(ci.built.artifacts) == 3 * 4, (
        "artifact, check file and provenance, for three hardwares and of a driving model"
    )


def test_second_checkout_builds_nothing(ci: Filled, checkout: Callable[..., Checkout]) -> None:
    second = checkout("somewhere/else/entirely")
    declare_shared(second)

    taken_from_the_cache(build(second, *second.options(ci.server, write=False), whole=True), ci)


@pytest.fixture
def home_of_another(tmp_path: Path) -> Iterator[Path]:
    """The home of another user of this machine, whose interpreters lie there, too."""
    if os.getuid() != 0:
        pytest.skip("becoming another user takes root, which this user is not")
    # What pytest makes is closed to other users.
    with tempfile.TemporaryDirectory(prefix="autoclave-user-") as folder:
        home = Path(folder, "home")
        home.mkdir()
        Path(folder).chmod(0o755)
        yield home


def interpreters_of_the_launcher(checkout: Checkout) -> Path:
    """The folder of links to the interpreters that the launcher found for us."""
    script = '. 3rdparty/bootstrap/setup.sh; autoclave_setup "$PWD"; printf %s "$AUTOCLAVE_PYTHONS"'
    return Path(
        subprocess.run(["sh", "-c", script], cwd=checkout.root, capture_output=True, text=True, check=True).stdout
    )


def copied_interpreters(launcher: Path, home: Path) -> str:
    """Copies of the interpreters that the launcher found for us, with all they need; the value for PATH."""
    folders = []
    for link in sorted(launcher.glob("python3.*")):
        program = link.resolve()
        version = link.name
        place = home / "interpreters" / version
        (place / "bin").mkdir(parents=True)
        (place / "bin" / version).write_bytes(relocated(program.read_bytes(), program.parents[1] / "lib"))
        (place / "bin" / version).chmod(0o755)
        unneeded = shutil.ignore_patterns("__pycache__", "test", "tests", "site-packages", "dist-packages", "config-*")
        shutil.copytree(program.parents[1] / "lib" / version, place / "lib" / version, ignore=unneeded, symlinks=True)
        for library in program.parents[1].glob("lib/libpython3*.so*"):
            shutil.copy2(library, place / "lib")
        folders.append(str(place / "bin"))
    return os.pathsep.join([*folders, "/usr/bin", "/bin"])


def relocated(program: bytes, libraries: Path) -> bytes:
    """A program that looks for shared libraries beside itself, where it looked for them in the folder `libraries`."""
    before, after = f"\0{libraries}\0".encode(), b"\0$ORIGIN/../lib\0"
    return program if len(before) < len(after) else program.replace(before, after.ljust(len(before), b"\0"))


def test_another_user_with_other_interpreters_builds_nothing(ci: Filled, home_of_another: Path) -> None:
    theirs = new_checkout(home_of_another / "checkout", home_of_another / "store")
    declare_shared(theirs)
    inherited = {name: value for name, value in os.environ.items() if name.startswith(INHERITED)}
    launcher = interpreters_of_the_launcher(ci.checkout)
    env = {**inherited, "HOME": str(home_of_another), "PATH": copied_interpreters(launcher, home_of_another)}
    subprocess.run(["chown", "-R", f"{ORDINARY_USER}:{ORDINARY_USER}", home_of_another], check=True)

    built = build(theirs, *theirs.options(ci.server, write=False), env=env, user=ORDINARY_USER, whole=True)

    taken_from_the_cache(built, ci)
    assert f"setting up Pants in {home_of_another}" in built.log, "nothing of the first user's was used"


@pytest.mark.parametrize("kind", ["casd", "buildgrid"])
def test_large_artifact_goes_up_and_comes_down(
    kind: str, request: pytest.FixtureRequest, developer: Callable[..., Checkout]
) -> None:
    server: RunningServer | BuildGrid = request.getfixturevalue(kind)
    storage = server.casd if isinstance(server, BuildGrid) else server
    first, second = developer("first"), developer("second")
    for each in (first, second):
        declare(each, "large", dense_model(*LARGE), ("cpu",))

    up = build(first, *first.options(server))
    down = build(second, *second.options(server, subject="dev", write=False))

    artifact = first.root / "dist/models/large/cpu/large_tinygrad.pkl"
    assert artifact.stat().st_size > 150_000_000
    assert (up.unwritten, down.ran, down.read_errors) == (0, [], 0)
    assert down.artifacts == up.artifacts
    digest = artifact_of(up, "large")
    assert (storage.data / "cas/objects" / digest[:2] / digest[2:]).stat().st_size == artifact.stat().st_size


def test_chunks_larger_than_a_message_are_not_taken(
    ci: Filled, casd: RunningServer, developer: Callable[..., Checkout]
) -> None:
    """gRPC takes messages of 4 MiB at most; pants.toml keeps to that."""
    first = developer()
    declare(first, "large", dense_model(1024, 2048), ("cpu",))

    up = build(first, *first.options(casd), "--remote-store-chunk-bytes=8000000")

    assert "Compile models:large" in up.ran
    assert up.unwritten > 0
    assert "Received message larger than max" in up.warnings
