"""Toolchain targets become trees of files with identities.

A component's identity is the sha256 of its files' hashes (docs/toolchains.md); a toolchain's is the sha256 of its
components'. Neither depends on where, when or by whom something was fetched.
"""

from __future__ import annotations

import hashlib
import json
import logging
import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Optional

from pants.core.util_rules.environments import EnvironmentsSubsystem
from pants.engine.addresses import UnparsedAddressInputs
from pants.engine.fs import Digest, DigestEntries, FileEntry, SymlinkEntry
from pants.engine.rules import Get, MultiGet, Rule, collect_rules, rule
from pants.engine.target import SourcesField, Target, Targets
from pants.option.global_options import GlobalOptions

from autoclave_pants.engine import (
    add_prefix,
    contents_of,
    entries_of,
    files_in_checkout,
    files_of,
    hydrate,
    rearranged,
    remove_prefix,
    subset,
    targets_at,
)
from autoclave_pants.errors import BuildError, missing_file, reason_in
from autoclave_pants.fetch.unpack import EXECUTABLE, LAYOUT, LINK, REGULAR, entry_line, identity
from autoclave_pants.rules.execution import refuse_everything_remote
from autoclave_pants.rules.fetching import (
    INDEX_VARIABLES,
    NETWORK_VARIABLES,
    Fetched,
    FetchedFile,
    FetchRequest,
    FileRequest,
)
from autoclave_pants.rules.interpreters import HostPython, HostPythonRequest
from autoclave_pants.subsystem import AutoclaveSubsystem, PythonKind
from autoclave_pants.target_types.fields import AddressesField, ProvidesField, Sha256Field, SizeField, UrlField
from autoclave_pants.target_types.toolchains import (
    AbsentFlagsField,
    AdapterField,
    ArchiveField,
    CommitField,
    ComponentField,
    DebLockSourceField,
    DropField,
    PythonVersionsField,
    ReleaseField,
    TinygradLockField,
    ToolchainComponentsField,
    ToolchainHipField,
    ToolchainIr3Field,
    ToolchainPythonField,
    ToolchainTinygradField,
    VendoredPathField,
    WheelLockSourceField,
)

logger = logging.getLogger(__name__)

PYTHON_IN_TREE = re.compile(r"usr/bin/python3\.(\d+)")
CANNOT_BE_HAD = 3
"""Exit code of debs.py: neither a mirror nor a Debian package client of this machine has the packages."""

INSTEAD = (
    "A mirror serves them without an archive: [autoclave].mirrors, or the variable AUTOCLAVE_MIRRORS, may name a directory that has "
    "each file of the lock under the name of its sha256."
)
"""What to do about packages that cannot be had."""

RENDERER_FIELDS: Mapping[str, type[AddressesField]] = {"ir3": ToolchainIr3Field, "hip": ToolchainHipField}
"""By renderer: the field with the components that only models of that renderer are compiled with."""

RENDERER_COMPONENTS = {"ir3": "toolchains:tinymesa", "hip": "toolchains:comgr"}
"""By renderer: an example for its field."""


@dataclass(frozen=True)
class Component:
    """One component: its files and what identifies them. `provides` and `pins` are for people."""

    name: str
    tree: Digest
    identity: str
    size: int
    files: int
    provides: str
    pins: tuple[str, ...] = ()


@dataclass(frozen=True)
class ToolchainPython:
    """The interpreter of a toolchain: `tree` is its root file system (kind "deb"), `link` leads to it (kind "host")."""

    kind: str
    version: str
    component: Optional[Component]
    link: Optional[str]

    @property
    def abi(self) -> str:
        return f"cp{self.version.replace('.', '')}"

    @property
    def identity(self) -> str:
        return self.component.identity if self.component else f"host CPython {self.version}"


@dataclass(frozen=True)
class Toolchain:
    """A resolved toolchain. Nothing in it tells where this machine keeps things."""

    python: ToolchainPython
    components: tuple[Component, ...]
    tinygrad: Optional[str]
    absent_flags: tuple[str, ...]

    @property
    def identity(self) -> str:
        lines = [f"python {self.python.identity}", *(f"{c.name} {c.identity}" for c in self.components)]
        return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


@dataclass(frozen=True)
class ToolchainRequest:
    """The address of a `toolchain` target and who asks for it.

    `python` overrides which kinds of Python may serve; the host's is rather not of the version `unlike`. `renderer` is the code
    generator to compile with, for which the toolchain may have components that others do without.
    """

    addresses: UnparsedAddressInputs
    python: Optional[PythonKind] = None
    unlike: str = ""
    renderer: str = ""


