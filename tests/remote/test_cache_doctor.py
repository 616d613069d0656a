"""The cache doctor on real servers: what it finds of good ones, and of each thing that can be wrong."""

from __future__ import annotations

import json
import os
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from reapi.authority import AN_AUTHORITY
from remote.checkouts import Checkout

from autoclave.reapi import messages
from autoclave.reapi.client import ActionResult, Client, Digest, RemoteError
from autoclave.reapi.doctor import examine, open_channel
from autoclave.reapi.findings import Finding, State
from autoclave.reapi.network import check_address, is_authority
from autoclave.reapi.settings import Settings
from autoclave.servers.buildgrid import BuildGrid, start_buildgrid
from autoclave.servers.casd import start_casd
from autoclave.servers.running import RunningServer

PATIENCE = 20.0


@pytest.fixture(scope="module")
def steady_casd(casd_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A casd that the tests here share: none of them does it any harm."""
    server = start_casd(tmp_path_factory.mktemp("steady") / "casd", folder=casd_programs)
    yield server
    server.stop()


@pytest.fixture(scope="module")
def steady_buildgrid(
    bgd: Path, steady_casd: RunningServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BuildGrid]:
    """A BuildGrid in front of it, shared likewise."""
    server = start_buildgrid(bgd, tmp_path_factory.mktemp("steady") / "buildgrid", steady_casd)
    yield server
    server.server.stop()


WRITES = {
    "remote_cache_read": True,
    "remote_cache_write": True,
    "session_end_tasks_timeout": 120.0,
    "remote_store_batch_api_size_limit": 0,
}
READS = {"remote_cache_read": True}


def of_casd(server: RunningServer, **options: object) -> Settings:
    """Settings that name a casd and write to it."""
    named = {"remote_store_address": server.address, "remote_instance_name": server.instance}
    return Settings(**{**named, **WRITES, **options})


def of_buildgrid(server: BuildGrid, subject: str = "ci", **options: object) -> Settings:
    """Settings that name a BuildGrid, with the token of a subject."""
    token = {
        "remote_ca_certs_path": str(server.ca),
        "remote_oauth_bearer_token_path": str(server.token(subject, 36000)),
    }
    return of_casd(server.server, **{**token, **options})


def by_name(findings: Iterable[Finding]) -> dict[str, Finding]:
    return {each.check: each for each in findings}


def found_in(settings: Settings, patience: float = PATIENCE) -> dict[str, Finding]:
    return by_name(examine(settings, patience))


def states(findings: Mapping[str, Finding], state: State) -> set[str]:
    return {name for name, each in findings.items() if each.state is state}


def client_of(settings: Settings) -> Client:
    address = check_address(settings.remote_store_address)[1]
    assert address is not None
    return Client(open_channel(address, settings), settings.remote_instance_name, {}, PATIENCE)


# What the client does.


def test_blobs_and_results_come_back_as_they_went(steady_casd: RunningServer) -> None:
    client = client_of(of_casd(steady_casd))
    large, small = os.urandom(3_000_001), b"small"
    action = messages.Action(
        command_digest=Digest.of(small).message(), input_root_digest=Digest.of(b"").message()
    ).SerializeToString()
    result = ActionResult(0, b"said\n", (("out/model.pkl", Digest.of(large)),))

    assert client.missing([Digest.of(small), Digest.of(large)]) == (Digest.of(small), Digest.of(large))
    client.upload([small, b"", action])
    assert client.stream_up(large, chunk=1 << 20) == len(large)
    client.update_action_result(Digest.of(action), result)

    assert client.missing([Digest.of(small), Digest.of(large)]) == ()
    assert client.download(Digest.of(small)) == small
    assert client.stream_down(Digest.of(large)) == large
    assert client.action_result(Digest.of(action)) == result
    assert client.action_result(Digest.of(small)) is None


def test_a_blob_that_the_server_does_not_have_is_an_error_with_the_servers_status(steady_casd: RunningServer) -> None:
    client = client_of(of_casd(steady_casd))

    with pytest.raises(RemoteError) as downloaded:
        client.download(Digest.of(b"nowhere"))
    with pytest.raises(RemoteError) as streamed:
        client.stream_down(Digest.of(b"nowhere"))

    assert downloaded.value.code == streamed.value.code == "NOT_FOUND"


PUBLISHED = """
import json, sys
from google.protobuf import descriptor_pool
import buildgrid._protos.build.bazel.remote.execution.v2.remote_execution_pb2
import buildgrid._protos.google.bytestream.bytestream_pb2

def facts(field):
    # An enumeration is an int32 on the wire.
    kind = field.TYPE_INT32 if field.type == field.TYPE_ENUM else field.type
    return [field.number, kind, field.message_type.full_name if field.message_type else None]

find = descriptor_pool.Default().FindMessageTypeByName
print(json.dumps({name: {field.name: facts(field) for field in find(name).fields} for name in sys.argv[1:]}))
"""
"""Prints number, type and message of each field of messages, as BuildGrid has them from the published files."""


def test_the_messages_are_those_of_the_published_api(bgd: Path) -> None:
    command = [bgd.with_name("python"), "-c", PUBLISHED, *messages.FIELDS]
    published = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    for name in messages.FIELDS:
        for field in messages.message_class(name).DESCRIPTOR.fields:
            facts = [field.number, field.type, field.message_type.full_name if field.message_type else None]
            assert facts == published[name][field.name], f"{name}.{field.name}"


# What the doctor finds.


def test_a_good_cache_is_found_good(steady_casd: RunningServer) -> None:
    found = found_in(of_casd(steady_casd))

    assert states(found, State.failed) == set()
    assert {"write right", "small blob", "large blob"} <= states(found, State.ok)
    # casd has no result with a directory in a directory unless each directory is a blob, too; Pants does not upload these.
    assert states(found, State.warning) == {"action result"}


def test_a_server_that_executes_is_found_good_as_pants_execution_toml_uses_it(execution: RunningServer) -> None:
    workers = {"remote_execution": True, "remote_execution_address": execution.address, "remote_cache_write": False}
    found = found_in(of_casd(execution, **workers))

    assert states(found, State.failed) == set()
    assert found["use"].seen == "Pants reads and executes remotely"
    assert "executes actions" in found["capabilities"].seen


ELSEWHERE = {"remote_execution": True, "remote_cache_write": False}


def test_a_server_that_executes_beside_the_one_that_stores_is_looked_at(
    steady_casd: RunningServer, execution: RunningServer
) -> None:
    found = found_in(of_casd(steady_casd, **ELSEWHERE, remote_execution_address=execution.address))

    assert states(found, State.failed) == set()
    assert found["exec capabilities"].seen == "executes actions"


@pytest.mark.parametrize(
    ("address", "check"),
    [
        ("farm:8980", "exec address"),
        ("grpc://localhost:1", "exec connection"),
        ("grpc://127.0.0.1:PORT", "exec capabilities"),
    ],
    ids=["no address", "nobody there", "a cache alone"],
)
def test_a_server_that_does_not_execute_is_found(steady_casd: RunningServer, address: str, check: str) -> None:
    port = steady_casd.address.rpartition(":")[2]
    found = found_in(of_casd(steady_casd, **ELSEWHERE, remote_execution_address=address.replace("PORT", port)))

    assert states(found, State.failed) == {check}
    assert "remote_execution" in found[check].fix


def test_who_only_reads_from_a_cache_that_takes_all_is_warned(steady_casd: RunningServer) -> None:
    found = found_in(of_casd(steady_casd, remote_cache_write=False))

    assert states(found, State.warning) == {"write right"}
    assert {"large blob", "action result"} <= states(found, State.skipped)


@pytest.mark.parametrize("name", ["nope", ""])
def test_a_wrong_instance_is_found_and_the_right_one_is_named(steady_casd: RunningServer, name: str) -> None:
    found = found_in(of_casd(steady_casd, remote_instance_name=name))

    assert states(found, State.failed) == {"instance"}
    assert "PANTS_REMOTE_INSTANCE_NAME=main" in found["instance"].fix


def test_chunks_that_are_too_large_are_found_by_sending_them(steady_casd: RunningServer) -> None:
    found = found_in(of_casd(steady_casd, remote_store_chunk_bytes=5 << 20))

    assert states(found, State.failed) == {"chunk size", "large blob"}
    assert "RESOURCE_EXHAUSTED" in found["large blob"].seen


def test_tls_to_a_server_without_it_is_found(steady_casd: RunningServer) -> None:
    found = found_in(of_casd(steady_casd, remote_store_address=steady_casd.address.replace("grpc:", "grpcs:")))

    # Where this machine trusts no authority, that is said first.
    assert states(found, State.failed) == {"tls"}


def test_a_frozen_server_is_given_up_on(casd: RunningServer) -> None:
    casd.freeze()
    try:
        found = found_in(of_casd(casd), patience=1)
    finally:
        casd.thaw()

    assert states(found, State.failed) == {"capabilities"}
    assert "DEADLINE_EXCEEDED" in found["capabilities"].seen


def test_a_server_that_is_gone_is_found(casd: RunningServer) -> None:
    casd.kill()

    assert states(found_in(of_casd(casd)), State.failed) == {"connection"}


def test_a_cache_with_tls_and_a_token_is_found_good(steady_buildgrid: BuildGrid) -> None:
    found = found_in(of_buildgrid(steady_buildgrid))

    assert states(found, State.failed) == set()
    assert states(found, State.warning) == {"action result"}, "its action cache is casd's"
    assert found["token"].seen.startswith("a JWT for ci that ends in 10 h")
    assert {"tls", "write right", "large blob"} <= states(found, State.ok)


def test_a_developers_token_reads_and_is_not_meant_to_write(steady_buildgrid: BuildGrid) -> None:
    found = found_in(of_buildgrid(steady_buildgrid, "dev", remote_cache_write=False))

    assert states(found, State.failed) == states(found, State.warning) == set()
    assert found["write right"].seen.startswith("may not write")


def test_a_developers_token_with_writing_on_is_a_failure_that_says_what_to_set(steady_buildgrid: BuildGrid) -> None:
    found = found_in(of_buildgrid(steady_buildgrid, "dev"))

    assert states(found, State.failed) == {"write right"}
    assert "PANTS_REMOTE_CACHE_WRITE=false" in found["write right"].fix


def test_a_token_that_has_ended_is_found_before_and_by_the_server(steady_buildgrid: BuildGrid) -> None:
    found = found_in(
        of_buildgrid(steady_buildgrid, remote_oauth_bearer_token_path=str(steady_buildgrid.token("ci", -60)))
    )

    assert states(found, State.failed) == {"token", "capabilities"}
    assert "UNAUTHENTICATED" in found["capabilities"].seen


def test_no_token_where_one_is_wanted_is_found(steady_buildgrid: BuildGrid) -> None:
    found = found_in(of_buildgrid(steady_buildgrid, remote_oauth_bearer_token_path=""))

    assert states(found, State.failed) == {"capabilities"}
    assert "PANTS_REMOTE_OAUTH_BEARER_TOKEN_PATH" in found["capabilities"].fix


def test_a_wrong_instance_is_found_though_the_server_speaks_of_rights(steady_buildgrid: BuildGrid) -> None:
    found = found_in(of_buildgrid(steady_buildgrid, remote_instance_name="nope"))

    assert states(found, State.failed) == {"instance"}
    assert "PANTS_REMOTE_INSTANCE_NAME=main" in found["instance"].fix


def test_another_authority_is_found(steady_buildgrid: BuildGrid, tmp_path: Path) -> None:
    authority = tmp_path / "other.pem"
    authority.write_text(AN_AUTHORITY)
    found = found_in(of_buildgrid(steady_buildgrid, remote_ca_certs_path=str(authority)))

    assert states(found, State.failed) == {"tls"}
    assert "PANTS_REMOTE_CA_CERTS_PATH" in found["tls"].fix


def test_a_servers_own_certificate_is_no_authoritys(steady_buildgrid: BuildGrid) -> None:
    folder = steady_buildgrid.server.data

    kinds = {
        name: is_authority(ssl.PEM_cert_to_DER_cert((folder / name).read_text())) for name in ("ca.pem", "server.pem")
    }

    assert kinds == {"ca.pem": True, "server.pem": False}


def test_no_tls_to_a_server_that_wants_it_is_found(steady_buildgrid: BuildGrid) -> None:
    address = steady_buildgrid.server.address.replace("grpcs:", "grpc:")
    found = found_in(of_buildgrid(steady_buildgrid, remote_store_address=address))

    assert states(found, State.failed) == {"tls"}
    assert f"PANTS_REMOTE_STORE_ADDRESS={steady_buildgrid.server.address}" in found["tls"].fix


def run_module(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """`python -m autoclave.reapi`, as who has no Pants runs it."""
    path = os.pathsep.join(map(os.path.abspath, sys.path))
    return subprocess.run(
        [sys.executable, "-m", "autoclave.reapi", *arguments],
        env={**variables, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )


def test_the_module_takes_pants_variables(steady_casd: RunningServer) -> None:
    named = {"PANTS_REMOTE_STORE_ADDRESS": steady_casd.address, "PANTS_REMOTE_INSTANCE_NAME": "nope"}
    result = run_module("--json", PANTS_REMOTE_CACHE_READ="true", **named)

    checks = {each["check"]: each["state"] for each in json.loads(result.stdout)["checks"]}
    assert (result.returncode, checks["instance"]) == (1, "failed")


def test_no_cache_is_a_failure_where_one_is_required() -> None:
    assert run_module().returncode == 0
    assert run_module("--required").returncode == 1


def test_a_variable_of_the_wrong_kind_is_one_line() -> None:
    result = run_module(PANTS_REMOTE_CACHE_READ="yes")

    assert (result.returncode, result.stdout, len(result.stderr.splitlines())) == (2, "", 1)


# The goal, and what is told after builds.


def test_the_goal_takes_pants_own_options(steady_casd: RunningServer, checkout: Callable[..., Checkout]) -> None:
    mine = checkout()

    none = mine.pants("cache-doctor")
    good = mine.pants(*mine.options(steady_casd), "cache-doctor", "--json")
    # With this, a build does not start at all.
    broken = "--remote-oauth-bearer-token-path=/nowhere/token"
    bad = mine.pants(*mine.options(steady_casd), broken, "cache-doctor", "--json")

    assert none.returncode == 0, none.stderr
    assert "no remote cache is configured" in none.stdout
    assert good.returncode == 0, good.stdout + good.stderr
    assert not any(each["state"] == "failed" for each in json.loads(good.stdout)["checks"])
    assert bad.returncode == 1
    assert [each["check"] for each in json.loads(bad.stdout)["checks"] if each["state"] == "failed"] == ["token"]


def with_toolchain(checkout: Checkout) -> Checkout:
    """The checkout with a small toolchain: two actions, one that fetches and one that unpacks."""
    declared = 'toolchain(name="small", python=[":python-host"], components=[":bubblewrap"])\n'
    (checkout.root / "toolchains/BUILD.small").write_text(declared)
    return checkout


def test_a_build_says_what_the_cache_did_and_the_report_fails_a_job_that_was_not_served(
    steady_casd: RunningServer, checkout: Callable[..., Checkout]
) -> None:
    first, second = with_toolchain(checkout("first")), with_toolchain(checkout("second"))
    build = ("toolchain-info", "toolchains:small")

    writing = first.pants(*first.options(steady_casd), *build)
    # As a developer is configured: a file for all, and variables.
    named = {"PANTS_REMOTE_STORE_ADDRESS": steady_casd.address, "PANTS_REMOTE_INSTANCE_NAME": steady_casd.instance}
    reading = second.pants(*build, env={**named, "PANTS_CONFIG_FILES": "pants.remote.toml"})
    report = json.loads((second.root / "dist/cache-report.json").read_text())
    fresh = Checkout(second.root, second.store.with_name("fresh-store"))
    unserved = fresh.pants(*fresh.options(replace(steady_casd, instance="nope")), *build)
    judged = second.pants("cache-doctor", "--report")

    assert writing.returncode == reading.returncode == unserved.returncode == 0, writing.stderr + reading.stderr
    assert "remote cache: 0 hits, 2 misses, 0 errors, 2 written" in writing.stderr
    assert "remote cache: 2 hits, 0 misses, 0 errors, 0 written" in reading.stderr
    assert (report["verdict"], report["counters"]["hits"]) == ("ok", 2)
    assert "See `./pants cache-doctor`" in unserved.stderr
    assert (judged.returncode, judged.stdout.splitlines()[-1].split(":")[0]) == (1, "failed")
