"""`./pants rebuild`: build every model that can be built; one that fails does not hide the others."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Optional

from pants.core.util_rules.distdir import DistDir
from pants.engine.addresses import Address
from pants.engine.console import Console
from pants.engine.fs import Digest, Workspace
from pants.engine.goal import Goal, GoalSubsystem
from pants.engine.rules import Get, MultiGet, Rule, collect_rules, goal_rule, rule
from pants.engine.target import Target, Targets
from pants.util.strutil import help_text

from autoclave_pants.engine import digest_of_files, merge
from autoclave_pants.errors import BuildError
from autoclave_pants.rules.packaging import PackagedModel, PackageRequest
from autoclave_pants.rules.products import is_model, package_directory, products_of
from autoclave_pants.target_types.models import HardwareField

FAILURE_RECORDS = "failures"


class RebuildSubsystem(GoalSubsystem):
    name = "rebuild"
    help = help_text(
        """
        Build all models that can be built.

        `package` stops at the first model that fails. `rebuild` goes on: it writes what succeeded to dist/, leaves one record per
        failed model and hardware in dist/failures/ (which stage, why, the log, the command that repeats it), prints a table and
        exits 1 if anything failed. What succeeded is cached, so that the next run resumes.
        """
    )


class Rebuild(Goal):
    subsystem_cls = RebuildSubsystem
    environment_behavior = Goal.EnvironmentBehavior.LOCAL_ONLY


@dataclass(frozen=True)
class Failure:
    """Why a model could not be built."""

    stage: str
    reason: str
    log: str


@dataclass(frozen=True)
class AttemptRequest:
    """Build one model, whatever comes."""

    target: Target


@dataclass(frozen=True)
class Attempt:
    """What became of one model: its package or its failure."""

    address: Address
    hardware: str
    packaged: Optional[PackagedModel]
    failure: Optional[Failure] = field(default=None)


@rule
async def attempt(request: AttemptRequest) -> Attempt:
    address, hardware = request.target.address, request.target[HardwareField].value
    try:
        wanted = PackageRequest(products_of(request.target), package_directory(request.target))
        packaged = await Get(PackagedModel, PackageRequest, wanted)
    except BuildError as error:
        return Attempt(address, hardware, None, Failure(error.stage, error.reason, error.log))
    except Exception as error:  # whatever else Pants finds wrong with it, such as an address that does not exist
        return Attempt(address, hardware, None, Failure("build", str(error) or type(error).__name__, ""))
    return Attempt(address, hardware, packaged)


def record_path(address: Address) -> str:
    return f"{FAILURE_RECORDS}/{address.path_safe_spec}.json"


def failure_record(attempted: Attempt, failure: Failure) -> bytes:
    record = {
        "target": str(attempted.address),
        "hardware": attempted.hardware,
        "stage": failure.stage,
        "reason": failure.reason,
        "log": failure.log,
        "command": f"./pants package {attempted.address}",
    }
    return (json.dumps(record, indent=2, sort_keys=True) + "\n").encode()


def row(attempted: Attempt) -> tuple[str, str, str]:
    """The address, the state, and the package's path or the first line of the failure."""
    if attempted.packaged:
        return str(attempted.address), "ok", attempted.packaged.path
    failure = attempted.failure
    assert failure is not None
    return str(attempted.address), "FAILED", f"{failure.stage}: {failure.reason.splitlines()[0]}"


def table(attempts: Iterable[Attempt]) -> Iterable[str]:
    """One aligned line a model and hardware."""
    rows = [row(each) for each in attempts]
    width = max((len(address) for address, _, _ in rows), default=0)
    for address, state, detail in rows:
        yield f"{address:<{width}}  {state:<6}  {detail}"


async def written(attempts: Iterable[Attempt]) -> Digest:
    """Everything that goes to dist: the packages and the failure records."""
    attempts = tuple(attempts)
    records = {record_path(each.address): failure_record(each, each.failure) for each in attempts if each.failure}
    packages = (each.packaged.digest for each in attempts if each.packaged)
    return await merge((*packages, await digest_of_files(records)))


@goal_rule
async def rebuild(targets: Targets, console: Console, workspace: Workspace, dist: DistDir) -> Rebuild:
    models = sorted(filter(is_model, targets), key=lambda each: str(each.address))
    if not models:
        console.print_stderr("No models among the given targets. Try `./pants rebuild models::`.")
        return Rebuild(exit_code=0)
    attempts = await MultiGet(Get(Attempt, AttemptRequest(target)) for target in models)
    # What an older build left of a model that fails now would pass for its artifact.
    cleared = [*(record_path(target.address) for target in models), *(package_directory(target) for target in models)]
    workspace.write_digest(await written(attempts), path_prefix=str(dist.relpath), clear_paths=cleared)
    for line in table(attempts):
        console.print_stdout(line)
    failed = sum(each.failure is not None for each in attempts)
    console.print_stdout(f"{len(attempts) - failed} built, {failed} failed")
    if failed:
        console.print_stdout(f"Records: {dist.relpath / FAILURE_RECORDS}/")
    return Rebuild(exit_code=1 if failed else 0)


def rules() -> list[Rule]:
    return list(collect_rules())
