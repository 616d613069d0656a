"""`./pants package` of models."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from pants.core.goals.package import BuiltPackage, BuiltPackageArtifact, PackageFieldSet
from pants.engine.rules import Get, Rule, collect_rules, rule
from pants.engine.target import Target, WrappedTarget, WrappedTargetRequest
from pants.engine.unions import UnionRule

from autoclave_pants.rules.models import ModelRequest, PackagedModel, PackageRequest
from autoclave_pants.target_types import FilenameField, HardwareField, ModelSourceField


@dataclass(frozen=True)
class OnnxModelFieldSet(PackageFieldSet):
    required_fields = (ModelSourceField, HardwareField)

    source: ModelSourceField
    hardware: HardwareField


def package_directory(target: Target) -> str:
    """Where the files of a model go in dist: `<BUILD directory>/<name>/<hardware>`."""
    return posixpath.join(target.address.spec_path, target.address.target_name, target[HardwareField].value)


def package_request(target: Target) -> PackageRequest:
    """What to package of a model; raises `BuildError` for fields that do not go together."""
    filename = target[FilenameField].value or f"{target.address.target_name}_tinygrad.pkl"
    return PackageRequest(ModelRequest.of(target), package_directory(target), filename)


@rule
async def package_onnx_model(field_set: OnnxModelFieldSet) -> BuiltPackage:
    target = (await Get(WrappedTarget, WrappedTargetRequest(field_set.address, "package"))).target
    packaged = await Get(PackagedModel, PackageRequest, package_request(target))
    # One entry for the three files: they are replaced together, and told in one message.
    return BuiltPackage(packaged.digest, (BuiltPackageArtifact(posixpath.dirname(packaged.path), packaged.lines),))


def rules() -> list[Rule | UnionRule]:
    return [*collect_rules(), UnionRule(PackageFieldSet, OnnxModelFieldSet)]
