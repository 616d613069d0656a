"""`driving_model`: its sources become a plan, the plan a policy part and warps, and these one artifact."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Optional

from pants.engine.addresses import UnparsedAddressInputs
from pants.engine.rules import Get, MultiGet, Rule, collect_rules, rule
from pants.engine.target import Target
from pants.engine.unions import UnionRule
from pants.util.frozendict import FrozenDict

from autoclave_pants.engine import (
    NamedFile,
    add_prefix,
    digest_of_entries,
    merge,
)
from autoclave_pants.errors import BuildError
from autoclave_pants.rules.actions import ActionRequest, References, request_json, succeed
from autoclave_pants.rules.artifacts import (
    ARTIFACT,
    CompiledModel,
    CompileRequest,
    ModelRequest,
    Platform,
    RoleSource,
    artifact_of,
    compiler_input,
    model_toolchain,
    report_of,
    toolchain_fields,
)
from autoclave_pants.rules.driving_plan import DrivingDeclaration, DrivingPlan, DrivingPlanRequest
from autoclave_pants.rules.sources import OnnxSource, SourceRequest
from autoclave_pants.rules.toolchains import Toolchain
from autoclave_pants.rules.warps import Size, WarpCompileRequest, WarpRequest
from autoclave_pants.target_types.driving import (
    BehaviorVersionField,
    CameraResolutionsField,
    DrivingSourcesField,
    FrameSkipField,
    HardwareSourcesField,
    ImageHistoryPipelineField,
    KindField,
    SizeClassField,
)
from autoclave_pants.target_types.driving import RoleSource as DeclaredSource
from autoclave_pants.target_types.models import DimensionsField

POLICY = "run_policy"
ADDED_UP = ("launches", "kernels", "arena")
"""What a report of all parts is the sum of the parts' reports in."""


@dataclass(frozen=True)
class DrivingCompileRequest(CompileRequest):
    model: DrivingRequest


@dataclass(frozen=True)
class DrivingRequest(ModelRequest):
    """The artifact of a `driving_model`. `sources` are pairs of a role, "" if it is not declared, and an address."""

    compile_type = DrivingCompileRequest
    build_type = "urn:autoclave:driving-model:1"

    sources: tuple[tuple[str, UnparsedAddressInputs], ...]
    declaration: DrivingDeclaration
    cameras: tuple[Size, ...]

    @classmethod
    def of(cls, target: Target) -> DrivingRequest:
        """Read the fields of a `driving_model`."""
        platform = Platform.of(target)
        return cls(
            platform,
            tuple(_sources_of(target, platform.hardware)),
            DrivingDeclaration(
                target[KindField].value,
                target[SizeClassField].of(platform.hardware),
                target[BehaviorVersionField].value,
                target[ImageHistoryPipelineField].value,
                target[FrameSkipField].value,
                target[DimensionsField].value or FrozenDict(),
            ),
            target[CameraResolutionsField].sizes,
        )

    def parameters(self) -> dict[str, Any]:
        declared = self.declaration
        return {
            "behavior_version": declared.behavior_version,
            "camera_resolutions": [list(camera) for camera in self.cameras],
            "dimensions": dict(declared.dimensions),
            "frame_skip": declared.frame_skip,
            "image_history_pipeline": declared.image_history_pipeline,
            "kind": declared.kind,
            "size_class": declared.size_class,
        }


def _sources_of(target: Target, hardware: str) -> Iterable[tuple[str, UnparsedAddressInputs]]:
    special: Optional[tuple[DeclaredSource, ...]] = target[HardwareSourcesField].value.get(hardware)
    field = target[DrivingSourcesField] if special is None else target[HardwareSourcesField]
    for role, address in special or target[DrivingSourcesField].value:
        yield (
            role,
            UnparsedAddressInputs(
                (address,),
                owning_address=target.address,
                description_of_origin=f"the `{field.alias}` from the target {target.address}",
            ),
        )


async def planned(model: DrivingRequest) -> DrivingPlan:
    """The plan of a model; it may be refused, in its target's name."""
    sources = await MultiGet(Get(OnnxSource, SourceRequest(address)) for _, address in model.sources)
    roles = (role for role, _ in model.sources)
    request = DrivingPlanRequest(tuple(map(RoleSource, roles, sources)), model.declaration)
    try:
        return await Get(DrivingPlan, DrivingPlanRequest, request)
    except BuildError as error:
        raise BuildError(str(model.address), "plan", error.reason, error.log) from None


