"""Builds that use a remote cache: what a build took from where, and what it says of it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from e2e.workspaces import temporary_files_gone
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from remote.checkouts import Checkout

COUNTER = re.compile(r"^ {2}(\w+): (\d+)$", re.MULTILINE)
BACKEND_ALONE = ("--backend-packages=['autoclave_pants']", "--no-verify-config")
"""Options that leave out what a build of models does not need, and Pants takes half as long to start."""

STARTED = re.compile(r"Starting: (\w+) (.*)")


@dataclass(frozen=True)
class Build:
    """What a build did. `counters`: what Pants logs with `--stats-log`; `artifacts`: sha256 by path below dist/models.

    `verdict` on the cache, and the `reason` for it, are what dist/cache-report.json says.
    """

    log: str
    counters: Mapping[str, int]
    artifacts: Mapping[str, str]
    verdict: str
    reason: str

    @property
    def ran(self) -> list[str]:
        """The processes that this machine started, once each, as "Compile models:one"."""
        return sorted({f"{stage} {target}" for stage, target in STARTED.findall(self.log)})

    @property
    def hits(self) -> int:
        return self.counters["remote_cache_requests_cached"]

    @property
    def misses(self) -> int:
        return self.counters["remote_cache_requests_uncached"]

    @property
    def read_errors(self) -> int:
        return self.counters["remote_cache_read_errors"]

    @property
    def written(self) -> int:
        return self.counters["remote_cache_write_successes"]

    @property
    def unwritten(self) -> int:
        """Results that were to be written and were not, with an error or without a word."""
        return self.counters["remote_cache_write_attempts"] - self.written

    @property
    def warnings(self) -> str:
        return "\n".join(line for line in self.log.splitlines() if "[WARN]" in line)


def build(
    checkout: Checkout,
    *options: str,
    env: Mapping[str, str] | None = None,
    user: int | None = None,
    until: str = "",
    then: Callable[[], object] | None = None,
    whole: bool = False,
) -> Build:
    """Package all models of the checkout, which has to succeed.

    Args:
        options: of ./pants.
        env: replaces this process' environment where given.
        user: uid to run as, which root alone may set.
        until: what the build has to say for `then` to be called, once, while it goes on.
        whole: with all backends of pants.toml, not ours alone.
    """
    command = ["./pants", "--pants-config-files=pants.ci.toml", f"--local-store-dir={checkout.store}", "--stats-log"]
    backends = () if whole else BACKEND_ALONE
    lines = []
    with (
        temporary_files_gone(os.environ if env is None else env) as variables,
        subprocess.Popen(
            [*command, *backends, *options, "package", "models::"],
            cwd=checkout.root,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
        ) as process,
    ):
        for line in process.stderr or ():
            lines.append(line)
            if then and until in line:
                then()
                then = None
    log = "".join(lines)
    assert process.returncode == 0, log
    assert then is None, f"the build never said {until!r}:\n{log}"
    counters = {name: int(count) for name, count in COUNTER.findall(log)}
    told = json.loads((checkout.root / "dist/cache-report.json").read_text())
    return Build(log, counters, artifacts(checkout.root), told["verdict"], told["reason"])


def artifacts(root: Path) -> dict[str, str]:
    """The sha256 of each file below dist/models, by its path from there."""
    models = root / "dist/models"
    files = (path for path in models.rglob("*") if path.is_file())
    return {str(path.relative_to(models)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def artifact_of(built: Build, name: str, hardware: str = "cpu") -> str:
    """The sha256 of a model's artifact."""
    return built.artifacts[f"{name}/{hardware}/{name}_tinygrad.pkl"]


def copy_folder(source: Path, destination: Path) -> Path:
    """A copy with the holes that it has: a store of Pants consists of sparse files."""
    subprocess.run(["cp", "-a", "--sparse=always", "--", source, destination], check=True)
    return destination


def dense_model(rows: int, columns: int) -> bytes:
    """One product x (1, rows) @ w (rows, columns); its artifact holds the weights as they are, 4 bytes each."""
    pattern = np.random.Generator(np.random.PCG64(7)).integers(-16, 17, 65521).astype(np.float32) / 16
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "dense",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, rows])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, columns])],
        [numpy_helper.from_array(np.resize(pattern, (rows, columns)), "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    return bytes(model.SerializeToString(deterministic=True))
