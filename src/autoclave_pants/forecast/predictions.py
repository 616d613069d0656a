"""What actions, fetches and toolchains would give, as stand-ins that differ when their inputs do.

A predicted output is a small file that holds a hash of everything that decides it. It goes through the real rules as the real
output would, so that the hash of a later action covers all earlier ones. Two revisions with equal hashes build the same. The
reverse need not hold: an earlier action may give the same bytes for other inputs, which only running it tells.
"""

from __future__ import annotations

import ast
import hashlib
import json
import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pants.engine.fs import FileDigest
from pants.engine.rules import Get, MultiGet, Rule, collect_rules, rule
from pants.engine.target import SourcesField, Target

import autoclave_pants.fetch
from autoclave_pants.engine import NamedFile, contents_of, digest_of_entries, digest_of_files, hydrate, targets_at
from autoclave_pants.errors import BuildError, missing_file
from autoclave_pants.rules import actions
from autoclave_pants.rules.actions import OUTPUT, ActionRequest, ActionResult, Bubblewrap
from autoclave_pants.rules.driving_plan import PLAN
from autoclave_pants.rules.fetching import FetchedFile, FileRequest
from autoclave_pants.rules.library import Launcher, LibraryClosure, LibraryClosureRequest
from autoclave_pants.rules.toolchains import (
    Component,
    ComponentRequest,
    Toolchain,
    ToolchainPython,
    ToolchainRequest,
    adapter_version,
    allowed,
    of_renderer,
    only,
    tinygrad_tree,
)
from autoclave_pants.subsystem import AutoclaveSubsystem
from autoclave_pants.target_types.fields import ProvidesField, Sha256Field
from autoclave_pants.target_types.toolchains import (
    AbsentFlagsField,
    CommitField,
    ComponentField,
    DebLockSourceField,
    PythonVersionsField,
    ReleaseField,
    TinygradLockField,
    ToolchainComponentsField,
    ToolchainPythonField,
    ToolchainTinygradField,
    VendoredPathField,
    WheelLockSourceField,
)

NOT_OF_THE_KEY = ("toolchain", "cache_scope")
"""Fields of an action that its hash does not hold as they are: a toolchain counts by its identity."""

OPTIONS_THAT_COUNT_BY_THEIR_EFFECT = ("bubblewrap", "emulator", "library", "mirrors", "python", "references")
"""Options that say where something is; what is there counts. Of all other options of [autoclave], the value counts."""


@dataclass(frozen=True)
class NotRun:
    """Stands for what Pants says of a process."""

    total_elapsed_ms: int = 0


def hash_of(facts: Iterable[object]) -> str:
    """One sha256 (hexadecimal) of several facts, each by its text."""
    return hashlib.sha256(json.dumps([str(fact) for fact in facts]).encode()).hexdigest()


def hash_of_code(path: Path) -> str:
    """The sha256 of a Python file's code: comments and layout do not count."""
    return hash_of([ast.dump(ast.parse(path.read_text()))])


def hash_of_script(name: str) -> str:
    """The sha256 of the code of a script that fetches or unpacks."""
    return hash_of_code(Path(autoclave_pants.fetch.__file__).parent / name)


def significant(lock: str) -> list[str]:
    """What a lock says, whatever its comments, its layout and the order of its lines and hashes."""
    lines = (line.partition("#")[0].split() for line in lock.replace("\\\n", " ").splitlines())
    return sorted(" ".join(sorted(words)) for words in lines if words)


async def locked(target: Target, field: type[SourcesField]) -> list[str]:
    """What the lock of a component says."""
    snapshot = await hydrate(target[field])
    if not snapshot.files:
        raise missing_file(target.address, target[field])
    (text,) = (await contents_of(snapshot.digest)).values()
    return significant(text.decode(errors="replace"))


async def tinygrad_pins(target: Target, abi: str) -> list[object]:
    """What decides the files of a `tinygrad_source`."""
    if target[ReleaseField].value:
        if not target[TinygradLockField].value:
            raise BuildError(str(target.address), "toolchain", "`release` needs `source`, the lock of its wheel")
        return [
            "wheel",
            abi,
            *await locked(target, TinygradLockField),
            *map(hash_of_script, ("wheels.py", "unpack.py")),
        ]
    if target[VendoredPathField].value:
        tree, _ = await tinygrad_tree(target, abi)
        return ["tree", tree.fingerprint]
    return ["archive", target[Sha256Field].value, hash_of_script("unpack.py")]


async def pins_of(target: Target, abi: str) -> tuple[str, list[object]]:
    """The name of a component, and what decides its files."""
    if target.has_field(WheelLockSourceField):
        scripts = map(hash_of_script, ("wheels.py", "unpack.py"))
        return target[ComponentField].value, ["wheel", abi, *await locked(target, WheelLockSourceField), *scripts]
    if target.has_field(DebLockSourceField):
        scripts = map(hash_of_script, ("debs.py", "unpack.py"))
        return target[ComponentField].value, ["deb", *await locked(target, DebLockSourceField), *scripts]
    if target.has_field(ReleaseField):
        return "tinygrad", await tinygrad_pins(target, abi)
    raise BuildError(
        str(target.address),
        "toolchain",
        f"a {target.alias} is not a component: use wheel_lock, deb_lock or tinygrad_source",
    )


