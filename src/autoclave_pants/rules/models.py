"""Model targets become artifacts: check, compile, record, and the provenance that says from what."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Optional

from pants.engine.addresses import Address, UnparsedAddressInputs
from pants.engine.fs import Digest, FileDigest
from pants.engine.rules import Get, MultiGet, Rule, collect_rules, rule
from pants.engine.target import Target
from pants.util.frozendict import FrozenDict

from autoclave_pants.engine import NamedFile, add_prefix, digest_of_entries, digest_of_files, files_of, merge
from autoclave_pants.errors import BuildError
from autoclave_pants.rules.actions import ActionRequest, References, Variation, request_json, succeed
from autoclave_pants.rules.emulation import (
    RECORDING,
    THREADS,
    Emulator,
    KernelsRequest,
    Translation,
    TranslationRequest,
)
from autoclave_pants.rules.sources import (
    MODEL,
    CheckedSource,
    CheckedSourceRequest,
    OnnxSource,
    SourceRequest,
    UpcastRequest,
    UpcastSource,
)
from autoclave_pants.rules.toolchains import Toolchain, ToolchainRequest
from autoclave_pants.subsystem import AutoclaveSubsystem, PythonKind
from autoclave_pants.target_types import (
    DimensionsField,
    ExpectedInputsField,
    HardwareField,
    ModelSourceField,
    ModelToolchainField,
    RendererField,
)

ARTIFACT = "artifact.pkl"
CHECK = "check.zst"
CHECK_SEED = 42
DEFAULT_RENDERERS = {"cpu": "llvm", "qcom": "ir3", "chestnut": "llvm"}
RENDERERS = {"cpu": ("llvm",), "qcom": ("ir3",), "chestnut": ("llvm", "hip")}
COMPUTES_IN_FP32 = ("cpu",)
RECORDERS = {"qcom": "autoclave.parity.emulated.record", "chestnut": "autoclave.parity.emulated.record"}
NATIVE_RECORDER = "autoclave.parity.record"
"""The module that records, by hardware."""

PROVENANCE_BUILD_TYPE = "urn:autoclave:onnx-model:1"
PROVENANCE_BUILDER = "urn:autoclave:pants-backend:1"


@dataclass(frozen=True)
class ModelRequest:
    """What a model target declares. `address` names it in messages; it is part of no action's key."""

    address: Address
    source: UnparsedAddressInputs
    toolchain: UnparsedAddressInputs
    hardware: str
    renderer: str
    dimensions: FrozenDict[str, int]
    inputs: Optional[tuple[str, ...]]

    @classmethod
    def of(cls, target: Target) -> ModelRequest:
        """Read a target's fields; a renderer that its hardware does not have is an error."""
        hardware = target[HardwareField].value
        renderer = target[RendererField].value or DEFAULT_RENDERERS[hardware]
        if renderer not in RENDERERS[hardware]:
            raise BuildError(
                str(target.address),
                "compile",
                f"hardware='{hardware}' has no renderer '{renderer}'; it has {' and '.join(RENDERERS[hardware])}",
            )
        return cls(
            target.address,
            target[ModelSourceField].to_unparsed_address_inputs(),
            target[ModelToolchainField].to_unparsed_address_inputs(),
            hardware,
            renderer,
            target[DimensionsField].value or FrozenDict(),
            target[ExpectedInputsField].value,
        )


@dataclass(frozen=True)
class CompileRequest:
    """Compile a model; `variation`, `python` and `unlike` (see `ToolchainRequest`) are what the reproducibility test changes."""

    model: ModelRequest
    variation: Variation = Variation()
    python: Optional[PythonKind] = None
    unlike: str = ""


@dataclass(frozen=True)
class CompiledModel:
    """The artifact (`artifact.pkl` in `digest`), what it was made from, and what the compiler reported."""

    digest: Digest
    file: FileDigest
    source: OnnxSource
    toolchain: Toolchain
    report: FrozenDict[str, Any] = field(compare=False)


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


async def compiler_input(model: ModelRequest, source: OnnxSource) -> Digest:
    """The ONNX that the compiler gets: in fp32 for hardware that computes in fp32."""
    if model.hardware in COMPUTES_IN_FP32:
        return (await Get(UpcastSource, UpcastRequest(source))).digest
    return source.digest


def compile_request(model: ModelRequest, source: OnnxSource, toolchain: Toolchain) -> str:
    return request_json(
        {
            "model": f"inputs/{MODEL}",
            "hardware": model.hardware,
            "renderer": model.renderer,
            "tinygrad": toolchain.tinygrad,
            "dimensions": dict(model.dimensions),
            "synthetic": source.synthetic,
            "source_sha256": source.sha256,
            "source_size": source.size,
            "absent_flags": toolchain.absent_flags,
            "output": f"out/{ARTIFACT}",
        }
    )


@rule
async def compile_model(request: CompileRequest) -> CompiledModel:
    model = request.model
    source, toolchain = await MultiGet(
        Get(OnnxSource, SourceRequest(model.source)),
        Get(Toolchain, ToolchainRequest(model.toolchain, request.python, request.unlike, model.renderer)),
    )
    if toolchain.tinygrad is None:
        raise BuildError(str(model.address), "compile", "its toolchain has no `tinygrad`, so it cannot compile models")
    try:
        await Get(CheckedSource, CheckedSourceRequest(source, model.dimensions, model.inputs))
    except BuildError as error:
        raise BuildError(str(model.address), "check", f"{source.address}: {error.reason}", error.log) from None
    result = await succeed(
        ActionRequest(
            module="autoclave.compiler",
            request=compile_request(model, source, toolchain),
            inputs=await add_prefix(await compiler_input(model, source), "inputs"),
            toolchain=toolchain,
            target=str(model.address),
            stage="Compile",
            variation=request.variation,
        )
    )
    file = (await files_of(result.outputs)).get(ARTIFACT)
    if file is None:
        raise BuildError(str(model.address), "compile", "the compiler succeeded but wrote no artifact", result.log)
    report = {**last_json_line(result.stdout), "elapsed_ms": result.source.total_elapsed_ms}
    digest = await digest_of_entries((NamedFile(ARTIFACT, file),))
    return CompiledModel(digest, file, source, toolchain, FrozenDict.deep_freeze(report))


