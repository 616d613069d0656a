"""Starts Pants 2.17.1 as its own script does, without the scheduler that finds third-party plugins unless some are configured.

Pants makes that scheduler at every start, with the rules of its Python backend, before it looks at which plugins are wanted. Solving
them takes a third of what `./pants --no-pantsd` takes to start. setup.sh puts a copy of this file, with a line that names the
interpreter, into the set-up.
"""

from __future__ import annotations

from typing import Any, Callable

from pants.bin.pants_loader import main
from pants.init import options_initializer
from pants.init.plugin_resolver import PluginResolver, ResolvedPluginDistributions

Resolve = Callable[..., ResolvedPluginDistributions]


class Later:
    """Stands for a `BootstrapScheduler`, which is made when its scheduler is first asked for."""

    def __init__(self, make: Callable[..., Any], *given: Any) -> None:
        self._make, self._given = make, given
        self._made: Any = None

    @property
    def scheduler(self) -> Any:
        """The scheduler."""
        if self._made is None:
            self._made = self._make(*self._given)
        return self._made.scheduler


def make_later(make: Callable[..., Any]) -> Callable[..., Later]:
    """`make`, put off."""
    return lambda *given: Later(make, *given)


def only_where_configured(resolve: Resolve) -> Resolve:
    """`resolve`, which has a scheduler find the configured plugins, where there are any."""

    def resolved(resolver: PluginResolver, options_bootstrapper: Any, env: Any, request: Any) -> Any:
        if not options_bootstrapper.bootstrap_options.for_global_scope().plugins:
            return ResolvedPluginDistributions()
        return resolve(resolver, options_bootstrapper, env, request)

    return resolved


if __name__ == "__main__":
    for owner, name, wrapper in (
        (options_initializer, "create_bootstrap_scheduler", make_later),
        (PluginResolver, "_resolve_plugins", only_where_configured),
    ):
        setattr(owner, name, wrapper(getattr(owner, name)))
    main()
