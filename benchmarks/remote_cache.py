"""A catalogue of small models with a shared cache, and on remote execution, against the same catalogue built alone.

    python benchmarks/remote_cache.py --models 40 --json benchmarks/measurements/servers.json

Every build is `./pants package` in a checkout of its own with a store of its own, without a daemon where none is named. The server is
buildbox-casd on this machine. Needs an interpreter that has what 3rdparty/python-default.lock lists. Printed, in one run:

    cold             with an empty cache to read and write, over the same without one: goal 1.05. The toolchains come first, by
                     building one more model, which is not counted
    second checkout  elsewhere, with an empty store, all from the cache: over the cold build, goal 0.03; 0 actions of a model run, and the
                     same bytes. From the start of Pants, and with a daemon that runs already; each also where content of the cache is
                     fetched when it is needed only (`cache_content_behavior = "defer"`)
    execution        on a server with 1 worker and with 2, over building alone

`--json` keeps what the simulation takes from it. A few models, built one action at a time here and on the server, tell what an action
takes more there; the builds of all models are what the simulation is then compared with.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from pathlib import Path

from catalogue import CHECKOUT
from counted_builds import ACTIONS_OF_A_MODEL, Build, CountedCheckout, processor

sys.path.insert(0, str(CHECKOUT / "src"))
from autoclave.servers.casd import start_casd  # noqa: E402
from autoclave.servers.running import RunningServer  # noqa: E402

NO_DAEMON, DAEMON = "--no-pantsd", "--pantsd"
DEFERRED = "--cache-content-behavior=defer"
ONE_AT_A_TIME = "--process-execution-local-parallelism=1"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=40, help="how many models")
    parser.add_argument("--few", type=int, default=4, help="how many models tell what an action takes more on a server")
    parser.add_argument("--parts", nargs="+", default=["cache", "execution"], choices=("cache", "execution"))
    parser.add_argument("--logs", type=Path, help="folder that keeps what each build printed")
    parser.add_argument("--json", type=Path, help="file for what the simulation needs, once execution was measured")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        bench = Bench(Path(temporary), options.models, options.few, options.logs)
        alone = bench.cold("alone")
        if "cache" in options.parts:
            bench.compare_cache(alone)
        if "execution" in options.parts:
            found = bench.compare_execution(alone)
            if options.json:
                options.json.parent.mkdir(parents=True, exist_ok=True)
                options.json.write_text(json.dumps(found, indent=1) + "\n")


class Bench:
    """The builds, each in a folder of its own below `folder`."""

    def __init__(self, folder: Path, models: int, few: int, logs: Path | None) -> None:
        self.folder = folder
        self.models = models
        self.few = few
        self.logs = logs

    def checkout(self, name: str, models: int) -> CountedCheckout:
        return CountedCheckout(self.folder / name.replace(" ", "-").replace(",", ""), models, name, self.logs)

    def cold(self, name: str, *options: str, models: int = 0) -> Build:
        """Build the models, the toolchains being there."""
        checkout = self.checkout(name, models or self.models)
        toolchains = checkout.package(["models:toolchains"], NO_DAEMON, *options)
        build = checkout.package(checkout.of_models, NO_DAEMON, *options)
        checkout.remove()
        print(f"  {name}: {build} (toolchains and one model before it: {toolchains.seconds:.1f} s)", flush=True)
        return build

    def second(self, name: str, *options: str, daemon: bool) -> Build:
        """Build the models in another checkout, from nothing but a cache."""
        checkout = self.checkout(name, self.models)
        start = DAEMON if daemon else NO_DAEMON
        if daemon:
            checkout.start_daemon(start, *options)
        build = checkout.package(checkout.of_models, start, *options)
        checkout.remove()
        print(f"  {name}: {build}", flush=True)
        return build

    def compare_cache(self, alone: Build) -> None:
        server = start_casd(self.folder / "casd", quota="20G")
        reads, writes = cache_options(server, write=False), cache_options(server, write=True)
        try:
            first = self.cold("cold, with a cache", *writes)
            print(f"cold: with a cache over without: {first.seconds / alone.seconds:.3f} (goal 1.05)")
            for daemon in (False, True):
                for deferred in ((), (DEFERRED,)):
                    how = ("" if not daemon else ", daemon") + ("" if not deferred else ", deferred")
                    again = self.second(f"second checkout{how}", *reads, *deferred, daemon=daemon)
                    same = "the same bytes" if again.files == alone.files == first.files else "OTHER BYTES"
                    ratio = again.seconds / alone.seconds
                    print(f"second checkout{how}: over cold {ratio:.3f} (goal 0.03), {again.ran} actions run, {same}")
        finally:
            server.stop()

    def compare_execution(self, alone: Build) -> dict[str, object]:
        no_op = self.no_op()
        here = self.cold("few, one at a time", ONE_AT_A_TIME, models=self.few)
        there = self.executed("few, executed by 1 worker", workers=1, models=self.few)
        dispatch = max(there.seconds - here.seconds, 0.0) / (self.few * ACTIONS_OF_A_MODEL)
        print(f"an action takes {dispatch:.2f} s more on a server")
        builds = [{"name": "here, 2 processors", "workers": 2, "remote": False, "seconds": round(alone.seconds, 1)}]
        for workers in (1, 2):
            name = f"executed, {workers} worker{'s' if workers > 1 else ''}"
            build = self.executed(name, workers=workers, models=self.models)
            same = "the same bytes" if build.files == alone.files else "OTHER BYTES"
            print(f"{name}: over alone {build.seconds / alone.seconds:.2f}, {same}")
            builds.append({"name": name, "workers": workers, "remote": True, "seconds": round(build.seconds, 1)})
        return {
            "how": "benchmarks/remote_cache.py: casd and its clients on one machine; seconds by the clock",
            "machine": f"{processor()}, {os.cpu_count()} processors, {platform.system()}, {time.strftime('%B %Y')}",
            "models": self.models,
            "start": round(no_op, 2),
            "lookup": 0.0,
            "dispatch": round(dispatch, 3),
            "per_file": 0.0,
            "builds": builds,
        }

    def no_op(self) -> float:
        """Seconds of a build with nothing to do."""
        checkout = self.checkout("no-op", self.few)
        checkout.package(checkout.of_models, NO_DAEMON)
        seconds = checkout.package(checkout.of_models, NO_DAEMON).seconds
        checkout.remove()
        print(f"  nothing to do: {seconds:.1f} s", flush=True)
        return seconds

    def executed(self, name: str, *, workers: int, models: int) -> Build:
        server = start_casd(self.folder / f"execution-{workers}-{models}", quota="20G", jobs=workers)
        try:
            return self.cold(name, *execution_options(server), models=models)
        finally:
            server.stop()


def cache_options(server: RunningServer, *, write: bool) -> tuple[str, ...]:
    return (
        "--remote-cache-read",
        *(("--remote-cache-write",) if write else ()),
        f"--remote-store-address={server.address}",
        f"--remote-instance-name={server.instance}",
    )


def execution_options(server: RunningServer) -> tuple[str, ...]:
    return (
        "--pants-config-files=pants.execution.toml",
        f"--remote-store-address={server.address}",
        f"--remote-execution-address={server.address}",
        f"--remote-instance-name={server.instance}",
    )


if __name__ == "__main__":
    main()
