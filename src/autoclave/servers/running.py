"""Server processes on this machine: start, wait until one serves, stop, and for tests kill, freeze and restart."""

import ctypes
import os
import signal
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from autoclave.servers.errors import ServerError

START_SECONDS = 120.0
STOP_SECONDS = 30.0
ANSWER_SECONDS = 5.0
HOST = "127.0.0.1"

HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HTTP2_FRAME_BYTES = 9
HTTP2_SETTINGS = 4
"""RFC 9113, sections 3.4 and 6.5: what a client says first, and the type of the frame with which a server answers."""

PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class ServerCommand:
    """How a server process is started.

    `environment` replaces this process' own where given; `user` is the uid and gid to run as, which root alone may set.
    """

    name: str
    arguments: tuple[str | Path, ...]
    log: Path
    environment: Mapping[str, str] | None = None
    user: int | None = None


@dataclass
class RunningServer:
    """A real server process, and its children, on localhost.

    `address` is "grpc://localhost:PORT" or "grpcs://localhost:PORT" (for a worker: the address of the server it works
    for), `instance` the REAPI instance name, `data` the folder of what it keeps. `serves` says whether it does by now.
    """

    address: str
    instance: str
    data: Path
    command: ServerCommand
    serves: Callable[["RunningServer"], bool] = field(repr=False)
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _log_start: int = field(default=0, repr=False)

    @property
    def port(self) -> int:
        """The port of `address`."""
        return int(self.address.rpartition(":")[2])

    @property
    def pid(self) -> int:
        """Process id of the server; its children share its session. Raises `ServerError` if it does not run."""
        if self.process is None:
            raise ServerError(f"{self.command.name} does not run")
        return self.process.pid

    def start(self) -> Self:
        """Start the process and return when it serves.

        Raises:
            ServerError: it ended, or did not serve in two minutes; the message has the end of its log.
        """
        self.command.log.parent.mkdir(parents=True, exist_ok=True)
        with self.command.log.open("ab") as log:
            self._log_start = log.tell()
            self.process = subprocess.Popen(
                self.command.arguments,
                env=self.command.environment,
                # Another user may not be allowed into the current folder.
                cwd=None if self.command.user is None else "/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=self.command.user,
                group=self.command.user,
                extra_groups=None if self.command.user is None else [],
                preexec_fn=end_with_parent,
            )
        try:
            self._wait_until_it_serves()
        except BaseException:
            self.kill()
            raise
        return self

    def _wait_until_it_serves(self) -> None:
        end = time.monotonic() + START_SECONDS
        while not self.serves(self):
            if self.process is not None and self.process.poll() is not None:
                raise self._failure(f"ended with exit code {self.process.returncode} instead of serving")
            if time.monotonic() > end:
                raise self._failure(f"does not serve after {START_SECONDS:.0f} s")
            time.sleep(0.05)

    def _failure(self, what: str) -> ServerError:
        tail = self.said().strip()[-2000:]
        return ServerError(
            f"{self.command.name} at {self.address} {what}. Its log, {self.command.log}, ends with:\n{tail}"
        )

    def said(self) -> str:
        """What it printed since it was last started."""
        with self.command.log.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode(errors="replace")

    def running(self) -> bool:
        """Whether the process is there, be it frozen."""
        return self.process is not None and self.process.poll() is None

    def stop(self) -> None:
        """End it in good order (SIGTERM); what has not ended after half a minute is killed."""
        self._signal(signal.SIGTERM)
        self.thaw()
        if self.process is not None:
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                pass
        self.kill()

    def kill(self) -> None:
        """End it and its children at once (SIGKILL)."""
        self._signal(signal.SIGKILL)
        if self.process is not None:
            self.process.wait()
        self.process = None

    def freeze(self) -> None:
        """Stop it and its children where they are (SIGSTOP): connections stay open, and nothing answers."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let them go on (SIGCONT)."""
        self._signal(signal.SIGCONT)

    def restart(self) -> None:
        """Stop it, if it runs, and start it on the same port with the same data."""
        self.stop()
        self.start()

    def _signal(self, number: signal.Signals) -> None:
        if self.process is not None:
            for pid in session_members(self.process.pid):
                try:
                    os.kill(pid, number)
                except ProcessLookupError:
                    pass


def session_members(session: int) -> Iterator[int]:
    """Ids of the processes of a session; a server's actions have process groups of their own in it."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                # proc(5): the command's name, in parentheses, may hold anything.
                words = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:
                continue
            if int(words[3]) == session and words[0] != "Z":
                yield int(folder.name)


def end_with_parent() -> None:
    """In a child: be told to end when the parent does, however that ends. Linux only."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def free_port() -> int:
    """A port of this machine that nobody uses now."""
    with closing(socket.socket()) as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def check_port(port: int) -> None:
    """Raise `ServerError` if somebody listens on the port: gRPC servers would share it, and each get half of the calls."""
    with closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise ServerError(
                f"port {port} cannot be used: {error.strerror}; name another one, or 0 for any that is free"
            ) from None


def answers(port: int, ca: Path | None = None) -> bool:
    """Whether a gRPC server answers there, by TLS with a certificate of `ca` where that is given.

    Raises `ServerError` if it shows another certificate.
    """
    try:
        with socket.create_connection(("localhost", port), timeout=ANSWER_SECONDS) as connection:
            if ca is None:
                return _speaks_http2(connection)
            context = ssl.create_default_context(cafile=ca)
            context.set_alpn_protocols(["h2"])
            with context.wrap_socket(connection, server_hostname="localhost") as encrypted:
                return _speaks_http2(encrypted)
    except ssl.SSLCertVerificationError as error:
        raise ServerError(f"port {port} shows a certificate that {ca} does not vouch for: {error}") from None
    except OSError:
        return False


def _speaks_http2(connection: socket.socket) -> bool:
    connection.sendall(HTTP2_PREFACE + bytes([0, 0, 0, HTTP2_SETTINGS, 0, 0, 0, 0, 0]))
    head = b""
    while len(head) < HTTP2_FRAME_BYTES:
        piece = connection.recv(HTTP2_FRAME_BYTES - len(head))
        if not piece:
            return False
        head += piece
    return head[3] == HTTP2_SETTINGS
