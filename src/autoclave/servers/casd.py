"""buildbox-casd: content-addressed storage and action cache in one process and one folder, without a database.

It has neither passwords nor TLS, so it listens on this machine's loopback address only. With `jobs` it executes
actions, too.
"""

import shutil
from pathlib import Path

from autoclave.servers.debian import BUILDBOX, programs
from autoclave.servers.errors import ServerError
from autoclave.servers.runner import write_runner
from autoclave.servers.running import HOST, RunningServer, ServerCommand, answers, check_port, free_port

INSTANCE = "main"

RESERVED_GB = 2
"""casd drops what it holds, whatever its quota, rather than leave less than this of its disk to others."""
NEEDED_GB = 3


def start_casd(
    data: Path,
    *,
    port: int = 0,
    quota: str = "8G",
    jobs: int = 0,
    log: Path | None = None,
    folder: Path | None = None,
    upstream: str | None = None,
) -> RunningServer:
    """Start a casd that keeps all in `data` (made if need be) and return it when it serves.

    Args:
        data: its folder; a later casd goes on with what is in it.
        port: 0 for a free one.
        quota: size above which it drops what was used least lately, in bytes or with K, M, G, T.
        jobs: how many actions it executes at once; 0: it is a cache only.
        log: file for what it prints (default: beside `data`, with `.log` added to the name).
        folder: unpacked programs (`autoclave.servers.debian.programs`; default: those of the default suite).
        upstream: "http://HOST:PORT" of another storage: this one gets from there what it lacks, and hands on what it is given.

    Raises:
        ServerError: the port is taken, the disk is almost full, the programs cannot be had, or it does not serve.
    """
    if port:
        check_port(port)
    port = port or free_port()
    folder = folder or programs(BUILDBOX)
    data = data.absolute()
    data.mkdir(parents=True, exist_ok=True)
    require_room(data, shutil.disk_usage(data).free)
    arguments: list[str | Path] = [
        folder / "usr/bin/buildbox-casd",
        f"--bind={HOST}:{port}",
        *instance_options(upstream),
        f"--quota-high={quota}",
        f"--reserved={RESERVED_GB}G",
        "--log-level=warning",
    ]
    if jobs:
        runner = write_runner(data.with_name(f"{data.name}.runner"), folder)
        # Failed actions are not kept: the next attempt runs them again, as Pants does with its own store.
        arguments += [f"--jobs={jobs}", f"--buildbox-run={runner}", "--cache-failures=false"]
    command = ServerCommand("buildbox-casd", (*arguments, data), log or data.with_name(f"{data.name}.log"))
    server = RunningServer(f"grpc://localhost:{port}", INSTANCE, data, command, serves=lambda _: answers(port))
    return server.start()


def require_room(data: Path, free: int) -> None:
    """Raise `ServerError` if `free` bytes on the disk of `data` are too few for casd to hold anything for long."""
    if free < NEEDED_GB << 30:
        raise ServerError(
            f"{data}: its disk has {free / (1 << 30):.1f} GB left, and casd needs {NEEDED_GB}: it leaves {RESERVED_GB} GB to others "
            "by dropping what it has just been given, so that builds would miss files; make room, or use a folder on another disk"
        )


def instance_options(upstream: str | None) -> tuple[str, ...]:
    """How casd is told whether its instance is its own or a nearer copy of another server's."""
    if upstream is None:
        return (f"--local-server-instance={INSTANCE}",)
    return (f"--cas-remote={upstream}", f"--cas-instance={INSTANCE}", f"--proxy-instance={INSTANCE}:{INSTANCE}")
