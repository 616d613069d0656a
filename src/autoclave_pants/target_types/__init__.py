"""The BUILD vocabulary. Each field's help is its manual page: `./pants help driving_model`."""

from __future__ import annotations

from pants.engine.target import Target

from autoclave_pants.target_types.commands import LibraryCommandTarget
from autoclave_pants.target_types.driving import DrivingModelTarget, MonitoringModelsTarget
from autoclave_pants.target_types.model_tests import ParityTestTarget, ReproducibilityTestTarget
from autoclave_pants.target_types.models import OnnxModelTarget
from autoclave_pants.target_types.sources import OnnxFileTarget, SyntheticOnnxTarget
from autoclave_pants.target_types.toolchains import (
    DebLockTarget,
    HostPythonTarget,
    TinygradSourceTarget,
    ToolchainTarget,
    WheelLockTarget,
)


def targets() -> list[type[Target]]:
    """All targets, in the order of the pipeline."""
    return [
        OnnxFileTarget,
        SyntheticOnnxTarget,
        WheelLockTarget,
        DebLockTarget,
        HostPythonTarget,
        TinygradSourceTarget,
        ToolchainTarget,
        OnnxModelTarget,
        DrivingModelTarget,
        MonitoringModelsTarget,
        ParityTestTarget,
        ReproducibilityTestTarget,
        LibraryCommandTarget,
    ]
