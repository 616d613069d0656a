"""Where actions run: on this machine, or on the workers of an execution server (docs/remote-execution.md).

Only the actions of rules/actions.py ask. What has network or unpacks what was fetched runs on this machine, whose proxies, tokens and
mirrors it needs; an action's toolchain reaches a worker as part of its inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from pants.core.util_rules.environments import CompatiblePlatformsField, EnvironmentsSubsystem, RemotePlatformField
from pants.engine.environment import EnvironmentName
from pants.engine.process import FallibleProcessResult, Process
from pants.engine.rules import Rule, collect_rules, rule
from pants.option.global_options import GlobalOptions

from autoclave_pants.engine import (
    EngineFailure,
    environment_called,
    environment_target,
    run_process,
    run_process_in,
)
from autoclave_pants.errors import BuildError, ConfigurationError
from autoclave_pants.subsystem import AutoclaveSubsystem

OPTION = "[autoclave].execution"
DOCUMENT = "docs/remote-execution.md"
LOCALLY = "to build on this machine instead, run again with --autoclave-execution=''"


@dataclass(frozen=True)
class Execution:
    """Where actions run. `environment` is None for this machine; `address` is the execution server's."""

    environment: Optional[EnvironmentName] = None
    address: str = ""

    @property
    def remote(self) -> bool:
        return self.environment is not None

    def place(self) -> str:
        """Where that is, for messages."""
        return f"a worker of {self.address}" if self.remote else "this machine"


def refuse_everything_remote(environments: EnvironmentsSubsystem, options: GlobalOptions) -> None:
    """Without any environment Pants sends each process to workers, also those that fetch and those by which it reads variables."""
    if environments.remote_execution_used_globally(options):
        raise ConfigurationError(
            "remote_execution in [GLOBAL] is on and [environments-preview.names] is empty, so that workers, which have no network and none "
            f"of this machine's interpreters, would have to fetch as well: name a remote_environment there and in {OPTION} ({DOCUMENT})"
        )


@rule
async def execution(autoclave: AutoclaveSubsystem, options: GlobalOptions) -> Execution:
    if not autoclave.execution:
        return Execution()
    name = await environment_called(autoclave.execution, f"the option {OPTION}")
    target = (await environment_target(name)).val
    # The environment's own `fallback_environment`, where remote execution is off, may be this machine.
    if target is None or target.has_field(CompatiblePlatformsField):
        return Execution()
    if not target.has_field(RemotePlatformField):
        raise ConfigurationError(
            f"the option {OPTION} names the environment `{name.val}`, and {target.address} is a {target.alias}: name one whose target is "
            f"a remote_environment, or leave the option out to run actions on this machine ({DOCUMENT})"
        )
    return Execution(name, options.remote_execution_address or "")


async def run_there(execution: Execution, process: Process, target: str, stage: str) -> FallibleProcessResult:
    """Run the process of an action. `target` and `stage` name it in the error if no worker ran it to its end."""
    if execution.environment is None:
        return await run_process(process)
    try:
        return await run_process_in(execution.environment, process)
    except EngineFailure as error:
        raise BuildError(
            target,
            stage,
            f"the execution server {execution.address} did not run it to its end: {error}\n"
            f"See that it can be reached, and that workers run which have what the environment `{execution.environment.val}` asks for "
            f"({DOCUMENT}); or, {LOCALLY}",
            str(error),
        ) from None


def rules() -> list[Rule]:
    return list(collect_rules())
