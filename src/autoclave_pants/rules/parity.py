"""`./pants test` of models: the parity test and the reproducibility test."""

from __future__ import annotations

import logging
import posixpath
from dataclasses import dataclass
from typing import Any, Optional

from pants.core.goals.test import TestFieldSet, TestRequest, TestResult, TestSubsystem
from pants.engine.addresses import Address
from pants.engine.fs import EMPTY_DIGEST, EMPTY_FILE_DIGEST, Digest
from pants.engine.internals.session import RunId
from pants.engine.process import ProcessCacheScope, ProcessExecutionEnvironment, ProcessResultMetadata
from pants.engine.rules import Get, MultiGet, Rule, collect_rules, rule
from pants.engine.target import Target
from pants.util.logging import LogLevel

from autoclave_pants.engine import NamedFile, add_prefix, digest_of_entries, files_of, hydrate, merge, targets_at
from autoclave_pants.errors import BuildError, missing_file
from autoclave_pants.rules.actions import ActionRequest, ActionResult, References, Variation, request_json
from autoclave_pants.rules.emulation import REPLAYING, THREADS, Emulator, Translation, TranslationRequest
from autoclave_pants.rules.models import (
    ARTIFACT,
    CHECK,
    CheckFile,
    CheckRequest,
    CompiledModel,
    CompileRequest,
    ModelRequest,
    kernels_request,
)
from autoclave_pants.rules.sources import MODEL, UpcastRequest, UpcastSource
from autoclave_pants.rules.toolchains import Toolchain, ToolchainRequest
from autoclave_pants.subsystem import ParityTestSubsystem, PythonKind, ReproducibilitySubsystem
from autoclave_pants.target_types import (
    ChangeFractionField,
    DeviceRecordingField,
    DeviceRecordingSha256Field,
    HardwareField,
    NoSourcesField,
    ParityTestTimeoutField,
    PinnedOutputsField,
    RequireHardwareEvidenceField,
    TestedModelField,
    ToleranceField,
    ToleranceReasonField,
    UnusedInputsField,
)

logger = logging.getLogger(__name__)

CHECKERS = {"qcom": "autoclave.parity.emulated", "chestnut": "autoclave.parity.emulated"}
NATIVE_CHECKER = "autoclave.parity"
"""The module that checks, by hardware."""

FAILED = 1
WARNING_MARK = "WARNING"
OTHER_WORLD = Variation(hash_seed=223, root="/elsewhere/than/usual", uid=54321)


@dataclass(frozen=True)
class ParityFieldSet(TestFieldSet):
    required_fields = (TestedModelField, ToleranceField)

    sources: DeviceRecordingField
    device_recording_sha256: DeviceRecordingSha256Field
    model: TestedModelField
    tolerance: ToleranceField
    change_fraction: ChangeFractionField
    tolerance_reason: ToleranceReasonField
    pinned_outputs: PinnedOutputsField
    unused_inputs: UnusedInputsField
    require_hardware_evidence: RequireHardwareEvidenceField
    timeout: ParityTestTimeoutField


class ParityTestRequest(TestRequest):
    tool_subsystem = ParityTestSubsystem  # type: ignore[assignment]
    field_set_type = ParityFieldSet


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


def no_process(run: RunId) -> ProcessResultMetadata:
    """What stands for a process in the result of a test that ran none of its own: without it Pants' summary is silent."""
    environment = ProcessExecutionEnvironment(
        environment_name=None,
        platform="linux_x86_64",
        docker_image=None,
        remote_execution=False,
        remote_execution_extra_platform_properties=[],
    )
    return ProcessResultMetadata(0, environment, ProcessResultMetadata.Source.RAN.value, run)


def result_of(
    address: Address,
    exit_code: int,
    stdout: str,
    test: TestSubsystem,
    metadata: ProcessResultMetadata,
    stderr: str = "",
) -> TestResult:
    return TestResult(
        exit_code=exit_code,
        stdout=stdout,
        stdout_digest=EMPTY_FILE_DIGEST,
        stderr=stderr,
        stderr_digest=EMPTY_FILE_DIGEST,
        addresses=(address,),
        output_setting=test.output,
        result_metadata=metadata,
    )


