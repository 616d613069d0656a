"""`./pants package` of models."""

from __future__ import annotations

from dataclasses import dataclass

from pants.core.goals.package import BuiltPackage, BuiltPackageArtifact, PackageFieldSet
from pants.engine.rules import Get, Rule, collect_rules, rule
from pants.engine.target import WrappedTarget, WrappedTargetRequest
from pants.engine.unions import UnionRule

from autoclave_pants.rules.packaging import PackagedModel, PackageRequest
from autoclave_pants.rules.products import package_directory, products_of
from autoclave_pants.target_types.driving import DrivingSourcesField, MonitoringSourceField
from autoclave_pants.target_types.models import HardwareField, ModelSourceField


@dataclass(frozen=True)
class ModelFieldSet(PackageFieldSet):
    """Any model."""

    hardware: HardwareField


@dataclass(frozen=True)
class OnnxModelFieldSet(ModelFieldSet):
    required_fields = (ModelSourceField, HardwareField)


@dataclass(frozen=True)
class DrivingModelFieldSet(ModelFieldSet):
    required_fields = (DrivingSourcesField, HardwareField)


@dataclass(frozen=True)
class MonitoringModelsFieldSet(ModelFieldSet):
    required_fields = (MonitoringSourceField, HardwareField)


async def packaged(field_set: ModelFieldSet) -> BuiltPackage:
    target = (await Get(WrappedTarget, WrappedTargetRequest(field_set.address, "package"))).target
    request = PackageRequest(products_of(target), package_directory(target))
    model = await Get(PackagedModel, PackageRequest, request)
    # One entry for all files: they are replaced together, and told in one message.
    return BuiltPackage(model.digest, (BuiltPackageArtifact(model.directory, model.lines),))


@rule
async def package_onnx_model(field_set: OnnxModelFieldSet) -> BuiltPackage:
    return await packaged(field_set)


@rule
async def package_driving_model(field_set: DrivingModelFieldSet) -> BuiltPackage:
    return await packaged(field_set)


@rule
async def package_monitoring_models(field_set: MonitoringModelsFieldSet) -> BuiltPackage:
    return await packaged(field_set)


def rules() -> list[Rule | UnionRule]:
    members = (OnnxModelFieldSet, DrivingModelFieldSet, MonitoringModelsFieldSet)
    return [*collect_rules(), *(UnionRule(PackageFieldSet, member) for member in members)]
