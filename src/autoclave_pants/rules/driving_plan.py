"""The plan of a driving model: which kind its sources make, which file is which part, and what warps have to give."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Optional

from pants.engine.fs import Digest
from pants.engine.rules import Rule, collect_rules, rule
from pants.util.frozendict import FrozenDict

from autoclave_pants.engine import NamedFile, add_prefix, contents_of, digest_of_entries, files_of
from autoclave_pants.rules.actions import ActionRequest, References, request_json, succeed
from autoclave_pants.rules.artifacts import RoleSource
from autoclave_pants.rules.warps import Warp

PLAN = "plan.json"


@dataclass(frozen=True)
class DrivingDeclaration:
    """What a target says of its model, whatever it is compiled for."""

    kind: str
    size_class: str
    behavior_version: str
    image_history_pipeline: str
    frame_skip: Optional[int]
    dimensions: FrozenDict[str, int]


@dataclass(frozen=True)
class DrivingPlanRequest:
    """Tell what kind of model the sources are, and which file is which part."""

    sources: tuple[RoleSource, ...]
    declaration: DrivingDeclaration


@dataclass(frozen=True)
class DrivingPlan:
    """The sources by part, what warps have to give, and in a sentence why it is this kind."""

    kind: str
    parts: tuple[RoleSource, ...]
    frame_skip: int
    warp: Warp
    why: str


async def _named(sources: Iterable[tuple[str, RoleSource]]) -> Digest:
    """The files of the sources, each under its name."""
    files = []
    for name, each in sources:
        (file,) = (await files_of(each.source.digest)).values()
        files.append(NamedFile(name, file))
    return await digest_of_entries(files)


@rule
async def plan_driving(request: DrivingPlanRequest, references: References) -> DrivingPlan:
    declared = request.declaration
    paths = [f"{number}.onnx" for number in range(len(request.sources))]
    fields = {
        "models": [
            {
                "path": f"inputs/{path}",
                "name": each.source.filename,
                "role": each.role or None,
                "sha256": each.source.sha256,
                "size": each.source.size,
                "synthetic": each.source.synthetic,
            }
            for path, each in zip(paths, request.sources)
        ],
        "kind": declared.kind,
        "size_class": declared.size_class,
        "behavior_version": declared.behavior_version,
        "image_history_pipeline": declared.image_history_pipeline,
        "frame_skip": declared.frame_skip,
        "dimensions": dict(declared.dimensions),
        "output": f"out/{PLAN}",
    }
    result = await succeed(
        ActionRequest(
            module="autoclave.source.driving_plan",
            request=request_json(fields),
            inputs=await add_prefix(await _named(zip(paths, request.sources)), "inputs"),
            toolchain=references.toolchain,
            outputs=(PLAN,),
            target=" and ".join(each.source.address for each in request.sources),
            stage="Plan",
        )
    )
    plan = json.loads((await contents_of(result.outputs))[PLAN])
    parts = tuple(replace(request.sources[number], role=part) for part, number in plan["parts"].items())
    return DrivingPlan(plan["kind"], parts, plan["frame_skip"], _warp(plan["warp"]), plan["why"])


def _warp(planned: Mapping[str, Any]) -> Warp:
    width, height = planned["model_size"]
    return Warp(planned["layout"], (width, height), planned["history"])


def rules() -> list[Rule]:
    return list(collect_rules())
