"""Adapters for driving models: the modules that write warps and policies in the words of a range of tinygrad versions."""

import importlib
from collections.abc import Callable
from typing import Protocol, cast

from autoclave.compiler.adapters import require_version
from autoclave.compiler.captured import Capture
from autoclave.compiler.policy_plan import PolicyPlan
from autoclave.compiler.profiles import HardwareProfile
from autoclave.compiler.warp_request import WarpRequest


class DrivingAdapter(Protocol):
    """What an adapter module for driving models offers."""

    def check_flags(self, profile: HardwareProfile, absent_flags: tuple[str, ...]) -> None:
        """As `autoclave.compiler.adapters.Adapter` does."""

    def capture_warp(self, warp: WarpRequest, profile: HardwareProfile, progress: Callable[[str], None]) -> Capture:
        """Compile a warp. Raises `CompileError` for what cannot be compiled."""

    def capture_policy(self, plan: PolicyPlan, profile: HardwareProfile, progress: Callable[[str], None]) -> Capture:
        """Compile a model's policy part. Raises `SourceError` for what is wrong with the model, `CompileError` as above."""


DRIVING_ADAPTERS: dict[str, str] = {"0.14.0": "autoclave.compiler.adapters.tinygrad_0_14_driving"}
"""By release of tinygrad, as `autoclave.compiler.adapters.ADAPTERS`."""


def load_driving_adapter(version: str) -> DrivingAdapter:
    """Import the adapter for tinygrad `version`, and tinygrad with it. Raises as `adapters.load_adapter` does."""
    return cast("DrivingAdapter", importlib.import_module(require_version(version, DRIVING_ADAPTERS)))
