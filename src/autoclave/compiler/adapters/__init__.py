"""Adapters: one module for each range of tinygrad versions whose internals it knows."""

import importlib
import importlib.metadata
from typing import TYPE_CHECKING, Protocol, cast

from autoclave.errors import ToolchainError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from autoclave.compiler.captured import Capture
    from autoclave.compiler.profiles import HardwareProfile


class Adapter(Protocol):
    """What an adapter module offers."""

    def check_flags(self, profile: "HardwareProfile", absent_flags: tuple[str, ...]) -> None:
        """Raise `ToolchainError` for a flag of the profile that this tinygrad does not know and nobody declared absent."""

    def capture(
        self,
        model: "Path",
        profile: "HardwareProfile",
        dimensions: "Mapping[str, int]",
        progress: "Callable[[str], None]",
    ) -> "Capture":
        """Compile the model. Raises `SourceError` for what is wrong with it, `CompileError` for what cannot be compiled."""


# Release of tinygrad -> the module that knows it. A pinned commit counts as the release it was made after ("0.14.0+g1234abc").
ADAPTERS: dict[str, str] = {"0.14.0": "autoclave.compiler.adapters.tinygrad_0_14"}


def adapter_module(version: str, adapters: "Mapping[str, str]" = ADAPTERS) -> str:
    """The name of the module for tinygrad `version`. Raises `ToolchainError` that names the known ones."""
    release = version.partition("+")[0]
    if release not in adapters:
        known = ", ".join(adapters)
        raise ToolchainError(
            f"tinygrad {version} is not a version that this compiler knows; known: {known}. Pin one of them or add an adapter"
        )
    return adapters[release]


def load_adapter(version: str) -> Adapter:
    """Import the adapter for tinygrad `version`, and tinygrad with it: the environment must be ready.

    Raises `ToolchainError` for an unknown version, and if the tinygrad at hand says that it is another one.
    """
    return cast("Adapter", importlib.import_module(require_version(version, ADAPTERS)))


def require_version(version: str, adapters: "Mapping[str, str]") -> str:
    """The name of the module for tinygrad `version`, which must be the version at hand. Raises `ToolchainError`."""
    module = adapter_module(version, adapters)
    present = _present_version()
    if present is not None and present.partition("+")[0] != version.partition("+")[0]:
        raise ToolchainError(
            f"the toolchain declares tinygrad {version}, but its component is tinygrad {present}: correct the pin"
        )
    return module


def _present_version() -> str | None:
    """What the installed tinygrad says; None for a source tree without package metadata."""
    try:
        return importlib.metadata.version("tinygrad")
    except importlib.metadata.PackageNotFoundError:
        return None