def build_failure(address: Address, error: BuildError, test: TestSubsystem, run: RunId) -> TestResult:
    """A model that cannot be built fails its test with the build's error as the reason."""
    return result_of(address, FAILED, f"{error}\n", test, no_process(run), error.log)


async def tested_model(address: Address, field: TestedModelField) -> ModelRequest:
    (target,) = await targets_at(field.to_unparsed_address_inputs())
    if not target.has_field(HardwareField):
        raise BuildError(str(address), "test", f"`model` names {target.address}, a {target.alias}, not a model")
    return ModelRequest.of(target)


def gates(fields: ParityFieldSet, hardware: str) -> dict[str, Any]:
    """The fields of a test that its gates read; what is not given has the default of its hardware."""
    tolerance, change_fraction = fields.tolerance.of(hardware), fields.change_fraction.of(hardware)
    loosened = tolerance is not None or change_fraction is not None
    values = {
        "tolerance": tolerance,
        "change_fraction": change_fraction,
        "tolerance_reason": fields.tolerance_reason.value if loosened else None,
        "pinned_outputs": dict(fields.pinned_outputs.value) if fields.pinned_outputs.value else None,
        "unused_inputs": dict(fields.unused_inputs.value) if fields.unused_inputs.value else None,
        "require_hardware_evidence": True if fields.require_hardware_evidence.value else None,
    }
    return {name: value for name, value in values.items() if value is not None}


async def parity_inputs(compiled: CompiledModel, check: CheckFile) -> Digest:
    """The artifact, its check file and the fp32 graph for the reference."""
    reference = await Get(UpcastSource, UpcastRequest(compiled.source))
    return await merge((compiled.digest, check.digest, reference.digest))


async def device_recording(fields: ParityFieldSet) -> tuple[Digest, dict[str, Any]]:
    """The recording that a test names, checked by its sha256, and the field of the request that says where it is."""
    declared, pinned = fields.sources.value, fields.device_recording_sha256.value
    if declared is None and pinned is None:
        return EMPTY_DIGEST, {}
    if declared is None or pinned is None:
        given, missing = ("device_recording", "device_recording_sha256")[:: 1 if pinned is None else -1]
        raise BuildError(
            str(fields.address), "test", f"it has the field `{given}` and no `{missing}`: give both, or neither"
        )
    found = await files_of((await hydrate(fields.sources)).digest)
    if not found:
        raise missing_file(fields.address, fields.sources)
    (file,) = found.values()
    if file.fingerprint != pinned:
        raise BuildError(
            str(fields.address),
            "test",
            f"{declared} has the sha256 {file.fingerprint}, but the field `device_recording_sha256` says {pinned}: correct the "
            "field or bring the right file",
        )
    name = f"recording{posixpath.splitext(declared)[1]}"
    return await digest_of_entries((NamedFile(name, file),)), {"device_recording": f"inputs/{name}"}


async def recorded(model: ModelRequest, compiled: CompiledModel) -> tuple[CheckFile, Digest, dict[str, Any]]:
    """The check file; and, for a model that is emulated, the translation to replay it with, and the fields of the request that
    say where that is."""
    if model.hardware not in CHECKERS:
        return await Get(CheckFile, CheckRequest(model)), EMPTY_DIGEST, {}
    check, translation = await MultiGet(
        Get(CheckFile, CheckRequest(model)),
        Get(Translation, TranslationRequest(kernels_request(model, compiled), REPLAYING)),
    )
    return check, translation.digest, dict(translation.request_fields("inputs"))


