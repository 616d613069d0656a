"""`./pants affected`: which models a change touches, and whether their artifacts or only their checks."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Optional

from pants.base.build_environment import get_buildroot
from pants.base.specs import Specs
from pants.engine.addresses import Addresses
from pants.engine.console import Console
from pants.engine.env_vars import CompleteEnvironmentVars
from pants.engine.goal import Goal, GoalSubsystem
from pants.engine.internals.session import SessionValues
from pants.engine.rules import Get, Rule, collect_rules, goal_rule
from pants.option.option_types import BoolOption, EnumOption, StrListOption, StrOption
from pants.option.options_bootstrapper import OptionsBootstrapper
from pants.util.strutil import help_text, softwrap

from autoclave_pants.revisions import Forecast, RevisionError, commit_of, forecasts, passed_on
from autoclave_pants.rules.catalogue import Catalogue, CataloguedModel
from autoclave_pants.rules.products import variant
from autoclave_pants.target_types.fields import HARDWARE
from autoclave_pants.target_types.models import HardwareField

logger = logging.getLogger(__name__)

LARGEST_MATRIX = 256
"""How many jobs GitHub takes in one matrix."""

REASON = 200
"""How many characters of an error go into a matrix, which has to fit into a variable."""


class Listed(Enum):
    artifacts = "artifacts"
    models = "models"
    tests = "tests"


class AffectedSubsystem(GoalSubsystem):
    name = "affected"
    help = help_text(
        """
        Name the models that a change touches, and whether it touches their artifacts or only what checks them.

            ./pants affected --since=origin/main                   # a table, for people
            ./pants affected --since=HEAD~1 --json                 # a matrix for GitHub's workflows
            ./pants affected --hardware=qcom models:pop223         # without a revision: all models, here one

        A model's `artifact` is affected if an action on the way to it has other inputs than at that revision; `parity` means that the
        artifact stays as it is, and its check file, its provenance or its parity test does not. Nothing is built or fetched to tell.
        Files that are not committed count as changes.
        """
    )

    since = StrOption(
        default=None,
        help=softwrap(
            """
            The git revision to compare the checkout with. Without it, every model counts as affected, as for a build of everything.
            """
        ),
    )
    json = BoolOption(
        default=False,
        help=softwrap(
            """
            Print a matrix for a GitHub workflow: `{"include": [...]}`, an entry a model with `model` (its address), `hardware`,
            `artifact` (whether it is affected), `tests` (addresses of its parity tests, joined by spaces), `name` (fit for a file name)
            and `why`.
            """
        ),
    )
    list = EnumOption(
        default=None,
        enum_type=Listed,
        help=softwrap(
            """
            Print addresses only, one a line, as `--spec-files` reads them: of the `models`, of those whose `artifacts` are affected, or of
            the parity `tests` of the models.
            """
        ),
    )
    hardware = StrListOption(
        help=f"Only models for this hardware ({', '.join(HARDWARE)}). May be given more than once."
    )


class Affected(Goal):
    subsystem_cls = AffectedSubsystem
    environment_behavior = Goal.EnvironmentBehavior.LOCAL_ONLY


@dataclass(frozen=True)
class Effect:
    """What a change does to a model: whether to its artifact or only to what checks it, and why."""

    artifact: bool
    why: str


def effect_of(now: Mapping[str, Any], before: Optional[Mapping[str, Any]]) -> Optional[Effect]:
    """The effect on one model, by its forecasts; None if there is none. What cannot be told counts as affected."""
    if before is None:
        return Effect(True, "it is new")
    error = now["error"] or before["error"]
    if error:
        return Effect(True, f"it cannot be told: {error.splitlines()[0][:REASON]}")
    if now["artifact"] != before["artifact"]:
        different = [what for what in ("sources", "toolchain") if now[what] != before[what]]
        return Effect(True, f"other {' and '.join(different)}" if different else "its declaration or the compiler")
    whys = [
        *(["check file or provenance"] if now["package"] != before["package"] else []),
        *(["parity test"] if now["tests"] != before["tests"] else []),
    ]
    return Effect(False, " and ".join(whys)) if whys else None


def effects_of(now: Forecast, before: Forecast) -> dict[str, Effect]:
    """The effects on all models, by address; those that are not affected are left out."""
    found = {address: effect_of(model, before.get(address)) for address, model in now.items()}
    return {address: effect for address, effect in found.items() if effect is not None}


def file_name(model: CataloguedModel) -> str:
    """A name for a model that is fit for a file or a job: "models.pop223-qcom"."""
    address = model.target.address
    path = ".".join(filter(None, (*address.spec_path.split("/"), address.target_name)))
    return f"{path}-{variant(model.target)}"


def entry(model: CataloguedModel, effect: Effect) -> dict[str, Any]:
    """One entry of the matrix."""
    return {
        "model": str(model.target.address),
        "hardware": model.target[HardwareField].value,
        "artifact": effect.artifact,
        "tests": " ".join(sorted(str(test.address) for test in model.tests)),
        "name": file_name(model),
        "why": effect.why,
    }


def addresses(entries: Iterable[Mapping[str, Any]], listed: Listed) -> Iterator[str]:
    """The addresses that `--list` asks for."""
    for each in entries:
        if listed is Listed.tests:
            yield from each["tests"].split()
        elif listed is Listed.models or each["artifact"]:
            yield each["model"]


def table(entries: list[dict[str, Any]]) -> Iterator[str]:
    """One aligned line a model."""
    width = max((len(each["model"]) for each in entries), default=0)
    for each in entries:
        yield f"{each['model']:<{width}}  {'artifact' if each['artifact'] else 'parity':<8}  {each['why']}"


def summary(entries: list[dict[str, Any]], of: int) -> str:
    artifacts = sum(each["artifact"] for each in entries)
    return f"{len(entries)} of {of} models affected: {artifacts} by their artifacts, {len(entries) - artifacts} by their checks only"


def compared(revision: str, session: SessionValues) -> Optional[dict[str, Effect]]:
    """The effects since a revision; None if they cannot be told, because that revision cannot be read by its own backend."""
    environment = dict(session[CompleteEnvironmentVars])
    options = passed_on(session[OptionsBootstrapper].args)
    checkout = Path(get_buildroot())
    commit = commit_of(checkout, revision, environment)
    with tempfile.TemporaryDirectory(prefix="autoclave-affected-") as scratch:
        now, before = forecasts(checkout, commit, Path(scratch).resolve(), options, environment)
    if isinstance(before, RevisionError):
        logger.warning(f"{revision} ({commit}) cannot be told, so that every model counts as affected:\n{before}")
        return None
    gone = sorted(set(before) - set(now))
    if gone:
        logger.warning(f"Since {revision} these are no models any more: {', '.join(gone)}")
    return effects_of(now, before)


async def chosen(catalogue: Catalogue, specs: Specs, options: AffectedSubsystem) -> tuple[CataloguedModel, ...]:
    """The models that the command line asks about."""
    named = set(await Get(Addresses, Specs, specs))
    return tuple(
        model
        for model in catalogue.models
        if (not specs or model.target.address in named)
        and (not options.hardware or model.target[HardwareField].value in options.hardware)
    )


@goal_rule
async def affected(
    catalogue: Catalogue,
    specs: Specs,
    console: Console,
    options: AffectedSubsystem,
    session: SessionValues,
) -> Affected:
    unknown = sorted(set(options.hardware) - set(HARDWARE))
    if unknown:
        console.print_stderr(f"--hardware={unknown[0]} is none of {', '.join(HARDWARE)}.")
        return Affected(exit_code=1)
    models = await chosen(catalogue, specs, options)
    try:
        effects = compared(options.since, session) if options.since else None
    except RevisionError as error:
        console.print_stderr(f"--since={options.since}: {error}")
        return Affected(exit_code=1)
    if effects is None:
        everything = Effect(True, "there is nothing to compare with")
        effects = {str(model.target.address): everything for model in models}
    entries = [
        entry(model, effects[str(model.target.address)]) for model in models if str(model.target.address) in effects
    ]
    if options.json:
        console.print_stdout(json.dumps({"include": entries}, sort_keys=True))
    else:
        for line in addresses(entries, options.list) if options.list else table(entries):
            console.print_stdout(line)
    console.print_stderr(summary(entries, len(models)))
    if options.json and len(entries) > LARGEST_MATRIX:
        logger.warning(
            f"GitHub takes {LARGEST_MATRIX} jobs in a matrix, and these are {len(entries)}: ask for parts of the catalogue."
        )
    return Affected(exit_code=0)


def rules() -> list[Rule]:
    return list(collect_rules())
