"""Rights: CI writes to the cache and developers read it; who may do less still builds, and is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from e2e.catalogue_models import declare, tiny_model
from remote.cache_fixtures import Kept
from remote.cached_builds import artifact_of, build
from remote.checkouts import Checkout

from autoclave.servers.buildgrid import BuildGrid


def kept_by(server: BuildGrid) -> dict[str, int]:
    """What the storage behind the server holds: sizes by path."""
    kinds = ("actioncache/objects", "cas/objects")
    files = (path for kind in kinds for path in (server.casd.data / kind).rglob("*") if path.is_file())
    return {str(path.relative_to(server.casd.data)): path.stat().st_size for path in files}


def test_developers_take_what_ci_wrote_and_leave_nothing(
    buildgrid: BuildGrid, developer: Callable[..., Checkout]
) -> None:
    ci, dev = developer("ci"), developer("dev")
    written = build(ci, *ci.options(buildgrid, subject="ci"))
    assert "Compile models:one" in written.ran
    assert (written.read_errors, written.unwritten) == (0, 0)
    before = kept_by(buildgrid)

    declare(dev, "mine", tiny_model(seed=33), ("cpu",))
    theirs = build(dev, *dev.options(buildgrid, subject="dev", write=True))

    assert theirs.hits == written.written
    assert {each.split()[1] for each in theirs.ran} == {"models:mine", "models:mine-onnx"}
    assert artifact_of(theirs, "one") == artifact_of(written, "one")
    assert theirs.written == 0 and theirs.unwritten > 0
    assert "Failed to write to remote cache" in theirs.warnings and "Unauthenticated" in theirs.warnings
    assert theirs.verdict == "failed" and "results was written" in theirs.reason
    assert kept_by(buildgrid) == before


def test_anybody_takes_what_ci_wrote_without_a_token_and_leaves_nothing(
    buildgrid: BuildGrid, developer: Callable[..., Checkout]
) -> None:
    """As the jobs of a stranger's pull request do, which begin with the doctor."""
    ci, stranger = developer("ci"), developer("stranger")
    written = build(ci, *ci.options(buildgrid, subject="ci"))
    before = kept_by(buildgrid)

    doctor = stranger.pants(*stranger.options(buildgrid, subject="", write=False), "cache-doctor", "--required")
    reading = build(stranger, *stranger.options(buildgrid, subject="", write=False))
    declare(stranger, "mine", tiny_model(seed=33), ("cpu",))
    writing = build(stranger, *stranger.options(buildgrid, subject="", write=True))

    assert doctor.returncode == 0, doctor.stdout + doctor.stderr
    assert (reading.hits, reading.ran, reading.verdict) == (written.written, [], "ok")
    assert reading.artifacts == written.artifacts
    assert writing.written == 0 and writing.unwritten > 0
    assert kept_by(buildgrid) == before


TOKENS = {"expired": ("ci", -60), "of nobody that is known": ("stranger", 3600), "none": ("", 0)}


@pytest.mark.parametrize(("subject", "seconds"), TOKENS.values(), ids=TOKENS)
def test_token_that_the_server_does_not_take_means_a_build_without_cache_and_a_warning(
    buildgrid: BuildGrid, developer: Callable[..., Checkout], kept: Kept, subject: str, seconds: int
) -> None:
    checkout = developer()
    *others, token = checkout.options(buildgrid, token=buildgrid.token(subject, seconds))
    built = build(checkout, *others, *([token] if subject else []))

    assert built.ran == kept.built.ran
    assert built.artifacts == kept.built.artifacts
    assert (built.hits, built.misses, built.written) == (0, 0, 0)
    assert built.verdict == "failed" and "this build was not cached" in built.reason
    assert "Failed to read from remote cache" in built.warnings and "Unauthenticated" in built.warnings


def test_ip_address_with_tls_is_a_build_without_cache_and_a_warning(
    buildgrid: BuildGrid, developer: Callable[..., Checkout], kept: Kept
) -> None:
    """Pants knows names in certificates only, so `grpcs://` takes a host's name."""
    by_address = replace(
        buildgrid, server=replace(buildgrid.server, address=buildgrid.server.address.replace("localhost", "127.0.0.1"))
    )
    checkout = developer()
    built = build(checkout, *checkout.options(by_address, write=False))

    assert built.artifacts == kept.built.artifacts
    assert (built.hits, built.misses) == (0, 0)
    assert "InvalidDNSNameError" in built.warnings
