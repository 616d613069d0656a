"""Messages of the Remote Execution API by protobuf's own library, with the fields that remote_execution.proto publishes."""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE = "published"
BOOL, BYTES, INT32, INT64, STRING = 8, 12, 5, 3, 9
"""FieldDescriptorProto.Type."""
MESSAGE = 11
OPTIONAL, REPEATED = 1, 3

MESSAGES: dict[str, list[tuple[str, int, int | str, bool]]] = {
    "Digest": [("hash", 1, STRING, False), ("size_bytes", 2, INT64, False)],
    "Duration": [("seconds", 1, INT64, False), ("nanos", 2, INT32, False)],
    "Property": [("name", 1, STRING, False), ("value", 2, STRING, False)],
    "Platform": [("properties", 1, "Property", True)],
    "EnvironmentVariable": [("name", 1, STRING, False), ("value", 2, STRING, False)],
    "Action": [
        ("command_digest", 1, "Digest", False),
        ("input_root_digest", 2, "Digest", False),
        ("timeout", 6, "Duration", False),
        ("do_not_cache", 7, BOOL, False),
        ("salt", 9, BYTES, False),
        ("platform", 10, "Platform", False),
    ],
    "Command": [
        ("arguments", 1, STRING, True),
        ("environment_variables", 2, "EnvironmentVariable", True),
        ("output_files", 3, STRING, True),
        ("output_directories", 4, STRING, True),
        ("platform", 5, "Platform", False),
        ("working_directory", 6, STRING, False),
        ("output_paths", 7, STRING, True),
    ],
    "OutputFile": [("path", 1, STRING, False), ("digest", 2, "Digest", False), ("is_executable", 4, BOOL, False)],
    "OutputDirectory": [("path", 1, STRING, False), ("tree_digest", 3, "Digest", False)],
    "OutputSymlink": [("path", 1, STRING, False), ("target", 2, STRING, False)],
    "Metadata": [("worker", 1, STRING, False)],
    "ActionResult": [
        ("output_files", 2, "OutputFile", True),
        ("output_directories", 3, "OutputDirectory", True),
        ("exit_code", 4, INT32, False),
        ("stdout_raw", 5, BYTES, False),
        ("stdout_digest", 6, "Digest", False),
        ("stderr_raw", 7, BYTES, False),
        ("stderr_digest", 8, "Digest", False),
        ("execution_metadata", 9, "Metadata", False),
        ("output_file_symlinks", 10, "OutputSymlink", True),
        ("output_directory_symlinks", 11, "OutputSymlink", True),
        ("output_symlinks", 12, "OutputSymlink", True),
    ],
}


def _classes() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(name="published.proto", package=PACKAGE, syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind, repeated in fields:
            added = message.field.add(name=field, number=number, label=REPEATED if repeated else OPTIONAL)
            added.type = MESSAGE if isinstance(kind, str) else kind
            if isinstance(kind, str):
                added.type_name = f".{PACKAGE}.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}")) for name in MESSAGES}


_CLASSES = _classes()
Action, ActionResult, Command, Digest = (_CLASSES[name] for name in ("Action", "ActionResult", "Command", "Digest"))
