"""Camera warps: what makes of a camera's frame what a model sees. They hold nothing of the model, so models share them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

from pants.engine.fs import EMPTY_DIGEST
from pants.engine.rules import Rule, collect_rules, rule
from pants.engine.unions import UnionRule
from pants.util.frozendict import FrozenDict

from autoclave_pants.rules.actions import ActionRequest, request_json, succeed
from autoclave_pants.rules.artifacts import (
    ARTIFACT,
    CompiledModel,
    CompileRequest,
    ModelRequest,
    artifact_of,
    model_toolchain,
    report_of,
    toolchain_fields,
)

Size = tuple[int, int]
"""(width, height) in pixels."""


@dataclass(frozen=True)
class Warp:
    """What `autoclave.compiler.warp` is asked for, but for the camera; see there."""

    layout: str
    model_size: Size
    history: Optional[int] = None
    border_fill: Optional[int] = None


@dataclass(frozen=True)
class WarpCompileRequest(CompileRequest):
    model: WarpRequest


@dataclass(frozen=True)
class WarpRequest(ModelRequest):
    """The part artifact of one camera's warp."""

    compile_type = WarpCompileRequest
    build_type = "urn:autoclave:warp:1"

    camera: Size
    warp: Warp

    def parameters(self) -> dict[str, Any]:
        return {"camera": list(self.camera), "layout": self.warp.layout, "model_size": list(self.warp.model_size)}


@rule
async def compile_warp(request: WarpCompileRequest) -> CompiledModel:
    model, warp = request.model, request.model.warp
    toolchain = await model_toolchain(request)
    declared = {
        "camera": model.camera,
        "model_size": warp.model_size,
        "layout": warp.layout,
        "history": warp.history,
        "border_fill": warp.border_fill,
        **toolchain_fields(model.platform, toolchain),
    }
    target = f"{model.address} (warp of {model.camera[0]}x{model.camera[1]})"
    result = await succeed(
        ActionRequest(
            module="autoclave.compiler.warp",
            request=request_json(declared),
            inputs=EMPTY_DIGEST,
            toolchain=toolchain,
            outputs=(ARTIFACT,),
            target=target,
            stage="Compile",
            variation=request.variation,
        )
    )
    digest, file = await artifact_of(result, target)
    return CompiledModel(digest, file, (), toolchain, FrozenDict.deep_freeze(report_of(result)))


def rules() -> list[Rule | UnionRule]:
    return [*collect_rules(), UnionRule(CompileRequest, WarpCompileRequest)]
