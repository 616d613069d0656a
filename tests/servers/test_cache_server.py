"""The command that gives a person a cache: what it prints, when it refuses, how it ends."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autoclave.servers.running import answers, free_port

PATH = os.pathsep.join(map(os.path.abspath, sys.path))
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts the command with a folder of the test's own; what is left of it is killed."""
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "autoclave.servers", *arguments],
            env={**os.environ, "PYTHONPATH": PATH, **environment},
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def printed(process: subprocess.Popen[str]) -> str:
    """What it has printed when it serves."""
    assert process.stdout is not None and process.stderr is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if line.startswith("Ctrl-C"):
            return "".join(lines)
    raise AssertionError(process.stderr.read())


def exports(text: str) -> list[dict[str, str]]:
    """The variables of each paragraph of `export` lines."""
    paragraphs = [re.findall(r"(PANTS_\w+)=(\S+)", part) for part in text.split("\n\n")]
    return [dict(found) for found in paragraphs if found]


@pytest.mark.usefixtures("casd_programs")
def test_it_serves_and_says_what_to_export(start: Start, tmp_path: Path) -> None:
    process = start("--port", "0", "--folder", "kept", "--quota", "1G")
    text = printed(process)
    writes, reads = exports(text)
    address = writes["PANTS_REMOTE_STORE_ADDRESS"]
    assert writes == {
        "PANTS_REMOTE_STORE_ADDRESS": address,
        "PANTS_REMOTE_INSTANCE_NAME": "main",
        "PANTS_REMOTE_CACHE_READ": "true",
        "PANTS_REMOTE_CACHE_WRITE": "true",
    }
    assert reads == {**writes, "PANTS_REMOTE_CACHE_WRITE": "false"}
    assert f"up to 1G in {tmp_path}/kept" in text
    assert address.startswith("grpc://localhost:")
    assert answers(int(address.rpartition(":")[2]))


@pytest.mark.usefixtures("casd_programs")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_cleanly(start: Start, number: signal.Signals) -> None:
    process = start("--port", "0", "--folder", "kept")
    port = int(exports(printed(process))[0]["PANTS_REMOTE_STORE_ADDRESS"].rpartition(":")[2])
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert errors.splitlines()[-1] == "cache-server: ended"
    assert not answers(port)


@pytest.mark.usefixtures("casd_programs")
def test_a_server_that_dies_is_an_error(start: Start) -> None:
    process = start("--port", "0", "--folder", "kept")
    printed(process)
    (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(child), signal.SIGKILL)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "error: the server ended by itself" in errors


@pytest.mark.usefixtures("casd_programs")
def test_execution_is_told_of_where_it_is_asked_for(start: Start) -> None:
    text = printed(start("--port", "0", "--folder", "kept", "--execute", "2"))
    assert "executes 2 actions at a time" in text
    *_, execution = exports(text)
    assert execution["PANTS_REMOTE_EXECUTION_ADDRESS"] == execution["PANTS_REMOTE_STORE_ADDRESS"]


@pytest.mark.usefixtures("casd_programs")
def test_a_taken_port(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        process = start("--port", str(port), "--folder", "kept")
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert f"error: port {port} cannot be used: Address already in use" in errors


@pytest.mark.usefixtures("casd_programs")
def test_a_folder_that_another_one_serves(start: Start) -> None:
    printed(start("--port", "0", "--folder", "kept"))
    process = start("--port", "0", "--folder", "kept")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "is served by another cache server; end that one, or name another folder" in errors


def test_a_folder_that_cannot_be_made(start: Start, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    process = start("--folder", "file/below")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "file/below cannot be used: Not a directory; name one that you may write" in errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--port", "99999"), "99999 is no port: write a number up to 65535, or 0 for any free one"),
        (("--port", "-1"), "-1 is no port"),
        (("--quota", "8X"), "8X is no size: write for example 500M or 8G"),
        (("--quota", "0"), "0 is no size"),
        (("--execute", "none"), "none is no number of jobs: write 1 to 1000"),
        (("--execute", "0"), "0 is no number of jobs"),
    ],
)
def test_bad_options(start: Start, arguments: tuple[str, ...], message: str) -> None:
    process = start(*arguments)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert message in errors


def test_where_programs_cannot_be_had(start: Start, tmp_path: Path) -> None:
    process = start(
        "--port", str(free_port()), "--folder", "kept", PATH=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "cache")
    )
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "error: buildbox of Debian forky cannot be had on this machine" in errors
    assert "What helps:" in errors and "Traceback" not in errors


def test_help_is_complete(start: Start) -> None:
    text, _ = start("--help").communicate(timeout=60)
    for option in ("--folder", "--port", "--quota", "--execute", "--suite", "--update"):
        assert f"\n  {option} " in text
    assert "./pants --no-pantsd run src/autoclave/servers:cache-server -- --execute 2" in text
