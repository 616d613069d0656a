"""Caches that fail: the build succeeds with the right bytes and says what happened."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from remote.cache_fixtures import Kept
from remote.cached_builds import Build, build, copy_folder
from remote.checkouts import Checkout

from autoclave.servers.casd import start_casd
from autoclave.servers.running import RunningServer

IMPATIENT = ("--remote-store-rpc-timeout-millis=2000",)
"""So that tests need not wait long for a server that says nothing."""


@pytest.fixture
def filled(kept: Kept, casd_programs: Path, tmp_path: Path) -> Iterator[RunningServer]:
    """A server with all results of the model `one`."""
    server = start_casd(copy_folder(kept.data, tmp_path / "filled"), folder=casd_programs)
    yield server
    server.stop()


def stored(server: RunningServer, digest: str) -> Path:
    """Where casd keeps the content with this sha256."""
    return server.data / "cas/objects" / digest[:2] / digest[2:]


def built_without_cache(built: Build, kept: Kept) -> None:
    assert built.ran == kept.built.ran
    assert built.artifacts == kept.built.artifacts
    assert (built.hits, built.misses) == (0, 0)
    assert built.verdict == "failed" and "this build was not cached" in built.reason


def test_server_that_is_gone(filled: RunningServer, developer: Callable[..., Checkout], kept: Kept) -> None:
    filled.kill()
    checkout = developer()
    built = build(checkout, *checkout.options(filled))

    built_without_cache(built, kept)
    assert built.read_errors > 0 and built.unwritten > 0
    assert "Connection refused" in built.warnings


def test_server_that_is_frozen(filled: RunningServer, developer: Callable[..., Checkout], kept: Kept) -> None:
    filled.freeze()
    checkout = developer()
    built = build(checkout, *checkout.options(filled, write=False))

    built_without_cache(built, kept)
    assert "request timed out" in built.warnings


def test_server_killed_in_mid_build(casd: RunningServer, developer: Callable[..., Checkout], kept: Kept) -> None:
    checkout = developer()
    built = build(checkout, *checkout.options(casd), until="Starting: Compile", then=casd.kill)

    assert built.artifacts == kept.built.artifacts
    assert built.misses > 0 and built.read_errors > 0 and built.unwritten > 0
    assert "Connection refused" in built.warnings


def test_server_frozen_in_mid_build(casd: RunningServer, developer: Callable[..., Checkout], kept: Kept) -> None:
    checkout = developer()
    built = build(checkout, *checkout.options(casd), *IMPATIENT, until="Starting: Compile", then=casd.freeze)

    assert built.artifacts == kept.built.artifacts
    assert built.misses > 0 and built.read_errors > 0 and built.unwritten > 0
    assert "timed out" in built.warnings
    # "degraded" if the results before the compilation were written by then.
    assert built.verdict in ("failed", "degraded"), built.reason


def test_server_frozen_while_the_last_results_are_uploaded(
    casd: RunningServer, developer: Callable[..., Checkout], kept: Kept
) -> None:
    checkout = developer()
    options = (*checkout.options(casd), "--session-end-tasks-timeout=2")
    built = build(checkout, *options, until="Starting: Record", then=casd.freeze)

    assert built.artifacts == kept.built.artifacts
    assert built.unwritten > 0
    assert built.verdict in ("failed", "degraded") and "not written in time" in built.log


def test_server_restarted_in_mid_build(casd: RunningServer, developer: Callable[..., Checkout], kept: Kept) -> None:
    checkout, later = developer("first"), developer("later")
    built = build(checkout, *checkout.options(casd), until="Starting: Compile", then=casd.restart)
    again = build(later, *later.options(casd))

    assert built.artifacts == again.artifacts == kept.built.artifacts
    # A result that was on its way in that moment may be refused; it is made anew, and all others are taken.
    assert built.written > 0
    assert len(again.ran) <= built.unwritten <= 2
    assert (again.read_errors, again.unwritten, again.verdict) == (0, 0, "ok")


def test_wrong_instance(filled: RunningServer, developer: Callable[..., Checkout], kept: Kept) -> None:
    checkout = developer()
    built = build(checkout, *checkout.options(replace(filled, instance="elsewhere")))

    built_without_cache(built, kept)
    assert built.read_errors > 0 and built.unwritten > 0
    assert "elsewhere" in built.warnings


def test_quota_too_small_for_an_artifact(
    casd_programs: Path, developer: Callable[..., Checkout], kept: Kept, tmp_path: Path
) -> None:
    small = start_casd(tmp_path / "small", quota="2K", folder=casd_programs)
    checkout = developer()
    built = build(checkout, *checkout.options(small))
    small.stop()

    assert built.ran == kept.built.ran
    assert built.artifacts == kept.built.artifacts
    assert built.unwritten > 0
    assert "OutOfSpaceException" in built.warnings
    assert built.verdict == "degraded" and "results were refused" in built.reason


@pytest.fixture
def full_file_system(tmp_path: Path) -> Iterator[Path]:
    """A file system of memory, for `fill`."""
    place = tmp_path / "full"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4G", "tmpfs", place], capture_output=True, text=True)
    if mounted.returncode != 0:
        pytest.skip(f"a file system that can be filled takes root and mount: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", place], check=True)


def fill(place: Path) -> None:
    """Leave no room for any more files in a file system of memory."""
    status = os.statvfs(place)
    used = status.f_files - status.f_ffree
    subprocess.run(["mount", "-o", f"remount,nr_inodes={used + 1}", place], check=True)


def test_full_file_system(
    casd_programs: Path, full_file_system: Path, developer: Callable[..., Checkout], kept: Kept, tmp_path: Path
) -> None:
    server = start_casd(full_file_system / "casd", log=tmp_path / "casd.log", folder=casd_programs)
    fill(full_file_system)
    checkout = developer()
    built = build(checkout, *checkout.options(server))
    server.stop()

    assert built.ran == kept.built.ran
    assert built.artifacts == kept.built.artifacts
    assert built.written == 0 and built.unwritten > 0
    assert "No space left on device" in built.warnings
    assert built.verdict == "failed" and "the next build will not find them" in built.reason


def test_results_harmed_on_the_server(filled: RunningServer, developer: Callable[..., Checkout], kept: Kept) -> None:
    artifact = kept.built.artifacts["one/cpu/one_tinygrad.pkl"]
    check_file = kept.built.artifacts["one/cpu/one_tinygrad.pkl.check.zst"]
    changed = bytearray(stored(filled, artifact).read_bytes())
    changed[len(changed) // 2] ^= 1
    stored(filled, artifact).chmod(0o644)
    stored(filled, artifact).write_bytes(changed)
    stored(filled, check_file).unlink()

    first, later = developer("first"), developer("later")
    built = build(first, *first.options(filled))

    assert built.artifacts == kept.built.artifacts
    assert built.ran == ["Compile models:one", "Record models:one"]
    assert built.hits == kept.built.written - 2, "what is not harmed is taken"
    assert "Remote CAS gave wrong digest" in built.warnings and artifact in built.warnings
    assert built.verdict == "degraded" and "missing or damaged on the server" in built.reason

    again = build(later, *later.options(filled))
    assert again.artifacts == kept.built.artifacts
    assert again.ran == ["Compile models:one"], (
        "what was missing is there again; a server keeps what it has, right or wrong"
    )
