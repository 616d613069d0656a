"""Every call into the Pants engine, so that a port to another Pants is a change of this file.

Pants 2.17.1 knows only `Get` and `MultiGet`; it follows plain coroutines from a rule into this module.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pants.base.exceptions import EngineError
from pants.core.util_rules.environments import EnvironmentNameRequest, EnvironmentTarget
from pants.engine.addresses import UnparsedAddressInputs
from pants.engine.env_vars import EnvironmentVars, EnvironmentVarsRequest
from pants.engine.environment import EnvironmentName
from pants.engine.fs import (
    AddPrefix,
    CreateDigest,
    Digest,
    DigestContents,
    DigestEntries,
    DigestSubset,
    FileContent,
    FileDigest,
    FileEntry,
    GlobMatchErrorBehavior,
    MergeDigests,
    PathGlobs,
    RemovePrefix,
    Snapshot,
    SymlinkEntry,
)
from pants.engine.process import FallibleProcessResult, Process
from pants.engine.rules import Get
from pants.engine.target import HydratedSources, HydrateSourcesRequest, SourcesField, Targets

CACHE_HEAD_START = 10_000
"""Milliseconds that a remote cache has for its answer before the process is started beside it.

Without a head start Pants starts every process at once and cancels it when the answer comes. A cache that refuses, or does not
know the action, is not waited for; one that says nothing is waited for no longer than this.
"""


@dataclass(frozen=True)
class NamedFile:
    """One file of a digest: its path and content hash."""

    path: str
    digest: FileDigest


class EngineFailure(Exception):
    """The engine could not run a process to its end, for example because an execution server is gone. It says why."""


async def run_process(process: Process) -> FallibleProcessResult:
    """Run a process in the environment of the rule that asks."""
    return await Get(FallibleProcessResult, Process, process)


async def run_process_in(environment: EnvironmentName, process: Process) -> FallibleProcessResult:
    """Run a process in another environment. Raises `EngineFailure` if it could not be run to its end."""
    try:
        return await Get(FallibleProcessResult, {process: Process, environment: EnvironmentName})
    except EngineError as error:
        raise EngineFailure(str(error)) from None


async def environment_called(name: str, origin: str) -> EnvironmentName:
    """The environment of this name in `[environments-preview.names]`, or the one that it falls back to."""
    return await Get(EnvironmentName, EnvironmentNameRequest(name, description_of_origin=origin))


async def environment_target(name: EnvironmentName) -> EnvironmentTarget:
    return await Get(EnvironmentTarget, EnvironmentName, name)


async def merge(digests: Iterable[Digest]) -> Digest:
    return await Get(Digest, MergeDigests(tuple(digests)))


async def digest_of_files(files: Mapping[str, bytes]) -> Digest:
    return await Get(Digest, CreateDigest(FileContent(path, content) for path, content in sorted(files.items())))


async def digest_of_entries(files: Iterable[NamedFile]) -> Digest:
    return await Get(Digest, CreateDigest(FileEntry(file.path, file.digest) for file in files))


async def rearranged(digest: Digest, places: Mapping[str, str], links: Mapping[str, str]) -> Digest:
    """The files of `digest` that `places` gives another path each, and links (path to target)."""
    files = [
        FileEntry(places[entry.path], entry.file_digest, entry.is_executable)
        for entry in await entries_of(digest)
        if isinstance(entry, FileEntry) and entry.path in places
    ]
    return await Get(Digest, CreateDigest([*files, *(SymlinkEntry(path, target) for path, target in links.items())]))


async def digest_of_json(path: str, value: object) -> Digest:
    return await digest_of_files({path: json.dumps(value, sort_keys=True, separators=(",", ":")).encode()})


async def add_prefix(digest: Digest, prefix: str) -> Digest:
    return await Get(Digest, AddPrefix(digest, prefix))


async def remove_prefix(digest: Digest, prefix: str) -> Digest:
    return await Get(Digest, RemovePrefix(digest, prefix))


async def entries_of(digest: Digest) -> DigestEntries:
    return await Get(DigestEntries, Digest, digest)


async def files_of(digest: Digest) -> dict[str, FileDigest]:
    """The regular files of a digest by path."""
    return {entry.path: entry.file_digest for entry in await entries_of(digest) if isinstance(entry, FileEntry)}


async def contents_of(digest: Digest) -> dict[str, bytes]:
    return {file.path: file.content for file in await Get(DigestContents, Digest, digest)}


async def subset(digest: Digest, paths: Iterable[str]) -> Digest:
    return await Get(Digest, DigestSubset(digest, PathGlobs(tuple(paths))))


async def files_in_checkout(globs: Iterable[str], origin: str) -> Digest:
    """The files of the checkout that match; an unmatched glob is an error that names `origin`."""
    return await Get(
        Digest,
        PathGlobs(tuple(globs), glob_match_error_behavior=GlobMatchErrorBehavior.error, description_of_origin=origin),
    )


async def hydrate(field: SourcesField) -> Snapshot:
    return (await Get(HydratedSources, HydrateSourcesRequest(field))).snapshot


async def targets_at(addresses: UnparsedAddressInputs) -> Targets:
    return await Get(Targets, UnparsedAddressInputs, addresses)


async def targets_named(spec: str, origin: str) -> Targets:
    return await Get(Targets, UnparsedAddressInputs((spec,), owning_address=None, description_of_origin=origin))


async def environment(names: Iterable[str]) -> dict[str, str]:
    return dict(await Get(EnvironmentVars, EnvironmentVarsRequest(tuple(names))))
