"""The messages of the Remote Execution API v2 and of ByteStream that the client uses, as protobuf classes.

A table with the published names, types and numbers instead of generated code: a few messages of the API, and of these
the fields that matter here (what else a server sends is kept as unknown fields, as protobuf does). Enumerations are
written as int32, which is the same on the wire. Sources: build/bazel/remote/execution/v2/remote_execution.proto,
build/bazel/semver/semver.proto, google/bytestream/bytestream.proto, google/rpc/status.proto.
"""

from collections.abc import Mapping
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

REAPI = "build.bazel.remote.execution.v2"
BYTESTREAM = "google.bytestream"

SHA256 = 1
"""DigestFunction.SHA256."""

FIELDS: Mapping[str, tuple[str, ...]] = {
    "google.rpc.Status": ("int32 code = 1", "string message = 2"),
    "build.bazel.semver.SemVer": ("int32 major = 1", "int32 minor = 2", "int32 patch = 3", "string prerelease = 4"),
    f"{REAPI}.Digest": ("string hash = 1", "int64 size_bytes = 2"),
    f"{REAPI}.GetCapabilitiesRequest": ("string instance_name = 1",),
    f"{REAPI}.CacheCapabilities": (
        "repeated int32 digest_functions = 1",
        "int64 max_batch_total_size_bytes = 4",
    ),
    f"{REAPI}.ExecutionCapabilities": ("int32 digest_function = 1", "bool exec_enabled = 2"),
    f"{REAPI}.ServerCapabilities": (
        f"{REAPI}.CacheCapabilities cache_capabilities = 1",
        f"{REAPI}.ExecutionCapabilities execution_capabilities = 2",
        "build.bazel.semver.SemVer low_api_version = 4",
        "build.bazel.semver.SemVer high_api_version = 5",
    ),
    f"{REAPI}.FindMissingBlobsRequest": ("string instance_name = 1", f"repeated {REAPI}.Digest blob_digests = 2"),
    f"{REAPI}.FindMissingBlobsResponse": (f"repeated {REAPI}.Digest missing_blob_digests = 2",),
    f"{REAPI}.BatchUpdateBlobsRequest.Request": (f"{REAPI}.Digest digest = 1", "bytes data = 2"),
    f"{REAPI}.BatchUpdateBlobsRequest": (
        "string instance_name = 1",
        f"repeated {REAPI}.BatchUpdateBlobsRequest.Request requests = 2",
    ),
    f"{REAPI}.BatchUpdateBlobsResponse.Response": (f"{REAPI}.Digest digest = 1", "google.rpc.Status status = 2"),
    f"{REAPI}.BatchUpdateBlobsResponse": (f"repeated {REAPI}.BatchUpdateBlobsResponse.Response responses = 1",),
    f"{REAPI}.BatchReadBlobsRequest": ("string instance_name = 1", f"repeated {REAPI}.Digest digests = 2"),
    f"{REAPI}.BatchReadBlobsResponse.Response": (
        f"{REAPI}.Digest digest = 1",
        "bytes data = 2",
        "google.rpc.Status status = 3",
    ),
    f"{REAPI}.BatchReadBlobsResponse": (f"repeated {REAPI}.BatchReadBlobsResponse.Response responses = 1",),
    f"{REAPI}.Command": ("repeated string arguments = 1", "repeated string output_files = 3"),
    f"{REAPI}.Action": (
        f"{REAPI}.Digest command_digest = 1",
        f"{REAPI}.Digest input_root_digest = 2",
        "bytes salt = 9",
    ),
    f"{REAPI}.OutputFile": ("string path = 1", f"{REAPI}.Digest digest = 2"),
    f"{REAPI}.FileNode": ("string name = 1", f"{REAPI}.Digest digest = 2"),
    f"{REAPI}.DirectoryNode": ("string name = 1", f"{REAPI}.Digest digest = 2"),
    f"{REAPI}.Directory": (f"repeated {REAPI}.FileNode files = 1", f"repeated {REAPI}.DirectoryNode directories = 2"),
    f"{REAPI}.Tree": (f"{REAPI}.Directory root = 1", f"repeated {REAPI}.Directory children = 2"),
    f"{REAPI}.OutputDirectory": ("string path = 1", f"{REAPI}.Digest tree_digest = 3"),
    f"{REAPI}.ActionResult": (
        f"repeated {REAPI}.OutputFile output_files = 2",
        f"repeated {REAPI}.OutputDirectory output_directories = 3",
        "int32 exit_code = 4",
        "bytes stdout_raw = 5",
    ),
    f"{REAPI}.GetActionResultRequest": ("string instance_name = 1", f"{REAPI}.Digest action_digest = 2"),
    f"{REAPI}.UpdateActionResultRequest": (
        "string instance_name = 1",
        f"{REAPI}.Digest action_digest = 2",
        f"{REAPI}.ActionResult action_result = 3",
    ),
    f"{BYTESTREAM}.ReadRequest": ("string resource_name = 1", "int64 read_offset = 2", "int64 read_limit = 3"),
    f"{BYTESTREAM}.ReadResponse": ("bytes data = 10",),
    f"{BYTESTREAM}.WriteRequest": (
        "string resource_name = 1",
        "int64 write_offset = 2",
        "bool finish_write = 3",
        "bytes data = 10",
    ),
    f"{BYTESTREAM}.WriteResponse": ("int64 committed_size = 1",),
}
"""By full name of a message: its fields, one a line as they are in a .proto file."""

