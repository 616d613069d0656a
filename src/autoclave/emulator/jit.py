"""LLVM IR text to loadable x86-64 objects, for a declared set of processor features."""

from dataclasses import dataclass

from autoclave.native.host import host_features, required_features


@dataclass(frozen=True, slots=True)
class HostTarget:
    """What code is made for: `cpu` and `features` in LLVM's words, and the SIMD lanes (GPU threads) of one vector.

    Features and lanes change speed only, never a result.
    """

    cpu: str
    features: str
    lanes: int


BASELINE = HostTarget("x86-64", "", 8)
"""SSE2 only: any x86-64 machine."""

PORTABLE = HostTarget("x86-64-v3", "", 8)
"""AVX2, F16C: what translations that are shared between machines are made for."""

WIDE = HostTarget("x86-64-v4", "", 16)
"""AVX-512."""


def best_target() -> HostTarget:
    """The fastest of the above that this machine runs. Raises `AutoclaveError` if its features cannot be had."""
    present = host_features()
    for target in (WIDE, PORTABLE):
        if required_features(f"x86_64,{target.cpu}") <= present:
            return target
    return BASELINE
