"""The servers that the other tests here use, each asked by a client with the API's published messages."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autoclave.servers.buildgrid import BuildGrid
from autoclave.servers.farm import Farm
from autoclave.servers.running import RunningServer, session_members

CLIENT = Path(__file__).with_name("published_client.py")
Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(bgd: Path) -> Ask:
    """Sends one call to a server: `ask(server, "get", text="hello")`."""

    def send(server: RunningServer | BuildGrid, call: str, token: Path | None = None, **words: Any) -> dict[str, Any]:
        running = server.server if isinstance(server, BuildGrid) else server
        request = {"port": running.port, "call": call, **words}
        if isinstance(server, BuildGrid):
            request |= {"ca": str(server.ca), "token": token and str(token)}
        command = [bgd.with_name("python"), "-I", CLIENT]
        result = subprocess.run(command, input=json.dumps(request), capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
        return dict(json.loads(result.stdout))

    return send


def test_a_cache_keeps_what_it_was_given(casd: RunningServer, ask: Ask) -> None:
    assert ask(casd, "capabilities") == {"sha256": True, "execution": False}
    assert ask(casd, "get", text="hello") == {"error": "NOT_FOUND"}
    ask(casd, "put", text="hello")
    assert ask(casd, "get", text="hello") == {"text": "hello"}
    casd.restart()
    assert ask(casd, "get", text="hello") == {"text": "hello"}
    casd.kill()
    casd.restart()
    assert ask(casd, "get", text="hello") == {"text": "hello"}


def test_rights_are_the_subjects(buildgrid: BuildGrid, ask: Ask) -> None:
    ci, dev = buildgrid.token("ci"), buildgrid.token("dev")
    # BuildGrid says so of a lack of rights, too.
    refused = {"error": "UNAUTHENTICATED"}
    assert ask(buildgrid, "put", token=dev, text="mine") == refused
    assert ask(buildgrid, "put", token=ci, text="shared") == {}
    assert ask(buildgrid, "get", token=dev, text="shared") == {"text": "shared"}
    assert ask(buildgrid, "get", token=dev, text="mine") == {"error": "NOT_FOUND"}
    assert ask(buildgrid, "get", token=buildgrid.token("stranger"), text="shared") == refused
    assert ask(buildgrid, "get", token=buildgrid.token("ci", -60), text="shared") == refused
    assert ask(buildgrid, "get", text="shared") == refused
    buildgrid.server.restart()
    assert ask(buildgrid, "get", token=dev, text="shared") == {"text": "shared"}
    assert ask(buildgrid.casd, "get", text="shared") == {"text": "shared"}


WRITES = "mkdir -p out/deep; echo one >first; echo two >out/deep/second; echo said; echo complained >&2"


def check_execution(server: RunningServer, ask: Ask) -> None:
    """What holds for every server that executes by our runner."""
    assert ask(server, "capabilities") == {"sha256": True, "execution": True}

    # Pants 2.17.1 declares its outputs like this.
    older = {"output_files": ["first"], "output_directories": ["out"]}
    done = ask(server, "execute", script=WRITES, outputs=older)
    assert (done["status"], done["code"], done["stdout"], done["stderr"]) == (0, 0, "said\n", "complained\n")
    assert (done["files"], done["directories"], done["cached"]) == ({"first": "one\n"}, ["out"], False)
    again = ask(server, "execute", script=WRITES, outputs=older)
    assert again == {**done, "cached": True}

    newer = ask(server, "execute", script=WRITES, outputs={"output_paths": ["first", "out/deep/second"]})
    assert newer["files"] == {"first": "one\n", "out/deep/second": "two\n"}

    for outputs in ({"output_files": ["first", "third"]}, {"output_paths": ["first", "third"]}):
        for _ in range(2):
            missing = ask(server, "execute", script=WRITES, outputs=outputs)
            assert (missing["status"], missing["code"], missing["cached"]) == (0, 70, False)
            assert missing["stderr"] == (
                "complained\nerror: the action ended with exit code 0 without its declared outputs third\n"
            )

    for _ in range(2):
        failed = ask(server, "execute", script="echo why >&2; exit 3", outputs={"output_files": ["first"]})
        assert (failed["code"], failed["stderr"], failed["cached"]) == (3, "why\n", False)

    found = ask(server, "execute", script="cat /proc/self/environ | tr '\\0' '\\n' | sort >first", outputs=older)
    assert found["code"] == 70  # there is no folder out
    names = [line.partition("=")[0] for line in found["files"]["first"].splitlines()]
    # PWD is the shell's own.
    assert names == ["DECLARED", "PWD"]


def test_casd_executes(execution: RunningServer, ask: Ask) -> None:
    check_execution(execution, ask)


def test_a_farm_executes(farm: Farm, ask: Ask) -> None:
    check_execution(farm.server, ask)


def test_another_worker_takes_over_from_a_killed_one(farm: Farm, ask: Ask, tmp_path: Path) -> None:
    started = tmp_path / "started"
    # The first to start it waits for ever; the second is done at once.
    script = f"if mkdir {started} 2>/dev/null; then exec sleep 600; fi; echo done >first"
    answers: list[dict[str, Any]] = []
    client = threading.Thread(
        target=lambda: answers.append(ask(farm.server, "execute", script=script, outputs={"output_files": ["first"]}))
    )
    client.start()
    while not started.exists():
        time.sleep(0.1)
    busy = next(worker for worker in farm.workers if "sleep" in process_names(worker))
    busy.kill()
    client.join()
    assert answers[0]["files"] == {"first": "done\n"}, answers


def process_names(server: RunningServer) -> set[str]:
    """Names of a server's processes and of its children."""
    return {Path(f"/proc/{pid}/comm").read_text().strip() for pid in session_members(server.pid)}
