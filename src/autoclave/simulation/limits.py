"""How fast a build could be at best, by each thing that may hold it up; the largest of these bounds is where the limit lies."""

from collections.abc import Iterable
from dataclasses import dataclass

from autoclave.simulation.actions import Action, bytes_of, distinct
from autoclave.simulation.farm import NOTHING, Farm, Known, Outcome


@dataclass(frozen=True)
class Limits:
    """Seconds that building takes at least: if workers did nothing but compute and nothing else held it up; if the cache's line did
    nothing but move what was moved, each direction for itself; and the longest chain of actions, with an idle network.

    `delivery`: seconds that the client takes at least, after the build, for what it asked for.
    """

    workers: float
    cache: float
    critical_path: float
    delivery: float

    def by_name(self) -> dict[str, float]:
        """The bounds of building."""
        return {"workers": self.workers, "cache": self.cache, "critical path": self.critical_path}

    @property
    def largest(self) -> str:
        """The name of the one that holds building up most."""
        bounds = self.by_name()
        return max(bounds, key=bounds.__getitem__)


def limits(actions: Iterable[Action], farm: Farm, outcome: Outcome, known: Known = NOTHING) -> Limits:
    """The bounds of a build that was simulated with this `outcome`."""
    carried_out = sum(outcome.carried_out.values())
    return Limits(
        workers=(outcome.computing + carried_out * farm.dispatch) / farm.workers,
        cache=max(outcome.from_cache, outcome.to_cache) / farm.cache_rate,
        critical_path=critical_path(actions, farm, known),
        delivery=outcome.delivered / min(farm.client_rate, farm.cache_rate),
    )


def critical_path(actions: Iterable[Action], farm: Farm, known: Known = NOTHING) -> float:
    """The longest chain of actions in seconds: all of the time that each takes but for fetching its inputs, which a worker may have."""
    chosen = distinct(actions)
    makers = {blob.name: action for action in chosen for blob in action.outputs}
    ends: dict[str, float] = {}
    rate = min(farm.worker_rate, farm.cache_rate)

    def end(action: Action) -> float:
        if action.key not in ends:
            before = (makers[blob.name] for blob in action.needed if blob.name in makers)
            begin = max((end(each) for each in before), default=0.0)
            ends[action.key] = begin + farm.lookup + duration(action)
        return ends[action.key]

    def duration(action: Action) -> float:
        if action.key in known.keys:
            return 0.0
        new = [blob for blob in action.outputs if blob.name not in known.cached]
        return farm.dispatch + action.seconds + bytes_of(new) / rate

    return farm.start + max((end(action) for action in chosen), default=0.0)
