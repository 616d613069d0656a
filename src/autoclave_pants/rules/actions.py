"""An action: one entry module of the library, run in the sandbox with a toolchain, declared inputs and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Optional

from pants.engine.addresses import UnparsedAddressInputs
from pants.engine.fs import Digest
from pants.engine.process import Process, ProcessCacheScope
from pants.engine.rules import Get, Rule, collect_rules, rule

from autoclave_pants.engine import digest_of_files, merge, remove_prefix, run_process, targets_named
from autoclave_pants.errors import BuildError, reason_in
from autoclave_pants.rules.fetching import SYSTEM_PATH
from autoclave_pants.rules.interpreters import CACHE_DIRECTORY, CACHE_NAME
from autoclave_pants.rules.library import Launcher, LibraryClosure, LibraryClosureRequest
from autoclave_pants.rules.toolchains import Component, ComponentRequest, Toolchain, ToolchainRequest
from autoclave_pants.subsystem import AutoclaveSubsystem, SandboxMode

REQUEST = "request.json"
OUTPUT = "out"
TOLD_PROCESSORS = "AUTOCLAVE_PROCESSORS={pants_concurrency}"
"""Pants puts in the number of processors when it runs the process, and after it has taken its key."""

SANDBOX_UNAVAILABLE = 120
"""Exit code of launch.sh when the sandbox cannot be set up."""


@dataclass(frozen=True)
class Variation:
    """What must not matter to an action's result, and which the reproducibility test therefore varies."""

    hash_seed: int = 0
    root: str = "/sandbox"
    uid: int = 1000

    def arguments(self) -> tuple[str, ...]:
        return ("--hash-seed", str(self.hash_seed), "--root", self.root, "--uid", str(self.uid))


@dataclass(frozen=True)
class ActionRequest:
    """Run `python -m module request.json` (or with other `arguments`). `inputs` lie beside the request; what it writes to `out/` is the result.

    `target` and `stage` name the action in progress lines and errors; they are not part of its key. `timeout` is in seconds.
    `processors`: how many the module could keep busy; it is told how many it may (`AUTOCLAVE_PROCESSORS`). 0: it needs one.
    `without`: packages of the library that the module does not import for this request.
    """

    module: str
    request: str
    inputs: Digest
    toolchain: Toolchain
    target: str = field(compare=False)
    stage: str = field(compare=False)
    variation: Variation = Variation()
    cache_scope: ProcessCacheScope = ProcessCacheScope.SUCCESSFUL
    timeout: Optional[int] = None
    arguments: tuple[str, ...] = (REQUEST,)
    processors: int = 0
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class ActionResult:
    """The files an action wrote (relative to `out/`), what it printed, and how long the process took when it ran."""

    exit_code: int
    outputs: Digest
    stdout: str
    log: str
    source: Any = field(compare=False)


@dataclass(frozen=True)
class References:
    """The toolchain of everything that is not the models' compiler."""

    toolchain: Toolchain


@dataclass(frozen=True)
class Bubblewrap:
    """The tree of the bubblewrap wheel; None when `[autoclave].sandbox` is "none"."""

    component: Optional[Component]


def request_json(values: Mapping[str, Any]) -> str:
    """A request as canonical JSON, so that equal requests have equal keys."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"))


@rule
async def references(autoclave: AutoclaveSubsystem) -> References:
    addresses = UnparsedAddressInputs(
        (autoclave.references,), owning_address=None, description_of_origin="the option [autoclave].references"
    )
    return References(await Get(Toolchain, ToolchainRequest(addresses)))


@rule
async def bubblewrap(autoclave: AutoclaveSubsystem) -> Bubblewrap:
    if autoclave.sandbox is SandboxMode.none:
        return Bubblewrap(None)
    (target,) = await targets_named(autoclave.bubblewrap, "the option [autoclave].bubblewrap")
    return Bubblewrap(await Get(Component, ComponentRequest(target, "cp313")))


def launcher_arguments(toolchain: Toolchain, mode: SandboxMode) -> tuple[str, ...]:
    python = toolchain.python
    where = ("--python-tree", "python") if python.kind == "deb" else ("--python-link", python.link)
    components = (("--component", f"{each.name}=toolchain/{each.name}") for each in toolchain.components)
    return (
        "--mode",
        mode.value,
        *(("--bwrap", "bwrap") if mode is SandboxMode.bubblewrap else ()),
        *where,
        "--python-abi",
        python.abi,
        *(argument for pair in components for argument in pair),
    )


def immutable_inputs(toolchain: Toolchain, sandbox: Bubblewrap) -> dict[str, Digest]:
    trees = {f"toolchain/{each.name}": each.tree for each in toolchain.components}
    if toolchain.python.component:
        trees["python"] = toolchain.python.component.tree
    if sandbox.component:
        trees["bwrap"] = sandbox.component.tree
    return trees


@rule
async def run_action(
    request: ActionRequest, autoclave: AutoclaveSubsystem, launcher: Launcher, sandbox: Bubblewrap
) -> ActionResult:
    library = await Get(LibraryClosure, LibraryClosureRequest(request.module, request.without))
    declared = await digest_of_files({REQUEST: request.request.encode()})
    host = request.toolchain.python.kind == "host"
    process = Process(
        argv=(
            "/bin/sh",
            "launch.sh",
            *launcher_arguments(request.toolchain, autoclave.sandbox),
            *request.variation.arguments(),
            *(("--setenv", TOLD_PROCESSORS) if request.processors else ()),
            "--",
            request.module,
            *request.arguments,
        ),
        description=f"{request.stage} {request.target}",
        input_digest=await merge((launcher.digest, library.digest, declared, request.inputs)),
        immutable_input_digests=immutable_inputs(request.toolchain, sandbox),
        env={"PATH": SYSTEM_PATH},
        append_only_caches={CACHE_NAME: CACHE_DIRECTORY} if host else {},
        output_directories=(OUTPUT,),
        cache_scope=request.cache_scope,
        concurrency_available=request.processors,
        timeout_seconds=request.timeout,
    )
    result = await run_process(process)
    log = result.stderr.decode(errors="replace")
    if result.exit_code == SANDBOX_UNAVAILABLE:
        raise BuildError(request.target, request.stage, reason_in(log), log)
    return ActionResult(
        result.exit_code,
        await remove_prefix(result.output_digest, OUTPUT),
        result.stdout.decode(errors="replace"),
        log,
        result.metadata,
    )


async def succeed(request: ActionRequest) -> ActionResult:
    """Run an action that has to succeed; its failure is a `BuildError` with what the module said."""
    result = await Get(ActionResult, ActionRequest, request)
    if result.exit_code != 0:
        raise BuildError(request.target, request.stage, reason_in(result.log), result.stdout + result.log)
    return result


def rules() -> list[Rule]:
    return list(collect_rules())
