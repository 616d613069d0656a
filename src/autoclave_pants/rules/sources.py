"""Source targets become verified ONNX files."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import Optional

from pants.engine.addresses import UnparsedAddressInputs
from pants.engine.fs import EMPTY_DIGEST, Digest
from pants.engine.rules import Get, Rule, collect_rules, rule
from pants.engine.target import Target
from pants.util.frozendict import FrozenDict

from autoclave_pants.engine import NamedFile, add_prefix, digest_of_entries, files_of, hydrate, targets_at
from autoclave_pants.errors import BuildError, missing_file
from autoclave_pants.rules.actions import ActionRequest, References, request_json, succeed
from autoclave_pants.rules.fetching import FetchedFile, FileRequest
from autoclave_pants.target_types.fields import Sha256Field, SizeField, UrlField
from autoclave_pants.target_types.sources import (
    ArchitectureField,
    LfsEndpointField,
    OnnxSourceFileField,
    ScaleField,
    SeedField,
    SyntheticVersionField,
)

MODEL = "model.onnx"


@dataclass(frozen=True)
class SourceRequest:
    """The address of an `onnx_file` or `synthetic_onnx`, as the field of a model names it."""

    addresses: UnparsedAddressInputs


@dataclass(frozen=True)
class OnnxSource:
    """One ONNX file, `model.onnx` in `digest`, whose bytes are what was declared. Nothing is known yet of its content."""

    address: str
    digest: Digest
    sha256: str
    size: int
    synthetic: bool
    filename: str
    """Its own name, by which the files of a driving model may be told apart."""


@dataclass(frozen=True)
class CheckedSourceRequest:
    """Check the content of a source against what a model declares."""

    source: OnnxSource
    dimensions: FrozenDict[str, int]
    inputs: Optional[tuple[str, ...]]


@dataclass(frozen=True)
class CheckedSource:
    """The ONNX of a source that passed the check."""

    source: OnnxSource


@dataclass(frozen=True)
class UpcastRequest:
    """The same graph computing in fp32."""

    source: OnnxSource


@dataclass(frozen=True)
class UpcastSource:
    """`model.onnx` with every fp16 tensor in fp32."""

    digest: Digest


async def local_file(target: Target) -> Digest:
    """The ONNX file of the checkout, under the name `model.onnx`."""
    snapshot = await hydrate(target[OnnxSourceFileField])
    if not snapshot.files:
        raise missing_file(target.address, target[OnnxSourceFileField])
    (found,) = (await files_of(snapshot.digest)).values()
    declared = {"sha256": found.fingerprint, "size": found.serialized_bytes_length}
    for field in (Sha256Field, SizeField):
        if target[field].value not in (None, declared[field.alias]):
            raise BuildError(
                str(target.address),
                "fetch",
                f"{snapshot.files[0]} has the {field.alias} {declared[field.alias]}, but the field `{field.alias}` says "
                f"{target[field].value}: correct the field or bring the right file",
            )
    return await digest_of_entries((NamedFile(MODEL, found),))


async def remote_file(target: Target) -> Digest:
    """The ONNX file from a mirror or from its address."""
    url, sha256, size = target[UrlField].value, target[Sha256Field].value, target[SizeField].value
    if url is None or sha256 is None or size is None:
        missing = [name for name, value in (("url", url), ("sha256", sha256), ("size", size)) if value is None]
        raise BuildError(
            str(target.address),
            "fetch",
            f"an onnx_file has either `source` or all of `url`, `sha256` and `size`; missing: {', '.join(missing)}",
        )
    request = FileRequest(
        str(target.address),
        sha256,
        size,
        url,
        target[LfsEndpointField].value,
        MODEL,
    )
    return (await Get(FetchedFile, FileRequest, request)).digest


async def synthesized(target: Target, references: References) -> Digest:
    """The ONNX file that a `synthetic_onnx` describes."""
    version = target[SyntheticVersionField].value
    action = ActionRequest(
        module="autoclave.source.synthetic",
        request=request_json(
            {
                "architecture": target[ArchitectureField].value,
                "scale": target[ScaleField].value,
                "seed": target[SeedField].value,
                **({"behavior_version": version} if version else {}),
                "output": f"out/{MODEL}",
            }
        ),
        inputs=EMPTY_DIGEST,
        toolchain=references.toolchain,
        outputs=(MODEL,),
        target=str(target.address),
        stage="Synthesize",
    )
    return (await succeed(action)).outputs


def filename_of(target: Target) -> str:
    """The name that the file has where it comes from. A synthetic model's says what it imitates."""
    if target.has_field(ScaleField):
        return f"synthetic_{target[ArchitectureField].value}.onnx"
    place = target[OnnxSourceFileField].value or target[UrlField].value or ""
    return posixpath.basename(place.partition("?")[0])


@rule
async def onnx_source(request: SourceRequest, references: References) -> OnnxSource:
    (target,) = await targets_at(request.addresses)
    synthetic = target.has_field(ScaleField)
    if synthetic:
        digest = await synthesized(target, references)
    elif target.has_field(OnnxSourceFileField):
        digest = await (local_file(target) if target[OnnxSourceFileField].value else remote_file(target))
    else:
        raise BuildError(
            str(request.addresses.description_of_origin),
            "fetch",
            f"{target.address} is a {target.alias}, not an onnx_file or synthetic_onnx",
        )
    file = (await files_of(digest))[MODEL]
    return OnnxSource(
        str(target.address), digest, file.fingerprint, file.serialized_bytes_length, synthetic, filename_of(target)
    )


@rule
async def check_source(request: CheckedSourceRequest, references: References) -> CheckedSource:
    declared = {
        "model": f"inputs/{MODEL}",
        "sha256": request.source.sha256,
        "size": request.source.size,
        "dimensions": dict(request.dimensions),
        **({"inputs": request.inputs} if request.inputs is not None else {}),
    }
    await succeed(
        ActionRequest(
            module="autoclave.source.check",
            request=request_json(declared),
            inputs=await add_prefix(request.source.digest, "inputs"),
            toolchain=references.toolchain,
            outputs=(),
            target=request.source.address,
            stage="Check",
        )
    )
    return CheckedSource(request.source)


@rule
async def upcast(request: UpcastRequest, references: References) -> UpcastSource:
    result = await succeed(
        ActionRequest(
            module="autoclave.source.upcast",
            request=request_json({"model": f"inputs/{MODEL}", "output": f"out/{MODEL}", "report": "out/report.json"}),
            inputs=await add_prefix(request.source.digest, "inputs"),
            toolchain=references.toolchain,
            outputs=(MODEL,),
            target=request.source.address,
            stage="Upcast",
        )
    )
    file = (await files_of(result.outputs))[MODEL]
    return UpcastSource(await digest_of_entries((NamedFile(MODEL, file),)))


def rules() -> list[Rule]:
    return list(collect_rules())
