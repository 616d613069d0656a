"""Whether this machine's processor can run code of an x86-64 level."""

from pathlib import Path

from .errors import DeviceError

_V2 = frozenset({"cx16", "lahf_lm", "popcnt", "pni", "ssse3", "sse4_1", "sse4_2"})
_V3 = _V2 | {"abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave"}
_LEVELS = {"x86-64": frozenset[str](), "x86-64-v2": _V2, "x86-64-v3": _V3}
"""What each level needs, in the words of Linux's /proc/cpuinfo."""


def require_level(level: str, cpuinfo: Path = Path("/proc/cpuinfo")) -> None:
    """Raise `DeviceError` unless the processor has all that code of `level` may use."""
    if level not in _LEVELS:
        raise DeviceError(f"code for {level!r}: known are {', '.join(_LEVELS)}")
    try:
        lines = cpuinfo.read_text().splitlines()
    except OSError as error:
        raise DeviceError(
            f"{cpuinfo}: cannot be read: {error.strerror}; cannot tell what this processor can do"
        ) from error
    flags = next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), [])
    if missing := sorted(_LEVELS[level] - set(flags)):
        raise DeviceError(f"code for {level}: this processor lacks {', '.join(missing)}")