@dataclass(frozen=True)
class ComponentRequest:
    """A component target, to be unpacked for this Python ABI ("cp313")."""

    target: Target
    abi: str


@dataclass(frozen=True)
class PythonRequest:
    """One candidate for a toolchain's interpreter, if it can be of another version than `unlike`."""

    target: Target
    unlike: str


@dataclass(frozen=True)
class PythonCandidate:
    """What became of a candidate: the interpreter, or why it cannot be had on this machine."""

    python: Optional[ToolchainPython]
    why_not: str = ""


def identity_of(entries: DigestEntries) -> str:
    """The identity of a tree (docs/toolchains.md), from its digest alone."""
    lines = []
    for entry in entries:
        if isinstance(entry, FileEntry):
            mode = EXECUTABLE if entry.is_executable else REGULAR
            found = entry.file_digest
            lines.append(entry_line(found.fingerprint, found.serialized_bytes_length, mode, entry.path))
        elif isinstance(entry, SymlinkEntry):
            target = entry.target.encode()
            lines.append(entry_line(hashlib.sha256(target).hexdigest(), len(target), LINK, entry.path))
    return identity(lines)


async def measured(name: str, tree: Digest, provides: str, pins: Iterable[str]) -> Component:
    entries = await entries_of(tree)
    sizes = [entry.file_digest.serialized_bytes_length for entry in entries if isinstance(entry, FileEntry)]
    return Component(name, tree, identity_of(entries), sum(sizes), len(sizes), provides, tuple(pins))


def only(targets: Targets, target: object, field: str) -> Target:
    if len(targets) != 1:
        names = ", ".join(str(found.address) for found in targets)
        raise BuildError(
            str(target), "toolchain", f"the field `{field}` names {len(targets)} targets ({names}), not one"
        )
    return targets[0]


def checked(result: Fetched, target: object, stage: str) -> Fetched:
    if result.exit_code != 0:
        raise BuildError(str(target), stage, reason_in(result.log), result.log)
    return result


async def unpacked(
    kind: str, name: str, fetched: Digest, target: object, keep: str = "", drop: tuple[str, ...] = ()
) -> Digest:
    """Unpack what a fetch action wrote below `fetched/` into a tree, without running anything of it."""
    drops = (f"--drop={pattern}" for pattern in drop)
    request = FetchRequest(
        "unpack.py",
        ("--component", name, "--kind", kind, "--keep", keep, *drops, "--output", "tree", "--flat", "flat", "fetched"),
        fetched,
        f"Unpack {target}",
        output="flat",
    )
    result = checked(await Get(Fetched, FetchRequest, request), target, "unpack")
    return await tree_of(await remove_prefix(result.digest, "flat"))


async def tree_of(flat: Digest) -> Digest:
    """The tree whose files unpack.py laid into one folder."""
    layout = json.loads((await contents_of(await subset(flat, (LAYOUT,))))[LAYOUT])
    return await rearranged(flat, {str(number): path for number, path in enumerate(layout["files"])}, layout["links"])


async def lock_of(target: Target, field: type[SourcesField]) -> tuple[str, Digest, tuple[str, ...]]:
    """The path, digest and pins (lines that say something) of a lock file."""
    snapshot = await hydrate(target[field])
    if not snapshot.files:
        raise missing_file(target.address, target[field])
    text = next(iter((await contents_of(snapshot.digest)).values()), b"").decode(errors="replace")
    lines = (line.partition("#")[0].strip() for line in text.replace("\\\n", " ").splitlines())
    return snapshot.files[0], snapshot.digest, tuple(line.partition(" --hash")[0].strip() for line in lines if line)


async def wheels_tree(lock: str, digest: Digest, name: str, abi: str, target: Target) -> Digest:
    request = FetchRequest(
        "wheels.py",
        ("--component", name, "--lock", lock, "--python-abi", abi, "--output", "fetched"),
        digest,
        f"Fetch {target.address} ({abi})",
        variables=NETWORK_VARIABLES + INDEX_VARIABLES,
        output="fetched",
    )
    result = checked(await Get(Fetched, FetchRequest, request), target.address, "fetch")
    drop = target[DropField].value if target.has_field(DropField) else ()
    return await unpacked("wheel", name, result.digest, target.address, drop=drop)


async def debs(target: Target) -> tuple[Fetched, tuple[str, ...]]:
    lock, digest, pins = await lock_of(target, DebLockSourceField)
    request = FetchRequest(
        "debs.py",
        (
            "--component",
            target[ComponentField].value,
            "--lock",
            lock,
            "--output",
            "fetched",
        ),
        digest,
        f"Fetch {target.address}",
        variables=NETWORK_VARIABLES,
        output="fetched",
    )
    return await Get(Fetched, FetchRequest, request), pins


