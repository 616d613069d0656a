"""A small client of the Remote Execution API v2: the calls that tell whether a server serves as a cache.

Every call has a deadline, so that a server that is frozen, or has no workers, never keeps us waiting.
"""

import hashlib
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import grpc

from autoclave.errors import AutoclaveError
from autoclave.reapi import messages as api

CAPABILITIES = f"/{api.REAPI}.Capabilities"
STORAGE = f"/{api.REAPI}.ContentAddressableStorage"
ACTION_CACHE = f"/{api.REAPI}.ActionCache"
STREAM = f"/{api.BYTESTREAM}.ByteStream"
OK = 0


class RemoteError(AutoclaveError):
    """A call failed. `code` is the status's name as gRPC spells it, for example "PERMISSION_DENIED"; `details` the server's words."""

    def __init__(self, call: str, code: str, details: str) -> None:
        super().__init__(f"{call}: {code}: {details}")
        self.call, self.code, self.details = call, code, details


@dataclass(frozen=True)
class Digest:
    """A blob's content hash (sha256, hexadecimal) and its size in bytes."""

    hash: str
    size: int

    @classmethod
    def of(cls, blob: bytes) -> "Digest":
        """The digest of these bytes."""
        return cls(hashlib.sha256(blob).hexdigest(), len(blob))

    def message(self) -> Any:
        """As the API writes it."""
        return api.Digest(hash=self.hash, size_bytes=self.size)


@dataclass(frozen=True)
class Capabilities:
    """What a server says it can. `max_batch_bytes`: of one batch call, 0 for no limit; API versions as (major, minor), or None.

    `server_time`: what its HTTP header `date` says, where it sends one.
    """

    sha256: bool
    cache: bool
    execution: bool
    max_batch_bytes: int
    oldest_api: tuple[int, int] | None
    newest_api: tuple[int, int] | None
    server_time: str | None


@dataclass(frozen=True)
class ActionResult:
    """An action's result: exit code, standard output, its output files by path, and the trees of its output directories."""

    exit_code: int
    stdout: bytes
    outputs: tuple[tuple[str, Digest], ...]
    trees: tuple[tuple[str, Digest], ...] = ()


