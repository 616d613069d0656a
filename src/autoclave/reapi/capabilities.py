"""What a server says of itself, against what Pants needs: the API's version, digests, execution, and its clock."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from autoclave.reapi.client import Capabilities
from autoclave.reapi.findings import Finding, failed, ok, option, skipped, warning
from autoclave.reapi.settings import Settings
from autoclave.reapi.tokens import duration

CLOCKS_APART = 120
"""Seconds: with clocks further apart, tokens are refused before their end or after."""


def judge_capabilities(can: Capabilities, settings: Settings) -> Finding:
    """Whether what a server can is what Pants needs."""
    check = "capabilities"
    fix = "remote_store_address (PANTS_REMOTE_STORE_ADDRESS) has to lead to a server of the Remote Execution API v2 with SHA-256"
    if not can.cache:
        return failed(check, "the server says that it is no cache", fix)
    if not can.sha256:
        return failed(check, "the server does not take SHA-256 digests, which Pants uses", fix)
    low, high = can.oldest_api or (2, 0), can.newest_api or (2, 0)
    versions = ".".join(map(str, low)) + (f" to {'.'.join(map(str, high))}" if high != low else "")
    if not low[0] <= 2 <= high[0]:
        return failed(check, f"the server speaks the API {versions}; Pants speaks 2.0", fix)
    # Where actions are sent to another server, this one need not execute any.
    if settings.remote_execution and not settings.executes_elsewhere and not can.execution:
        return _executes_nothing()
    batch = f"{can.max_batch_bytes} bytes a batch" if can.max_batch_bytes else "batches of any size"
    return ok(check, f"API {versions}, SHA-256, {batch}" + (", executes actions" if can.execution else ""))


def judge_executor(can: Capabilities) -> Finding:
    """Whether a server that actions are sent to executes any."""
    return ok("capabilities", "executes actions") if can.execution else _executes_nothing()


def _executes_nothing() -> Finding:
    remedy = "configure workers on the server, or set " + option("remote_execution", "false")
    return failed("capabilities", "the server executes nothing, but remote_execution is true", remedy)


def judge_clock(server_time: str | None, now: float) -> Finding:
    """How far apart the clocks are: `server_time` is an HTTP date, `now` in seconds since 1970."""
    check = "clock"
    try:
        then = parsedate_to_datetime(server_time or "").astimezone(UTC)
    except ValueError:
        return skipped(check, "the server does not tell its time")
    apart = abs((datetime.fromtimestamp(now, UTC) - then).total_seconds())
    seen = f"the server's clock and this machine's are {duration(apart)} apart"
    if apart > CLOCKS_APART:
        return warning(check, f"{seen}: a token may be refused before its end", "set the clocks right (timedatectl)")
    return ok(check, seen)
