"""`./pants cache-doctor`: whether the remote cache works, and what to do if not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from pants.base.build_environment import get_buildroot
from pants.engine.console import Console
from pants.engine.goal import Goal, GoalSubsystem
from pants.engine.process import InteractiveProcess, InteractiveProcessResult
from pants.engine.rules import Effect, Get, Rule, collect_rules, goal_rule
from pants.option.global_options import GlobalOptions
from pants.option.option_types import BoolOption, FloatOption
from pants.util.strutil import help_text

from autoclave_pants.cache_counters import judge, line, read_report
from autoclave_pants.engine import environment, targets_named
from autoclave_pants.errors import BuildError
from autoclave_pants.remote_options import DOCTOR
from autoclave_pants.rules.fetching import SYSTEM_PATH
from autoclave_pants.rules.interpreters import CACHE_DIRECTORY, CACHE_NAME, HostPython, HostPythonRequest
from autoclave_pants.rules.library import SOURCES, LibraryClosure, LibraryClosureRequest
from autoclave_pants.rules.toolchains import Component, ComponentRequest
from autoclave_pants.subsystem import CacheReportSubsystem

MODULE = "autoclave.reapi"
PYTHONS = ("3.13", "3.12")
CLIENT = "client"
SETTINGS = "AUTOCLAVE_CACHE_SETTINGS"
"""autoclave.reapi.settings: where it takes the options from. In the environment, since headers may hold secrets."""

OPTIONS = (
    "remote_store_address",
    "remote_cache_read",
    "remote_cache_write",
    "remote_execution",
    "remote_execution_address",
    "remote_instance_name",
    "remote_ca_certs_path",
    "remote_oauth_bearer_token_path",
    "remote_store_headers",
    "remote_store_chunk_bytes",
    "remote_store_batch_api_size_limit",
    "remote_cache_warnings",
    "remote_cache_rpc_timeout_millis",
    "session_end_tasks_timeout",
    "cache_content_behavior",
)
PATHS = ("remote_ca_certs_path", "remote_oauth_bearer_token_path")
VARIABLES = ("SSL_CERT_FILE", "HTTPS_PROXY", "https_proxy")


class CacheDoctorSubsystem(GoalSubsystem):
    name = DOCTOR
    help = help_text(
        """
        Check the remote cache that Pants is configured for: its address, the way to it, TLS, the token, the instance, the rights to
        read and to write, a small and a large blob and an action result there and back, and the options around it. Each check is
        ok, a warning or failed, and says what to set. Exits 1 if anything failed.

            ./pants cache-doctor                   developers
            ./pants cache-doctor --required        CI: not to have a cache is a failure, too
            ./pants cache-doctor --report          after a build: whether the cache served it

        A server that hangs is given up on after --deadline seconds. Where writing is on, about 8 MiB are left on the server, as the
        API knows no deletion; it drops them in time, as it does what nobody asks for.
        """
    )

    required = BoolOption(default=False, help="Fail if no remote cache is configured, or Pants does not use it.")
    json = BoolOption(default=False, help="Print JSON instead of a table.")
    report = BoolOption(
        default=False,
        help="Judge what the last build reported of the cache ([autoclave-cache].report) instead of asking the server.",
    )
    deadline = FloatOption(default=10.0, help="Seconds that one step may take.")


class CacheDoctor(Goal):
    subsystem_cls = CacheDoctorSubsystem
    environment_behavior = Goal.EnvironmentBehavior.LOCAL_ONLY


def settings(options: GlobalOptions) -> dict[str, Any]:
    """Pants' options as the doctor takes them: enumerations by name, paths absolute."""
    values = {name: getattr(options, name) for name in OPTIONS}
    values = {name: getattr(value, "value", value) for name, value in values.items()}
    values.update({name: os.path.join(get_buildroot(), values[name]) for name in PATHS if values[name]})
    values["remote_store_headers"] = dict(values["remote_store_headers"])
    return values


async def doctor_process(arguments: tuple[str, ...], options: GlobalOptions, client: str) -> InteractiveProcess:
    """The process that examines the server. Raises `BuildError` if what it runs on cannot be had."""
    python = await Get(HostPython, HostPythonRequest(PYTHONS))
    if python.version is None:
        raise BuildError(DOCTOR, "start", f"this machine has no CPython {' or '.join(PYTHONS)} on PATH, in pyenv or uv")
    (lock,) = await targets_named(client, "[autoclave-cache].client")
    component = await Get(Component, ComponentRequest(lock, f"cp{python.version.replace('.', '')}"))
    library = await Get(LibraryClosure, LibraryClosureRequest(MODULE))
    return InteractiveProcess(
        argv=(python.link, "-s", "-m", MODULE, *arguments),
        env={
            **await environment(VARIABLES),
            "PATH": SYSTEM_PATH,
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": f"{SOURCES}:{CLIENT}",
            "PYTHONDONTWRITEBYTECODE": "1",
            SETTINGS: json.dumps(settings(options)),
        },
        input_digest=library.digest,
        immutable_input_digests={CLIENT: component.tree},
        append_only_caches={CACHE_NAME: CACHE_DIRECTORY},
    )


def judge_report(path: Path, console: Console, required: bool, as_json: bool) -> int:
    """Print what a report says of a build; returns the exit code: 1 if the cache did not serve it."""
    try:
        value, use = read_report(path)
    except ValueError as error:
        console.print_stderr(str(error))
        return 1 if required else 0
    if as_json:
        console.print_stdout(json.dumps(value, indent=2, sort_keys=True))
    else:
        verdict = judge(use)
        console.print_stdout(line(use))
        console.print_stdout(
            f"{verdict.state}: {verdict.reason} (./pants {' '.join(value['goals'])}, {value['address']})"
        )
    return 1 if judge(use).state == "failed" else 0


@goal_rule
async def cache_doctor(
    console: Console,
    command: CacheDoctorSubsystem,
    reports: CacheReportSubsystem,
    options: GlobalOptions,
) -> CacheDoctor:
    required = command.required or reports.required
    if command.report:
        path = Path(get_buildroot(), reports.report)
        return CacheDoctor(judge_report(path, console, required, command.json))
    arguments = [f"--deadline={command.deadline}"]
    arguments += ["--required"] if required else []
    arguments += ["--json"] if command.json else []
    try:
        process = await doctor_process(tuple(arguments), options, reports.client)
    except BuildError as error:
        console.print_stderr(f"{DOCTOR}: {error.reason}")
        return CacheDoctor(exit_code=1)
    result = await Effect(InteractiveProcessResult, InteractiveProcess, process)
    return CacheDoctor(exit_code=result.exit_code)


def rules() -> list[Rule]:
    return list(collect_rules())