class Client:
    """Calls of one server. `instance` may be empty; `deadline`: seconds that one call may take at most.

    Every method raises `RemoteError`.
    """

    def __init__(self, channel: Any, instance: str, headers: Mapping[str, str], deadline: float) -> None:
        self.instance, self.deadline = instance, deadline
        self._channel = channel
        # The user agent is the channel's own affair.
        self._metadata = [(key.lower(), value) for key, value in headers.items() if key.lower() != "user-agent"]

    def for_instance(self, instance: str) -> "Client":
        """The same connection, for another instance of the server."""
        return Client(self._channel, instance, dict(self._metadata), self.deadline)

    def capabilities(self) -> Capabilities:
        """GetCapabilities."""
        call = self._channel.unary_unary(
            f"{CAPABILITIES}/GetCapabilities",
            request_serializer=api.GetCapabilitiesRequest.SerializeToString,
            response_deserializer=api.ServerCapabilities.FromString,
        )
        with _errors_of("GetCapabilities"):
            answer, state = call.with_call(
                api.GetCapabilitiesRequest(instance_name=self.instance), timeout=self.deadline, metadata=self._metadata
            )
            headers = {str(key): str(value) for key, value in state.initial_metadata() or ()}
        return _capabilities(answer, headers.get("date"))

    def missing(self, digests: Iterable[Digest]) -> tuple[Digest, ...]:
        """FindMissingBlobs: those of `digests` that the server does not have."""
        request = api.FindMissingBlobsRequest(
            instance_name=self.instance, blob_digests=[digest.message() for digest in digests]
        )
        answer = self._call(STORAGE, "FindMissingBlobs", request, api.FindMissingBlobsResponse)
        return tuple(_digest(each) for each in answer.missing_blob_digests)

    def upload(self, blobs: Sequence[bytes]) -> None:
        """BatchUpdateBlobs, in one call. The status of each blob counts."""
        requests = [{"digest": Digest.of(blob).message(), "data": blob} for blob in blobs]
        request = api.BatchUpdateBlobsRequest(instance_name=self.instance, requests=requests)
        answer = self._call(STORAGE, "BatchUpdateBlobs", request, api.BatchUpdateBlobsResponse)
        for each in answer.responses:
            _check_status("BatchUpdateBlobs", each.status)

    def download(self, digest: Digest) -> bytes:
        """BatchReadBlobs of one blob."""
        request = api.BatchReadBlobsRequest(instance_name=self.instance, digests=[digest.message()])
        answer = self._call(STORAGE, "BatchReadBlobs", request, api.BatchReadBlobsResponse)
        if len(answer.responses) != 1:
            raise RemoteError("BatchReadBlobs", "INTERNAL", f"{len(answer.responses)} answers for one blob")
        _check_status("BatchReadBlobs", answer.responses[0].status)
        return bytes(answer.responses[0].data)

    def stream_up(self, blob: bytes, chunk: int, deadline: float | None = None) -> int:
        """ByteStream.Write of one blob in pieces of `chunk` bytes; returns the size that the server committed."""
        digest = Digest.of(blob)
        name = self._resource(f"uploads/{uuid.uuid4()}/blobs/{digest.hash}/{digest.size}")
        call = self._channel.stream_unary(
            f"{STREAM}/Write",
            request_serializer=api.WriteRequest.SerializeToString,
            response_deserializer=api.WriteResponse.FromString,
        )
        with _errors_of("ByteStream.Write"):
            pieces = _write_requests(name, blob, chunk)
            answer = call(pieces, timeout=deadline or self.deadline, metadata=self._metadata)
        return int(answer.committed_size)

    def stream_down(self, digest: Digest, deadline: float | None = None) -> bytes:
        """ByteStream.Read of a whole blob."""
        call = self._channel.unary_stream(
            f"{STREAM}/Read",
            request_serializer=api.ReadRequest.SerializeToString,
            response_deserializer=api.ReadResponse.FromString,
        )
        request = api.ReadRequest(resource_name=self._resource(f"blobs/{digest.hash}/{digest.size}"))
        with _errors_of("ByteStream.Read"):
            answers = call(request, timeout=deadline or self.deadline, metadata=self._metadata)
            return b"".join(answer.data for answer in answers)

    def action_result(self, action: Digest) -> ActionResult | None:
        """GetActionResult: None where the server has no result of this action."""
        request = api.GetActionResultRequest(instance_name=self.instance, action_digest=action.message())
        try:
            answer = self._call(ACTION_CACHE, "GetActionResult", request, api.ActionResult)
        except RemoteError as error:
            if error.code == "NOT_FOUND":
                return None
            raise
        outputs = tuple((each.path, _digest(each.digest)) for each in answer.output_files)
        trees = tuple((each.path, _digest(each.tree_digest)) for each in answer.output_directories)
        return ActionResult(answer.exit_code, bytes(answer.stdout_raw), outputs, trees)

    def update_action_result(self, action: Digest, result: ActionResult) -> None:
        """UpdateActionResult."""
        written = api.ActionResult(
            exit_code=result.exit_code,
            stdout_raw=result.stdout,
            output_files=[{"path": path, "digest": digest.message()} for path, digest in result.outputs],
            output_directories=[{"path": path, "tree_digest": digest.message()} for path, digest in result.trees],
        )
        request = api.UpdateActionResultRequest(
            instance_name=self.instance, action_digest=action.message(), action_result=written
        )
        self._call(ACTION_CACHE, "UpdateActionResult", request, api.ActionResult)

    def _resource(self, path: str) -> str:
        return f"{self.instance}/{path}" if self.instance else path

    def _call(self, service: str, name: str, request: Any, answer: Any) -> Any:
        call: Callable[..., Any] = self._channel.unary_unary(
            f"{service}/{name}",
            request_serializer=type(request).SerializeToString,
            response_deserializer=answer.FromString,
        )
        with _errors_of(name):
            return call(request, timeout=self.deadline, metadata=self._metadata)


def _digest(message: Any) -> Digest:
    return Digest(message.hash, message.size_bytes)


@contextmanager
def _errors_of(call: str) -> Iterator[None]:
    """Turns gRPC's errors of a call into `RemoteError`s."""
    try:
        yield
    except grpc.RpcError as error:
        state: Any = error
        raise RemoteError(call, state.code().name, " ".join(str(state.details()).split())) from None


def _check_status(call: str, status: Any) -> None:
    if status.code != OK:
        names = {each.value[0]: each.name for each in grpc.StatusCode}
        raise RemoteError(call, names.get(status.code, str(status.code)), status.message)


def _write_requests(name: str, blob: bytes, chunk: int) -> Iterator[Any]:
    for offset in range(0, len(blob), chunk):
        data = blob[offset : offset + chunk]
        yield api.WriteRequest(
            resource_name=name, write_offset=offset, data=data, finish_write=offset + len(data) == len(blob)
        )


def _capabilities(answer: Any, server_time: str | None) -> Capabilities:
    cache = answer.cache_capabilities
    return Capabilities(
        sha256=api.SHA256 in cache.digest_functions,
        cache=answer.HasField("cache_capabilities"),
        execution=answer.execution_capabilities.exec_enabled,
        max_batch_bytes=cache.max_batch_total_size_bytes,
        oldest_api=_version(answer, "low_api_version"),
        newest_api=_version(answer, "high_api_version"),
        server_time=server_time,
    )


def _version(answer: Any, field: str) -> tuple[int, int] | None:
    version = getattr(answer, field)
    return (version.major, version.minor) if answer.HasField(field) else None
