"""Hardware profiles: for each kind of hardware, how tinygrad is set and what the artifact says about its target.

This is the one place that knows them. Adding hardware is adding a row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from autoclave.artifact.model import Target
from autoclave.errors import CompileError


@dataclass(frozen=True, slots=True)
class HardwareProfile:
    """How to compile for one kind of hardware with one renderer.

    `device` is tinygrad's DEV string. `flags` are the environment variables tinygrad reads, besides DEV and those of
    `COMMON_FLAGS`. `target` is what the artifact says.
    """

    hardware: str
    renderer: str
    device: str
    flags: Mapping[str, str]
    target: Target


# The same for all hardware: no caches on disk, no worker processes, one buffer per intermediate (the arena is ours).
COMMON_FLAGS: Mapping[str, str] = MappingProxyType(
    {
        "CACHELEVEL": "0",
        "CCACHE": "0",
        "PARALLEL": "0",
        "NO_MEMORY_PLANNER": "1",
        "NUM_CPU_THREADS": "1",
        "NO_COLOR": "1",
    }
)

_QCOM_FLAGS = MappingProxyType({"IMAGE": "1", "FLOAT16": "1", "NOLOCALS": "1", "OPENPILOT_HACKS": "1"})
_CHESTNUT_FLAGS = MappingProxyType({"FLOAT16": "1", "GMMU": "0", "TC_OPT": "2", "TC_MIN_GLOBALS": "32"})
_A630 = "a630,IMAGE_PITCH_ALIGNMENT=64"

PROFILES: tuple[HardwareProfile, ...] = (
    HardwareProfile(
        hardware="cpu",
        renderer="llvm",
        device="NULL:CPULLVM20:x86_64,x86-64-v3",
        flags=MappingProxyType({}),
        target=Target("CPU", "LLVM", "x86_64,x86-64-v3"),
    ),
    HardwareProfile(
        hardware="qcom",
        renderer="ir3",
        device=f"NULL:IR3:{_A630}",
        flags=_QCOM_FLAGS,
        target=Target("QCOM", "IR3", _A630),
    ),
    HardwareProfile(
        hardware="chestnut",
        renderer="llvm",
        device="NULL:AMDLLVM20:gfx1200",
        flags=_CHESTNUT_FLAGS,
        target=Target("AMD", "LLVM", "gfx1200"),
    ),
    HardwareProfile(
        hardware="chestnut",
        renderer="hip",
        device="NULL:HIP:gfx1200",
        flags=_CHESTNUT_FLAGS,
        target=Target("AMD", "HIP", "gfx1200"),
    ),
)

# Renderers that other hardware profiles will have, and why they cannot be used yet.
_PLANNED_RENDERERS: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("qcom", "cl"): "Qualcomm's own compiler is not built in yet",
    }
)


def default_renderer(hardware: str) -> str:
    """The renderer that `hardware` uses when none is asked for. Raises `CompileError` for unknown hardware."""
    return next((profile.renderer for profile in PROFILES if profile.hardware == hardware), None) or _refuse_hardware(
        hardware
    )


def profile_for(hardware: str, renderer: str | None = None) -> HardwareProfile:
    """The profile of `hardware` with `renderer` (None: its default).

    Raises `CompileError` for unknown hardware, and for a renderer that the hardware does not have.
    """
    wanted = renderer or default_renderer(hardware)
    known = [profile for profile in PROFILES if profile.hardware == hardware]
    if not known:
        _refuse_hardware(hardware)
    for profile in known:
        if profile.renderer == wanted:
            return profile
    names = ", ".join(repr(profile.renderer) for profile in known)
    reason = _PLANNED_RENDERERS.get((hardware, wanted), "it has no such renderer")
    raise CompileError(f"renderer={wanted!r} cannot compile for hardware {hardware!r}: {reason}; use {names}")


def _refuse_hardware(hardware: str) -> str:
    known = ", ".join(repr(profile.hardware) for profile in PROFILES)
    raise CompileError(f"hardware {hardware!r} is unknown; known are {known}")