@dataclass(frozen=True)
class PolicyCompileRequest(CompileRequest):
    model: PolicyRequest


@dataclass(frozen=True)
class PolicyRequest(ModelRequest):
    """The part artifact `run_policy` of a driving model."""

    compile_type = PolicyCompileRequest
    build_type = "urn:autoclave:driving-policy:1"

    declaration: DrivingDeclaration
    plan: DrivingPlan


def policy_fields(model: PolicyRequest, toolchain: Toolchain) -> dict[str, Any]:
    """What `autoclave.compiler.policy` is asked."""
    plan = model.plan
    return {
        "kind": plan.kind,
        "models": [
            {
                "part": each.role,
                "path": f"inputs/{each.role}.onnx",
                "sha256": each.source.sha256,
                "size": each.source.size,
            }
            for each in plan.parts
        ],
        "image_history_pipeline": model.declaration.image_history_pipeline,
        "frame_skip": plan.frame_skip,
        "dimensions": dict(model.declaration.dimensions),
        "synthetic": any(each.source.synthetic for each in plan.parts),
        **toolchain_fields(model.platform, toolchain),
    }


@rule
async def compile_policy(request: PolicyCompileRequest) -> CompiledModel:
    model = request.model
    toolchain = await model_toolchain(request)
    inputs = []
    for each in model.plan.parts:
        inputs.append(await compiler_input(model.platform, each.source, f"{each.role}.onnx"))
    result = await succeed(
        ActionRequest(
            module="autoclave.compiler.policy",
            request=request_json(policy_fields(model, toolchain)),
            inputs=await add_prefix(await merge(inputs), "inputs"),
            toolchain=toolchain,
            outputs=(ARTIFACT,),
            target=str(model.address),
            stage="Compile",
            variation=request.variation,
        )
    )
    digest, file = await artifact_of(result, str(model.address))
    return CompiledModel(digest, file, model.plan.parts, toolchain, FrozenDict.deep_freeze(report_of(result)))


@rule
async def compile_driving(request: DrivingCompileRequest, references: References) -> CompiledModel:
    model = request.model
    plan = await planned(model)
    policy, *warps = await MultiGet(Get(CompiledModel, CompileRequest, each) for each in part_requests(request, plan))
    names = [POLICY, *(f"{width}x{height}" for width, height in model.cameras)]
    files = [NamedFile(f"{name}.pkl", part.file) for name, part in zip(names, (policy, *warps))]
    assembled = await succeed(
        ActionRequest(
            module="autoclave.artifact.assemble",
            request=request_json(
                {
                    "parts": [f"inputs/{file.path}" for file in files],
                    "behavior_version": model.declaration.behavior_version,
                    "output": f"out/{ARTIFACT}",
                }
            ),
            inputs=await add_prefix(await digest_of_entries(files), "inputs"),
            toolchain=references.toolchain,
            outputs=(ARTIFACT,),
            target=str(model.address),
            stage="Assemble",
            variation=request.variation,
        )
    )
    digest, file = await artifact_of(assembled, str(model.address))
    report = FrozenDict.deep_freeze(joined_report([policy, *warps]))
    return CompiledModel(digest, file, plan.parts, policy.toolchain, report, (plan.why,))


def part_requests(request: DrivingCompileRequest, plan: DrivingPlan) -> list[CompileRequest]:
    """The requests of all parts, the policy's first, built under the same circumstances."""
    model = request.model
    policy = PolicyRequest(model.platform, model.declaration, plan)
    warps = (WarpRequest(model.platform, camera, plan.warp) for camera in model.cameras)
    under = (request.variation, request.python, request.unlike)
    return [PolicyCompileRequest(policy, *under), *(WarpCompileRequest(warp, *under) for warp in warps)]


def joined_report(parts: Iterable[CompiledModel]) -> dict[str, Any]:
    """One report of all parts: sums, the largest peak of memory, the time that compiling took in all."""
    reports = [part.report for part in parts]
    return {
        **{name: sum(report.get(name, 0) for report in reports) for name in ADDED_UP},
        "peak_rss": max(report.get("peak_rss", 0) for report in reports),
        "elapsed_ms": sum(report.get("elapsed_ms") or 0 for report in reports),
        "parts": len(reports),
    }


def rules() -> list[Rule | UnionRule]:
    members = (DrivingCompileRequest, PolicyCompileRequest)
    return [*collect_rules(), *(UnionRule(CompileRequest, member) for member in members)]
