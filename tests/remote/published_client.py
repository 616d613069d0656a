"""A client with the API's published messages, as BuildGrid ships them: a second opinion on what our servers do.

Run by BuildGrid's interpreter; reads a request from standard input and prints the answer, both in JSON:

    {"port": 50051, "ca": FILE, "token": FILE, "call": "capabilities" | "put" | "get" | "execute", ...}
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import grpc  # pants: no-infer-dep
from buildgrid._protos.build.bazel.remote.execution.v2 import (  # pants: no-infer-dep
    remote_execution_pb2 as api,
)
from buildgrid._protos.build.bazel.remote.execution.v2 import (  # pants: no-infer-dep
    remote_execution_pb2_grpc as services,
)

SECONDS = 90


def digest(blob: bytes) -> Any:
    return api.Digest(hash=hashlib.sha256(blob).hexdigest(), size_bytes=len(blob))


class Client:
    def __init__(self, request: dict[str, Any]) -> None:
        address = f"localhost:{request['port']}"
        token = request.get("token")
        self.options: dict[str, Any] = {"timeout": SECONDS}
        if token:
            self.options["metadata"] = [("authorization", f"Bearer {Path(token).read_text()}")]
        if request.get("ca"):
            credentials = grpc.ssl_channel_credentials(Path(request["ca"]).read_bytes())
            self.channel = grpc.secure_channel(address, credentials)
        else:
            self.channel = grpc.insecure_channel(address)
        self.storage = services.ContentAddressableStorageStub(self.channel)

    def capabilities(self, request: dict[str, Any]) -> dict[str, Any]:
        stub = services.CapabilitiesStub(self.channel)
        found = stub.GetCapabilities(api.GetCapabilitiesRequest(instance_name="main"), **self.options)
        return {
            "sha256": api.DigestFunction.SHA256 in found.cache_capabilities.digest_functions,
            "execution": found.execution_capabilities.exec_enabled,
        }

    def put(self, request: dict[str, Any]) -> dict[str, Any]:
        """Store the text as a blob, and as the standard output of an action of its name."""
        blob = request["text"].encode()
        self.upload(blob)
        update = api.UpdateActionResultRequest(instance_name="main", action_digest=self.key(blob))
        update.action_result.stdout_digest.CopyFrom(digest(blob))
        services.ActionCacheStub(self.channel).UpdateActionResult(update, **self.options)
        return {}

    def get(self, request: dict[str, Any]) -> dict[str, Any]:
        """The text that `put` stored, by way of its action's result."""
        lookup = api.GetActionResultRequest(instance_name="main", action_digest=self.key(request["text"].encode()))
        result = services.ActionCacheStub(self.channel).GetActionResult(lookup, **self.options)
        return {"text": self.download(result.stdout_digest)}

    def key(self, blob: bytes) -> Any:
        command = api.Command(arguments=["echo", digest(blob).hash]).SerializeToString()
        action = api.Action(command_digest=digest(command), input_root_digest=digest(b""))
        return digest(action.SerializeToString())

    def execute(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run a script of the shell in an empty folder; `outputs` are the Command's fields of outputs."""
        command = api.Command(arguments=["/bin/sh", "-c", request["script"]], **request["outputs"])
        command.environment_variables.add(name="DECLARED", value="yes")
        command.platform.properties.add(name="OSFamily", value="linux")
        blobs = [b"", command.SerializeToString(deterministic=True)]
        action = api.Action(input_root_digest=digest(blobs[0]), command_digest=digest(blobs[1]))
        action.platform.CopyFrom(command.platform)
        action.timeout.seconds = request.get("seconds", SECONDS)
        blobs.append(action.SerializeToString(deterministic=True))
        self.upload(*blobs)
        execute = api.ExecuteRequest(instance_name="main", action_digest=digest(blobs[2]))
        *_, last = services.ExecutionStub(self.channel).Execute(execute, **self.options)
        response = api.ExecuteResponse()
        last.response.Unpack(response)
        result = response.result
        return {
            "status": response.status.code,
            "cached": response.cached_result,
            "code": result.exit_code,
            "stdout": (result.stdout_raw.decode() or self.download(result.stdout_digest)),
            "stderr": (result.stderr_raw.decode() or self.download(result.stderr_digest)),
            "files": {each.path: self.download(each.digest) for each in result.output_files},
            "directories": sorted(each.path for each in result.output_directories),
        }

    def upload(self, *blobs: bytes) -> None:
        batch = api.BatchUpdateBlobsRequest(instance_name="main")
        for blob in blobs:
            batch.requests.add(digest=digest(blob), data=blob)
        for each in self.storage.BatchUpdateBlobs(batch, **self.options).responses:
            assert each.status.code == 0, each.status.message

    def download(self, wanted: Any) -> str:
        if not wanted.size_bytes:
            return ""
        batch = api.BatchReadBlobsRequest(instance_name="main", digests=[wanted])
        (found,) = self.storage.BatchReadBlobs(batch, **self.options).responses
        assert found.status.code == 0, found.status.message
        return str(found.data.decode())


def main() -> None:
    request = json.load(sys.stdin)
    try:
        answer = getattr(Client(request), request["call"])(request)
    except grpc.RpcError as error:
        answer = {"error": error.code().name}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
