"""The runner's handling of messages, against protobuf's own; and what it says when it cannot run."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from servers.published_messages import Action, ActionResult, Command, Digest

from autoclave.servers import legacy_outputs
from autoclave.servers.legacy_outputs import (
    MessageError,
    digest_of,
    digest_text,
    failed_result,
    missing_outputs,
    read_message,
    succeeded,
    with_output_paths,
    write_message,
)

EMPTY = hashlib.sha256(b"").hexdigest()


def digest(blob: bytes) -> Any:
    return Digest(hash=hashlib.sha256(blob).hexdigest(), size_bytes=len(blob))


def command(**fields: Any) -> bytes:
    message = Command(arguments=["/bin/sh", "-c", "exit 0"], **fields)
    message.environment_variables.add(name="LANG", value="C.UTF-8")
    message.platform.properties.add(name="OSFamily", value="linux")
    return bytes(message.SerializeToString(deterministic=True))


def result(files: tuple[str, ...] = (), directories: tuple[str, ...] = (), **fields: Any) -> bytes:
    message = ActionResult(stdout_digest=digest(b"out"), stderr_digest=digest(b"err"), **fields)
    message.execution_metadata.worker = "worker1"
    for path in files:
        message.output_files.add(path=path, digest=digest(path.encode()), is_executable=True)
    for path in directories:
        message.output_directories.add(path=path, tree_digest=digest(path.encode()))
    return bytes(message.SerializeToString(deterministic=True))


def test_older_outputs_become_output_paths_in_order() -> None:
    before = command(output_files=["out/z", "b"], output_directories=["out/a", "c"])
    after = Command.FromString(with_output_paths(before))
    assert after.output_paths == ["b", "c", "out/a", "out/z"]
    after.ClearField("output_paths")
    assert after == Command.FromString(before)


def test_paths_sort_by_their_bytes() -> None:
    after = Command.FromString(with_output_paths(command(output_files=["é", "z", "Z", "a/b", "a-b"])))
    assert after.output_paths == ["Z", "a-b", "a/b", "z", "é"]


@pytest.mark.parametrize(
    "unchanged",
    [{}, {"output_paths": ["x"]}, {"output_paths": ["x"], "output_files": ["y"]}],
    ids=["no outputs", "newer outputs", "both"],
)
def test_other_commands_stay_as_they_are(unchanged: dict[str, list[str]]) -> None:
    assert with_output_paths(command(**unchanged)) == command(**unchanged)


def test_an_actions_other_fields_survive() -> None:
    message = Action(command_digest=digest(b"c"), input_root_digest=digest(b"r"), do_not_cache=True, salt=b"\0\xff")
    message.timeout.seconds, message.timeout.nanos = 2**40, 7
    message.platform.properties.add(name="OSFamily", value="linux")
    data = message.SerializeToString()
    assert Action.FromString(write_message(read_message(data))) == message


@given(st.binary(max_size=300))
def test_a_digest_is_protobufs(blob: bytes) -> None:
    assert Digest.FromString(digest_of(blob)) == digest(blob)


def test_a_digest_as_the_tools_write_it() -> None:
    assert digest_text(digest(b"four").SerializeToString()) == f"{hashlib.sha256(b'four').hexdigest()}/4"
    assert digest_text(digest(b"").SerializeToString()) == f"{EMPTY}/0"


@given(
    st.builds(
        ActionResult,
        exit_code=st.integers(-(2**31), 2**31 - 1),
        stdout_raw=st.binary(max_size=200),
        stderr_digest=st.builds(Digest, hash=st.text(max_size=70), size_bytes=st.integers(0, 2**63 - 1)),
    )
)
def test_any_result_survives_being_read_and_written(message: Any) -> None:
    assert ActionResult.FromString(write_message(read_message(message.SerializeToString()))) == message


def test_numbers_of_fixed_size_survive() -> None:
    # Fields 1 (64 bits), 2 (32 bits) and 3 (varint), as the encoding guide writes them.
    data = bytes.fromhex("09 0102030405060708 15 01020304 18 9601")
    assert [field.value for field in read_message(data)] == [bytes(range(1, 9)), bytes(range(1, 5)), 150]
    assert write_message(read_message(data)) == data


@given(st.binary(max_size=60))
def test_damaged_bytes_give_a_message_error_or_a_message(data: bytes) -> None:
    try:
        list(read_message(data))
    except MessageError:
        pass


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_truncated_message_is_an_error(cut: int) -> None:
    with pytest.raises(MessageError):
        list(read_message(result(files=("f",))[:-cut]))


NOTHING: tuple[str, ...] = ()


@pytest.mark.parametrize(
    ("declared", "files", "directories", "missing"),
    [
        ({"output_files": ["f"], "output_directories": ["d"]}, ("f",), ("d",), []),
        ({"output_files": ["f", "out/g"]}, ("f",), NOTHING, ["out/g"]),
        ({"output_directories": ["d", "e"]}, NOTHING, ("d",), ["e"]),
        ({"output_files": ["f"], "output_directories": ["d"]}, ("d",), ("f",), ["d", "f"]),
        ({"output_paths": ["f", "d", "x"]}, ("f",), ("d",), ["x"]),
        ({"output_files": ["f"], "output_paths": ["f", "ignored"]}, ("f",), NOTHING, []),
        ({}, NOTHING, NOTHING, []),
    ],
    ids=["all there", "a file", "a directory", "each the other's kind", "a path", "both kinds of fields", "none"],
)
def test_missing_outputs_are_named(
    declared: dict[str, list[str]], files: tuple[str, ...], directories: tuple[str, ...], missing: list[str]
) -> None:
    assert missing_outputs(command(**declared), result(files, directories)) == missing


@pytest.mark.parametrize("field", ["output_symlinks", "output_file_symlinks", "output_directory_symlinks"])
def test_a_link_is_an_output(field: str) -> None:
    message = ActionResult()
    getattr(message, field).add(path="link", target="elsewhere")
    captured = message.SerializeToString()
    for kind in ("output_files", "output_directories"):
        assert missing_outputs(command(**{kind: ["link"]}), captured) == []


def test_success_is_exit_code_zero() -> None:
    assert succeeded(result())
    assert not succeeded(result(exit_code=1))
    assert not succeeded(result(exit_code=-9))


def test_a_failed_result_keeps_the_rest() -> None:
    after = ActionResult.FromString(failed_result(result(("f",), ("d",), stdout_raw=b"out", stderr_raw=b"old"), b"new"))
    expected = ActionResult.FromString(result(("f",), ("d",), stdout_raw=b"out", exit_code=70))
    expected.stderr_digest.CopyFrom(digest(b"new"))
    assert after == expected


@pytest.fixture
def runner(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-I", "-S", legacy_outputs.__file__, *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    return run


def test_programs_that_are_not_there(runner: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    ended = runner(f"--programs={tmp_path}", "--action=a", "--action-result=r")
    assert ended.returncode == 1
    remedy = "name its folder by --programs=FOLDER"
    assert ended.stderr == f"legacy_outputs.py: buildbox-run-hosttools is not in {tmp_path}: {remedy}\n"


@pytest.mark.parametrize("content", [b"\xff\xff", b""], ids=["damaged", "without a command"])
def test_an_action_that_cannot_be_read(
    runner: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "buildbox-run-hosttools").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "buildbox-run-hosttools").chmod(0o755)
    (tmp_path / "action").write_bytes(content)
    ended = runner(f"--programs={tmp_path}", f"--action={tmp_path}/action", f"--action-result={tmp_path}/result")
    assert ended.returncode == 1
    assert ended.stderr.startswith("legacy_outputs.py: cannot run the action: MessageError("), ended.stderr
