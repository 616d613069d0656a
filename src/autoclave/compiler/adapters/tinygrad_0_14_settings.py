"""What a process must be like for this tinygrad: its Python, and the settings that tinygrad reads."""

import re
import sys
from pathlib import Path

import tinygrad

from autoclave.compiler.environment import profile_flags
from autoclave.compiler.profiles import HardwareProfile
from autoclave.errors import ToolchainError

# On Python 3.11 tinygrad reads a float16 constant of an ONNX file by running a kernel, which here never runs.
OLDEST_PYTHON = (3, 12)

_FLAG = re.compile(r"""(?:getenv|ContextVar|_DEV)\(\s*["']([A-Z0-9_]+)["']""")


def check_flags(profile: HardwareProfile, absent_flags: tuple[str, ...]) -> None:
    """Raise `ToolchainError` for a flag of the profile that this tinygrad does not read and nobody declared absent."""
    unknown = sorted(set(profile_flags(profile, absent_flags)) - known_flags())
    if unknown:
        raise ToolchainError(
            f"compiling for {profile.hardware}: this tinygrad does not know the flag {', '.join(unknown)}; "
            "if that is right for this version, list it in the toolchain's absent_flags"
        )


def known_flags() -> set[str]:
    """Every environment variable that tinygrad's source reads."""
    root = Path(tinygrad.__file__).parent
    sources = (path for path in root.rglob("*.py") if "autogen" not in path.parts)
    return {name for path in sources for name in _FLAG.findall(path.read_text(encoding="utf-8"))}


def require_python() -> None:
    """Raise `ToolchainError` on a Python that is too old for this tinygrad."""
    if sys.version_info < OLDEST_PYTHON:
        raise ToolchainError(
            "tinygrad 0.14 needs Python 3.12 or newer to read float16 constants; on older ones models come out wrong"
        )
