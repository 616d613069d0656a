"""`./pants toolchain-info`: what a toolchain consists of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pants.engine.addresses import Address, UnparsedAddressInputs
from pants.engine.console import Console
from pants.engine.goal import Goal, GoalSubsystem
from pants.engine.rules import Get, Rule, collect_rules, goal_rule
from pants.engine.target import Target, Targets
from pants.option.option_types import BoolOption
from pants.util.strutil import help_text

from autoclave_pants.errors import BuildError
from autoclave_pants.rules.toolchains import RENDERER_FIELDS, Component, Toolchain, ToolchainRequest
from autoclave_pants.target_types.toolchains import ToolchainPythonField


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


@dataclass(frozen=True)
class Described:
    """A toolchain as most models have it, and as the renderers have it that it has more components for.

    `unavailable`: renderers whose components cannot be had on this machine, each with the reason.
    """

    address: Address
    toolchain: Toolchain
    renderers: tuple[tuple[str, Toolchain], ...]
    unavailable: tuple[tuple[str, str], ...]

    def beside(self, other: Toolchain) -> Iterator[Component]:
        """What the other has beside the components of this one."""
        return (each for each in other.components if each not in self.toolchain.components)


def rows(toolchain: Toolchain) -> Iterator[Component]:
    if toolchain.python.component:
        yield toolchain.python.component
    yield from toolchain.components


def component_json(component: Component) -> dict[str, Any]:
    return {
        "name": component.name,
        "provides": component.provides,
        "identity": component.identity,
        "size": component.size,
        "files": component.files,
        "pins": list(component.pins),
    }


def as_json(described: Described) -> dict[str, Any]:
    toolchain = described.toolchain
    return {
        "toolchain": str(described.address),
        "identity": toolchain.identity,
        "python": {"kind": toolchain.python.kind, "version": toolchain.python.version},
        "components": [component_json(each) for each in rows(toolchain)],
        "renderers": {
            renderer: {
                "identity": found.identity,
                "components": [component_json(each) for each in described.beside(found)],
            }
            for renderer, found in described.renderers
        },
        "unavailable": {renderer: reason for renderer, reason in described.unavailable},
    }


def row(component: Component) -> str:
    size = f"{component.size / 1e6:8.1f} MB {component.files:6} files"
    return f"  {component.name:<12} {component.provides:<34} {size}  {component.identity}"


def as_table(described: Described) -> Iterator[str]:
    toolchain = described.toolchain
    kind = {"deb": "Debian packages, the sandbox's root", "host": "this machine's own"}[toolchain.python.kind]
    yield f"{described.address}"
    yield f"  identity {toolchain.identity}"
    yield f"  python   CPython {toolchain.python.version} ({kind})"
    yield from map(row, rows(toolchain))
    for renderer, found in described.renderers:
        yield f"  with renderer='{renderer}': identity {found.identity}"
        yield from map(row, described.beside(found))
    for renderer, reason in described.unavailable:
        yield f"  with renderer='{renderer}': cannot be had on this machine: {reason}"


async def resolved(address: Address, renderer: str = "") -> Toolchain:
    named = UnparsedAddressInputs((str(address),), owning_address=None, description_of_origin="the command line")
    return await Get(Toolchain, ToolchainRequest(named, renderer=renderer))


async def describe(target: Target) -> Described:
    renderers, unavailable = [], []
    for renderer, field in sorted(RENDERER_FIELDS.items()):
        if target[field].value:
            try:
                renderers.append((renderer, await resolved(target.address, renderer)))
            except BuildError as error:
                unavailable.append((renderer, error.reason))
    return Described(target.address, await resolved(target.address), tuple(renderers), tuple(unavailable))


@goal_rule
async def toolchain_info(targets: Targets, console: Console, options: ToolchainInfoSubsystem) -> ToolchainInfo:
    toolchains = [target for target in targets if target.has_field(ToolchainPythonField)]
    if not toolchains:
        console.print_stderr("No toolchains among the given targets. Try `./pants toolchain-info toolchains::`.")
        return ToolchainInfo(exit_code=0)
    described = [await describe(target) for target in toolchains]
    if options.json:
        console.print_stdout(json.dumps([as_json(each) for each in described], indent=2, sort_keys=True))
    else:
        for each in described:
            for line in as_table(each):
                console.print_stdout(line)
    return ToolchainInfo(exit_code=0)


def rules() -> list[Rule]:
    return list(collect_rules())
