"""`./pants forecast`: for each model, hashes of what its artifact, the files beside it, and its tests are made from."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Optional

from pants.core.goals.test import TestSubsystem
from pants.engine.addresses import Address
from pants.engine.console import Console
from pants.engine.goal import Goal, GoalSubsystem
from pants.engine.rules import Get, MultiGet, Rule, collect_rules, goal_rule, rule
from pants.util.strutil import help_text

from autoclave_pants.errors import BuildError
from autoclave_pants.forecast.predictions import hash_of
from autoclave_pants.rules.actions import ActionRequest, ActionResult, References
from autoclave_pants.rules.artifacts import CompiledModel, ModelRequest, compiled
from autoclave_pants.rules.catalogue import Catalogue, CataloguedModel
from autoclave_pants.rules.library import LibraryClosure, LibraryClosureRequest
from autoclave_pants.rules.model_tests import tested_products
from autoclave_pants.rules.models import OnnxModelRequest
from autoclave_pants.rules.packaging import PackagedModel, PackageRequest
from autoclave_pants.rules.parity import ParityFieldSet, parity_action
from autoclave_pants.rules.products import package_directory, products_of
from autoclave_pants.target_types.models import HardwareField

CHECKER_OF_SOURCES = "autoclave.source.check"
"""The module that accepts or refuses an ONNX file; nothing that is built depends on what it writes."""


class ForecastSubsystem(GoalSubsystem):
    name = "forecast"
    help = help_text(
        """
        Print, as JSON, hashes of what each model is made from. Nothing is run or fetched for it. Two revisions of a checkout that give the
        same hash for a model build the same. `./pants affected` compares them.
        """
    )


class Forecast(Goal):
    subsystem_cls = ForecastSubsystem
    environment_behavior = Goal.EnvironmentBehavior.LOCAL_ONLY


@dataclass(frozen=True)
class FingerprintsRequest:
    """A model and the parity tests of it."""

    model: CataloguedModel


@dataclass(frozen=True)
class Fingerprints:
    """Hashes of a model's ingredients. Of a model that cannot be told, the reason, and no hashes.

    `artifact` covers `sources` and `toolchain`, and `package` covers `artifact`: these tell why, that tells whether.
    """

    address: Address
    hardware: str
    artifact: str = ""
    sources: str = ""
    toolchain: str = ""
    package: str = ""
    tests: tuple[tuple[str, str], ...] = field(default=())
    error: Optional[str] = None


async def checks_of(model: ModelRequest, references: References) -> object:
    """What decides whether the source of a model is accepted."""
    if not isinstance(model, OnnxModelRequest):
        return None
    library = await Get(LibraryClosure, LibraryClosureRequest(CHECKER_OF_SOURCES))
    return (library.digest.fingerprint, references.toolchain.identity, model.dimensions, model.inputs)


async def parity_key(fields: ParityFieldSet, test: TestSubsystem, references: References) -> str:
    """A hash of all that a parity test does."""
    keys: list[str] = []
    for product in await tested_products(fields.address, fields.model):
        action = await parity_action(fields, product.model, not keys, test, references.toolchain)
        keys.append((await Get(ActionResult, ActionRequest, action)).stdout)
    return hash_of(keys)


def named_sources(artifacts: Iterable[CompiledModel]) -> str:
    """A hash of the ONNX files that artifacts were made from."""
    return hash_of(sorted({each.source.sha256 for artifact in artifacts for each in artifact.sources}))


@rule
async def fingerprints(request: FingerprintsRequest, test: TestSubsystem, references: References) -> Fingerprints:
    target = request.model.target
    address, hardware = target.address, target[HardwareField].value
    try:
        products = products_of(target)
        package = await Get(PackagedModel, PackageRequest(products, package_directory(target)))
        artifacts, checks, tests = [], [], []
        for product in products.artifacts:
            artifacts.append(await compiled(product.model))
            checks.append(await checks_of(product.model, references))
        for each in request.model.tests:
            tests.append((str(each.address), await parity_key(each, test, references)))
    except BuildError as error:
        return Fingerprints(address, hardware, error=str(error))
    files = [(product.filename, artifact.file.fingerprint) for product, artifact in zip(products.artifacts, artifacts)]
    return Fingerprints(
        address,
        hardware,
        hash_of(files),
        named_sources(artifacts),
        hash_of(sorted({artifact.toolchain.identity for artifact in artifacts})),
        hash_of((package.digest.fingerprint, *checks)),
        tuple(tests),
    )


def as_json(found: Fingerprints) -> dict[str, Any]:
    return {
        "hardware": found.hardware,
        "artifact": found.artifact,
        "sources": found.sources,
        "toolchain": found.toolchain,
        "package": found.package,
        "tests": dict(found.tests),
        "error": found.error,
    }


@goal_rule
async def forecast(catalogue: Catalogue, console: Console) -> Forecast:
    found = await MultiGet(Get(Fingerprints, FingerprintsRequest(model)) for model in catalogue.models)
    console.print_stdout(json.dumps({str(each.address): as_json(each) for each in found}, sort_keys=True))
    return Forecast(exit_code=0)


def rules() -> list[Rule]:
    return list(collect_rules())
