"""A farm on one machine: BuildGrid takes actions, PostgreSQL keeps its queue, buildbox-workers run them, casd stores."""

from dataclasses import dataclass
from pathlib import Path

from autoclave.servers.buildgrid import buildgrid_server, run_quietly
from autoclave.servers.casd import start_casd
from autoclave.servers.debian import BUILDBOX, programs
from autoclave.servers.postgresql import connection_string, start_postgresql
from autoclave.servers.runner import write_runner
from autoclave.servers.running import HOST, RunningServer, ServerCommand, free_port

INSTANCE = "main"
PLATFORM = {"OSFamily": "linux"}
"""Properties that the workers have; a client's `platform_properties` name those that its actions need."""

KEEPALIVE_SECONDS = 20
"""After so long a silence of its worker an action is given to another one."""

CONFIGURATION = """\
description: execution over PostgreSQL's queue and casd's storage
server:
  - !channel
    address: "{host}:{port}"
    insecure-mode: true
authorization:
  method: none
connections:
  - !sql-connection &queue
    connection-string: {queue}
    pool-size: 10
    max-overflow: 20
storages:
  - !remote-storage &storage
    url: {casd}
    instance-name: {instance}
caches:
  - !remote-action-cache &kept
    url: {casd}
    instance-name: {instance}
  - !lru-action-cache &recent
    storage: *storage
    max-cached-refs: 1000
  # A remote action cache takes failed actions, too; this keeps them from it, so that the next attempt runs them again.
  - !with-cache-action-cache &cache
    cache: *recent
    fallback: *kept
    cache-failed-actions: no
schedulers:
  - !sql-scheduler &scheduler
    sql: *queue
    storage: *storage
    action-cache: *cache
    property-set: !dynamic-property-set
      match-property-keys: [OSFamily]
    bot-session-keepalive-timeout: {keepalive}
    session-expiry-timer-interval: 2
    assigners:
      - !priority-age-assigner
        count: 1
        interval: 0.1
instances:
  - name: {instance}
    services:
      - !action-cache
        cache: *cache
      - !execution
        scheduler: *scheduler
      - !cas
        storage: *storage
      - !bytestream
        storage: *storage
thread-pool-size: 300
"""


@dataclass
class Farm:
    """A running farm: clients talk to `server`; each of `workers` runs one action at a time.

    `nearby` are the workers' own storages: a toolchain of thousands of files comes over the network once, not for each action.
    """

    server: RunningServer
    workers: list[RunningServer]
    nearby: list[RunningServer]
    casd: RunningServer
    postgresql: RunningServer

    def stop(self) -> None:
        """Stop all of it, workers first."""
        for process in (*self.workers, *self.nearby, self.server, self.postgresql, self.casd):
            process.stop()


def start_farm(bgd: Path, folder: Path, open_folder: Path, casd: RunningServer, workers: int = 2) -> Farm:
    """Start BuildGrid with its queue and workers over the storage of `casd`.

    Args:
        bgd: BuildGrid's command (`autoclave.servers.buildgrid.install_buildgrid`).
        folder: new, for configurations and logs.
        open_folder: new, with a short path that others may enter: PostgreSQL does not run as root.
        casd: stays the caller's to stop unless `Farm.stop` does.
        workers: how many.

    Raises `ServerError` if a part of it does not start.
    """
    folder = folder.absolute()
    folder.mkdir(parents=True)
    postgresql = start_postgresql(open_folder)
    port = free_port()
    storage = casd.address.replace("grpc:", "http:")
    words = {"host": HOST, "port": port, "casd": storage, "instance": INSTANCE}
    text = CONFIGURATION.format(queue=connection_string(postgresql), keepalive=KEEPALIVE_SECONDS, **words)
    server = buildgrid_server(bgd, folder, text, f"grpc://localhost:{port}", None)
    farm = Farm(server, [], [], casd, postgresql)
    try:
        run_quietly([str(bgd), "migrate", "apply", connection_string(postgresql)], "prepare BuildGrid's database")
        server.start()
        for number in range(1, workers + 1):
            farm.nearby.append(start_casd(folder / f"storage{number}", upstream=storage))
            farm.workers.append(start_worker(f"worker{number}", server, folder / f"worker{number}", farm.nearby[-1]))
    except BaseException:
        farm.stop()
        raise
    return farm


def start_worker(
    name: str, server: RunningServer, folder: Path, nearby: RunningServer, unpacked: Path | None = None
) -> RunningServer:
    """Start a buildbox-worker that runs one action at a time for an execution server, with our runner.

    `nearby` is a casd on the worker's machine, which lays out the inputs of actions.
    It is at work when it has told the server of itself, which takes it well below a second after this returns.
    """
    unpacked = unpacked or programs(BUILDBOX)
    folder = folder.absolute()
    folder.mkdir(parents=True)
    runner = write_runner(folder / "runner", unpacked)
    properties = [word for key, value in PLATFORM.items() for word in ("--platform", f"{key}={value}")]
    arguments: list[str | Path] = [
        unpacked / "usr/bin/buildbox-worker",
        f"--instance={INSTANCE}",
        f"--bots-remote={server.address.replace('grpc:', 'http:')}",
        f"--cas-remote={nearby.address.replace('grpc:', 'http:')}",
        "--concurrent-jobs=1",
        f"--buildbox-run={runner}",
        *properties,
        "--log-level=info",
        name,
    ]
    command = ServerCommand(name, tuple(arguments), folder / "log")
    return RunningServer(server.address, INSTANCE, folder, command, serves=_works).start()


def _works(worker: RunningServer) -> bool:
    # Said after it has tried its runner, and just before it tells the server of itself.
    return "Starting buildbox-worker" in worker.said()
