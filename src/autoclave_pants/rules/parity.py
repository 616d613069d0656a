"""`parity_test`: a model's artifacts against their check files, ONNX Runtime and recordings of devices."""

from __future__ import annotations

import logging
import posixpath
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pants.core.goals.test import TestFieldSet, TestRequest, TestResult, TestSubsystem
from pants.engine.fs import EMPTY_DIGEST, Digest
from pants.engine.internals.session import RunId
from pants.engine.process import ProcessCacheScope
from pants.engine.rules import Get, MultiGet, Rule, collect_rules, rule
from pants.util.logging import LogLevel

from autoclave_pants.engine import NamedFile, add_prefix, digest_of_entries, files_of, hydrate, merge
from autoclave_pants.errors import BuildError, missing_file
from autoclave_pants.rules.actions import ActionRequest, ActionResult, References, request_json
from autoclave_pants.rules.artifacts import (
    ARTIFACT,
    CHECK,
    CheckFile,
    CheckRequest,
    CompiledModel,
    ModelRequest,
    compiled,
    kernels_request,
)
from autoclave_pants.rules.emulation import (
    REPLAYING,
    THREADS,
    Emulator,
    Translation,
    TranslationRequest,
    other_emulators,
)
from autoclave_pants.rules.model_tests import build_failure, result_of, tested_products
from autoclave_pants.rules.models import RUN
from autoclave_pants.rules.sources import UpcastRequest, UpcastSource
from autoclave_pants.rules.toolchains import Toolchain
from autoclave_pants.subsystem import ParityTestSubsystem
from autoclave_pants.target_types.model_tests import (
    ChangeFractionField,
    DeviceRecordingField,
    DeviceRecordingSha256Field,
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

REPORT = "report.json"
WARNING_MARK = "WARNING"


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


def gates(fields: ParityFieldSet, hardware: str) -> dict[str, Any]:
    """The fields of a test that the gates of all its artifacts read; what is not given has the default of its hardware."""
    tolerance, change_fraction = fields.tolerance.of(hardware), fields.change_fraction.of(hardware)
    loosened = tolerance is not None or change_fraction is not None
    values = {
        "tolerance": tolerance,
        "change_fraction": change_fraction,
        "tolerance_reason": fields.tolerance_reason.value if loosened else None,
        "require_hardware_evidence": True if fields.require_hardware_evidence.value else None,
    }
    return {name: value for name, value in values.items() if value is not None}


def named_tensors(fields: ParityFieldSet) -> dict[str, Any]:
    """The fields that name tensors: those of the model itself, the first of its artifacts."""
    values = {"pinned_outputs": fields.pinned_outputs.value, "unused_inputs": fields.unused_inputs.value}
    return {name: dict(value) for name, value in values.items() if value}


async def references_of(artifact: CompiledModel) -> tuple[Digest, dict[str, Any]]:
    """The fp32 graphs for the reference, and the field of the request that says where they are. A warp has none."""
    placed = {}
    files = []
    for each in artifact.sources:
        upcast = await Get(UpcastSource, UpcastRequest(each.source))
        (file,) = (await files_of(upcast.digest)).values()
        files.append(NamedFile(f"{each.role}.onnx", file))
        placed[each.role] = f"inputs/{each.role}.onnx"
    if not files:
        return EMPTY_DIGEST, {}
    named: dict[str, Any] = {"reference_model": placed[RUN]} if RUN in placed else {"reference_models": placed}
    return await digest_of_entries(files), named


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


async def recorded(model: ModelRequest, artifact: CompiledModel) -> tuple[CheckFile, Digest, dict[str, Any]]:
    """The check file; and, for a model that is emulated, the translation to replay it with, and the fields of the request that
    say where that is."""
    if model.hardware not in CHECKERS:
        return await Get(CheckFile, CheckRequest(model)), EMPTY_DIGEST, {}
    check, translation = await MultiGet(
        Get(CheckFile, CheckRequest(model)),
        Get(Translation, TranslationRequest(kernels_request(model, artifact), REPLAYING[model.hardware])),
    )
    return check, translation.digest, dict(translation.request_fields("inputs"))


async def make_all(models: Iterable[ModelRequest]) -> None:
    """Make all that the actions for these artifacts take, side by side; each action then finds its own."""
    pairs = [(model, await compiled(model)) for model in models]
    checks = [Get(CheckFile, CheckRequest(model)) for model, _ in pairs]
    translations = [
        Get(Translation, TranslationRequest(kernels_request(model, artifact), REPLAYING[model.hardware]))
        for model, artifact in pairs
        if model.hardware in CHECKERS
    ]
    upcasts = [Get(UpcastSource, UpcastRequest(each.source)) for _, artifact in pairs for each in artifact.sources]
    everything: list[Any] = [*checks, *translations, *upcasts]
    await MultiGet(everything)


async def parity_action(
    fields: ParityFieldSet, model: ModelRequest, is_first: bool, test: TestSubsystem, references: Toolchain
) -> ActionRequest:
    """The action that tests one artifact's parity, once all that it needs has been built."""
    artifact = await compiled(model)
    checker = CHECKERS.get(model.hardware)
    recording, named = (await device_recording(fields)) if is_first else (EMPTY_DIGEST, {})
    check, translation, placed = await recorded(model, artifact)
    graphs, referenced = await references_of(artifact)
    request = {
        "artifact": f"inputs/{ARTIFACT}",
        "check": f"inputs/{CHECK}",
        "command": f"./pants test --force {fields.address}",
        "report": f"out/{REPORT}",
        **gates(fields, model.hardware),
        **(named_tensors(fields) if is_first else {}),
        **named,
        **placed,
        **referenced,
    }
    inputs = await merge((artifact.digest, check.digest, graphs, recording, translation))
    return ActionRequest(
        module=checker or NATIVE_CHECKER,
        request=request_json(request),
        inputs=await add_prefix(inputs, "inputs"),
        toolchain=(await Get(Emulator)).toolchain if checker else references,
        outputs=(REPORT,),
        target=str(fields.address),
        stage="Test parity of",
        cache_scope=ProcessCacheScope.PER_SESSION if test.force else ProcessCacheScope.SUCCESSFUL,
        timeout=fields.timeout.calculate_from_global_options(test),
        processors=THREADS if checker else 0,
        without=other_emulators(model.hardware),
    )


@rule(desc="Test parity", level=LogLevel.DEBUG)
async def test_parity(
    batch: ParityTestRequest.Batch[ParityFieldSet, Any], test: TestSubsystem, references: References, run: RunId
) -> TestResult:
    fields = batch.single_element
    actions: list[ActionRequest] = []
    try:
        products = await tested_products(fields.address, fields.model)
        await make_all([product.model for product in products])
        for product in products:
            actions.append(await parity_action(fields, product.model, not actions, test, references.toolchain))
        results = await MultiGet(Get(ActionResult, ActionRequest, action) for action in actions)
    except BuildError as error:
        return build_failure(fields.address, error, test, run)
    stdout = "".join(result.stdout for result in results)
    warnings = dict.fromkeys(
        line[len(WARNING_MARK) :].lstrip(": ") for line in stdout.splitlines() if line.startswith(WARNING_MARK)
    )
    if warnings:
        logger.warning(f"{fields.address}: {'; '.join(warnings)}")
    # The process that took longest stands for all of them.
    metadata = max((result.source for result in results), key=lambda source: source.total_elapsed_ms or 0)
    exit_code = max(result.exit_code for result in results)
    return result_of(fields.address, exit_code, stdout, test, metadata, "".join(result.log for result in results))


def rules() -> list[Rule]:
    return [*collect_rules(), *ParityTestRequest.rules()]
