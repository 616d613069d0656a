"""A runner for buildbox that also captures the outputs of clients of REAPI 2.0, and insists that they exist.

    legacy_outputs.py [--programs=FOLDER] OPTIONS        as buildbox-casd and buildbox-worker start their --buildbox-run

buildbox (1.4.16) captures what a Command lists in `output_paths` (REAPI 2.1) and nothing else. Pants 2.17.1 lists
`output_files` and `output_directories` instead: such an action would end with success and without outputs, and so be
cached. This runner gives the Command `output_paths` and leaves the rest to `buildbox-run-hosttools`. Then it compares
what was captured with what was declared. An action that says it succeeded without one of its outputs is given exit
code 70 and a line on standard error, so that it is neither believed nor cached.

The action's environment is what its Command declares; the worker's own does not leak into it unless an --env-file says
what of it should.

FOLDER has buildbox-run-hosttools, casdownload and casupload; by default they are looked for on PATH. The file stands
alone: copy it to a worker. Standard library only, Python 3.9 or later, no gRPC. Messages are read and written by their
wire format (https://protobuf.dev/programming-guides/encoding/); numbers of fields are those of remote_execution.proto.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, NoReturn

RUNNER = "buildbox-run-hosttools"
MISSING_OUTPUT = 70
"""Exit code of an action that succeeded without a declared output (EX_SOFTWARE of sysexits.h)."""

CONNECTION = (
    *("remote", "instance", "server-cert", "client-key", "client-cert", "access-token", "token-reload-interval"),
    *("googleapi-auth", "credential-helper", "retry-limit", "retry-delay", "request-timeout", "digest-function"),
)
"""Options by which the runner reaches the CAS, as casdownload and casupload also know them."""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
FIXED_SIZES = {FIXED64: 8, FIXED32: 4}

ACTION_COMMAND = 1
COMMAND_FILES, COMMAND_DIRECTORIES, COMMAND_PATHS = 3, 4, 7
RESULT_FILES, RESULT_DIRECTORIES, RESULT_EXIT_CODE, RESULT_STDERR, RESULT_STDERR_DIGEST = 2, 3, 4, 7, 8
RESULT_FILE_SYMLINKS, RESULT_DIRECTORY_SYMLINKS, RESULT_SYMLINKS = 10, 11, 12
OUTPUT_PATH = 1
DIGEST_HASH, DIGEST_SIZE = 1, 2


class Field(NamedTuple):
    """Of a message: an integer, or the bytes of a string, a message or a number of fixed size."""

    number: int
    kind: int
    value: int | bytes


class MessageError(Exception):
    """Bytes that are no protobuf message, or lack a field that they must have."""


def read_message(data: bytes) -> Iterator[Field]:
    """The fields of a message in order. Raises `MessageError` for damaged bytes."""
    position = 0
    while position < len(data):
        tag, position = _read_varint(data, position)
        number, kind = tag >> 3, tag & 7
        if kind == VARINT:
            value, position = _read_varint(data, position)
            yield Field(number, kind, value)
            continue
        if kind == BYTES:
            size, position = _read_varint(data, position)
        elif kind in FIXED_SIZES:
            size = FIXED_SIZES[kind]
        else:
            raise MessageError(f"wire type {kind} at byte {position}")
        if position + size > len(data):
            raise MessageError(f"field {number} ends beyond the message")
        yield Field(number, kind, data[position : position + size])
        position += size


def write_message(fields: Iterable[Field]) -> bytes:
    """The bytes of a message of these fields."""
    parts = []
    for number, kind, value in fields:
        content = _varint(value) if isinstance(value, int) else value
        parts += [_varint(number << 3 | kind), _varint(len(content)) if kind == BYTES else b"", content]
    return b"".join(parts)


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(data):
            raise MessageError("the message ends within a number")
        value |= (data[position] & 0x7F) << shift
        position += 1
        if data[position - 1] < 0x80:
            return value, position
    raise MessageError("a number of more than 64 bits")


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def values(message: bytes, *numbers: int) -> list[bytes]:
    """The strings and messages in the fields of these numbers."""
    return [v for number, _, v in read_message(message) if number in numbers and isinstance(v, bytes)]


def digest_of(blob: bytes) -> bytes:
    """The Digest message of a blob."""
    name = hashlib.sha256(blob).hexdigest().encode()
    return write_message([Field(DIGEST_HASH, BYTES, name), Field(DIGEST_SIZE, VARINT, len(blob))])


def digest_text(digest: bytes) -> str:
    """A Digest message as buildbox' tools write it: HASH/SIZE."""
    fields = {number: value for number, _, value in read_message(digest)}
    name, size = fields.get(DIGEST_HASH), fields.get(DIGEST_SIZE, 0)
    if not isinstance(name, bytes) or not isinstance(size, int):
        raise MessageError("a digest without a hash")
    return f"{name.decode('ascii')}/{size}"


def with_output_paths(command: bytes) -> bytes:
    """The Command with its files and directories in `output_paths`, too; unchanged if it has these, or no outputs."""
    if values(command, COMMAND_PATHS):
        return command
    paths = sorted(values(command, COMMAND_FILES, COMMAND_DIRECTORIES))
    return command + write_message(Field(COMMAND_PATHS, BYTES, path) for path in paths)


