"""Server processes: how they start, end, freeze and come back, with a small server and its child."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from autoclave.servers import running
from autoclave.servers.errors import ServerError
from autoclave.servers.running import RunningServer, ServerCommand, answers, check_port, free_port, session_members

SMALL_SERVER = Path(__file__).with_name("small_server.py")


def asked(server: RunningServer) -> bytes | None:
    """What the small server answers, or None if nothing does within a second."""
    try:
        with socket.create_connection(("localhost", server.port), timeout=1) as connection:
            return connection.recv(100)
    except OSError:
        return None


def small_server(folder: Path, *arguments: str | Path, port: int = 0) -> RunningServer:
    port = port or free_port()
    command = ServerCommand(
        "small server", (sys.executable, SMALL_SERVER, str(port), folder / "child", *arguments), folder / "log"
    )
    return RunningServer(f"grpc://localhost:{port}", "main", folder, command, serves=lambda each: bool(asked(each)))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningServer]:
    server = small_server(tmp_path)
    yield server
    server.kill()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def ends(pid: int) -> bool:
    """Whether a process is gone within ten seconds."""
    for _ in range(200):
        if not alive(pid):
            return True
        time.sleep(0.05)
    return False


def child_of(server: RunningServer) -> int:
    return int((server.data / "child").read_text())


def test_a_started_server_serves(server: RunningServer) -> None:
    assert server.start() is server
    assert asked(server) == str(server.pid).encode()
    assert server.running()


def test_a_server_that_ends_at_once_is_an_error_with_its_last_words(tmp_path: Path) -> None:
    taken = small_server(tmp_path)
    taken.start()
    (tmp_path / "second").mkdir()
    try:
        second = small_server(tmp_path / "second", port=taken.port)
        second.serves = lambda _: False
        with pytest.raises(
            ServerError, match="(?s)small server at grpc://localhost:.*exit code 1.*Address already in use"
        ):
            second.start()
        assert not second.running()
    finally:
        taken.kill()


def test_a_server_that_never_serves_is_ended(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "START_SECONDS", 1.0)
    server.serves = lambda _: False
    with pytest.raises(ServerError, match="does not serve after 1 s"):
        server.start()
    assert asked(server) is None


def test_stop_ends_it_in_good_order(server: RunningServer) -> None:
    server.start()
    child = child_of(server)
    server.stop()
    assert "ended in good order" in server.said()
    assert ends(child)
    assert not server.running() and asked(server) is None


def test_stop_kills_what_does_not_end(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "STOP_SECONDS", 0.5)
    server.start()
    (server.data / "child.slow").touch()
    pid, child = server.pid, child_of(server)
    server.stop()
    assert ends(pid) and ends(child)


def test_stop_twice_is_no_error(server: RunningServer) -> None:
    server.start()
    server.stop()
    server.stop()


def test_kill_takes_children_of_other_process_groups_along(server: RunningServer) -> None:
    server.start()
    child = child_of(server)
    assert os.getpgid(child) != os.getpgid(server.pid)
    assert set(session_members(server.pid)) == {server.pid, child}
    server.kill()
    assert ends(child)
    assert "ended in good order" not in server.said()


def test_a_frozen_server_does_not_answer_until_it_is_thawed(server: RunningServer) -> None:
    server.start()
    server.freeze()
    assert server.running()
    assert asked(server) is None
    server.thaw()
    assert asked(server) == str(server.pid).encode()


def test_a_frozen_server_can_be_stopped(server: RunningServer) -> None:
    server.start()
    server.freeze()
    server.stop()
    assert "ended in good order" in server.said()


@pytest.mark.parametrize(
    "end", [RunningServer.stop, RunningServer.kill, lambda _: None], ids=["stop", "kill", "running"]
)
def test_restart_serves_at_the_same_address(server: RunningServer, end: Callable[[RunningServer], None]) -> None:
    server.start()
    address, pid = server.address, server.pid
    end(server)
    server.restart()
    assert server.address == address
    assert asked(server) == str(server.pid).encode() != str(pid).encode()


def test_a_server_ends_when_who_started_it_is_killed(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from servers.test_running import small_server\n"
        "server = small_server(Path(sys.argv[1])); server.start(); print(server.pid, flush=True); time.sleep(600)"
    )
    path = os.pathsep.join([str(Path(__file__).parents[1].absolute()), *map(os.path.abspath, sys.path)])
    with subprocess.Popen(
        [sys.executable, "-c", script, tmp_path], env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE
    ) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        assert alive(pid)
        starter.kill()
    assert ends(pid)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may start processes of other users")
def test_a_server_of_another_user(tmp_path: Path) -> None:
    nobody = 65534
    command = ServerCommand(
        "sleeper", ("/bin/sh", "-c", "id -u; id -g; id -G; exec sleep 600"), tmp_path / "log", user=nobody
    )
    server = RunningServer("", "", tmp_path, command, serves=lambda each: each.said().count("\n") == 3)
    server.start()
    assert server.said() == f"{nobody}\n{nobody}\n{nobody}\n"
    server.kill()


def test_what_it_said_is_of_the_last_start(server: RunningServer) -> None:
    server.start()
    first = server.said()
    server.restart()
    assert server.said() != first and server.said().count("serving as") == 1
    assert server.command.log.read_text().startswith(first)


def test_a_taken_port_is_an_error_that_names_it() -> None:
    with socket.create_server(("127.0.0.1", 0), reuse_port=True) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(ServerError, match=f"port {port} cannot be used: Address already in use; name another one"):
            check_port(port)
    check_port(port)


@contextmanager
def listening(reply: bytes | None) -> Iterator[int]:
    """The port of a server that answers whatever is said with `reply`; None: never."""

    def serve() -> None:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        connection.recv(100)
        if reply is not None:
            connection.sendall(reply)
            connection.close()
        else:
            done.wait(30)

    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        done.set()
        thread.join()


SETTINGS = bytes([0, 0, 6, 4, 0, 0, 0, 0, 0]) + bytes([0, 3, 0, 0, 0, 100])
"""A SETTINGS frame with one setting (RFC 9113, section 6.5): at most 100 streams."""


@pytest.mark.parametrize(
    ("reply", "expected"),
    [(SETTINGS, True), (b"HTTP/1.1 400 Bad Request\r\n\r\n", False), (b"", False), (SETTINGS[:5], False)],
    ids=["HTTP/2", "HTTP/1", "nothing", "half a frame"],
)
def test_only_a_server_that_speaks_http2_answers(reply: bytes, expected: bool) -> None:
    with listening(reply) as port:
        assert answers(port) is expected


def test_nobody_there_does_not_answer() -> None:
    assert answers(free_port()) is False


def test_a_server_that_keeps_silent_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "ANSWER_SECONDS", 0.2)
    with listening(None) as port:
        assert answers(port) is False