async def parity_action(fields: ParityFieldSet, test: TestSubsystem, references: Toolchain) -> ActionRequest:
    """The action that tests a model's parity, once all that it needs has been built."""
    model = await tested_model(fields.address, fields.model)
    compiled = await Get(CompiledModel, CompileRequest(model))
    checker = CHECKERS.get(model.hardware)
    recording, named = await device_recording(fields)
    check, translation, placed = await recorded(model, compiled)
    request = {
        "artifact": f"inputs/{ARTIFACT}",
        "check": f"inputs/{CHECK}",
        "reference_model": f"inputs/{MODEL}",
        "command": f"./pants test --force {fields.address}",
        "report": "out/report.json",
        **gates(fields, model.hardware),
        **named,
        **placed,
    }
    inputs = await merge((await parity_inputs(compiled, check), recording, translation))
    return ActionRequest(
        module=checker or NATIVE_CHECKER,
        request=request_json(request),
        inputs=await add_prefix(inputs, "inputs"),
        toolchain=(await Get(Emulator)).toolchain if checker else references,
        target=str(fields.address),
        stage="Test parity of",
        cache_scope=ProcessCacheScope.PER_SESSION if test.force else ProcessCacheScope.SUCCESSFUL,
        timeout=fields.timeout.calculate_from_global_options(test),
        processors=THREADS if checker else 0,
    )


@rule(desc="Test parity", level=LogLevel.DEBUG)
async def test_parity(
    batch: ParityTestRequest.Batch[ParityFieldSet, Any], test: TestSubsystem, references: References, run: RunId
) -> TestResult:
    fields = batch.single_element
    try:
        result = await Get(ActionResult, ActionRequest, await parity_action(fields, test, references.toolchain))
    except BuildError as error:
        return build_failure(fields.address, error, test, run)
    warnings = [
        line[len(WARNING_MARK) :].lstrip(": ") for line in result.stdout.splitlines() if line.startswith(WARNING_MARK)
    ]
    if warnings:
        logger.warning(f"{fields.address}: {'; '.join(warnings)}")
    return result_of(fields.address, result.exit_code, result.stdout, test, result.source, result.log)


async def other_python(compiled: CompiledModel, model: ModelRequest) -> Optional[tuple[PythonKind, str]]:
    """The kind of Python that the first build did not use, if this machine has one for its toolchain; and the version that
    it is rather not of, if the toolchain's wheels are locked for another one too."""
    kind = PythonKind.host if compiled.toolchain.python.kind == "deb" else PythonKind.deb
    for unlike in (compiled.toolchain.python.version, ""):
        try:
            await Get(Toolchain, ToolchainRequest(model.toolchain, kind, unlike))
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
            target=str(address),
            stage="Compare builds for",
        ),
    )
    return result.stdout + result.log


@rule(desc="Test reproducibility", level=LogLevel.DEBUG)
async def test_reproducibility(
    batch: ReproducibilityTestRequest.Batch[ReproducibilityFieldSet, Any], test: TestSubsystem, run: RunId
) -> TestResult:
    fields = batch.single_element
    try:
        model = await tested_model(fields.address, fields.model)
        first = await Get(CompiledModel, CompileRequest(model))
        other = await other_python(first, model)
        kind, unlike = other or (None, "")
        second = await Get(CompiledModel, CompileRequest(model, OTHER_WORLD, kind, unlike))
        difference = "" if first.file == second.file else await difference_of(first, second, fields.address)
    except BuildError as error:
        return build_failure(fields.address, error, test, run)
    if kind is None:
        logger.warning(f"{fields.address}: this machine has one kind of Python only, so that was not varied.")
    varied = f"hash seed, directory, user{', Python ' + second.toolchain.python.identity if kind else ''}"
    if first.file == second.file:
        return result_of(
            fields.address,
            0,
            f"{first.file.fingerprint}: the same bytes with another {varied}\n",
            test,
            no_process(run),
        )
    return result_of(
        fields.address, FAILED, f"two builds differ (varied: {varied})\n{difference}", test, no_process(run)
    )


def rules() -> list[Rule]:
    return [*collect_rules(), *ParityTestRequest.rules(), *ReproducibilityTestRequest.rules()]