def missing_outputs(command: bytes, result: bytes) -> list[str]:
    """The outputs that a Command declares and its ActionResult lacks, or has as another kind, sorted."""
    links = _paths(result, RESULT_FILE_SYMLINKS, RESULT_DIRECTORY_SYMLINKS, RESULT_SYMLINKS)
    files, directories = _paths(result, RESULT_FILES) | links, _paths(result, RESULT_DIRECTORIES) | links
    missing = set(values(command, COMMAND_FILES)) - files
    missing |= set(values(command, COMMAND_DIRECTORIES)) - directories
    # What has both is a Command for servers of either kind: the older fields say more.
    if not values(command, COMMAND_FILES, COMMAND_DIRECTORIES):
        missing |= set(values(command, COMMAND_PATHS)) - files - directories
    return sorted(path.decode("utf-8", "replace") for path in missing)


def _paths(result: bytes, *numbers: int) -> set[bytes]:
    return {path for output in values(result, *numbers) for path in values(output, OUTPUT_PATH)[:1]}


def succeeded(result: bytes) -> bool:
    """Whether an ActionResult has exit code 0, which is not written."""
    return not any(number == RESULT_EXIT_CODE and value for number, _, value in read_message(result))


def failed_result(result: bytes, stderr: bytes) -> bytes:
    """The ActionResult with exit code 70, and with the digest of `stderr` as that of its standard error."""
    dropped = (RESULT_EXIT_CODE, RESULT_STDERR, RESULT_STDERR_DIGEST)
    kept = [field for field in read_message(result) if field.number not in dropped]
    added = [
        Field(RESULT_EXIT_CODE, VARINT, MISSING_OUTPUT),
        Field(RESULT_STDERR_DIGEST, BYTES, digest_of(stderr)),
    ]
    return write_message([*kept, *added])


class Storage:
    """The CAS of the runner's options, by buildbox' own tools."""

    def __init__(self, programs: Path | None, arguments: list[str]) -> None:
        self._programs = programs
        self._options = [word for word in arguments if word[2:].partition("=")[0] in CONNECTION]

    def program(self, name: str) -> str:
        """The path of one of buildbox' programs."""
        path = shutil.which(name, path=self._programs)
        return path or fail(
            f"{name} is not in {self._programs or 'the folders of PATH'}: name its folder by --programs=FOLDER"
        )

    def read(self, digest: bytes) -> bytes:
        """A blob."""
        with tempfile.TemporaryDirectory(prefix="legacy-outputs-") as folder:
            self._run("casdownload", f"--file-digest={digest_text(digest)}", f"--destination-dir={folder}/blob")
            (path,) = (path for path in Path(folder, "blob").rglob("*") if path.is_file())
            return path.read_bytes()

    def write(self, blob: bytes) -> None:
        """Store a blob."""
        with tempfile.NamedTemporaryFile(prefix="legacy-outputs-") as file:
            file.write(blob)
            file.flush()
            self._run("casupload", file.name)

    def _run(self, name: str, *arguments: str) -> None:
        command = [self.program(name), *self._options, *arguments]
        result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if result.returncode != 0:
            fail(f"{' '.join(command)} ended with {result.returncode}: {result.stdout.decode(errors='replace')}")


def fail(message: str) -> NoReturn:
    """End without a result: buildbox reports an error of the server, not of the action."""
    sys.exit(f"legacy_outputs.py: {message}")


def run_to_end(command: list[str]) -> int:
    """Run a command, hand on signals that ask to end, and return its exit code as a shell does."""
    child = subprocess.Popen(command)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: child.send_signal(number))
    code = child.wait()
    return code if code >= 0 else 128 - code


def main(arguments: list[str]) -> int:
    """Run one action; see the module's heading."""
    options = dict(word[2:].partition("=")[::2] for word in arguments if word.startswith("--"))
    arguments = [word for word in arguments if not word.startswith("--programs=")]
    storage = Storage(Path(options["programs"]) if "programs" in options else None, arguments)
    clear = [] if "env-file" in options else ["--clearenv"]
    command_line = [storage.program(RUNNER), *arguments, *clear]
    if "validate-parameters" in options:
        return run_to_end(command_line)
    if options.get("digest-function", "SHA256") != "SHA256":
        fail(f"digests by {options['digest-function']} are not known here, only SHA256")
    try:
        action_file, result_file = Path(options["action"]), Path(options["action-result"])
        command = rewrite_action(action_file, storage)
        code = run_to_end(command_line)
        if code == 0:
            refuse_missing(command, result_file, options.get("stderr-file"), storage)
    except (KeyError, MessageError, OSError) as error:
        fail(f"cannot run the action: {error!r}")
    return code


def rewrite_action(file: Path, storage: Storage) -> bytes:
    """Make the Action in `file` refer to a Command with output paths; return the Command as it was."""
    fields = list(read_message(file.read_bytes()))
    digests = [value for number, _, value in fields if number == ACTION_COMMAND and isinstance(value, bytes)]
    if not digests:
        raise MessageError("an action without a command")
    command = storage.read(digests[-1])
    changed = with_output_paths(command)
    if changed != command:
        storage.write(changed)
        kept = [field for field in fields if field.number != ACTION_COMMAND]
        file.write_bytes(write_message([Field(ACTION_COMMAND, BYTES, digest_of(changed)), *kept]))
    return command


def refuse_missing(command: bytes, file: Path, stderr_file: str | None, storage: Storage) -> None:
    """Turn the ActionResult in `file` into a failure if it succeeded without one of the Command's outputs."""
    result = file.read_bytes()
    missing = missing_outputs(command, result)
    if missing and succeeded(result):
        said = Path(stderr_file).read_bytes() if stderr_file and os.path.exists(stderr_file) else b""
        line = f"error: the action ended with exit code 0 without its declared outputs {', '.join(missing)}\n"
        storage.write(said + line.encode())
        file.write_bytes(failed_result(result, said + line.encode()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
