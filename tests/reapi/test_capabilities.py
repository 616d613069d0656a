"""What the doctor makes of a server's own words, of which the servers in tests/remote give only the good ones."""

import pytest

from autoclave.reapi.capabilities import judge_capabilities, judge_clock
from autoclave.reapi.client import Capabilities
from autoclave.reapi.findings import State
from autoclave.reapi.settings import Settings

GOOD = {
    "sha256": True,
    "cache": True,
    "execution": False,
    "max_batch_bytes": 0,
    "oldest_api": (2, 0),
    "newest_api": (2, 3),
    "server_time": None,
}
EXECUTES = {"remote_store_address": "grpc://cache:1", "remote_execution": True}
NOON = 1_800_014_400.0
"""2027-01-15 12:00 UTC."""


@pytest.mark.parametrize(
    ("difference", "options", "state", "seen"),
    [
        ({}, {}, State.ok, "API 2.0 to 2.3, SHA-256, batches of any size"),
        ({"max_batch_bytes": 4193280}, {}, State.ok, "4193280 bytes a batch"),
        ({"execution": True}, {"remote_execution": True}, State.ok, "executes actions"),
        ({"oldest_api": None, "newest_api": None}, {}, State.ok, "API 2.0,"),
        ({}, {"remote_execution": True}, State.failed, "executes nothing"),
        ({}, {**EXECUTES, "remote_execution_address": "grpc://cache:1"}, State.failed, "executes nothing"),
        ({}, {**EXECUTES, "remote_execution_address": "grpc://farm:1"}, State.ok, "API 2.0"),
        ({"sha256": False}, {}, State.failed, "SHA-256"),
        ({"cache": False}, {}, State.failed, "no cache"),
        ({"oldest_api": (3, 0), "newest_api": (3, 1)}, {}, State.failed, "speaks the API 3.0 to 3.1"),
    ],
)
def test_a_server_is_judged_by_what_pants_needs(
    difference: dict[str, object], options: dict[str, object], state: State, seen: str
) -> None:
    found = judge_capabilities(Capabilities(**{**GOOD, **difference}), Settings(**options))

    assert found.state is state
    assert seen in found.seen


@pytest.mark.parametrize(
    ("server_time", "state", "seen"),
    [
        (None, State.skipped, "does not tell"),
        ("soon", State.skipped, "does not tell"),
        ("Fri, 15 Jan 2027 12:00:30 GMT", State.ok, "30 s apart"),
        ("Fri, 15 Jan 2027 11:30:00 GMT", State.warning, "30 min apart"),
    ],
)
def test_clocks_are_compared_where_the_server_tells_its_time(server_time: str | None, state: State, seen: str) -> None:
    found = judge_clock(server_time, NOON)

    assert found.state is state
    assert seen in found.seen
