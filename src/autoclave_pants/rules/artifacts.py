"""What all models have in common on the way to their artifacts: how they are asked for, compiled, and recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Optional

from pants.engine.addresses import Address, UnparsedAddressInputs
from pants.engine.environment import EnvironmentName
from pants.engine.fs import Digest, FileDigest
from pants.engine.rules import Get, MultiGet, Rule, collect_rules, rule
from pants.engine.target import Target
from pants.engine.unions import union
from pants.util.frozendict import FrozenDict

from autoclave_pants.engine import NamedFile, add_prefix, digest_of_entries, files_of, merge
from autoclave_pants.errors import BuildError
from autoclave_pants.rules.actions import (
    ActionRequest,
    ActionResult,
    References,
    Variation,
    request_json,
    succeed,
)
from autoclave_pants.rules.emulation import (
    RECORDING,
    THREADS,
    Emulator,
    KernelsRequest,
    Translation,
    TranslationRequest,
    other_emulators,
)
from autoclave_pants.rules.sources import OnnxSource, UpcastRequest, UpcastSource
from autoclave_pants.rules.toolchains import Toolchain, ToolchainRequest
from autoclave_pants.subsystem import PythonKind
from autoclave_pants.target_types.models import HardwareField, ModelToolchainField, RendererField

ARTIFACT = "artifact.pkl"
CHECK = "check.zst"
CHECK_SEED = 42
DEFAULT_RENDERERS = {"cpu": "llvm", "qcom": "ir3", "chestnut": "llvm"}
RENDERERS = {"cpu": ("llvm",), "qcom": ("ir3",), "chestnut": ("llvm", "hip")}
COMPUTES_IN_FP32 = ("cpu",)
RECORDERS = {"qcom": "autoclave.parity.emulated.record", "chestnut": "autoclave.parity.emulated.record"}
NATIVE_RECORDER = "autoclave.parity.record"
"""The module that records, by hardware."""


@dataclass(frozen=True)
class Platform:
    """What a model is compiled for, and with what. `address` names the target in messages; it is part of no action's key."""

    address: Address
    toolchain: UnparsedAddressInputs
    hardware: str
    renderer: str

    @classmethod
    def of(cls, target: Target) -> Platform:
        """Read a target's fields; a renderer that its hardware does not have is an error."""
        hardware = target[HardwareField].value
        renderer = target[RendererField].value or DEFAULT_RENDERERS[hardware]
        if renderer not in RENDERERS[hardware]:
            raise BuildError(
                str(target.address),
                "compile",
                f"hardware='{hardware}' has no renderer '{renderer}'; it has {' and '.join(RENDERERS[hardware])}",
            )
        return cls(target.address, target[ModelToolchainField].to_unparsed_address_inputs(), hardware, renderer)


@union(in_scope_types=[EnvironmentName])
@dataclass(frozen=True)
class CompileRequest:
    """Compile an artifact; `variation`, `python` and `unlike` (see `ToolchainRequest`) are what the reproducibility test changes.

    One subclass for each way that artifacts come into being; `model` says which artifact.
    """

    model: Any
    variation: Variation = Variation()
    python: Optional[PythonKind] = None
    unlike: str = ""


@dataclass(frozen=True)
class ModelRequest:
    """One artifact that a target declares. `compile_type` is the request that compiles it, `build_type` what SLSA provenance calls
    this way of building."""

    compile_type: ClassVar[type[CompileRequest]]
    build_type: ClassVar[str]

    platform: Platform

    @property
    def address(self) -> Address:
        return self.platform.address

    @property
    def hardware(self) -> str:
        return self.platform.hardware

    def parameters(self) -> dict[str, Any]:
        """What the target says besides the platform, for the provenance."""
        return {}


@dataclass(frozen=True)
class RoleSource:
    """An ONNX file and the part of the model that it is; the only file of an `onnx_model` is its part `run`."""

    role: str
    source: OnnxSource


@dataclass(frozen=True)
class CompiledModel:
    """The artifact (`artifact.pkl` in `digest`), what it was made from, and what the compiler reported.

    `remarks` are for people who read what was built.
    """

    digest: Digest
    file: FileDigest
    sources: tuple[RoleSource, ...]
    toolchain: Toolchain
    report: FrozenDict[str, Any] = field(compare=False)
    remarks: tuple[str, ...] = ()

    @property
    def synthetic(self) -> bool:
        return any(each.source.synthetic for each in self.sources)


