"""What the doctor says of options alone, and how it takes them from the environment."""

import json

import pytest

from autoclave.errors import AutoclaveError
from autoclave.reapi.findings import State
from autoclave.reapi.settings import VARIABLE, Settings, settings_in, use, values


def test_without_pants_the_options_come_from_its_environment_variables() -> None:
    found = settings_in(
        {
            "PANTS_REMOTE_STORE_ADDRESS": "grpc://cache:50051",
            "PANTS_REMOTE_CACHE_READ": "true",
            "PANTS_REMOTE_STORE_HEADERS": "{'x-api-key': 'secret'}",
            "PANTS_REMOTE_STORE_CHUNK_BYTES": "2000",
        }
    )

    assert found == Settings(
        remote_store_address="grpc://cache:50051",
        remote_cache_read=True,
        remote_store_headers={"x-api-key": "secret"},
        remote_store_chunk_bytes=2000,
    )


def test_what_pants_gives_goes_before_the_variables_and_its_unset_options_have_their_defaults() -> None:
    given = json.dumps({"remote_store_address": None, "remote_cache_write": True, "session_end_tasks_timeout": 120.0})

    found = settings_in({VARIABLE: given, "PANTS_REMOTE_STORE_ADDRESS": "grpc://elsewhere:1"})

    assert found == Settings(remote_cache_write=True, session_end_tasks_timeout=120.0)


@pytest.mark.parametrize(
    ("variable", "value", "wanted"),
    [
        ("PANTS_REMOTE_CACHE_READ", "yes", "true or false"),
        ("PANTS_REMOTE_STORE_CHUNK_BYTES", "1 MiB", "a number"),
        ("PANTS_REMOTE_STORE_HEADERS", "x-api-key=secret", "{'header': 'value'}"),
    ],
)
def test_a_value_of_the_wrong_kind_is_an_error_that_says_the_right_one(variable: str, value: str, wanted: str) -> None:
    with pytest.raises(AutoclaveError, match=f"{variable} is '{value}': write {wanted}"):
        settings_in({variable: value})


SERVER = {"remote_store_address": "grpc://cache:50051"}


@pytest.mark.parametrize(
    ("options", "required", "state"),
    [
        ({}, False, State.skipped),
        ({}, True, State.failed),
        (SERVER, False, State.warning),
        (SERVER, True, State.failed),
        ({**SERVER, "remote_cache_read": True}, True, State.ok),
        ({**SERVER, "remote_cache_write": True}, False, State.warning),
        ({**SERVER, "remote_execution": True}, True, State.warning),
        ({**SERVER, "remote_execution": True, "remote_cache_read": True}, True, State.ok),
    ],
)
def test_use_is_judged_by_what_pants_would_do(options: dict[str, object], required: bool, state: State) -> None:
    assert use(Settings(**options), required).state is state


@pytest.mark.parametrize(
    ("option", "value", "check", "state", "variable"),
    [
        ("remote_store_chunk_bytes", 4 << 20, "chunk size", State.failed, "PANTS_REMOTE_STORE_CHUNK_BYTES"),
        ("remote_store_chunk_bytes", 0, "chunk size", State.failed, "PANTS_REMOTE_STORE_CHUNK_BYTES"),
        ("remote_store_chunk_bytes", 3 << 20, "chunk size", State.ok, ""),
        ("remote_store_batch_api_size_limit", 1, "batches", State.warning, "PANTS_REMOTE_STORE_BATCH_API_SIZE_LIMIT=0"),
        ("session_end_tasks_timeout", 3.0, "uploads at exit", State.warning, "PANTS_SESSION_END_TASKS_TIMEOUT"),
        ("session_end_tasks_timeout", 120.0, "uploads at exit", State.ok, ""),
        ("cache_content_behavior", "defer", "corrupt blobs", State.warning, "PANTS_CACHE_CONTENT_BEHAVIOR"),
        ("cache_content_behavior", "fetch", "corrupt blobs", State.ok, ""),
        ("remote_cache_warnings", "ignore", "warnings", State.warning, "PANTS_REMOTE_CACHE_WARNINGS"),
    ],
)
def test_a_bad_option_is_named_with_its_variable(
    option: str, value: object, check: str, state: State, variable: str
) -> None:
    found = {each.check: each for each in values(Settings(remote_cache_write=True, **{option: value}))}[check]

    assert found.state is state
    assert variable in found.fix


def test_who_only_reads_needs_no_time_for_uploads() -> None:
    found = {each.check: each.state for each in values(Settings(remote_cache_read=True, session_end_tasks_timeout=3.0))}

    assert found["uploads at exit"] is State.ok
    assert "batches" not in found
