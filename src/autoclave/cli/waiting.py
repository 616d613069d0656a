"""What a person at a terminal sees while a module works in the sandbox: what runs, on what, and for how long by now."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

QUIET_SECONDS = 1.0
"""What is done by then needs no explanation."""

_STEP = 1.0
_CLEAR = "\r\x1b[K"


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show a line on stderr as long as the block runs, if that is a terminal; it is gone afterwards."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    clock = threading.Thread(target=_show, args=(what, done), daemon=True)
    clock.start()
    try:
        yield
    finally:
        done.set()
        clock.join()


def _show(what: str, done: threading.Event) -> None:
    started = time.monotonic()
    if done.wait(QUIET_SECONDS):
        return
    while True:
        print(f"{_CLEAR}{what}, {time.monotonic() - started:.0f} s", end="", file=sys.stderr, flush=True)
        if done.wait(_STEP):
            print(_CLEAR, end="", file=sys.stderr, flush=True)
            return
