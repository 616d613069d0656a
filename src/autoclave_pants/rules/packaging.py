"""Everything that goes to dist of one model: artifacts, check files, and the provenance that says from what."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pants.engine.fs import Digest
from pants.engine.rules import Get, MultiGet, Rule, collect_rules, rule
from pants.util.frozendict import FrozenDict

from autoclave_pants.engine import NamedFile, digest_of_entries, digest_of_files, files_of
from autoclave_pants.rules.artifacts import CheckFile, CheckRequest, CompiledModel, ModelRequest, compiled
from autoclave_pants.rules.monitoring import METADATA_FILE, MonitoringMetadata, MonitoringMetadataRequest
from autoclave_pants.rules.products import Product, Products
from autoclave_pants.subsystem import AutoclaveSubsystem

PROVENANCE_BUILDER = "urn:autoclave:pants-backend:1"


@dataclass(frozen=True)
class PackageRequest:
    """Everything that `package` writes of one model into `directory` of dist."""

    products: Products
    directory: str


@dataclass(frozen=True)
class PackagedModel:
    """The files at their places in dist, and lines that describe them. `path` is the artifact, of several the first."""

    digest: Digest
    directory: str
    path: str
    lines: tuple[str, ...] = field(compare=False)


@dataclass(frozen=True)
class PackagedProductRequest:
    """One artifact with what belongs to it."""

    product: Product


@dataclass(frozen=True)
class PackagedProduct:
    """The artifact, its check file and its provenance."""

    files: tuple[NamedFile, ...]
    lines: tuple[str, ...] = field(compare=False)


def materials_of(artifact: CompiledModel) -> Iterable[dict[str, Any]]:
    """What an artifact was made from: its sources, the interpreter, and the components of its toolchain."""
    for each in artifact.sources:
        name = "onnx" if len(artifact.sources) == 1 else f"onnx ({each.role})"
        sha256 = each.source.sha256
        yield {"name": name, "uri": f"urn:sha256:{sha256}", "digest": {"sha256": sha256}}
    python = artifact.toolchain.python
    for component in (*((python.component,) if python.component else ()), *artifact.toolchain.components):
        yield {
            "name": component.name,
            "digest": {"autoclaveTree": component.identity},
            "annotations": {"provides": component.provides, "pins": list(component.pins)},
        }


def sources_of(artifact: CompiledModel) -> dict[str, Any]:
    """The targets of the sources: the one, or by the parts that they are, and whether one of them is made up."""
    addresses = {each.role: each.source.address for each in artifact.sources}
    if not addresses:
        return {}
    named: dict[str, Any] = (
        {"source": next(iter(addresses.values()))} if len(addresses) == 1 else {"sources": addresses}
    )
    return {**named, "synthetic": artifact.synthetic}


def provenance(model: ModelRequest, artifact: CompiledModel, filename: str, mode: str) -> dict[str, Any]:
    """An in-toto statement (v1) with a SLSA provenance predicate (v1) about one artifact. It holds no time and no place, so
    that the same build gives the same statement."""
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": filename, "digest": {"sha256": artifact.file.fingerprint}}],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": model.build_type,
                "externalParameters": {
                    "target": str(model.address),
                    "hardware": model.hardware,
                    "renderer": model.platform.renderer,
                    **sources_of(artifact),
                    **model.parameters(),
                },
                "internalParameters": {
                    "toolchain": artifact.toolchain.identity,
                    "python": artifact.toolchain.python.identity,
                    "sandbox": mode,
                },
                "resolvedDependencies": list(materials_of(artifact)),
            },
            "runDetails": {"builder": {"id": PROVENANCE_BUILDER}},
        },
    }


def megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def description(artifact: CompiledModel, filename: str) -> tuple[str, ...]:
    """What a person wants to know of an artifact, one fact a word."""
    report: FrozenDict[str, Any] = artifact.report
    facts = [
        megabytes(artifact.file.serialized_bytes_length),
        *((f"{report['parts']} parts",) if "parts" in report else ()),
        f"{report.get('launches', '?')} launches",
        f"{report.get('kernels', '?')} kernels",
        f"arena {megabytes(report.get('arena', 0))}",
        f"peak memory {megabytes(report.get('peak_rss', 0))}",
        f"compiled in {(report.get('elapsed_ms') or 0) / 1000:.1f} s",
        *(("synthetic weights",) if artifact.synthetic else ()),
    ]
    remarks = (f"  {remark}" for remark in artifact.remarks)
    return (f"  {filename}: sha256 {artifact.file.fingerprint}", f"  {' | '.join(facts)}", *remarks)


@rule
async def package_product(request: PackagedProductRequest, autoclave: AutoclaveSubsystem) -> PackagedProduct:
    model, name = request.product.model, request.product.filename
    artifact = await compiled(model)
    check = await Get(CheckFile, CheckRequest(model))
    statement = provenance(model, artifact, name, autoclave.sandbox.value)
    written = await files_of(
        await digest_of_files({"provenance.json": (json.dumps(statement, indent=2, sort_keys=True) + "\n").encode()})
    )
    files = (
        NamedFile(name, artifact.file),
        NamedFile(f"{name}.check.zst", check.file),
        NamedFile(f"{name}.provenance.json", written["provenance.json"]),
    )
    return PackagedProduct(files, description(artifact, name))


@rule
async def package_model(request: PackageRequest) -> PackagedModel:
    """All files of a model, or an error: never some of them."""
    products = request.products
    metadata = products.metadata
    described = (await Get(MonitoringMetadata, MonitoringMetadataRequest, metadata)).file if metadata else None
    packaged = await MultiGet(Get(PackagedProduct, PackagedProductRequest(each)) for each in products.artifacts)
    files = [file for each in packaged for file in each.files]
    if described is not None:
        files.append(NamedFile(METADATA_FILE, described))
    placed = (NamedFile(f"{request.directory}/{file.path}", file.digest) for file in files)
    lines = tuple(line for each in packaged for line in each.lines)
    return PackagedModel(
        await digest_of_entries(placed),
        request.directory,
        f"{request.directory}/{products.artifacts[0].filename}",
        lines,
    )


def rules() -> list[Rule]:
    return list(collect_rules())