async def tinygrad_tree(target: Target, abi: str) -> tuple[Digest, str]:
    """The tree of a `tinygrad_source` (it holds the directory `tinygrad/`) and what pins it."""
    release, commit = target[ReleaseField].value, target[CommitField].value
    if bool(release) == bool(commit):
        raise BuildError(str(target.address), "toolchain", "give either `release` (with `source`) or `commit`")
    if release:
        if not target[TinygradLockField].value:
            raise BuildError(str(target.address), "toolchain", "`release` needs `source`, the lock of its wheel")
        lock, digest, pins = await lock_of(target, TinygradLockField)
        if pins != (f"tinygrad=={release}",):
            raise BuildError(
                str(target.address),
                "toolchain",
                f"{lock} pins {', '.join(pins) or 'nothing'}, not tinygrad=={release} alone",
            )
        return await wheels_tree(lock, digest, "tinygrad", abi, target), pins[0]
    if not target[AdapterField].value:
        raise BuildError(
            str(target.address),
            "toolchain",
            "`commit` needs `adapter`, the release whose internals it has, for example adapter='0.14.0'",
        )
    vendored = target[VendoredPathField].value
    if vendored:
        directory = posixpath.normpath(posixpath.join(target.address.spec_path, vendored))
        origin = f"the field `path` of {target.address}"
        tree = await files_in_checkout((f"{directory}/tinygrad/**/*",), origin)
        return await remove_prefix(tree, directory), f"commit {commit}"
    archive = await tinygrad_archive(target)
    return await unpacked("tar", "tinygrad", archive, target.address, keep="tinygrad"), f"commit {commit}"


async def tinygrad_archive(target: Target) -> Digest:
    """The archive of a commit, below `fetched/`, checked by its sha256."""
    sha256, archive, url = target[Sha256Field].value, target[ArchiveField].value, target[UrlField].value
    if not sha256 or bool(archive) == bool(url):
        raise BuildError(
            str(target.address),
            "toolchain",
            "`commit` needs `path`, or `sha256` with either `archive` or `url` and `size`",
        )
    if archive:
        path = posixpath.normpath(posixpath.join(target.address.spec_path, archive))
        digest = await files_in_checkout((path,), f"the field `archive` of {target.address}")
        found = (await files_of(digest))[path].fingerprint
        if found != sha256:
            raise BuildError(
                str(target.address),
                "fetch",
                f"{archive} has the sha256 {found}, but `sha256` says {sha256}: correct the field or bring the right archive",
            )
        return await add_prefix(await remove_prefix(digest, posixpath.dirname(path)), "fetched")
    assert url is not None
    request = FileRequest(str(target.address), sha256, target[SizeField].value, url, None, "archive.tar")
    return await add_prefix((await Get(FetchedFile, FileRequest, request)).digest, "fetched")


@rule
async def component(request: ComponentRequest) -> Component:
    target = request.target
    if target.has_field(WheelLockSourceField):
        lock, digest, pins = await lock_of(target, WheelLockSourceField)
        name = target[ComponentField].value
        tree = await wheels_tree(lock, digest, name, request.abi, target)
        return await measured(name, tree, target[ProvidesField].value, pins)
    if target.has_field(DebLockSourceField):
        fetched, pins = await debs(target)
        if fetched.exit_code == CANNOT_BE_HAD:
            raise BuildError(str(target.address), "fetch", f"{reason_in(fetched.log)}\n{INSTEAD}", fetched.log)
        tree = await unpacked(
            "deb", target[ComponentField].value, checked(fetched, target.address, "fetch").digest, target.address
        )
        return await measured(target[ComponentField].value, tree, target[ProvidesField].value, pins)
    if target.has_field(ReleaseField):
        tree, pin = await tinygrad_tree(target, request.abi)
        version = target[ReleaseField].value or f"commit {target[CommitField].value}"
        return await measured("tinygrad", tree, f"tinygrad {version}", (pin,))
    raise BuildError(
        str(target.address),
        "toolchain",
        f"a {target.alias} is not a component: use wheel_lock, deb_lock or tinygrad_source",
    )


