"""The options of Pants that say which remote cache is used and how, and what is known of their values without a server."""

import ast
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autoclave.errors import AutoclaveError
from autoclave.reapi.findings import Finding, State, failed, ok, option, warning

VARIABLE = "AUTOCLAVE_CACHE_SETTINGS"
"""Where `./pants cache-doctor` gives Pants' own options, as JSON. In the environment, because headers may hold secrets."""

MIB = 1 << 20
LARGEST_CHUNK = 3 * MIB
SHORTEST_SESSION_END = 60


@dataclass(frozen=True)
class Settings:
    """Options of `[GLOBAL]` by their names, with the defaults of Pants 2.17.1."""

    remote_store_address: str = ""
    remote_cache_read: bool = False
    remote_cache_write: bool = False
    remote_execution: bool = False
    remote_execution_address: str = ""
    remote_instance_name: str = ""
    remote_ca_certs_path: str = ""
    remote_oauth_bearer_token_path: str = ""
    remote_store_headers: Mapping[str, str] = field(default_factory=dict)
    remote_store_chunk_bytes: int = MIB
    remote_store_batch_api_size_limit: int = 4 * MIB
    remote_cache_warnings: str = "backoff"
    remote_cache_rpc_timeout_millis: int = 1500
    session_end_tasks_timeout: float = 3.0
    cache_content_behavior: str = "fetch"

    @property
    def configured(self) -> bool:
        """Whether a server is named."""
        return bool(self.remote_store_address)

    @property
    def used(self) -> bool:
        """Whether Pants would use a server."""
        return self.remote_cache_read or self.remote_cache_write or self.remote_execution

    @property
    def executes_elsewhere(self) -> bool:
        """Whether actions are sent to another server than the one that stores."""
        return self.remote_execution and self.remote_execution_address not in ("", self.remote_store_address)


def settings_of(options: Mapping[str, Any]) -> Settings:
    """The settings from option values by name; what is absent or None has Pants' default."""
    fields = Settings.__dataclass_fields__
    return Settings(**{name: value for name, value in options.items() if name in fields and value is not None})


def settings_in(environment: Mapping[str, str]) -> Settings:
    """The settings that the environment gives: from `./pants cache-doctor`, else from Pants' variables (`PANTS_REMOTE_...`).

    Raises `AutoclaveError` for a value that is not of its option's type.
    """
    if VARIABLE in environment:
        return settings_of(json.loads(environment[VARIABLE]))
    found: dict[str, Any] = {}
    for name, default in vars(Settings()).items():
        text = environment.get(f"PANTS_{name.upper()}")
        if text is not None:
            found[name] = _parsed(f"PANTS_{name.upper()}", text, default)
    return settings_of(found)


def _parsed(variable: str, text: str, default: object) -> Any:
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(default, int | float):
            return type(default)(text)
        if isinstance(default, dict):
            return {str(key): str(value) for key, value in ast.literal_eval(text).items()}
    except (AttributeError, KeyError, SyntaxError, ValueError):
        wanted = {"bool": "true or false", "dict": "{'header': 'value'}"}.get(type(default).__name__, "a number")
        raise AutoclaveError(f"{variable} is {text!r}: write {wanted}") from None
    return text


def client_headers(settings: Settings, token: str) -> dict[str, str]:
    """The headers that Pants sends to the store, with the bearer token if there is one."""
    headers = {key: value for key, value in settings.remote_store_headers.items()}
    return {**headers, **({"authorization": f"Bearer {token}"} if token else {})}


def use(settings: Settings, required: bool) -> Finding:
    """Whether Pants uses a server, and for what; `required`: not to use one is a failure."""
    check, unused = "use", State.failed if required else State.warning
    if not settings.configured:
        seen = "no remote cache is configured: remote_store_address (PANTS_REMOTE_STORE_ADDRESS) is not set"
        fix = option("remote_store_address", "grpc://HOST:PORT") + "; see docs/remote-cache.md"
        return failed(check, seen, fix) if required else Finding(check, State.skipped, seen)
    if not settings.used:
        seen = f"{settings.remote_store_address} is set, but neither remote_cache_read nor remote_cache_write: Pants does not use it"
        fix = option("remote_cache_read", "true") + ", and where results are to be kept, remote_cache_write as well"
        return Finding(check, unused, seen, fix)
    if settings.remote_cache_write and not settings.remote_cache_read:
        seen = "Pants writes to the cache, but does not read from it"
        return Finding(check, unused, seen, option("remote_cache_read", "true"))
    if settings.remote_execution and not settings.remote_cache_read:
        seen = "Pants executes remotely, but takes no results from the cache: it never lets the server look for them"
        return Finding(check, State.warning, seen, option("remote_cache_read", "true"))
    words = {"remote_cache_read": "reads", "remote_cache_write": "writes", "remote_execution": "executes remotely"}
    return ok(check, "Pants " + " and ".join(text for name, text in words.items() if getattr(settings, name)))


def values(settings: Settings) -> Iterator[Finding]:
    """What is known of the other options without a server."""
    chunk, timeout = settings.remote_store_chunk_bytes, settings.session_end_tasks_timeout
    if not 0 < chunk <= LARGEST_CHUNK:
        yield failed(
            "chunk size",
            f"remote_store_chunk_bytes = {chunk}: a gRPC message holds at most 4 MiB, so that larger chunks are refused",
            option("remote_store_chunk_bytes", str(MIB)),
        )
    else:
        yield ok("chunk size", f"remote_store_chunk_bytes = {chunk}")
    if settings.remote_cache_write and timeout < SHORTEST_SESSION_END:
        yield warning(
            "uploads at exit",
            f"session_end_tasks_timeout = {timeout:g}: what is not uploaded {timeout:g} s after the build's end is dropped without a word",
            option("session_end_tasks_timeout", "120"),
        )
    else:
        yield ok("uploads at exit", f"session_end_tasks_timeout = {timeout:g}")
    batch = settings.remote_store_batch_api_size_limit
    if settings.remote_cache_write and batch > 0:
        yield warning(
            "batches",
            f"remote_store_batch_api_size_limit = {batch}: what a server refuses of a batch, Pants counts as written",
            option("remote_store_batch_api_size_limit", "0"),
        )
    if settings.cache_content_behavior != "fetch":
        yield warning(
            "corrupt blobs",
            f"cache_content_behavior = {settings.cache_content_behavior}: a corrupt or missing blob on the server fails the build",
            option("cache_content_behavior", "fetch") + " takes it for a miss, and builds",
        )
    else:
        yield ok("corrupt blobs", "cache_content_behavior = fetch: a corrupt or missing blob is a miss")
    if settings.remote_cache_warnings == "ignore":
        yield warning(
            "warnings",
            "remote_cache_warnings = ignore: Pants never tells that the cache fails",
            option("remote_cache_warnings", "first_only"),
        )


def absolute(path: str) -> Path:
    """A path of an option; a relative one is from the root of the checkout, where `./pants` runs."""
    return Path(os.path.abspath(path))
