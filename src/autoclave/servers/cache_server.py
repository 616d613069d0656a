"""The command that runs a shared cache in the foreground and says how to use it."""

import argparse
import fcntl
import re
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from autoclave.errors import AutoclaveError
from autoclave.servers.casd import start_casd
from autoclave.servers.debian import BUILDBOX, DEFAULT_SUITE, cache_folder, programs
from autoclave.servers.errors import ServerError
from autoclave.servers.running import RunningServer, check_port

DESCRIPTION = """\
Run a cache that checkouts on this machine share: what one of them has built, the others take.

The server is buildbox-casd. Its packages (25 MB) are fetched once from Debian's archive and unpacked into your own cache
folder; nothing is installed, and root is not needed. It serves all users of this machine, and no other machine, without passwords.
"""

EPILOG = """\
examples:
  ./pants --no-pantsd run src/autoclave/servers:cache-server
  ./pants --no-pantsd run src/autoclave/servers:cache-server -- --port 50099 --folder /data/cache --quota 40G
  ./pants --no-pantsd run src/autoclave/servers:cache-server -- --execute 2      remote execution, too

Pants' daemon does one thing at a time; by --no-pantsd the checkout stays free for other commands while the server runs.
It prints what to export in each checkout's terminal. Ctrl-C ends it; the folder stays, and the next start goes on with it.
"""

DEFAULT_PORT = 50051
SIZE = re.compile(r"[1-9][0-9]*[KMGT]?")

USE = """\

A cache serves at {address}, instance {instance}. It keeps up to {quota} in {folder}

For a checkout that reads it and writes to it, as CI does:

    export PANTS_REMOTE_STORE_ADDRESS={address} PANTS_REMOTE_INSTANCE_NAME={instance}
    export PANTS_REMOTE_CACHE_READ=true PANTS_REMOTE_CACHE_WRITE=true

For a checkout that only reads it:

    export PANTS_REMOTE_STORE_ADDRESS={address} PANTS_REMOTE_INSTANCE_NAME={instance}
    export PANTS_REMOTE_CACHE_READ=true PANTS_REMOTE_CACHE_WRITE=false
"""

USE_EXECUTION = """\

It also executes {jobs} actions at a time. For a checkout that sends its own there (docs/remote-execution.md):

    export PANTS_REMOTE_EXECUTION_ADDRESS={address} PANTS_REMOTE_STORE_ADDRESS={address}
    export PANTS_REMOTE_INSTANCE_NAME={instance} PANTS_CONFIG_FILES=pants.execution.toml
"""


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="cache-server",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--folder", type=Path, help="what the cache keeps (default: autoclave/servers/cache in your own cache folder)"
    )
    parser.add_argument(
        "--port", type=_port, default=DEFAULT_PORT, help="port on localhost, 0 for any free one (default: %(default)s)"
    )
    parser.add_argument(
        "--quota",
        type=_size,
        default="8G",
        metavar="SIZE",
        help="what was used least lately is dropped above this size, in bytes or with K, M, G or T (default: %(default)s)",
    )
    parser.add_argument(
        "--execute",
        type=_jobs,
        default=0,
        metavar="JOBS",
        help="also execute actions, so many at a time; they run as you, so only you should reach this machine's ports",
    )
    parser.add_argument(
        "--suite", default=DEFAULT_SUITE, help="Debian suite that the programs are taken from (default: %(default)s)"
    )
    parser.add_argument(
        "--update", action="store_true", help="fetch the programs anew, in the suite's version of today"
    )
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Run the server until Ctrl-C or SIGTERM. Exit code: 0, or 2 with one `error:` message."""
    options = arguments().parse_args(words)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        _serve(options)
    except KeyboardInterrupt:
        _say("ended")
    except AutoclaveError as error:
        _say(f"error: {error}")
        return 2
    return 0


def _serve(options: argparse.Namespace) -> None:
    folder = (options.folder or cache_folder() / "cache").expanduser().absolute()
    with _held(folder):
        if options.port:
            check_port(options.port)
        unpacked = programs(BUILDBOX, options.suite, anew=options.update, say=_say)
        server = start_casd(folder, port=options.port, quota=options.quota, jobs=options.execute, folder=unpacked)
        try:
            print(how_to_use(server, options.quota, options.execute), end="", flush=True)
            print("\nCtrl-C ends it.", flush=True)
            _wait(server)
        finally:
            server.stop()


def how_to_use(server: RunningServer, quota: str, jobs: int) -> str:
    """What a person puts into the environment of each checkout."""
    words = {
        "address": server.address,
        "instance": server.instance,
        "folder": server.data,
        "quota": quota,
        "jobs": jobs,
    }
    return (USE + (USE_EXECUTION if jobs else "")).format(**words)


def _wait(server: RunningServer) -> NoReturn:
    while server.running():
        time.sleep(0.5)
    raise ServerError(f"the server ended by itself. Its log, {server.command.log}, ends with:\n{server.said()[-2000:]}")


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Keep other cache servers from the same folder. Raises `ServerError` if one has it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = folder.with_name(f"{folder.name}.lock").open("w")
    except OSError as error:
        raise ServerError(f"--folder {folder} cannot be used: {error.strerror}; name one that you may write") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ServerError(
                f"--folder {folder} is served by another cache server; end that one, or name another folder"
            ) from None
        yield


def _say(text: str) -> None:
    print(f"cache-server: {text}", file=sys.stderr, flush=True)


def _port(text: str) -> int:
    if not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text} is no port: write a number up to 65535, or 0 for any free one")
    return int(text)


def _jobs(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"{text} is no number of jobs: write 1 to 1000")
    return int(text)


def _size(text: str) -> str:
    if not SIZE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text} is no size: write for example 500M or 8G")
    return text
