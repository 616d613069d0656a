"""Do once for a daemon what Pants does for each of its requests, though nothing changes in between.

Pants 2.17.1 builds its configuration (all rules and targets of all backends) from scratch when a request arrives and again
for the request's run, then computes every option of every scope to see that pants.toml names none that is unknown, and
`package` deletes and writes all of dist, gigabytes for a catalogue. All that is most of what `./pants package` takes when
there is nothing to do. The configuration depends on the backends' code and names alone, and the daemon starts anew when
either changes, so that its first result holds for as long as the process lives; a configuration file that was found good
stays good until its content changes; and outputs that nobody touched are not written again. Without this module Pants works
the same, only slower.
"""

from __future__ import annotations

from functools import wraps
from typing import Any, Callable

from pants.engine.internals.scheduler import SchedulerSession
from pants.init import options_initializer
from pants.option.config import Config
from pants.option.options import Options
from pants.option.options_bootstrapper import OptionsBootstrapper

from autoclave_pants.unchanged_outputs import written_once

Loader = Callable[[Any, OptionsBootstrapper, Any], Any]
Verifier = Callable[[Options, Config], None]


def warm_requests() -> None:
    """Make Pants keep the configuration that it loads and verifies. Calling this again changes nothing."""
    _wrap(options_initializer, "_initialize_build_configuration", loaded_once)
    _wrap(Options, "verify_configs", verified_once)
    _wrap(SchedulerSession, "write_digest", written_once)


def loaded_once(load: Loader) -> Loader:
    """`load`, which gives Pants' configuration, with its results kept by the names of the backends and where they lie.

    Where third-party plugins are configured, nothing is kept: finding them is a build of its own.
    """
    results: dict[tuple[tuple[str, ...], ...], Any] = {}

    @wraps(load)
    def keeping(resolver: Any, options: OptionsBootstrapper, env: Any) -> Any:
        chosen = options.get_bootstrap_options().for_global_scope()
        if chosen.plugins:
            return load(resolver, options, env)
        key = (tuple(chosen.backend_packages), tuple(chosen.pythonpath))
        if key not in results:
            results[key] = load(resolver, options, env)
        return results[key]

    return keeping


def verified_once(verify: Verifier) -> Verifier:
    """`verify` that skips what it found good the last time: the same files with the same sections, for the same scopes."""
    good: list[object] = []

    @wraps(verify)
    def skipping(options: Options, config: Config) -> None:
        content = [(file.path, file.section_to_values) for file in config.values]
        wanted = [list(options.known_scope_to_info), content]
        if wanted != good:
            verify(options, config)
            good[:] = wanted

    return skipping


def _wrap(owner: object, name: str, wrapper: Callable[[Any], Any]) -> None:
    function = getattr(owner, name)
    if not hasattr(function, "__wrapped__"):
        setattr(owner, name, wrapper(function))