def kernels_request(model: ModelRequest, compiled: CompiledModel) -> KernelsRequest:
    return KernelsRequest(compiled.digest, ARTIFACT, str(model.address))


@rule
async def record_check(request: CheckRequest, references: References) -> CheckFile:
    compiled = await Get(CompiledModel, CompileRequest(request.model))
    recorder = RECORDERS.get(request.model.hardware)
    fields: dict[str, Any] = {"artifact": f"inputs/{ARTIFACT}", "output": f"out/{CHECK}", "seed": CHECK_SEED}
    inputs, toolchain = compiled.digest, references.toolchain
    if recorder is not None:
        kernels = kernels_request(request.model, compiled)
        emulator, translation = await MultiGet(Get(Emulator), Get(Translation, TranslationRequest(kernels, RECORDING)))
        fields.update(translation.request_fields("inputs"))
        inputs, toolchain = await merge((inputs, translation.digest)), emulator.toolchain
    result = await succeed(
        ActionRequest(
            module=recorder or NATIVE_RECORDER,
            request=request_json(fields),
            inputs=await add_prefix(inputs, "inputs"),
            toolchain=toolchain,
            target=str(request.model.address),
            stage="Record",
            processors=THREADS if recorder else 0,
        )
    )
    file = (await files_of(result.outputs))[CHECK]
    return CheckFile(await digest_of_entries((NamedFile(CHECK, file),)), file)


def provenance(model: ModelRequest, compiled: CompiledModel, filename: str, mode: str) -> dict[str, Any]:
    """An in-toto statement (v1) with a SLSA provenance predicate (v1) about one artifact. It holds no time and no place, so
    that the same build gives the same statement."""
    python = compiled.toolchain.python
    materials = [
        {"name": "onnx", "uri": f"urn:sha256:{compiled.source.sha256}", "digest": {"sha256": compiled.source.sha256}}
    ]
    for component in (*((python.component,) if python.component else ()), *compiled.toolchain.components):
        materials.append(
            {
                "name": component.name,
                "digest": {"autoclaveTree": component.identity},
                "annotations": {"provides": component.provides, "pins": list(component.pins)},
            }
        )
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": filename, "digest": {"sha256": compiled.file.fingerprint}}],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": PROVENANCE_BUILD_TYPE,
                "externalParameters": {
                    "target": str(model.address),
                    "source": compiled.source.address,
                    "hardware": model.hardware,
                    "renderer": model.renderer,
                    "dimensions": dict(model.dimensions),
                    "synthetic": compiled.source.synthetic,
                },
                "internalParameters": {
                    "toolchain": compiled.toolchain.identity,
                    "python": python.identity,
                    "sandbox": mode,
                },
                "resolvedDependencies": materials,
            },
            "runDetails": {"builder": {"id": PROVENANCE_BUILDER}},
        },
    }


@dataclass(frozen=True)
class PackageRequest:
    """Everything that `package` writes of one model. `directory` and `filename` say where it goes in dist."""

    model: ModelRequest
    directory: str
    filename: str


@dataclass(frozen=True)
class PackagedModel:
    """The artifact, its check file and its provenance, at their places in dist, and lines that describe them."""

    digest: Digest
    path: str
    lines: tuple[str, ...] = field(compare=False)
    report: FrozenDict[str, Any] = field(compare=False)


def megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def description(compiled: CompiledModel, filename: str) -> tuple[str, ...]:
    """What a person wants to know of an artifact, one fact a word."""
    report = compiled.report
    facts = [
        megabytes(compiled.file.serialized_bytes_length),
        f"{report.get('launches', '?')} launches",
        f"{report.get('kernels', '?')} kernels",
        f"arena {megabytes(report.get('arena', 0))}",
        f"peak memory {megabytes(report.get('peak_rss', 0))}",
        f"compiled in {(report.get('elapsed_ms') or 0) / 1000:.1f} s",
        *(("synthetic weights",) if compiled.source.synthetic else ()),
    ]
    return (f"  {filename}: sha256 {compiled.file.fingerprint}", f"  {' | '.join(facts)}")


@rule
async def package_model(request: PackageRequest, autoclave: AutoclaveSubsystem) -> PackagedModel:
    compiled, check = await MultiGet(
        Get(CompiledModel, CompileRequest(request.model)), Get(CheckFile, CheckRequest(request.model))
    )
    statement = provenance(request.model, compiled, request.filename, autoclave.sandbox.value)
    written = await files_of(
        await digest_of_files({"provenance.json": (json.dumps(statement, indent=2, sort_keys=True) + "\n").encode()})
    )
    path = f"{request.directory}/{request.filename}"
    digest = await digest_of_entries(
        (
            NamedFile(path, compiled.file),
            NamedFile(f"{path}.check.zst", check.file),
            NamedFile(f"{path}.provenance.json", written["provenance.json"]),
        )
    )
    return PackagedModel(digest, path, description(compiled, request.filename), compiled.report)


def rules() -> list[Rule]:
    return list(collect_rules())
