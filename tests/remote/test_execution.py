"""Actions on the workers of real servers: casd's own, and two of a BuildGrid. What they make is what this machine makes."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from e2e.catalogue_models import HARDWARE, declare, succeeded, tiny_model
from remote.checkouts import Checkout, new_checkout

from autoclave.servers.casd import start_casd
from autoclave.servers.running import RunningServer, session_members

if TYPE_CHECKING:
    from subprocess import CompletedProcess

    from autoclave.servers.farm import Farm

COUNTER = re.compile(r"^\s+(\w+): (\d+)$", re.MULTILINE)
COMPILER = b"autoclave.compiler"


def workers_of(server: RunningServer) -> tuple[str, ...]:
    """Options of a ./pants whose actions run on the workers of `server`."""
    return (
        "--pants-config-files=pants.execution.toml",
        f"--remote-execution-address={server.address}",
        f"--remote-store-address={server.address}",
        f"--remote-instance-name={server.instance}",
        "--stats-log",
    )


def counters(result: CompletedProcess[str]) -> dict[str, int]:
    """What Pants counted, of a run with --stats-log."""
    return {name: int(count) for name, count in COUNTER.findall(result.stderr)}


def packaged(checkout: Checkout) -> dict[str, bytes]:
    """All files that were packaged, by path."""
    dist = checkout.root / "dist"
    return {str(path.relative_to(dist)): path.read_bytes() for path in dist.glob("models/**/*") if path.is_file()}


@pytest.fixture(scope="module")
def toolchains(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with unpacked toolchains and no result of any action."""
    folder = tmp_path_factory.mktemp("toolchains")
    succeeded(new_checkout(folder / "checkout", folder / "store").pants("toolchain-info", "toolchains::"))
    return folder / "store"


@pytest.fixture
def fresh(checkout: Callable[..., Checkout], toolchains: Path, tmp_path: Path) -> Callable[[str], Checkout]:
    """Makes checkouts that declare the tiny model `m` and have toolchains, and nothing else, in their store."""

    def make(name: str) -> Checkout:
        shutil.copytree(toolchains, tmp_path / f"{name}-store")
        made = checkout(name)
        declare(made, "m", tiny_model())
        return made

    return make


@pytest.fixture(scope="module")
def made_here(toolchains: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What this machine makes of `m`, by path in dist/."""
    folder = tmp_path_factory.mktemp("here")
    shutil.copytree(toolchains, folder / "store")
    checkout = new_checkout(folder / "checkout", folder / "store")
    declare(checkout, "m", tiny_model())
    succeeded(checkout.pants("package", "models:m"))
    made = packaged(checkout)
    assert len(made) == 3 * len(HARDWARE), "an artifact, its check file and its provenance"
    return made


def test_casd_makes_the_same_and_feeds_those_who_use_its_workers(
    fresh: Callable[[str], Checkout], execution: RunningServer, made_here: dict[str, bytes]
) -> None:
    wanted = ("package", "test", "models:m", "models:m-parity")
    first = fresh("first")
    built = counters(succeeded(first.pants(*workers_of(execution), *wanted)))
    assert packaged(first) == made_here
    assert built["remote_execution_requests"] == built["remote_execution_success"] > 0
    assert built["local_execution_requests"] == 0

    second = fresh("second")
    again = counters(succeeded(second.pants(*workers_of(execution), *wanted)))
    assert packaged(second) == made_here
    assert again["remote_cache_requests_cached"] == built["remote_execution_requests"]
    assert again["remote_execution_requests"] == again["local_execution_requests"] == 0


def test_workers_and_this_machine_each_feed_their_own(
    fresh: Callable[[str], Checkout], execution: RunningServer, made_here: dict[str, bytes]
) -> None:
    model = "models:m@hardware=cpu"
    here, there, beside = fresh("here"), fresh("there"), fresh("beside")
    sharing = (*here.options(execution), "--stats-log", "package", model)
    assert counters(succeeded(here.pants(*sharing)))["remote_cache_write_successes"] > 0

    built = counters(succeeded(there.pants(*workers_of(execution), "package", model)))
    assert built["remote_cache_requests_cached"] == 0
    assert built["remote_execution_success"] > 0

    assert counters(succeeded(beside.pants(*sharing)))["remote_cache_requests_cached"] > 0
    assert packaged(here) == packaged(there) == packaged(beside)
    assert packaged(here).items() <= made_here.items()


def actions_of(worker: RunningServer, module: bytes) -> list[int]:
    """The processes on a worker that run an action of this module."""
    return [pid for pid in session_members(worker.pid) if module in command_line(pid)]


def command_line(pid: int) -> bytes:
    """The words of a process, each ended by a zero; none if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def when_it_compiles(workers: list[RunningServer]) -> RunningServer:
    """The first worker that compiles a model."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        for worker in workers:
            if actions_of(worker, COMPILER):
                return worker
        time.sleep(0.01)
    raise AssertionError("no worker compiled a model")


def test_another_worker_takes_over_from_one_that_is_killed(
    fresh: Callable[[str], Checkout], farm: Farm, made_here: dict[str, bytes]
) -> None:
    checkout = fresh("checkout")
    with ThreadPoolExecutor() as pool:
        build = pool.submit(checkout.pants, *workers_of(farm.server), "package", "models:m")
        when_it_compiles(farm.workers).kill()
        succeeded(build.result())
    assert packaged(checkout) == made_here


def test_server_that_goes_away_ends_the_build_with_what_and_where_and_what_to_do(
    fresh: Callable[[str], Checkout], execution: RunningServer
) -> None:
    checkout = fresh("checkout")
    with ThreadPoolExecutor() as pool:
        build = pool.submit(checkout.pants, *workers_of(execution), "package", "models:m@hardware=cpu")
        when_it_compiles([execution])
        execution.kill()
        result = build.result()
    assert result.returncode == 1
    assert f"models:m@hardware=cpu: compile failed: the execution server {execution.address} did not" in result.stderr
    assert "--autoclave-execution=''" in result.stderr
    assert packaged(checkout) == {}

    succeeded(checkout.pants(*workers_of(execution), "--autoclave-execution=", "package", "models:m@hardware=cpu"))


@pytest.fixture
def forgetful(casd_programs: Path, tmp_path: Path) -> Iterator[RunningServer]:
    """A casd that executes by buildbox' own runner, which ignores the outputs that Pants declares."""
    server = start_casd(tmp_path / "forgetful", jobs=2, folder=casd_programs)
    server.stop()
    runner = casd_programs / "usr/bin/buildbox-run-hosttools"
    arguments = tuple(
        f"--buildbox-run={runner}" if str(each).startswith("--buildbox-run=") else each
        for each in server.command.arguments
    )
    server.command = replace(server.command, arguments=arguments)
    yield server.start()
    server.stop()


def test_outputs_that_a_server_ignores_are_an_error_and_no_artifact(
    fresh: Callable[[str], Checkout], forgetful: RunningServer
) -> None:
    checkout = fresh("checkout")
    result = checkout.pants(*workers_of(forgetful), "package", "models:m@hardware=cpu")
    assert result.returncode == 1
    assert "not there: out/model.onnx" in result.stderr
    assert "docs/remote-execution.md" in result.stderr
    assert packaged(checkout) == {}
