"""Whether this machine's processor can run code for a given x86-64 architecture level."""

import platform
from pathlib import Path

from autoclave.errors import ArtifactError, AutoclaveError

CPU_FLAGS = Path("/proc/cpuinfo")

_V2 = frozenset({"cx16", "lahf_lm", "popcnt", "pni", "ssse3", "sse4_1", "sse4_2"})
_V3 = _V2 | {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"}
_V4 = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}

LEVELS: dict[str, frozenset[str]] = {"x86-64": frozenset(), "x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4}
"""What each level of the x86-64 psABI needs beyond the first, in Linux's words (pni is SSE3, abm has LZCNT)."""


def required_features(arch: str) -> frozenset[str]:
    """The processor flags that code for `arch` ("x86_64,x86-64-v3") needs.

    Raises `ArtifactError` for another machine, a level that is not in `LEVELS`, or features beyond a level.
    """
    machine, _, level = arch.partition(",")
    if machine != "x86_64" or level not in LEVELS:
        raise ArtifactError(f"running code for {arch!r}: only x86_64 code of the levels {', '.join(LEVELS)} can be run")
    return LEVELS[level]


def host_features() -> frozenset[str]:
    """The processor flags that Linux reports for the first processor. Raises `AutoclaveError` if it reports none."""
    try:
        report = CPU_FLAGS.read_text()
    except OSError as error:
        raise AutoclaveError(f"asking for the processor's features: {CPU_FLAGS}: {error.strerror}") from error
    for line in report.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "flags":
            return frozenset(value.split())
    raise AutoclaveError(f'asking for the processor\'s features: {CPU_FLAGS} has no line "flags"')


def require_host(arch: str) -> None:
    """Raise `AutoclaveError` unless this machine can run code for `arch`."""
    needed = required_features(arch)
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        raise AutoclaveError(
            f"running code for {arch!r}: this machine is {platform.system()} {platform.machine()}; use Linux on x86-64"
        )
    if missing := sorted(needed - host_features()):
        raise AutoclaveError(
            f"running code for {arch!r}: this machine's processor lacks {', '.join(missing)}; "
            f"use a newer one (Intel Haswell, AMD Zen and their successors have x86-64-v3)"
        )
