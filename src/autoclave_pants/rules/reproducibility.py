"""`reproducibility_test`: a model built again in another world is the same bytes."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any, Optional

from pants.core.goals.test import TestFieldSet, TestRequest, TestResult, TestSubsystem
from pants.engine.addresses import Address
from pants.engine.internals.session import RunId
from pants.engine.rules import Get, Rule, collect_rules, rule
from pants.engine.target import Target
from pants.util.logging import LogLevel

from autoclave_pants.engine import add_prefix, merge
from autoclave_pants.errors import BuildError
from autoclave_pants.rules.actions import ActionRequest, ActionResult, Variation
from autoclave_pants.rules.artifacts import ARTIFACT, CompiledModel, ModelRequest, compiled
from autoclave_pants.rules.execution import Execution
from autoclave_pants.rules.model_tests import FAILED, build_failure, no_process, result_of, tested_products
from autoclave_pants.rules.products import Product
from autoclave_pants.rules.toolchains import Toolchain, ToolchainRequest
from autoclave_pants.subsystem import PythonKind, ReproducibilitySubsystem
from autoclave_pants.target_types.model_tests import NoSourcesField, TestedModelField, ToleranceField

logger = logging.getLogger(__name__)

OTHER_WORLD = Variation(hash_seed=223, root="/elsewhere/than/usual", uid=54321)


@dataclass(frozen=True)
class ReproducibilityFieldSet(TestFieldSet):
    required_fields = (TestedModelField,)

    sources: NoSourcesField
    model: TestedModelField

    @classmethod
    def opt_out(cls, tgt: Target) -> bool:
        return tgt.has_field(ToleranceField)


class ReproducibilityTestRequest(TestRequest):
    tool_subsystem = ReproducibilitySubsystem  # type: ignore[assignment]
    field_set_type = ReproducibilityFieldSet


async def other_python(artifact: CompiledModel, model: ModelRequest) -> Optional[tuple[PythonKind, str]]:
    """The kind of Python that the first build did not use, if this machine has one for its toolchain; and the version that
    it is rather not of, if the toolchain's wheels are locked for another one too. Workers have one kind."""
    if (await Get(Execution)).remote:
        return None
    kind = PythonKind.host if artifact.toolchain.python.kind == "deb" else PythonKind.deb
    for unlike in (artifact.toolchain.python.version, ""):
        try:
            await Get(Toolchain, ToolchainRequest(model.platform.toolchain, kind, unlike))
        except BuildError:
            continue
        return kind, unlike
    return None


async def difference_of(first: CompiledModel, second: CompiledModel, address: Address) -> str:
    """What differs between two artifacts, section by section."""
    both = (await add_prefix(first.digest, "inputs/first"), await add_prefix(second.digest, "inputs/second"))
    result = await Get(
        ActionResult,
        ActionRequest(
            module="autoclave.cli",
            arguments=("diff", f"inputs/first/{ARTIFACT}", f"inputs/second/{ARTIFACT}"),
            request="",
            inputs=await merge(both),
            toolchain=first.toolchain,
            outputs=(),
            target=str(address),
            stage="Compare builds for",
        ),
    )
    return result.stdout + result.log


@dataclass(frozen=True)
class RepeatedBuild:
    """An artifact built twice: whether it is the same, in lines for people, and which Python the second build had."""

    same: bool
    text: str
    python: Optional[str]


async def repeated(product: Product, address: Address) -> RepeatedBuild:
    """Build an artifact again in another world."""
    first = await compiled(product.model)
    other = await other_python(first, product.model)
    kind, unlike = other or (None, "")
    second = await compiled(product.model, variation=OTHER_WORLD, python=kind, unlike=unlike)
    python = second.toolchain.python.identity if kind else None
    varied = f"hash seed, directory, user{f', Python {python}' if python else ''}"
    if first.file == second.file:
        text = f"{product.filename}: {first.file.fingerprint}: the same bytes with another {varied}\n"
        return RepeatedBuild(True, text, python)
    difference = await difference_of(first, second, address)
    return RepeatedBuild(False, f"{product.filename}: two builds differ (varied: {varied})\n{difference}", python)


@rule(desc="Test reproducibility", level=LogLevel.DEBUG)
async def test_reproducibility(
    batch: ReproducibilityTestRequest.Batch[ReproducibilityFieldSet, Any], test: TestSubsystem, run: RunId
) -> TestResult:
    fields = batch.single_element
    builds = []
    try:
        for product in await tested_products(fields.address, fields.model):
            builds.append(await repeated(product, fields.address))
    except BuildError as error:
        return build_failure(fields.address, error, test, run)
    if any(build.python is None for build in builds):
        where = "actions run on workers, which have" if (await Get(Execution)).remote else "this machine has"
        logger.warning(f"{fields.address}: {where} one kind of Python only, so that was not varied.")
    exit_code = 0 if all(build.same for build in builds) else FAILED
    text = "".join(build.text for build in builds)
    return result_of(fields.address, exit_code, text, test, no_process(run))


def rules() -> list[Rule]:
    return [*collect_rules(), *ReproducibilityTestRequest.rules()]
