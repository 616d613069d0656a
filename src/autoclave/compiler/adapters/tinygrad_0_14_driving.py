"""Driving models for tinygrad 0.14: warps and policies, captured."""

from collections.abc import Callable

from tinygrad.helpers import Context

from autoclave.compiler.adapters.tinygrad_0_14_device import install_null_device
from autoclave.compiler.adapters.tinygrad_0_14_exact import exact_arithmetic
from autoclave.compiler.adapters.tinygrad_0_14_policy import policy_graph
from autoclave.compiler.adapters.tinygrad_0_14_recorder import record
from autoclave.compiler.adapters.tinygrad_0_14_settings import check_flags, require_python
from autoclave.compiler.adapters.tinygrad_0_14_warp import warp_graph
from autoclave.compiler.captured import Capture
from autoclave.compiler.policy_plan import PolicyPlan
from autoclave.compiler.profiles import HardwareProfile
from autoclave.compiler.warp_request import WarpRequest

__all__ = ["capture_policy", "capture_warp", "check_flags"]


def capture_warp(warp: WarpRequest, profile: HardwareProfile, progress: Callable[[str], None]) -> Capture:
    """Schedule and compile `warp` for `profile`. Raises `CompileError` for what cannot be compiled."""
    require_python()
    install_null_device(profile)
    inputs, outputs = warp_graph(warp)
    # A gather is a sum over the frame of which all but one term is 0. Split in two, it would be computed as such.
    with Context(SPLIT_REDUCEOP=0), exact_arithmetic():
        return record(profile, {}, inputs, outputs, progress)


def capture_policy(plan: PolicyPlan, profile: HardwareProfile, progress: Callable[[str], None]) -> Capture:
    """Schedule and compile a model's policy part for `profile`. Weights stay views of the files.

    Raises `SourceError` for what is wrong with the model and `CompileError` for what cannot be compiled.
    """
    require_python()
    install_null_device(profile)
    graph = policy_graph(plan)
    return record(profile, graph.weights, graph.inputs, graph.outputs, progress)