_FIELD = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "bool": _FIELD.TYPE_BOOL,
    "bytes": _FIELD.TYPE_BYTES,
    "int32": _FIELD.TYPE_INT32,
    "int64": _FIELD.TYPE_INT64,
    "string": _FIELD.TYPE_STRING,
}


def _add_field(message: Any, line: str) -> None:
    declared, number = line.split(" = ")
    *label, kind, name = declared.split()
    field = message.field.add(name=name, number=int(number))
    field.label = _FIELD.LABEL_REPEATED if label == ["repeated"] else _FIELD.LABEL_OPTIONAL
    if kind in _SCALARS:
        field.type = _SCALARS[kind]
    else:
        field.type, field.type_name = _FIELD.TYPE_MESSAGE, f".{kind}"


def _package_of(name: str) -> str:
    """The package of a message's full name: all before the first word that begins with a capital."""
    words = name.split(".")
    return ".".join(words[: next(index for index, word in enumerate(words) if word[0].isupper())])


def _pool() -> descriptor_pool.DescriptorPool:
    # A pool of our own: another library in the process may have registered the published files.
    pool = descriptor_pool.DescriptorPool()
    files: dict[str, Any] = {}
    messages: dict[str, Any] = {}
    for package in dict.fromkeys(map(_package_of, FIELDS)):
        files[package] = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for name in sorted(FIELDS):  # a parent before what is nested in it
        parent, _, own = name.rpartition(".")
        owner = messages[parent].nested_type if parent in messages else files[parent].message_type
        messages[name] = owner.add(name=own)
        for line in FIELDS[name]:
            _add_field(messages[name], line)
    files[REAPI].dependency.extend(files[package].name for package in files if package != REAPI)
    for package in sorted(files, key=lambda each: each == REAPI):
        pool.AddSerializedFile(files[package].SerializeToString())
    return pool


_POOL = _pool()


def message_class(name: str) -> Any:
    """The class of a message by its full name, for example "google.bytestream.ReadRequest".

    Its instances are what protobuf makes of them: fields by keyword, `SerializeToString`, `FromString`.
    """
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(name))


def _reapi(name: str) -> Any:
    return message_class(f"{REAPI}.{name}")


Digest = _reapi("Digest")
Command = _reapi("Command")
Action = _reapi("Action")
Directory = _reapi("Directory")
Tree = _reapi("Tree")
ActionResult = _reapi("ActionResult")
ServerCapabilities = _reapi("ServerCapabilities")
GetCapabilitiesRequest = _reapi("GetCapabilitiesRequest")
FindMissingBlobsRequest = _reapi("FindMissingBlobsRequest")
FindMissingBlobsResponse = _reapi("FindMissingBlobsResponse")
BatchUpdateBlobsRequest = _reapi("BatchUpdateBlobsRequest")
BatchUpdateBlobsResponse = _reapi("BatchUpdateBlobsResponse")
BatchReadBlobsRequest = _reapi("BatchReadBlobsRequest")
BatchReadBlobsResponse = _reapi("BatchReadBlobsResponse")
GetActionResultRequest = _reapi("GetActionResultRequest")
UpdateActionResultRequest = _reapi("UpdateActionResultRequest")
ReadRequest = message_class(f"{BYTESTREAM}.ReadRequest")
ReadResponse = message_class(f"{BYTESTREAM}.ReadResponse")
WriteRequest = message_class(f"{BYTESTREAM}.WriteRequest")
WriteResponse = message_class(f"{BYTESTREAM}.WriteResponse")
