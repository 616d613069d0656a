"""Actions on the workers of real servers: casd's own, and two of a BuildGrid. What they make is what this machine makes."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
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


@dataclass(frozen=True)
class MadeHere:
    """What this machine makes of the model `m`, by path in dist/, and a store that has it and the toolchains."""

    files: dict[str, bytes]
    store: Path


def declare_all(checkout: Checkout) -> None:
    """Declare `m` for all hardware, and for cpu `n` and `o`, which differ in their weights."""
    declare(checkout, "m", tiny_model(seed=1))
    declare(checkout, "n", tiny_model(seed=2), hardware=("cpu",))
    declare(checkout, "o", tiny_model(seed=3), hardware=("cpu",))


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MadeHere]:
    folder = tmp_path_factory.mktemp("here")
    checkout = new_checkout(folder / "checkout", folder / "store")
    declare_all(checkout)
    succeeded(checkout.pants("package", "models:m"))
    files = packaged(checkout)
    assert len(files) == 3 * len(HARDWARE), "an artifact, its check file and its provenance"
    yield MadeHere(files, checkout.store)
    shutil.rmtree(folder)


@pytest.fixture
def fresh(checkout: Callable[..., Checkout], here: MadeHere, tmp_path: Path) -> Iterator[Callable[[str], Checkout]]:
    """Makes checkouts whose store has toolchains, and what this machine made of `m`; no worker's result."""
    stores = []

    def make(name: str) -> Checkout:
        stores.append(tmp_path / f"{name}-store")
        shutil.copytree(here.store, stores[-1])
        made = checkout(name)
        declare_all(made)
        return made

    yield make
    for store in stores:
        shutil.rmtree(store)


def test_workers_make_what_this_machine_makes_and_each_feeds_its_own(
    fresh: Callable[[str], Checkout], execution: RunningServer, here: MadeHere
) -> None:
    feeding = fresh("feeding")
    shared = (*feeding.options(execution), "--stats-log", "package")
    assert counters(succeeded(feeding.pants(*shared, "models:n")))["remote_cache_write_successes"] > 0

    # What this machine made does not feed workers.
    first = fresh("first")
    there = (
        *workers_of(execution),
        "package",
        "test",
        "models:m",
        "models:n",
        "models:o",
        "models:m-parity@model=qcom",
    )
    built = counters(succeeded(first.pants(*there)))
    assert built["remote_cache_requests_cached"] == built["local_execution_requests"] == 0
    assert built["remote_execution_requests"] == built["remote_execution_success"] > 0
    assert here.files.items() <= packaged(first).items()

    # What workers made feeds all who use them,
    second = fresh("second")
    again = counters(succeeded(second.pants(*there)))
    assert again["remote_execution_requests"] == again["local_execution_requests"] == 0
    assert packaged(second) == packaged(first)

    # and not those who build on their own machines, who have it from each other.
    fed = fresh("fed")
    beside = counters(succeeded(fed.pants(*shared, "models:n", "models:o")))
    assert beside["remote_cache_requests_cached"] > 0
    assert beside["remote_cache_requests_uncached"] > 0
    assert packaged(fed).items() <= packaged(first).items()


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
    fresh: Callable[[str], Checkout], farm: Farm, here: MadeHere
) -> None:
    checkout = fresh("checkout")
    with ThreadPoolExecutor() as pool:
        build = pool.submit(checkout.pants, *workers_of(farm.server), "package", "models:m")
        when_it_compiles(farm.workers).kill()
        succeeded(build.result())
    assert packaged(checkout) == here.files


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
    fresh: Callable[[str], Checkout], forgetful: RunningServer, casd_programs: Path, here: MadeHere
) -> None:
    checkout = fresh("checkout")
    build = ("package", "models:m@hardware=cpu")
    result = checkout.pants(*workers_of(forgetful), *build)
    assert result.returncode == 1
    assert "not there: out/model.onnx" in result.stderr
    assert "docs/remote-execution.md" in result.stderr
    assert packaged(checkout) == {}

    # With our runner, and under another name than what is left in both caches.
    forgetful.stop()
    mended = start_casd(forgetful.data, jobs=2, folder=casd_programs)
    try:
        succeeded(checkout.pants(*workers_of(mended), "--process-execution-cache-namespace=again", *build))
    finally:
        mended.stop()
    assert packaged(checkout).items() <= here.files.items()
    assert packaged(checkout)
