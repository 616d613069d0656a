"""An action: one entry module of the library, run in the sandbox with a toolchain, declared inputs and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Optional

from pants.engine.addresses import UnparsedAddressInputs
from pants.engine.fs import Digest
from pants.engine.process import FallibleProcessResult, Process, ProcessCacheScope
from pants.engine.rules import Get, Rule, collect_rules, rule

from autoclave_pants.engine import CACHE_HEAD_START, digest_of_files, files_of, merge, remove_prefix, targets_named
from autoclave_pants.errors import BuildError, reason_in
from autoclave_pants.rules.execution import DOCUMENT, LOCALLY, OPTION, Execution, run_there
from autoclave_pants.rules.fetching import SYSTEM_PATH
from autoclave_pants.rules.interpreters import CACHE_DIRECTORY, CACHE_NAME
from autoclave_pants.rules.library import Launcher, LibraryClosure, LibraryClosureRequest
from autoclave_pants.rules.toolchains import Component, ComponentRequest, Toolchain, ToolchainRequest
from autoclave_pants.subsystem import AutoclaveSubsystem, SandboxMode

REQUEST = "request.json"
OUTPUT = "out"
TOLD_PROCESSORS = "AUTOCLAVE_PROCESSORS={pants_concurrency}"
"""Pants puts in the number of processors when it runs the process on this machine, after it has taken its key."""

SANDBOX_UNAVAILABLE = 120
"""Exit code of launch.sh when the sandbox cannot be set up."""

LOST = (
    "\nA server that ignores the outputs that Pants declares does this, and so does what it once put into a cache: "
    f"{DOCUMENT} says what such a server needs, and how to be rid of such results."
)
"""What to do about a worker's outputs that are not there."""

LOOKUP_FIRST = 60_000
"""How long (milliseconds) no worker is asked while the cache is: Pants would start what it then calls off."""


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

    `outputs`: the files below `out/` that it writes whenever it succeeds; without one of them it did not.
    `target` and `stage` name the action in progress lines and errors; they are not part of its key. `timeout` is in seconds.
    `processors`: how many the module could keep busy; it is told how many it may (`AUTOCLAVE_PROCESSORS`). 0: it needs one.
    `without`: packages of the library that the module does not import for this request.
    """

    module: str
    request: str
    inputs: Digest
    toolchain: Toolchain
    outputs: tuple[str, ...]
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


def refuse_host_python(request: ActionRequest, execution: Execution) -> None:
    """A worker gets an action's inputs and nothing else, and the machine's own interpreter is none of them."""
    if execution.remote and request.toolchain.python.kind == "host":
        raise BuildError(
            request.target,
            request.stage,
            f"its toolchain's Python is this machine's own, which {execution.place()} does not have. {OPTION} needs the one of Debian's "
            'packages: set python = "deb" in [autoclave], which says what is missing where the packages cannot be had; '
            f"or, {LOCALLY}",
        )


def place_of(request: ActionRequest, execution: Execution) -> dict[str, Any]:
    """What the process of an action has on the machine that runs it, beside its inputs.

    A worker has no append-only cache of ours. For a worker Pants would put the processors that it may use on its own machine into the
    command line, and so into the key that the server has for it; without, a module uses as many as the worker lets it.
    """
    if execution.remote:
        return {"remote_cache_speculation_delay_millis": LOOKUP_FIRST}
    host = request.toolchain.python.kind == "host"
    return {
        "append_only_caches": {CACHE_NAME: CACHE_DIRECTORY} if host else {},
        "concurrency_available": request.processors,
        "remote_cache_speculation_delay_millis": CACHE_HEAD_START,
    }


async def outputs_of(request: ActionRequest, result: FallibleProcessResult, execution: Execution) -> Digest:
    """What an action wrote. Success without the files that it declares is none."""
    outputs = await remove_prefix(result.output_digest, OUTPUT)
    if result.exit_code == 0:
        found = await files_of(outputs)
        missing = ", ".join(f"{OUTPUT}/{path}" for path in request.outputs if path not in found)
        if missing:
            reason = f"it ended with success on {execution.place()}, but what it has to write is not there: {missing}"
            log = result.stderr.decode(errors="replace")
            raise BuildError(request.target, request.stage, f"{reason}{LOST if execution.remote else ''}", log)
    return outputs


@rule
async def run_action(
    request: ActionRequest, autoclave: AutoclaveSubsystem, launcher: Launcher, sandbox: Bubblewrap, execution: Execution
) -> ActionResult:
    refuse_host_python(request, execution)
    library = await Get(LibraryClosure, LibraryClosureRequest(request.module, request.without))
    declared = await digest_of_files({REQUEST: request.request.encode()})
    told = request.processors and not execution.remote
    process = Process(
        argv=(
            "/bin/sh",
            "launch.sh",
            *launcher_arguments(request.toolchain, autoclave.sandbox),
            *request.variation.arguments(),
            *(("--setenv", TOLD_PROCESSORS) if told else ()),
            "--",
            request.module,
            *request.arguments,
        ),
        description=f"{request.stage} {request.target}",
        input_digest=await merge((launcher.digest, library.digest, declared, request.inputs)),
        immutable_input_digests=immutable_inputs(request.toolchain, sandbox),
        env={"PATH": SYSTEM_PATH},
        output_directories=(OUTPUT,),
        cache_scope=request.cache_scope,
        timeout_seconds=request.timeout,
        **place_of(request, execution),
    )
    result = await run_there(execution, process, request.target, request.stage)
    log = result.stderr.decode(errors="replace")
    if result.exit_code == SANDBOX_UNAVAILABLE:
        where = f"on {execution.place()}: " if execution.remote else ""
        raise BuildError(request.target, request.stage, f"{where}{reason_in(log)}", log)
    return ActionResult(
        result.exit_code,
        await outputs_of(request, result, execution),
        result.stdout.decode(errors="replace"),
        log,
        result.metadata,
    )


async def succeed(request: ActionRequest) -> ActionResult:
    """Run an action that has to succeed; its failure is a `BuildError` with what the module said."""
    result = await Get(ActionResult, ActionRequest, request)
    if result.exit_code != 0:
        # Of a process that took too long Pants tells in its standard output.
        raise BuildError(
            request.target, request.stage, reason_in(result.log or result.stdout), result.stdout + result.log
        )
    return result


def rules() -> list[Rule]:
    return list(collect_rules())
