"""Real builds of small catalogues, and what the simulation says of them.

What was measured of servers and builds is a JSON file that `benchmarks/remote_cache.py` writes:

    {"how": text, "machine": text, "models": n,
     "start": seconds, "lookup": seconds, "dispatch": seconds, "per_file": seconds,
     "builds": [{"name": text, "workers": n, "remote": true, "seconds": s}]}

`start`, `lookup`, `dispatch` and `per_file` are those of `Farm`; `dispatch` is of actions that are executed remotely.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autoclave.errors import AutoclaveError
from autoclave.simulation.catalogue import Scope, catalogue_actions, generated_models
from autoclave.simulation.farm import Farm, Known, simulate
from autoclave.simulation.measurements import Measurements
from autoclave.simulation.scenarios import GIGABIT, tools_of

LOOPBACK = 1e9
"""Bytes a second between processes of one machine: so fast that it does not count."""


@dataclass(frozen=True)
class RealBuild:
    """A build of models of scale S for cpu, from their sources, on so many workers; `remote` if a server's, else the client's own."""

    name: str
    models: int
    workers: int
    remote: bool
    seconds: float


@dataclass(frozen=True)
class Servers:
    """What was measured of real servers, and real builds."""

    machine: str
    start: float
    lookup: float
    dispatch: float
    per_file: float
    builds: tuple[RealBuild, ...]

    def farm(self, workers: int, gigabits: float) -> Farm:
        """A farm whose machines have a line of 1 Gbit/s each, and the cache one of `gigabits`."""
        return Farm(
            workers, gigabits * GIGABIT, GIGABIT, GIGABIT, self.lookup, self.dispatch, self.per_file, self.start
        )


def read_servers(path: Path) -> Servers:
    """Read a file of `benchmarks/remote_cache.py`.

    Raises:
        AutoclaveError: it cannot be read or is no such file.
    """
    try:
        found: Mapping[str, Any] = json.loads(path.read_text())
        builds = tuple(
            RealBuild(each["name"], found["models"], each["workers"], each["remote"], each["seconds"])
            for each in found["builds"]
        )
        start, lookup, dispatch, per_file = (float(found[name]) for name in ("start", "lookup", "dispatch", "per_file"))
        return Servers(found["machine"], start, lookup, dispatch, per_file, builds)
    except OSError as error:
        raise AutoclaveError(f"the measurements {path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise AutoclaveError(
            f"{path} holds no measurements of benchmarks/remote_cache.py: {type(error).__name__} {error}"
        ) from None


def simulated(build: RealBuild, measured: Measurements, servers: Servers) -> float:
    """How long the simulation says that a real build takes, in seconds; toolchains are there already."""
    models = generated_models(build.models, "S", 1, ("cpu",))
    actions = catalogue_actions(models, measured, Scope(synthesized=True, parity=False))
    farm = Farm(
        build.workers,
        LOOPBACK,
        LOOPBACK,
        LOOPBACK,
        servers.lookup if build.remote else 0.0,
        servers.dispatch if build.remote else 0.0,
        servers.per_file if build.remote else 0.0,
        servers.start,
    )
    return simulate(actions, farm, Known(on_workers=tools_of(actions))).seconds
