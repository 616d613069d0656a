"""The line that a terminal shows while a module works, on a real terminal."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import autoclave.cli.waiting

WAIT = """
import time
from autoclave.cli.waiting import waiting

with waiting("translating model.pkl"):
    time.sleep({seconds})
print("done")
"""


def run(seconds: float, terminal: bool) -> tuple[str, str]:
    """What a process that waits prints on stdout, and on stderr."""
    program = [sys.executable, "-c", WAIT.format(seconds=seconds)]
    environment = {**os.environ, "PYTHONPATH": str(Path(autoclave.cli.waiting.__file__).parents[2])}
    ours, theirs = pty.openpty()
    error = theirs if terminal else subprocess.PIPE
    done = subprocess.run(program, stdout=subprocess.PIPE, stderr=error, env=environment, text=True, check=True)
    os.set_blocking(ours, False)
    try:
        shown = os.read(ours, 65536).decode()
    except BlockingIOError:
        shown = ""
    os.close(ours)
    os.close(theirs)
    return done.stdout, shown + (done.stderr or "")


def test_a_terminal_shows_what_is_waited_for_and_then_nothing() -> None:
    printed, shown = run(1.5, terminal=True)

    assert printed == "done\n"
    assert "translating model.pkl, 1 s" in shown
    assert shown.endswith("\x1b[K")


def test_what_is_done_at_once_shows_nothing() -> None:
    assert run(0, terminal=True) == ("done\n", "")


def test_a_file_gets_no_line() -> None:
    assert run(1.5, terminal=False) == ("done\n", "")
