"""What is told of the remote cache after a build, by the counters that Pants keeps."""

import json
import logging

import pytest

from autoclave_pants.cache_counters import CacheUse, cache_use, judge, line, read_report, report
from autoclave_pants.rules.cache_report import CacheReport


def use(**counts):
    """The use that these counters tell of; those that are not given are 0."""
    names = ("asked", "hits", "misses", "errors", "to_write", "written", "write_errors", "damaged")
    return CacheUse(**{name: counts.get(name, 0) for name in names})


# Under the names that Pants 2.17.1 logs with --stats-log.
COUNTERS = {
    "local_cache_requests": 9,
    "remote_cache_requests": 7,
    "remote_cache_requests_cached": 4,
    "remote_cache_requests_uncached": 2,
    "remote_cache_read_errors": 1,
    # Counts each attempt of a call, of reads and of writes: not a number of lookups.
    "remote_cache_request_timeouts": 6,
    "remote_cache_write_attempts": 3,
    "remote_cache_write_successes": 2,
    "remote_cache_write_errors": 1,
}


def test_the_line_says_what_the_counters_say():
    assert line(cache_use(COUNTERS)) == "remote cache: 4 hits, 2 misses, 2 errors, 2 written"


def test_a_lookup_that_was_tried_three_times_is_one_error():
    """As Pants counted one lookup of a server that was frozen."""
    found = {"remote_cache_requests": 1, "remote_cache_read_errors": 1, "remote_cache_request_timeouts": 3}

    assert cache_use(found) == use(asked=1, errors=1)


def test_an_object_that_the_server_has_lost_is_told_of():
    """As Pants counted one lookup whose file had been cut short on the server."""
    found = {"remote_cache_requests": 1, "remote_cache_requests_uncached": 1, "remote_store_missing_digest": 1}

    assert cache_use(found) == use(asked=1, misses=1, damaged=1)
    assert judge(cache_use(found)).state == "degraded"
    assert "1 objects are missing or damaged" in judge(cache_use(found)).reason


def test_what_was_dropped_at_exit_is_in_the_line():
    assert line(use(asked=2, misses=2, to_write=2, written=1)).endswith("1 written, 1 not written in time")


@pytest.mark.parametrize(
    ("counts", "state", "reason"),
    [
        ({}, "unused", "local cache"),
        ({"asked": 3, "hits": 3}, "ok", "served"),
        ({"asked": 3, "misses": 3, "to_write": 3, "written": 3}, "ok", "served"),
        # The action had run before the answer came: nothing is known of that lookup.
        ({"asked": 3, "hits": 2}, "ok", "served"),
        ({"asked": 3, "errors": 3}, "failed", "none of 3 lookups was answered"),
        ({"asked": 3}, "failed", "none of 3 lookups was answered"),
        ({"asked": 3, "misses": 3, "to_write": 3, "write_errors": 3}, "failed", "none of 3 results was written"),
        ({"asked": 3, "misses": 3, "to_write": 3}, "failed", "none of 3 results was written"),
        ({"asked": 3, "hits": 2, "errors": 1}, "degraded", "1 lookups failed"),
        ({"asked": 3, "misses": 3, "to_write": 3, "written": 1, "write_errors": 1}, "degraded", "session_end_tasks_timeout"),
    ],
)  # fmt: skip
def test_a_build_is_judged_by_whether_the_cache_served_it(counts, state, reason):
    verdict = judge(use(**counts))

    assert verdict.state == state
    assert reason in verdict.reason


def test_a_report_is_read_back(tmp_path):
    path = tmp_path / "report.json"
    path.write_text(report(cache_use(COUNTERS), ("package",), "grpc://cache:1"))

    value, found = read_report(path)

    assert found == cache_use(COUNTERS)
    assert (value["goals"], value["address"], value["verdict"]) == (["package"], "grpc://cache:1", "degraded")


@pytest.mark.parametrize(
    ("content", "reason"),
    [(None, "is not there"), ("{", "is no report"), ('{"counters": {"hits": 1}}', "is no report")],
)
def test_a_report_that_is_none_is_an_error(tmp_path, content, reason):
    path = tmp_path / "report.json"
    if content is not None:
        path.write_text(content)

    with pytest.raises(ValueError, match=reason):
        read_report(path)


@pytest.mark.parametrize(
    ("counts", "required", "level"),
    [
        ({"asked": 1, "hits": 1}, True, logging.INFO),
        ({"asked": 2, "hits": 1, "errors": 1}, True, logging.WARNING),
        ({"asked": 1, "errors": 1}, False, logging.WARNING),
        ({"asked": 1, "errors": 1}, True, logging.ERROR),
    ],
)
def test_the_end_of_a_build_is_as_loud_as_the_trouble(tmp_path, caplog, counts, required, level):
    path = tmp_path / "dist/report.json"
    caplog.set_level(logging.INFO)

    CacheReport(path, "grpc://cache:1", required).tell(use(**counts), ("package",))

    assert [record.levelno for record in caplog.records] == [level]
    assert json.loads(path.read_text())["verdict"] == judge(use(**counts)).state


def test_a_build_that_asks_nothing_leaves_the_last_report(tmp_path, caplog):
    path = tmp_path / "report.json"
    path.write_text("the last one")

    CacheReport(path, "grpc://cache:1", True).tell(use(), ("list",))

    assert path.read_text() == "the last one"
    assert not caplog.records


def test_a_first_build_that_asks_nothing_is_reported_as_that(tmp_path):
    path = tmp_path / "report.json"

    CacheReport(path, "grpc://cache:1", True).tell(use(), ("package",))

    assert json.loads(path.read_text())["verdict"] == "unused"


def test_a_report_that_cannot_be_written_fails_no_build(tmp_path, caplog):
    (tmp_path / "file").write_text("")

    CacheReport(tmp_path / "file/report.json", "grpc://cache:1", True).tell(use(asked=1, hits=1), ("package",))

    assert "could not be written" in caplog.text
