"""Starts Pants 2.17.1 as its own script does, but for two things.

It makes no scheduler to find third-party plugins unless some are configured. Pants makes one at every start, with the rules of its
Python backend, before it looks at which plugins are wanted; solving them takes a third of what `./pants --no-pantsd` takes to start.

It leaves nothing behind: what several sandboxes had as inputs, half a gigabyte after a build, stays in /tmp when Pants ends.

setup.sh puts a copy of this file, with a line that names the interpreter, into the set-up.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Callable

from pants.bin.pants_loader import main
from pants.engine.internals.scheduler import Scheduler
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


def with_folder_of_its_own(initialize: Callable[..., None]) -> Callable[..., None]:
    """`Scheduler.__init__`, whose sandboxes lie in a new folder below the configured one; at exit all goes but kept sandboxes."""

    def initialized(scheduler: Scheduler, *, local_execution_root_dir: str, **others: Any) -> None:
        Path(local_execution_root_dir).mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="pants-", dir=local_execution_root_dir))
        atexit.register(remove_inputs, folder, os.getpid())
        initialize(scheduler, local_execution_root_dir=str(folder), **others)

    return initialized


def remove_inputs(folder: Path, process: int) -> None:
    """Remove the inputs of sandboxes from `folder`, and it if there is nothing else; only in `process`, not in a fork of it."""
    if os.getpid() != process:
        return
    for inputs in folder.glob("immutable_inputs*"):
        for place, _, _ in os.walk(inputs):
            os.chmod(place, 0o700)  # they are made so that nobody writes to them
        shutil.rmtree(inputs, ignore_errors=True)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


if __name__ == "__main__":
    for owner, name, wrapper in (
        (options_initializer, "create_bootstrap_scheduler", make_later),
        (PluginResolver, "_resolve_plugins", only_where_configured),
        (Scheduler, "__init__", with_folder_of_its_own),
    ):
        setattr(owner, name, wrapper(getattr(owner, name)))
    main()
