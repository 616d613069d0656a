"""`onnx_model`: one ONNX file becomes one artifact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from pants.engine.addresses import UnparsedAddressInputs
from pants.engine.rules import Get, MultiGet, Rule, collect_rules, rule
from pants.engine.target import Target
from pants.engine.unions import UnionRule
from pants.util.frozendict import FrozenDict

from autoclave_pants.engine import add_prefix
from autoclave_pants.errors import BuildError
from autoclave_pants.rules.actions import ActionRequest, request_json, succeed
from autoclave_pants.rules.artifacts import (
    ARTIFACT,
    CompiledModel,
    CompileRequest,
    ModelRequest,
    Platform,
    RoleSource,
    artifact_of,
    compiler_input,
    compiler_of,
    report_of,
    toolchain_fields,
    toolchain_request,
)
from autoclave_pants.rules.sources import (
    MODEL,
    CheckedSource,
    CheckedSourceRequest,
    OnnxSource,
    SourceRequest,
)
from autoclave_pants.rules.toolchains import Toolchain, ToolchainRequest
from autoclave_pants.target_types.models import DimensionsField, ExpectedInputsField, ModelSourceField

RUN = "run"
"""The key of an `onnx_model`'s only part."""


@dataclass(frozen=True)
class OnnxCompileRequest(CompileRequest):
    model: OnnxModelRequest


@dataclass(frozen=True)
class OnnxModelRequest(ModelRequest):
    """The artifact of one ONNX file. `inputs`: those that it must have, None for whatever it has."""

    compile_type = OnnxCompileRequest
    build_type = "urn:autoclave:onnx-model:1"

    source: UnparsedAddressInputs
    dimensions: FrozenDict[str, int]
    inputs: Optional[tuple[str, ...]]

    @classmethod
    def of(cls, target: Target) -> OnnxModelRequest:
        """Read the fields of an `onnx_model`."""
        return cls(
            Platform.of(target),
            target[ModelSourceField].to_unparsed_address_inputs(),
            target[DimensionsField].value or FrozenDict(),
            target[ExpectedInputsField].value,
        )

    def parameters(self) -> dict[str, Any]:
        return {"dimensions": dict(self.dimensions)}


def compile_request(model: OnnxModelRequest, source: OnnxSource, toolchain: Toolchain) -> str:
    return request_json(
        {
            "model": f"inputs/{MODEL}",
            "dimensions": dict(model.dimensions),
            "synthetic": source.synthetic,
            "source_sha256": source.sha256,
            "source_size": source.size,
            **toolchain_fields(model.platform, toolchain),
        }
    )


@rule
async def compile_model(request: OnnxCompileRequest) -> CompiledModel:
    model = request.model
    # At once, since each may have much to fetch.
    toolchain, source = await MultiGet(
        Get(Toolchain, ToolchainRequest, toolchain_request(request)), Get(OnnxSource, SourceRequest(model.source))
    )
    compiler_of(request, toolchain)
    try:
        await Get(CheckedSource, CheckedSourceRequest(source, model.dimensions, model.inputs))
    except BuildError as error:
        raise BuildError(str(model.address), "check", f"{source.address}: {error.reason}", error.log) from None
    result = await succeed(
        ActionRequest(
            module="autoclave.compiler",
            request=compile_request(model, source, toolchain),
            inputs=await add_prefix(await compiler_input(model.platform, source, MODEL), "inputs"),
            toolchain=toolchain,
            outputs=(ARTIFACT,),
            target=str(model.address),
            stage="Compile",
            variation=request.variation,
        )
    )
    digest, file = await artifact_of(result, str(model.address))
    report = FrozenDict.deep_freeze(report_of(result))
    return CompiledModel(digest, file, (RoleSource(RUN, source),), toolchain, report)


def rules() -> list[Rule | UnionRule]:
    return [*collect_rules(), UnionRule(CompileRequest, OnnxCompileRequest)]