@dataclass(frozen=True)
class CheckRequest:
    """Record the check file of a model's artifact."""

    model: ModelRequest


@dataclass(frozen=True)
class CheckFile:
    """The check file, `check.zst` in `digest`."""

    digest: Digest
    file: FileDigest


def last_json_line(text: str) -> Mapping[str, Any]:
    """The report that an entry module prints last; an empty one if it printed none."""
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            return dict(json.loads(line))
    return {}


async def compile_artifact(request: CompileRequest) -> CompiledModel:
    """The artifact of any kind of model."""
    return await Get(CompiledModel, CompileRequest, request)


async def compiled(model: ModelRequest, **changes: Any) -> CompiledModel:
    """The artifact of `model`; `changes` are fields of its request."""
    return await compile_artifact(model.compile_type(model, **changes))


async def model_toolchain(request: CompileRequest) -> Toolchain:
    """The toolchain that `request` is compiled with."""
    toolchain = await Get(Toolchain, ToolchainRequest, toolchain_request(request))
    return compiler_of(request, toolchain)


def toolchain_request(request: CompileRequest) -> ToolchainRequest:
    platform = request.model.platform
    return ToolchainRequest(platform.toolchain, request.python, request.unlike, platform.renderer)


def compiler_of(request: CompileRequest, toolchain: Toolchain) -> Toolchain:
    """The toolchain, which has to have what `request` is compiled by."""
    if toolchain.tinygrad is None:
        raise BuildError(
            str(request.model.address), "compile", "its toolchain has no `tinygrad`, so it cannot compile models"
        )
    return toolchain


def toolchain_fields(platform: Platform, toolchain: Toolchain) -> dict[str, Any]:
    """The fields that the request of every compile action has."""
    return {
        "hardware": platform.hardware,
        "renderer": platform.renderer,
        "tinygrad": toolchain.tinygrad,
        "absent_flags": toolchain.absent_flags,
        "output": f"out/{ARTIFACT}",
    }


async def compiler_input(platform: Platform, source: OnnxSource, path: str) -> Digest:
    """The ONNX that the compiler gets, at `path`: in fp32 for hardware that computes in fp32."""
    fp32 = platform.hardware in COMPUTES_IN_FP32
    digest = (await Get(UpcastSource, UpcastRequest(source))).digest if fp32 else source.digest
    (file,) = (await files_of(digest)).values()
    return await digest_of_entries((NamedFile(path, file),))


async def artifact_of(result: ActionResult, target: str) -> tuple[Digest, FileDigest]:
    """The artifact that a compile action wrote."""
    file = (await files_of(result.outputs)).get(ARTIFACT)
    if file is None:
        raise BuildError(target, "compile", "the compiler succeeded but wrote no artifact", result.log)
    return await digest_of_entries((NamedFile(ARTIFACT, file),)), file


def report_of(result: ActionResult) -> dict[str, Any]:
    """What the action reported, and how long it took when it ran."""
    return {**last_json_line(result.stdout), "elapsed_ms": result.source.total_elapsed_ms}


def kernels_request(model: ModelRequest, artifact: CompiledModel) -> KernelsRequest:
    return KernelsRequest(artifact.digest, ARTIFACT, model.hardware, str(model.address))


@rule
async def record_check(request: CheckRequest, references: References) -> CheckFile:
    artifact = await compiled(request.model)
    recorder = RECORDERS.get(request.model.hardware)
    fields: dict[str, Any] = {"artifact": f"inputs/{ARTIFACT}", "output": f"out/{CHECK}", "seed": CHECK_SEED}
    inputs, toolchain = artifact.digest, references.toolchain
    if recorder is not None:
        kernels = kernels_request(request.model, artifact)
        emulator, translation = await MultiGet(Get(Emulator), Get(Translation, TranslationRequest(kernels, RECORDING)))
        fields.update(translation.request_fields("inputs"))
        inputs, toolchain = await merge((inputs, translation.digest)), emulator.toolchain
    result = await succeed(
        ActionRequest(
            module=recorder or NATIVE_RECORDER,
            request=request_json(fields),
            inputs=await add_prefix(inputs, "inputs"),
            toolchain=toolchain,
            outputs=(CHECK,),
            target=str(request.model.address),
            stage="Record",
            processors=THREADS if recorder else 0,
            without=other_emulators(request.model.hardware),
        )
    )
    file = (await files_of(result.outputs))[CHECK]
    return CheckFile(await digest_of_entries((NamedFile(CHECK, file),)), file)


def rules() -> list[Rule]:
    return list(collect_rules())
