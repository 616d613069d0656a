"""Tests that skip where Debian packages cannot be had: `./pants test` says so, and runs them once the packages are there.

Pants shows nothing of a test that passes, and one that skips passes. A `python_tests` target names in tags the `deb_lock`,
or the servers' programs (autoclave.servers.fetch), that its tests skip without:

    python_tests(..., tags=["needs:toolchains:comgr"])
    python_tests(..., tags=["needs-programs:buildbox", "needs-programs:postgresql"])
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from pants.backend.python.goals.pytest_runner import PytestPluginSetup, PytestPluginSetupRequest
from pants.engine.process import FallibleProcessResult, Process, ProcessCacheScope
from pants.engine.rules import Get, Rule, collect_rules, rule
from pants.engine.target import Tags, Target
from pants.engine.unions import UnionRule

from autoclave_pants.engine import digest_of_files, environment, merge, run_process, targets_named
from autoclave_pants.errors import reason_in
from autoclave_pants.rules.fetching import NETWORK_VARIABLES, SYSTEM_PATH
from autoclave_pants.rules.interpreters import CACHE_DIRECTORY, CACHE_NAME, HostPython, HostPythonRequest
from autoclave_pants.rules.library import SOURCES, LibraryClosure, LibraryClosureRequest
from autoclave_pants.rules.toolchains import CANNOT_BE_HAD, debs

logger = logging.getLogger(__name__)

LOCK, PROGRAMS = "needs:", "needs-programs:"
"""With what a tag begins."""

FOLDER = ".needs"
"""Where a test's sandbox has a file for each need, so that a skipped test is run again when the packages can be had."""

FETCH_PROGRAMS = "autoclave.servers.fetch"
PYTHONS = ("3.13", "3.12")
CACHE_VARIABLES = ("HOME", "XDG_CACHE_HOME")
"""What says where the user's cache is, which the tests take the programs from."""


def needs(target: Target, prefix: str) -> tuple[str, ...]:
    """What the target's tags name after `prefix`."""
    return tuple(tag[len(prefix) :] for tag in target.get(Tags).value or () if tag.startswith(prefix))


class NeedsRequest(PytestPluginSetupRequest):
    @classmethod
    def is_applicable(cls, target: Target) -> bool:
        return bool(needs(target, LOCK) or needs(target, PROGRAMS))


@dataclass(frozen=True)
class Need:
    """What tests need, as it is named to people and as a file name; and why it cannot be had, empty if it can."""

    name: str
    file: str
    reason: str


async def lock_need(address: str, target: Target) -> Need:
    """Other failures than that of a machine that cannot have them are the tests' own affair: they fail of them."""
    (lock,) = await targets_named(address, f"the tags of {target.address}")
    fetched, _ = await debs(lock)
    reason = reason_in(fetched.log) if fetched.exit_code == CANNOT_BE_HAD else ""
    return Need(address, lock.address.path_safe_spec, reason)


async def programs_need(name: str) -> Need:
    """Fetches them, once for all tests, into the user's cache."""
    python = await Get(HostPython, HostPythonRequest(PYTHONS))
    library = await Get(LibraryClosure, LibraryClosureRequest(FETCH_PROGRAMS))
    process = Process(
        argv=(python.link, "-s", "-m", FETCH_PROGRAMS, name),
        description=f"Fetch the programs of {name}",
        input_digest=library.digest,
        env={
            **await environment((*CACHE_VARIABLES, *NETWORK_VARIABLES)),
            "PATH": SYSTEM_PATH,
            "PYTHONPATH": SOURCES,
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        append_only_caches={CACHE_NAME: CACHE_DIRECTORY},
        cache_scope=ProcessCacheScope.PER_SESSION,
    )
    result: FallibleProcessResult = await run_process(process)
    log = result.stderr.decode(errors="replace")
    return Need(
        f"the programs of {name}", f"programs.{name}", reason_in(log) if result.exit_code == CANNOT_BE_HAD else ""
    )


@rule
async def warn_of_missing_packages(request: NeedsRequest) -> PytestPluginSetup:
    target = request.target
    found = [await lock_need(address, target) for address in needs(target, LOCK)]
    found += [await programs_need(name) for name in needs(target, PROGRAMS)]
    for need in found:
        if need.reason:
            logger.warning(f"{target.address}: tests that need {need.name} are SKIPPED: {need.reason}")
    states = [
        await digest_of_files({f"{FOLDER}/{need.file}": b"missing\n" if need.reason else b"there\n"}) for need in found
    ]
    return PytestPluginSetup(await merge(states))


def rules() -> list[Rule | UnionRule]:
    return [*collect_rules(), UnionRule(PytestPluginSetupRequest, NeedsRequest)]