@rule
async def python_candidate(request: PythonRequest) -> PythonCandidate:
    target = request.target
    if target.has_field(PythonVersionsField):
        versions = tuple(sorted(target[PythonVersionsField].value, key=lambda version: version == request.unlike))
        host = await Get(HostPython, HostPythonRequest(versions))
        if host.version is None:
            wanted = " or ".join(target[PythonVersionsField].value)
            return PythonCandidate(
                None, f"{target.address}: this machine has no CPython {wanted} on PATH, in pyenv or uv"
            )
        return PythonCandidate(ToolchainPython("host", host.version, None, host.link))
    if not target.has_field(DebLockSourceField):
        raise BuildError(
            str(target.address), "toolchain", f"a {target.alias} is not a Python: use deb_lock or host_python"
        )
    fetched, pins = await debs(target)
    if fetched.exit_code == CANNOT_BE_HAD:
        reason = f"{target.address}: {reason_in(fetched.log)}"
        logger.warning(f"{reason}\nThe next Python that the toolchain names is used instead.")
        return PythonCandidate(None, reason)
    tree = await unpacked("deb", "python", checked(fetched, target.address, "fetch").digest, target.address)
    minors = sorted(
        {int(match[1]) for match in map(PYTHON_IN_TREE.fullmatch, await files_of(tree)) if match is not None}
    )
    if not minors:
        raise BuildError(str(target.address), "toolchain", "its packages hold no usr/bin/python3.N")
    found = await measured("python", tree, target[ProvidesField].value, pins)
    return PythonCandidate(ToolchainPython("deb", f"3.{minors[-1]}", found, None))


def allowed(target: Target, kind: PythonKind) -> bool:
    is_host = target.has_field(PythonVersionsField)
    return kind is PythonKind.auto or is_host == (kind is PythonKind.host)


async def choose_python(target: Target, kind: PythonKind, unlike: str) -> ToolchainPython:
    """The first of the toolchain's interpreters that this machine can have."""
    field = target[ToolchainPythonField]
    reasons: list[str] = []
    for candidate in await targets_at(field.to_unparsed_address_inputs()):
        if not allowed(candidate, kind):
            continue
        result = await Get(PythonCandidate, PythonRequest(candidate, unlike))
        if result.python is not None:
            return result.python
        reasons.append(result.why_not)
    raise BuildError(
        str(target.address),
        "toolchain",
        f"no Python of the kind `{kind.value}` ([autoclave].python) can be had:\n"
        + "\n".join(f"  {r}" for r in reasons),
    )


def adapter_version(tinygrad: Target) -> Optional[str]:
    """The release whose internals a `tinygrad_source` has."""
    return tinygrad[ReleaseField].value or tinygrad[AdapterField].value


async def of_renderer(toolchain: Target, renderer: str) -> tuple[Target, ...]:
    """The components of a toolchain that only models of this renderer are compiled with."""
    field = RENDERER_FIELDS.get(renderer)
    if field is None:
        return ()
    found = await targets_at(toolchain[field].to_unparsed_address_inputs())
    if not found:
        raise BuildError(
            str(toolchain.address),
            "toolchain",
            f"it has nothing to compile renderer='{renderer}' with: name it in its field `{field.alias}`, for example "
            f'{field.alias}="{RENDERER_COMPONENTS[renderer]}"',
        )
    return tuple(found)


@rule
async def toolchain(
    request: ToolchainRequest,
    autoclave: AutoclaveSubsystem,
    environments: EnvironmentsSubsystem,
    options: GlobalOptions,
) -> Toolchain:
    refuse_everything_remote(environments, options)
    target = only(await targets_at(request.addresses), request.addresses.description_of_origin, "toolchain")
    if not target.has_field(ToolchainPythonField):
        raise BuildError(str(target.address), "toolchain", f"it is a {target.alias}, not a toolchain")
    python = await choose_python(target, request.python or autoclave.python, request.unlike)
    tinygrad = await targets_at(target[ToolchainTinygradField].to_unparsed_address_inputs())
    others = (
        *await targets_at(target[ToolchainComponentsField].to_unparsed_address_inputs()),
        *await of_renderer(target, request.renderer),
    )
    components = await MultiGet(Get(Component, ComponentRequest(each, python.abi)) for each in (*tinygrad, *others))
    names = [each.name for each in components]
    for name in names:
        if names.count(name) > 1:
            raise BuildError(
                str(target.address),
                "toolchain",
                f"{names.count(name)} of its components have the name `{name}`: keep one of them",
            )
    version = adapter_version(only(tinygrad, target.address, "tinygrad")) if tinygrad else None
    return Toolchain(
        python,
        tuple(sorted(components, key=lambda each: each.name)),
        version,
        tuple(sorted(target[AbsentFlagsField].value or ())),
    )


def rules() -> list[Rule]:
    return list(collect_rules())
