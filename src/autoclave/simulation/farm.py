"""Simulate one build: a client that asks, workers that carry out actions, and a cache between them.

An action is looked up as soon as its inputs exist. What the cache does not know waits for a worker, first come, first served. The worker
takes what it lacks from the cache, computes, and sends the cache what that lacks. At the end the client takes what was asked for.
Each direction of the cache's line is shared by all who use it.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Collection, Generator, Iterable
from dataclasses import dataclass, field
from functools import partial

from autoclave.simulation.actions import Action, Blob, bytes_of, distinct
from autoclave.simulation.clock import Clock
from autoclave.simulation.link import SharedLink

type Steps = Generator[float | tuple[SharedLink, int, float], None, None]
"""What somebody does, one step after another: seconds to wait, or a transfer of so many bytes at no more than that rate."""


@dataclass(frozen=True)
class Farm:
    """The machines. Rates are in bytes a second in each direction, times in seconds.

    `workers` carry out one action each at a time. `lookup`: asking the cache for one result. `dispatch`: what an action takes beside its
    process and its transfers. `per_file`: what each file of a tree takes beside its bytes. `start`: until the client asks for anything.
    `by_model`: a model's actions are all carried out by the worker that had the first of them, as in a job for each model.
    """

    workers: int
    cache_rate: float
    worker_rate: float
    client_rate: float
    lookup: float = 0.0
    dispatch: float = 0.0
    per_file: float = 0.0
    start: float = 0.0
    by_model: bool = False


@dataclass(frozen=True)
class Known:
    """What there was before the build: results by key, and the contents (names of blobs) that the cache, each worker and the client have."""

    keys: Collection[str] = frozenset()
    cached: Collection[str] = frozenset()
    on_workers: Collection[str] = frozenset()
    with_client: Collection[str] = frozenset()


NOTHING = Known()


@dataclass(frozen=True)
class Outcome:
    """One simulated build. Times are in seconds, amounts in bytes.

    `carried_out` counts actions by stage, `hits` the results that the cache had. `built` is when the last action ended, `seconds`
    when the client had everything. `from_cache` counts what workers took, `to_cache` what they sent, `delivered` what the client took;
    `computing` adds up all workers' processes, `occupied` all the time in which they were not idle.
    """

    seconds: float
    built: float
    carried_out: Counter[str]
    hits: int
    from_cache: int
    to_cache: int
    delivered: int
    computing: float
    occupied: float


@dataclass
class _Build:
    farm: Farm
    known: Known
    actions: list[Action]
    clock: Clock = field(default_factory=Clock)
    carried_out: Counter[str] = field(default_factory=Counter)
    hits: int = 0
    delivered: int = 0
    computing: float = 0.0
    occupied: float = 0.0
    built: float = 0.0

    def __post_init__(self) -> None:
        self.down, self.up = (SharedLink(self.clock, self.farm.cache_rate) for _ in range(2))
        self.cached = set(self.known.cached)
        self.worker_has = [set(self.known.on_workers) for _ in range(self.farm.workers)]
        self.idle = list(range(self.farm.workers))
        self.queue: deque[Action] = deque()
        self.own_queues: list[deque[Action]] = [deque() for _ in range(self.farm.workers)]
        self.worker_of: dict[str, int] = {}
        self.unfinished = len(self.actions)
        made = {blob.name for action in self.actions for blob in action.outputs}
        self.waiting: dict[str, list[Action]] = defaultdict(list)
        self.lacking: dict[str, int] = {}
        for action in self.actions:
            missing = {blob.name for blob in action.needed} & made
            self.lacking[action.key] = len(missing)
            for name in missing:
                self.waiting[name].append(action)

    def run(self) -> Outcome:
        self.clock.after(self.farm.start, self.begin)
        self.clock.run()
        if self.unfinished:
            raise ValueError(f"{self.unfinished} actions wait for files that depend on their own outputs")
        return Outcome(
            self.clock.now,
            self.built,
            self.carried_out,
            self.hits,
            self.down.moved - self.delivered,
            self.up.moved,
            self.delivered,
            self.computing,
            self.occupied,
        )

    def begin(self) -> None:
        for action in self.actions:
            if self.lacking[action.key] == 0:
                self.proceed(self.look_up(action))
        if not self.actions:
            self.deliver()

    def proceed(self, steps: Steps) -> None:
        """Take the next step, and go on when it is over."""
        step = next(steps, None)
        onward = partial(self.proceed, steps)
        if isinstance(step, tuple):
            link, size, most = step
            link.send(size, most, onward)
        elif step is not None:
            self.clock.after(step, onward)

    def look_up(self, action: Action) -> Steps:
        yield self.farm.lookup
        if action.key in self.known.keys:
            self.hits += 1
            self.finish(action)
        else:
            self.queue_of(action).append(action)
            self.assign()

    def queue_of(self, action: Action) -> deque[Action]:
        worker = self.worker_of.get(action.model)
        return self.queue if worker is None else self.own_queues[worker]

    def assign(self) -> None:
        """Give idle workers what they wait for, the first worker first."""
        for worker in sorted(self.idle):
            action = self.next_for(worker)
            if action is not None:
                self.idle.remove(worker)
                self.proceed(self.carry_out(worker, action))

    def next_for(self, worker: int) -> Action | None:
        if self.own_queues[worker]:
            return self.own_queues[worker].popleft()
        if not self.queue:
            return None
        action = self.queue.popleft()
        if self.farm.by_model:
            self.claim(action.model, worker)
        return action

    def claim(self, model: str, worker: int) -> None:
        """From now on, this worker carries out all of the model's actions."""
        self.worker_of[model] = worker
        self.own_queues[worker].extend(each for each in self.queue if each.model == model)
        self.queue = deque(each for each in self.queue if each.model != model)

    def carry_out(self, worker: int, action: Action) -> Steps:
        began = self.clock.now
        yield self.farm.dispatch
        has = self.worker_has[worker]
        lacking = {blob.name: blob for blob in action.needed if blob.name not in has}.values()
        yield from self.move(self.down, lacking)
        has.update(blob.name for blob in (*lacking, *action.outputs))
        yield action.seconds
        new = {blob.name: blob for blob in action.outputs if blob.name not in self.cached}.values()
        yield from self.move(self.up, new)
        self.cached.update(blob.name for blob in new)
        self.carried_out[action.stage] += 1
        self.computing += action.seconds
        self.occupied += self.clock.now - began
        self.idle.append(worker)
        self.finish(action)
        self.assign()

    def move(self, link: SharedLink, blobs: Iterable[Blob]) -> Steps:
        chosen = list(blobs)
        if chosen:
            yield self.farm.per_file * sum(blob.files for blob in chosen)
            yield link, bytes_of(chosen), self.farm.worker_rate

    def finish(self, action: Action) -> None:
        self.unfinished -= 1
        for name in {blob.name for blob in action.outputs}:
            for other in self.waiting.pop(name, ()):
                self.lacking[other.key] -= 1
                if self.lacking[other.key] == 0:
                    self.proceed(self.look_up(other))
        if self.unfinished == 0:
            self.deliver()

    def deliver(self) -> None:
        self.built = self.clock.now
        asked = (blob for action in self.actions if action.delivered for blob in action.outputs)
        self.delivered = bytes_of(blob for blob in asked if blob.name not in self.known.with_client)
        if self.delivered:
            self.down.send(self.delivered, self.farm.client_rate, lambda: None)


def simulate(actions: Iterable[Action], farm: Farm, known: Known = NOTHING) -> Outcome:
    """Build `actions`, of which equal ones are carried out once.

    An input that no action makes is in the cache from the beginning.

    Raises:
        ValueError: an action needs, directly or through others, what it makes itself.
    """
    return _Build(farm, known, distinct(actions)).run()
