"""What a model target consists of: one artifact or several, each under the name that devices look for."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import Optional

from pants.engine.target import Target

from autoclave_pants.errors import BuildError
from autoclave_pants.rules.artifacts import ModelRequest
from autoclave_pants.rules.driving import DrivingRequest
from autoclave_pants.rules.models import OnnxModelRequest
from autoclave_pants.rules.monitoring import (
    MODEL_FILE,
    MonitoringMetadataRequest,
    model_request,
    warp_file,
    warp_requests,
)
from autoclave_pants.target_types.driving import DrivingSourcesField, MonitoringSourceField
from autoclave_pants.target_types.models import FilenameField, HardwareField, ModelSourceField

DRIVING_FILES = {"small": "driving_tinygrad.pkl", "big": "big_driving_tinygrad.pkl"}
"""openpilot's names, by size class."""


@dataclass(frozen=True)
class Product:
    """One artifact of a target, and its file name."""

    filename: str
    model: ModelRequest


@dataclass(frozen=True)
class Products:
    """All of a target: its artifacts, and of driver monitoring the metadata that goes with them."""

    artifacts: tuple[Product, ...]
    metadata: Optional[MonitoringMetadataRequest] = None


def is_model(target: Target) -> bool:
    """Whether a target is a model of any kind."""
    return any(target.has_field(each) for each in (ModelSourceField, DrivingSourcesField, MonitoringSourceField))


def products_of(target: Target) -> Products:
    """What to build of a target; raises `BuildError` for fields that do not go together, and for what is no model."""
    if target.has_field(DrivingSourcesField):
        driving = DrivingRequest.of(target)
        default = DRIVING_FILES[driving.declaration.size_class]
        return Products((Product(target[FilenameField].value or default, driving),))
    if target.has_field(MonitoringSourceField):
        warps = (Product(warp_file(warp.camera), warp) for warp in warp_requests(target))
        artifacts = (Product(MODEL_FILE, model_request(target)), *warps)
        return Products(artifacts, MonitoringMetadataRequest.of(target))
    if target.has_field(ModelSourceField):
        default = f"{target.address.target_name}_tinygrad.pkl"
        return Products((Product(target[FilenameField].value or default, OnnxModelRequest.of(target)),))
    raise BuildError(str(target.address), "build", f"it is a {target.alias}, not a model")


def variant(target: Target) -> str:
    """What tells a target from others of its name: the hardware ("qcom"), and where `parametrize` varies other fields, what these have
    ("chestnut-hip")."""
    parameters = sorted(target.address.parameters.items())
    return "-".join(
        [
            target[HardwareField].value,
            *(value.replace("/", ".") for name, value in parameters if name != HardwareField.alias),
        ]
    )


def package_directory(target: Target) -> str:
    """Where the files of a model go in dist: `<BUILD directory>/<name>/<variant>`."""
    return posixpath.join(target.address.spec_path, target.address.target_name, variant(target))
