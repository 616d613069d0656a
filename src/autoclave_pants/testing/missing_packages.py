"""Tests that skip where Debian packages cannot be had: `./pants test` says so, and runs them once the packages are there.

Pants shows nothing of a test that passes, and one that skips passes. A `python_tests` target names the `deb_lock` in a tag:

    python_tests(..., tags=["needs:toolchains:comgr"])
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from pants.backend.python.goals.pytest_runner import PytestPluginSetup, PytestPluginSetupRequest
from pants.engine.rules import Rule, collect_rules, rule
from pants.engine.target import Tags, Target
from pants.engine.unions import UnionRule

from autoclave_pants.engine import digest_of_files, merge, targets_named
from autoclave_pants.errors import reason_in
from autoclave_pants.rules.toolchains import CANNOT_BE_HAD, debs

logger = logging.getLogger(__name__)

PREFIX = "needs:"
FOLDER = ".needs"
"""Where a test's sandbox has a file for each lock, so that a skipped test is run again when the packages can be had."""


def needs(target: Target) -> tuple[str, ...]:
    """The addresses that the target's tags name."""
    return tuple(tag[len(PREFIX) :] for tag in target.get(Tags).value or () if tag.startswith(PREFIX))


class NeedsRequest(PytestPluginSetupRequest):
    @classmethod
    def is_applicable(cls, target: Target) -> bool:
        return bool(needs(target))


@dataclass(frozen=True)
class Reason:
    """Why packages cannot be had, empty if they can."""

    text: str


async def why_not(lock: Target) -> Reason:
    """Other failures than that of a machine that cannot have them are the tests' own affair: they fail of them."""
    fetched, _ = await debs(lock)
    return Reason(reason_in(fetched.log) if fetched.exit_code == CANNOT_BE_HAD else "")


@rule
async def warn_of_missing_packages(request: NeedsRequest) -> PytestPluginSetup:
    states = []
    for address in needs(request.target):
        (lock,) = await targets_named(address, f"the tags of {request.target.address}")
        reason = await why_not(lock)
        if reason.text:
            logger.warning(f"{request.target.address}: tests that need {address} are SKIPPED: {reason.text}")
        name = f"{FOLDER}/{lock.address.path_safe_spec}"
        states.append(await digest_of_files({name: b"missing\n" if reason.text else b"there\n"}))
    return PytestPluginSetup(await merge(states))


def rules() -> list[Rule | UnionRule]:
    return [*collect_rules(), UnionRule(PytestPluginSetupRequest, NeedsRequest)]
