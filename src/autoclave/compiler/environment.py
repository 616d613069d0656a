"""Make the process independent of the machine before tinygrad is imported.

tinygrad reads environment variables once, at import, and looks for native libraries all over the host. So the environment
is emptied of all but a few names, the profile's settings are put in, and every library is either the toolchain's own or
pinned to a file that is no library.
"""

import importlib.util
import os
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from types import MappingProxyType

from autoclave.compiler.profiles import COMMON_FLAGS, HardwareProfile
from autoclave.compiler.renderers.hip import comgr_settings
from autoclave.errors import ToolchainError

# What may stay: Python's own variables, and those that say where things are in the sandbox.
_KEPT = ("PATH", "HOME", "TMPDIR", "LC_ALL", "LANG", "AUTOCLAVE_TOOLCHAIN", "LD_LIBRARY_PATH")
_KEPT_PREFIXES = ("PYTHON", "COVERAGE")

# Libraries that tinygrad looks for. An existing file that is none stops its search of the host; loading it fails and nothing asks for it.
_LIBRARIES = ("LLVM", "LIBC", "COMGR", "COMGR_3", "HIP", "CUDA", "NVRTC", "OPENCL", "LIBCLANG", "MESA", "WEBGPU")


def prepare_environment(
    profile: HardwareProfile, absent_flags: tuple[str, ...] = (), environ: MutableMapping[str, str] = os.environ
) -> None:
    """Replace `environ` by what compiling for `profile` needs, and nothing else.

    Must run before tinygrad is imported. Raises `ToolchainError` if the profile needs a library and there is none.
    """
    kept = {name: value for name, value in environ.items() if name in _KEPT or name.startswith(_KEPT_PREFIXES)}
    environ.clear()
    environ.update(kept)
    environ.setdefault("PATH", "/nonexistent")
    environ.update(library_pins(profile, environ))
    environ.update(profile_flags(profile, absent_flags))


def profile_flags(profile: HardwareProfile, absent_flags: tuple[str, ...] = ()) -> dict[str, str]:
    """The variables that tinygrad is to read: DEV, the common flags and the profile's, less those in `absent_flags`."""
    flags = {**COMMON_FLAGS, **profile.flags}
    return {"DEV": profile.device, **{name: value for name, value in flags.items() if name not in absent_flags}}


def library_pins(profile: HardwareProfile, environ: Mapping[str, str]) -> dict[str, str]:
    """Where tinygrad finds each native library: `<NAME>_PATH` variables, all naming existing files. With them, what the
    profile's own library reads.
    """
    not_a_library = str(Path(__file__).resolve())
    pins = {f"{name}_PATH": not_a_library for name in _LIBRARIES}
    own = _LIBRARY_SETTINGS.get(profile.renderer)
    return {**pins, **own(environ)} if own else pins


def mesa_settings(environ: Mapping[str, str]) -> dict[str, str]:
    """Where tinygrad finds Mesa."""
    return {"MESA_PATH": str(mesa_library(environ))}


def mesa_library(environ: Mapping[str, str] = os.environ) -> Path:
    """The toolchain's libtinymesa.so: from the `mesa` component, or beside the installed package outside of a sandbox."""
    root = environ.get("AUTOCLAVE_TOOLCHAIN")
    if root:
        return _library_below(Path(root) / "mesa")
    spec = importlib.util.find_spec("tinymesa")
    if spec is None or not spec.submodule_search_locations:
        raise ToolchainError(
            "looking for Mesa's IR3 compiler: the toolchain has no mesa component, and tinymesa is not installed"
        )
    return _library_below(Path(next(iter(spec.submodule_search_locations))))


_LIBRARY_SETTINGS: Mapping[str, Callable[[Mapping[str, str]], dict[str, str]]] = MappingProxyType(
    {"ir3": mesa_settings, "hip": comgr_settings}
)
"""By renderer: the variables of the one native library that it needs."""


def _library_below(root: Path) -> Path:
    found = sorted(root.rglob("libtinymesa.so"))
    if len(found) != 1:
        raise ToolchainError(
            f"looking for libtinymesa.so below {root}: expected one, found {len(found)}; check the toolchain's mesa component"
        )
    return found[0].resolve()