def provided_by(target: Target) -> str:
    """What provenance says that a component is."""
    if target.has_field(ProvidesField):
        return target[ProvidesField].value
    return f"{target[ReleaseField].value} {target[CommitField].value}"


async def stand_in(name: str, provides: str, pins: Iterable[object]) -> Component:
    """A component of one file, which holds the hash of what decides its real files."""
    identity = hash_of(pins)
    return Component(name, await digest_of_files({"identity": identity.encode()}), identity, 0, 0, provides)


@rule
async def predict_component(request: ComponentRequest) -> Component:
    name, pins = await pins_of(request.target, request.abi)
    return await stand_in(name, provided_by(request.target), pins)


async def predicted_python(target: Target, request: ToolchainRequest, autoclave: AutoclaveSubsystem) -> ToolchainPython:
    """All interpreters that the toolchain may end up with: which of them a machine can have is not known before it tries."""
    pins: list[object] = [request.unlike]
    for candidate in await targets_at(target[ToolchainPythonField].to_unparsed_address_inputs()):
        if not allowed(candidate, request.python or autoclave.python):
            continue
        if candidate.has_field(PythonVersionsField):
            pins.extend(("host", *candidate[PythonVersionsField].value))
        else:
            pins.extend((await pins_of(candidate, ""))[1])
    return ToolchainPython("deb", "3", await stand_in("python", "", pins), None)


@rule
async def predict_toolchain(request: ToolchainRequest, autoclave: AutoclaveSubsystem) -> Toolchain:
    target = only(await targets_at(request.addresses), request.addresses.description_of_origin, "toolchain")
    if not target.has_field(ToolchainPythonField):
        raise BuildError(str(target.address), "toolchain", f"it is a {target.alias}, not a toolchain")
    python = await predicted_python(target, request, autoclave)
    tinygrad = await targets_at(target[ToolchainTinygradField].to_unparsed_address_inputs())
    others = (
        *await targets_at(target[ToolchainComponentsField].to_unparsed_address_inputs()),
        *await of_renderer(target, request.renderer),
    )
    components = await MultiGet(Get(Component, ComponentRequest(each, python.abi)) for each in (*tinygrad, *others))
    version = adapter_version(only(tinygrad, target.address, "tinygrad")) if tinygrad else None
    return Toolchain(
        python,
        tuple(sorted(components, key=lambda each: each.name)),
        version,
        tuple(sorted(target[AbsentFlagsField].value or ())),
    )


@rule
async def predict_file(request: FileRequest) -> FetchedFile:
    """A file that is pinned by its hash is what it is, wherever it comes from. Its bytes are not there, and nobody reads them."""
    file = FileDigest(request.sha256, request.size or 0)
    return FetchedFile(await digest_of_entries((NamedFile(request.name, file),)))


def options_that_count(autoclave: AutoclaveSubsystem) -> list[str]:
    """The options of the backend that are part of actions' keys, as far as they are set."""
    values = autoclave.options.as_dict()
    return sorted(f"{name}={values[name]}" for name in values if name not in OPTIONS_THAT_COUNT_BY_THEIR_EFFECT)


def declared_of(request: ActionRequest) -> dict[str, Any]:
    """What an action is asked, by field."""
    names = (each.name for each in fields(request) if each.compare and each.name not in NOT_OF_THE_KEY)
    return {name: getattr(request, name) for name in names}


def outputs_of(request: ActionRequest, key: str) -> dict[str, bytes]:
    """What stands for the files that an action writes to `out/`: the one that its request names, if it names one."""
    asked: Mapping[str, Any] = json.loads(request.request or "{}")
    if "output" not in asked:
        return {}
    name = posixpath.relpath(asked["output"], OUTPUT)
    return {name: plan_of(asked, key) if name == PLAN else f"{key}\n".encode()}


def plan_of(asked: Mapping[str, Any], key: str) -> bytes:
    """A plan that the rules can read: every source is some part, and all that is planned follows from the hash."""
    parts = {f"part-{number}": number for number in range(len(asked["models"]))}
    warp = {"layout": key, "model_size": [0, 0], "history": None}
    return json.dumps({"kind": key, "parts": parts, "frame_skip": 0, "warp": warp, "why": ""}).encode()


@rule
async def predict_action(
    request: ActionRequest, autoclave: AutoclaveSubsystem, launcher: Launcher, sandbox: Bubblewrap
) -> ActionResult:
    library = await Get(LibraryClosure, LibraryClosureRequest(request.module, request.without))
    key = hash_of(
        (
            sorted(declared_of(request).items()),
            request.toolchain.identity,
            library.digest.fingerprint,
            launcher.digest.fingerprint,
            sandbox.component.identity if sandbox.component else None,
            options_that_count(autoclave),
            # How a request becomes a process.
            hash_of_code(Path(actions.__file__)),
        )
    )
    return ActionResult(0, await digest_of_files(outputs_of(request, key)), key, "", NotRun())


def rules() -> list[Rule]:
    return list(collect_rules())
