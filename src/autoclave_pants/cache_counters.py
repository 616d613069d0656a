"""What a build's counters say of the remote cache: one line for people, and a verdict that CI can go by.

Pants warns of a cache that fails at most in passing, and a build without one succeeds all the same. Only its counters tell
whether the cache served.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FORMAT = 1


@dataclass(frozen=True)
class CacheUse:
    """How often the remote cache was asked and written to in one build.

    `asked`: lookups, of which `hits`, `misses` and `errors` were answered or failed; of the others nothing is known, since the
    action had run before the answer came. `to_write`: results that were to be written, of
    which `written` were and `write_errors` were refused; what is left was dropped when the time for uploads at exit was over.
    `damaged`: objects of known results that the server had lost, or had with other bytes; the actions behind them ran.
    """

    asked: int
    hits: int
    misses: int
    errors: int
    to_write: int
    written: int
    write_errors: int
    damaged: int = 0

    @property
    def dropped(self) -> int:
        return max(0, self.to_write - self.written - self.write_errors)


@dataclass(frozen=True)
class Verdict:
    """`state`: "ok", "degraded" (it served, but not always), "failed" (it did not serve at all) or "unused"."""

    state: str
    reason: str


def cache_use(metrics: Mapping[str, int]) -> CacheUse:
    """The counters of Pants 2.17 (`--stats-log` prints them all) that are about the remote cache."""

    def count(name: str) -> int:
        return metrics.get(f"remote_cache_{name}", 0)

    return CacheUse(
        asked=count("requests"),
        hits=count("requests_cached"),
        misses=count("requests_uncached"),
        errors=count("read_errors"),
        to_write=count("write_attempts"),
        written=count("write_successes"),
        write_errors=count("write_errors"),
        damaged=metrics.get("remote_store_missing_digest", 0),
    )


def line(use: CacheUse) -> str:
    """One line for the end of a build."""
    errors = use.errors + use.write_errors
    dropped = f", {use.dropped} not written in time" if use.dropped else ""
    return f"remote cache: {use.hits} hits, {use.misses} misses, {errors} errors, {use.written} written{dropped}"


def judge(use: CacheUse) -> Verdict:
    """Whether the cache served this build."""
    if not use.asked and not use.to_write:
        return Verdict("unused", "nothing was asked of it: what was needed was in the local cache, or nothing ran")
    if use.asked and not use.hits and not use.misses:
        return Verdict("failed", f"none of {use.asked} lookups was answered: this build was not cached")
    if use.to_write and not use.written:
        return Verdict("failed", f"none of {use.to_write} results was written: the next build will not find them")
    trouble = [
        f"{count} {what}"
        for count, what in (
            (use.errors, "lookups failed"),
            (use.damaged, "objects are missing or damaged on the server (delete there what Pants' warnings name)"),
            (use.write_errors, "results were refused"),
            (use.dropped, "results were not written in time (raise [GLOBAL].session_end_tasks_timeout)"),
        )
        if count
    ]
    return Verdict("degraded", ", ".join(trouble)) if trouble else Verdict("ok", "it served all that was asked")


def report(use: CacheUse, goals: tuple[str, ...], address: str) -> str:
    """The content of the report file, as JSON."""
    verdict = judge(use)
    value = {
        "format": FORMAT,
        "goals": list(goals),
        "address": address,
        "verdict": verdict.state,
        "reason": verdict.reason,
        "counters": asdict(use),
    }
    return json.dumps(value, indent=2, sort_keys=True) + "\n"


def read_report(path: Path) -> tuple[dict[str, Any], CacheUse]:
    """A report file. Raises `ValueError` that says what is wrong with it."""
    try:
        value = json.loads(path.read_text())
        return value, CacheUse(**value["counters"])
    except FileNotFoundError:
        raise ValueError(f"{path} is not there: no build with a remote cache has run here") from None
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is no report of a build's remote cache ({error})") from None
