"""`./pants toolchain-info`: what a toolchain consists of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pants.engine.addresses import Address, UnparsedAddressInputs
from pants.engine.console import Console
from pants.engine.goal import Goal, GoalSubsystem
from pants.engine.rules import Get, MultiGet, Rule, collect_rules, goal_rule
from pants.engine.target import Targets
from pants.option.option_types import BoolOption
from pants.util.strutil import help_text

from autoclave_pants.rules.toolchains import Component, Toolchain, ToolchainRequest
from autoclave_pants.target_types import ToolchainPythonField


class ToolchainInfoSubsystem(GoalSubsystem):
    name = "toolchain-info"
    help = help_text(
        """
        Print the components of toolchains: versions, hashes, sizes, and the kind of Python.

            ./pants toolchain-info toolchains:tinygrad-0.14
        """
    )

    json = BoolOption(default=False, help="Print JSON instead of a table.")


class ToolchainInfo(Goal):
    subsystem_cls = ToolchainInfoSubsystem
    environment_behavior = Goal.EnvironmentBehavior.LOCAL_ONLY


def rows(toolchain: Toolchain) -> Iterator[Component]:
    if toolchain.python.component:
        yield toolchain.python.component
    yield from toolchain.components


def as_json(address: Address, toolchain: Toolchain) -> dict[str, Any]:
    return {
        "toolchain": str(address),
        "identity": toolchain.identity,
        "python": {"kind": toolchain.python.kind, "version": toolchain.python.version},
        "components": [
            {
                "name": each.name,
                "provides": each.provides,
                "identity": each.identity,
                "size": each.size,
                "files": each.files,
                "pins": list(each.pins),
            }
            for each in rows(toolchain)
        ],
    }


def as_table(address: Address, toolchain: Toolchain) -> Iterator[str]:
    kind = {"deb": "Debian packages, the sandbox's root", "host": "this machine's own"}[toolchain.python.kind]
    yield f"{address}"
    yield f"  identity {toolchain.identity}"
    yield f"  python   CPython {toolchain.python.version} ({kind})"
    for each in rows(toolchain):
        yield f"  {each.name:<12} {each.provides:<34} {each.size / 1e6:8.1f} MB {each.files:6} files  {each.identity}"


@goal_rule
async def toolchain_info(targets: Targets, console: Console, options: ToolchainInfoSubsystem) -> ToolchainInfo:
    addresses = [target.address for target in targets if target.has_field(ToolchainPythonField)]
    if not addresses:
        console.print_stderr("No toolchains among the given targets. Try `./pants toolchain-info toolchains::`.")
        return ToolchainInfo(exit_code=0)
    resolved = await MultiGet(
        Get(
            Toolchain,
            ToolchainRequest(
                UnparsedAddressInputs((str(address),), owning_address=None, description_of_origin="the command line")
            ),
        )
        for address in addresses
    )
    if options.json:
        described = [as_json(address, found) for address, found in zip(addresses, resolved)]
        console.print_stdout(json.dumps(described, indent=2, sort_keys=True))
    else:
        for address, found in zip(addresses, resolved):
            for line in as_table(address, found):
                console.print_stdout(line)
    return ToolchainInfo(exit_code=0)


def rules() -> list[Rule]:
    return list(collect_rules())
