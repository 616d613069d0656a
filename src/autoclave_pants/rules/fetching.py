"""The actions with network: they fetch what is pinned by hash. Everything after them runs without.

The scripts in `autoclave_pants/fetch` are inputs of these actions and run on the interpreter that Pants runs on. Proxies,
mirrors and tokens of this machine reach them, but are in no action's key.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from pants.base.build_environment import get_buildroot
from pants.core.util_rules.environments import EnvironmentsSubsystem
from pants.engine.fs import EMPTY_DIGEST, Digest
from pants.engine.process import FallibleProcessResult, Process
from pants.engine.rules import Get, Rule, collect_rules, rule
from pants.option.global_options import GlobalOptions

import autoclave_pants.fetch
from autoclave_pants.engine import (
    CACHE_HEAD_START,
    digest_of_files,
    digest_of_json,
    environment,
    merge,
    remove_prefix,
    run_process,
)
from autoclave_pants.errors import BuildError, reason_in
from autoclave_pants.rules.execution import refuse_everything_remote
from autoclave_pants.rules.interpreters import PantsInterpreter
from autoclave_pants.subsystem import AutoclaveSubsystem

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
MIRRORS_VARIABLE = "AUTOCLAVE_MIRRORS"
NETWORK_VARIABLES = (
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
)
INDEX_VARIABLES = (
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "PIP_CERT",
    "PIP_TRUSTED_HOST",
    "PIP_PROXY",
)
HUB_VARIABLES = ("HF_TOKEN", "HF_ENDPOINT")


@dataclass(frozen=True)
class Mirrors:
    """Directories and URL prefixes to ask by sha256, first to last."""

    locations: tuple[str, ...]


@dataclass(frozen=True)
class FetchRequest:
    """Run one fetch script. `output` is the directory it writes.

    With `variables` it is one that has network: those are taken from the user's environment, and it is told the mirrors.
    """

    script: str
    arguments: tuple[str, ...]
    inputs: Digest
    description: str
    variables: tuple[str, ...] = ()
    output: str = "out"


@dataclass(frozen=True)
class Fetched:
    """The result of a fetch script: its exit code, what it printed, and its output directory's digest."""

    exit_code: int
    log: str
    digest: Digest


@dataclass(frozen=True)
class FileRequest:
    """One file, pinned by sha256 and size (bytes), for the target with this address; it comes out as `name`."""

    target: str
    sha256: str
    size: Optional[int]
    url: str
    lfs: Optional[str]
    name: str


@dataclass(frozen=True)
class FetchedFile:
    """The file that a `FileRequest` asked for."""

    digest: Digest


async def script(name: str) -> Digest:
    """One of the scripts; each stands alone, so that an edit of one re-runs its own actions only."""
    path = Path(autoclave_pants.fetch.__file__).parent / name
    return await digest_of_files({name: path.read_bytes()})


@rule
async def mirrors(
    autoclave: AutoclaveSubsystem, environments: EnvironmentsSubsystem, options: GlobalOptions
) -> Mirrors:
    refuse_everything_remote(environments, options)
    extra = (await environment((MIRRORS_VARIABLE,))).get(MIRRORS_VARIABLE, "")
    locations = (*filter(None, (location.strip() for location in extra.split(","))), *autoclave.mirrors)
    return Mirrors(tuple(each if "://" in each else os.path.join(get_buildroot(), each) for each in locations))


@rule
async def fetch(request: FetchRequest, interpreter: PantsInterpreter, found: Mirrors) -> Fetched:
    own = await script(request.script)
    path = interpreter.path
    if request.variables:
        surroundings = {**await environment(request.variables), MIRRORS_VARIABLE: ",".join(found.locations)}
        path = interpreter.with_environment(f"fetch-{Path(request.script).stem}", surroundings)
    process = Process(
        argv=("/bin/sh", path, "-I", request.script, *request.arguments),
        description=request.description,
        input_digest=await merge((request.inputs, own)),
        env={"PATH": SYSTEM_PATH, "LC_ALL": "C.UTF-8"},
        append_only_caches=dict(interpreter.append_only_caches),
        output_directories=(request.output,),
        remote_cache_speculation_delay_millis=CACHE_HEAD_START,
    )
    return fetched(await run_process(process))


@rule
async def fetch_file(request: FileRequest) -> FetchedFile:
    wanted = {
        "target": request.target,
        "sha256": request.sha256,
        "size": request.size,
        "url": request.url,
        "output": f"out/{request.name}",
        **({"lfs": request.lfs} if request.lfs else {}),
    }
    result = await Get(
        Fetched,
        FetchRequest(
            "source.py",
            ("request.json",),
            await digest_of_json("request.json", wanted),
            f"Fetch {request.target}",
            variables=NETWORK_VARIABLES + HUB_VARIABLES,
        ),
    )
    if result.exit_code != 0:
        reason = reason_in(result.log).removeprefix(f"{request.target}: ")
        raise BuildError(request.target, "fetch", reason, result.log)
    return FetchedFile(await remove_prefix(result.digest, "out"))


def fetched(result: FallibleProcessResult) -> Fetched:
    log = (result.stdout + result.stderr).decode(errors="replace")
    return Fetched(result.exit_code, log, result.output_digest if result.exit_code == 0 else EMPTY_DIGEST)


def rules() -> list[Rule]:
    return list(collect_rules())
