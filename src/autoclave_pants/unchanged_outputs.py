"""Leave outputs alone that are as the last write left them.

Pants deletes and writes what `package` and `rebuild` give at every call. This remembers, for as long as the daemon lives,
which digest was written where and what the file system said of the files after it; the same digest is written there again
only if anything about them has changed since, by the rule that Bazel and git go by: inode, size, mode and times.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, Callable

from pants.base.build_environment import get_buildroot

State = dict[str, tuple[int, ...]]
"""What lstat says of each file and folder, by path."""


def written_once(write: Callable[..., None]) -> Callable[..., None]:
    """`write`, which is `SchedulerSession.write_digest`, that skips what would change nothing.

    Only calls with `clear_paths` are skipped: these name what they replace, so that its state can be looked at.
    """
    states: dict[tuple[object, ...], State] = {}

    @wraps(write)
    def skipping(session: Any, digest: Any, *, path_prefix: str | None = None, clear_paths: Sequence[str] = ()) -> None:
        key = (path_prefix, tuple(clear_paths), digest)
        places = [Path(get_buildroot(), path_prefix or "", path) for path in clear_paths]
        if places and states.get(key) == state_of(places):
            return
        states.clear()  # whatever else was written may lie under the same folders
        write(session, digest, path_prefix=path_prefix, clear_paths=clear_paths)
        if places:
            states[key] = state_of(places)

    return skipping


def state_of(places: Sequence[Path]) -> State:
    """The state of `places` and all that is under them; what does not exist is left out."""
    return {path: _facts(path) for place in places for path in _under(str(place))}


def _under(place: str) -> Iterator[str]:
    if not os.path.lexists(place):
        return
    yield place
    for folder, folders, files in os.walk(place):
        yield from (os.path.join(folder, name) for name in (*folders, *files))


def _facts(path: str) -> tuple[int, ...]:
    try:
        found = os.lstat(path)
    except FileNotFoundError:  # deleted while we look
        return ()
    return (found.st_ino, found.st_size, found.st_mode, found.st_mtime_ns, found.st_ctime_ns)
