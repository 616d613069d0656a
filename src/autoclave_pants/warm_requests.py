"""Load the backends once for a daemon, not twice for each of its requests.

Pants 2.17.1 builds its configuration (all rules and targets of all backends) from scratch when a request arrives and again
for the request's run: a tenth of a second, which is most of what `./pants package` takes when nothing has changed. The
result depends on the backends' code and names alone. The daemon starts anew when either changes, so the first result holds
for as long as the process lives. Without this module Pants works the same, only slower.
"""

from __future__ import annotations

from functools import wraps
from typing import Any, Callable, TypeVar

from pants.init import options_initializer

Configuration = TypeVar("Configuration")
Loader = Callable[[list[str], Any, list[str]], Configuration]

LOADER = "load_backends_and_plugins"


def load_backends_once() -> None:
    """Make Pants keep the configuration that it loads. Calling this again changes nothing."""
    names = vars(options_initializer)
    loader = names[LOADER]
    if not hasattr(loader, "__wrapped__"):
        names[LOADER] = kept(loader)


def kept(load: Loader[Configuration]) -> Loader[Configuration]:
    """`load` with its results kept by the names of the plugins, where they are found, and the names of the backends."""
    results: dict[tuple[tuple[str, ...], ...], Configuration] = {}

    @wraps(load)
    def keeping(plugins: list[str], working_set: Any, backends: list[str]) -> Configuration:
        key = (tuple(plugins), tuple(working_set.entries), tuple(backends))
        if key not in results:
            results[key] = load(plugins, working_set, backends)
        return results[key]

    return keeping
