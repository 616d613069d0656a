"""PostgreSQL, which BuildGrid's scheduler keeps its queue in: a cluster of its own, reached by a Unix socket only."""

import os
import pwd
import subprocess
from pathlib import Path

from autoclave.servers.debian import ProgramSet, copy_programs, programs
from autoclave.servers.errors import ServerError
from autoclave.servers.running import RunningServer, ServerCommand

POSTGRESQL = ProgramSet(
    name="postgresql",
    packages=("postgresql",),
    programs=("usr/lib/postgresql/*/bin/initdb", "usr/lib/postgresql/*/bin/postgres"),
    files=("usr/lib/postgresql/*/lib/*", "usr/share/postgresql/*"),
    unneeded=(
        *("adduser", "base-passwd", "debconf*", "libaudit*", "libc-bin", "libc-l10n", "locales", "login.defs"),
        *("*perl*", "netbase", "openssl", "passwd", "postgresql", "postgresql-c*", "procps", "readline-common"),
        *("sensible-utils", "ssl-cert", "systemd", "sysvinit-utils", "tzdata", "ucf", "libsystemd-shared", "libdb5*"),
        *("mount", "libgdbm*", "libc-gconv-modules-extra", "libncursesw*", "libproc2*", "libsemanage*", "libsepol*"),
    ),
)
"""The server and the program that makes a cluster."""

UNPRIVILEGED = "nobody"
"""Who runs the server where root asks for one: it refuses root."""

DATABASE = "postgres"
CONFIGURATION = """\
listen_addresses = ''
unix_socket_permissions = 0700
timezone = 'UTC'
log_timezone = 'UTC'
# Whoever crashes here starts again from nothing.
fsync = off
"""


def start_postgresql(place: Path, folder: Path | None = None) -> RunningServer:
    """Make a cluster below the new folder `place`, whose path must be short and open to others, and start it.

    `address` of the result is the folder of its socket; its superuser is `postgres`, without a password: the socket is
    for this user, and for root. `folder` has the unpacked programs.

    Raises `ServerError` if the programs cannot be had, or the cluster does not start.
    """
    folder = folder or programs(POSTGRESQL)
    place = place.absolute()
    place.mkdir(parents=True)
    user = None
    if os.geteuid() == 0:
        folder = copy_programs(folder, place / "programs")
        user = _unprivileged()
        os.chown(place, user, user)
    data, binaries = place / "data", _binaries(folder)
    _make_cluster(binaries, data, user)
    arguments = (binaries / "postgres", "-D", data, "-k", place)
    command = ServerCommand("PostgreSQL", arguments, place / "postgresql.log", user=user)
    return RunningServer(str(place), DATABASE, data, command, serves=_ready).start()


def _unprivileged() -> int:
    try:
        return pwd.getpwnam(UNPRIVILEGED).pw_uid
    except KeyError:
        raise ServerError(
            f"PostgreSQL does not run as root, and this machine has no user {UNPRIVILEGED} to run it as: make one, or run this "
            "as another user than root"
        ) from None


def _make_cluster(binaries: Path, data: Path, user: int | None) -> None:
    settings = ("--username=postgres", "--auth=trust", "--no-locale", "--encoding=UTF8", "--no-sync")
    result = subprocess.run(
        [binaries / "initdb", *settings, data],
        user=user,
        group=user,
        extra_groups=None if user is None else [],
        cwd="/",
        capture_output=True,
        text=True,
    )
    if result.returncode != 0:
        said = (result.stdout + result.stderr).strip()
        raise ServerError(f"initdb could not make a database cluster in {data}:\n{said}")
    with (data / "postgresql.conf").open("a") as configuration:
        configuration.write(CONFIGURATION)


def connection_string(server: RunningServer) -> str:
    """How SQLAlchemy reaches the cluster."""
    return f"postgresql://postgres@/{DATABASE}?host={server.address}"


def _ready(server: RunningServer) -> bool:
    # As pg_ctl does: the first line is the process, the eighth its state.
    try:
        lines = (server.data / "postmaster.pid").read_text().splitlines()
    except FileNotFoundError:
        return False
    return len(lines) > 7 and lines[0] == str(server.pid) and lines[7].strip() == "ready"


def _binaries(folder: Path) -> Path:
    found = sorted(folder.glob("usr/lib/postgresql/*/bin"))
    if not found:
        raise ServerError(
            f"{folder} has no usr/lib/postgresql/*/bin: name a folder that PostgreSQL's packages were unpacked to"
        )
    return found[-1]
