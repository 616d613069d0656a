"""The check file (….check.zst): check inputs and the outputs recorded for them, bound to one artifact by its sha256.

One zstandard frame of: magic (8 bytes), format (u32), header length (u64), header (canonical JSON), tensors (raw,
little-endian, one after the other in the header's order). Integers are little-endian. docs/parity.md has the header.
"""

import json
import os
import re
import struct
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import zstandard

from autoclave.artifact.dtypes import ITEMSIZE
from autoclave.artifact.model import TensorSpec
from autoclave.artifact.reader import Artifact, key_text
from autoclave.canonical import canonical_json
from autoclave.errors import ArtifactError
from autoclave.native.model import Tensors

MAGIC = b"\x8aATCHCK\n"
FORMAT = 1
COMPRESSION_LEVEL = 9

MAX_HEADER_SIZE = 1 << 20
MAX_CONTENT_SIZE = 1 << 30
MAX_WINDOW_SIZE = 1 << 25
"""The decompressor's memory: more than level 9 of zstandard ever needs."""

RECORDER_KINDS = frozenset({"cpu", "emulator", "device", "none"})
PartKey = str | tuple[int, int]

_PREAMBLE = struct.Struct("<8sIQ")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_FEED = 512
"""Compressed bytes per step. A zstandard block of 4 bytes makes at most 128 KiB, so a step makes at most 16 MiB."""


@dataclass(frozen=True, slots=True)
class Recorder:
    """Who computed the outputs: kind "cpu", "emulator", "device", or "none" if there are no outputs."""

    kind: str
    name: str
    version: str


@dataclass(frozen=True, slots=True)
class PartCheck:
    """Check inputs of one part and the outputs recorded for them; `outputs` is empty if nobody could compute them."""

    key: PartKey
    seed: int
    inputs: Tensors
    outputs: Tensors


@dataclass(frozen=True, slots=True)
class CheckFile:
    """All that a check file says."""

    artifact_sha256: str
    recorded_by: Recorder
    parts: tuple[PartCheck, ...]

    def part(self, key: PartKey) -> PartCheck:
        """The check of the part `key`. Raises `ArtifactError` if there is none."""
        for part in self.parts:
            if part.key == key:
                return part
        keys = ", ".join(key_text(part.key) for part in self.parts) or "none"
        raise ArtifactError(f"the check file has no part {key_text(key)}; its parts: {keys}")


def write_check(path: Path, check: CheckFile) -> None:
    """Write `check` to `path`, whole or not at all. The same check and zstandard version give the same bytes."""
    compressed = zstandard.ZstdCompressor(level=COMPRESSION_LEVEL, write_checksum=True).compress(encode_check(check))
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            file.write(compressed)
            file.flush()
            os.fsync(file.fileno())
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def read_check(path: Path, max_content_size: int = MAX_CONTENT_SIZE) -> CheckFile:
    """Read the check file at `path`, treated as hostile: everything is checked before use.

    Memory is bounded by `max_content_size`, bytes after decompression. Raises `ArtifactError`.
    """
    try:
        return decode_check(_decompressed(path, max_content_size))
    except ArtifactError as error:
        raise ArtifactError(f"reading the check file {path}: {error}; record it again") from None
    except (OSError, zstandard.ZstdError) as error:
        raise ArtifactError(f"reading the check file {path}: {error}; record it again") from error


def read_check_of(artifact: Artifact, path: Path) -> CheckFile:
    """Read the check file of `artifact`. Raises `ArtifactError` if it is malformed or not this artifact's."""
    specs = [spec for part in artifact.header.parts for spec in part.inputs + part.outputs]
    check = read_check(path, MAX_HEADER_SIZE + sum(_nbytes(spec.dtype, spec.shape) for spec in specs))
    try:
        bind_check(check, artifact)
    except ArtifactError as error:
        raise ArtifactError(f"{path}: {error}") from None
    return check


def bind_check(check: CheckFile, artifact: Artifact) -> None:
    """Raise `ArtifactError` unless `check` was recorded for `artifact` and fits its parts' inputs and outputs."""
    if (sha256 := artifact.sha256()) != check.artifact_sha256:
        raise ArtifactError(f"it was recorded for artifact {check.artifact_sha256}, this is {sha256}; record it again")
    for part in artifact.header.parts:
        recorded = check.part(part.key)
        _bind_tensors(f"inputs of part {key_text(part.key)}", part.inputs, recorded.inputs)
        if recorded.outputs or check.recorded_by.kind != "none":
            _bind_tensors(f"outputs of part {key_text(part.key)}", part.outputs, recorded.outputs)


def encode_check(check: CheckFile) -> bytes:
    """The content of a check file before compression."""
    tensors: list[bytes] = []
    header = canonical_json(
        {
            "artifact_sha256": check.artifact_sha256,
            "recorded_by": {
                "kind": check.recorded_by.kind,
                "name": check.recorded_by.name,
                "version": check.recorded_by.version,
            },
            "parts": [
                {
                    "key": part.key if isinstance(part.key, str) else list(part.key),
                    "seed": part.seed,
                    "inputs": _describe(part.inputs, tensors),
                    "outputs": _describe(part.outputs, tensors),
                }
                for part in check.parts
            ],
        }
    )
    return b"".join((_PREAMBLE.pack(MAGIC, FORMAT, len(header)), header, *tensors))


def decode_check(content: bytes) -> CheckFile:
    """Inverse of `encode_check`. Raises `ArtifactError` for anything that `encode_check` does not write."""
    if len(content) < _PREAMBLE.size:
        raise ArtifactError(f"it has {len(content)} bytes, fewer than its preamble")
    magic, version, length = _PREAMBLE.unpack_from(content)
    if magic != MAGIC:
        raise ArtifactError("it is not a check file (wrong magic)")
    if version != FORMAT:
        raise ArtifactError(f"it has format {version}, this version of Autoclave reads format {FORMAT}")
    if length > min(MAX_HEADER_SIZE, len(content) - _PREAMBLE.size):
        raise ArtifactError(f"its header of {length} bytes is cut short or longer than {MAX_HEADER_SIZE}")
    start = _PREAMBLE.size + length
    return _HeaderDecoder(_parse(content[_PREAMBLE.size : start]), memoryview(content)[start:]).decode()


def _decompressed(path: Path, limit: int) -> bytes:
    """The one frame of the file at `path`, if it says beforehand that it has at most `limit` bytes."""
    content = bytearray()
    with path.open("rb") as file:
        head = file.read(18)
        if not head.startswith(zstandard.FRAME_HEADER):
            raise ArtifactError("it is not a check file, which begins as a zstandard frame does")
        declared = zstandard.get_frame_parameters(head).content_size
        if declared > limit:  # also if it is not declared: that is 2^64 - 1
            raise ArtifactError(f"it does not declare a size of at most {limit} bytes")
        file.seek(0)
        frame = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_SIZE).decompressobj()
        while not frame.eof and (piece := file.read(_FEED)):
            content += frame.decompress(piece)
            if len(content) > declared:
                raise ArtifactError(f"it has more than the {declared} bytes that it declares")
        if not frame.eof or len(content) != declared:
            raise ArtifactError("it is cut short")
        if frame.unused_data or file.read(1):
            raise ArtifactError("there are bytes after its end")
    return bytes(content)


def _parse(header: bytes) -> Any:
    try:
        value = json.loads(header)
        canonical = canonical_json(value)
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"its header is not JSON: {error}") from error
    if canonical != header:
        raise ArtifactError("its header is not canonical JSON")
    return value


def _describe(tensors: Tensors, data: list[bytes]) -> list[dict[str, Any]]:
    """The header's words for `tensors`, whose bytes are appended to `data`."""
    described = []
    offset = sum(map(len, data))
    for name, tensor in tensors.items():
        little = np.ascontiguousarray(tensor).astype(tensor.dtype.newbyteorder("<"), copy=False).tobytes()
        described.append(
            {"name": name, "dtype": tensor.dtype.name, "shape": list(tensor.shape), "data": [offset, len(little)]}
        )
        data.append(little)
        offset += len(little)
    return described


class _HeaderDecoder:
    """Turns a parsed header into a `CheckFile`; tensors must follow each other without gaps and fill `data`."""

    def __init__(self, header: Any, data: memoryview) -> None:
        self._header = header
        self._data = data
        self._position = 0

    def decode(self) -> CheckFile:
        fields = _fields(self._header, {"artifact_sha256": str, "recorded_by": dict, "parts": list}, "header")
        if not _SHA256.fullmatch(fields["artifact_sha256"]):
            raise ArtifactError("header: artifact_sha256 is not 64 lower-case hexadecimal digits")
        recorder = Recorder(**_fields(fields["recorded_by"], {"kind": str, "name": str, "version": str}, "recorded_by"))
        if recorder.kind not in RECORDER_KINDS:
            raise ArtifactError(f"recorded_by: kind {recorder.kind!r} is none of {', '.join(sorted(RECORDER_KINDS))}")
        parts = tuple(self._part(part) for part in fields["parts"])
        if len({part.key for part in parts}) != len(parts):
            raise ArtifactError("two parts have the same key")
        if self._position != len(self._data):
            raise ArtifactError(f"its tensors have {len(self._data)} bytes, its header declares {self._position}")
        return CheckFile(fields["artifact_sha256"], recorder, parts)

    def _part(self, value: Any) -> PartCheck:
        fields = _fields(value, {"key": (str, list), "seed": int, "inputs": list, "outputs": list}, "part")
        if not _is_count(fields["seed"]):
            raise ArtifactError(f"part: seed {fields['seed']} is not a number of 32 bits")
        return PartCheck(
            _part_key(fields["key"]), fields["seed"], self._tensors(fields["inputs"]), self._tensors(fields["outputs"])
        )

    def _tensors(self, values: list[Any]) -> Tensors:
        tensors: Tensors = {}
        for value in values:
            fields = _fields(value, {"name": str, "dtype": str, "shape": list, "data": list}, "tensor")
            if fields["name"] in tensors:
                raise ArtifactError(f"two tensors have the name {fields['name']!r}")
            tensors[fields["name"]] = self._tensor(**fields)
        return tensors

    def _tensor(self, name: str, dtype: str, shape: list[Any], data: list[Any]) -> "np.ndarray[Any, np.dtype[Any]]":
        if dtype not in ITEMSIZE or not all(_is_count(size) for size in shape):
            raise ArtifactError(f"tensor {name!r}: {dtype!r} {shape} is not a dtype and a shape")
        nbytes = _nbytes(dtype, shape)
        if data != [self._position, nbytes] or self._position + nbytes > len(self._data):
            raise ArtifactError(f"tensor {name!r}: its data is at {data}, expected {nbytes} bytes at {self._position}")
        raw = self._data[self._position : self._position + nbytes]
        self._position += nbytes
        try:
            array = np.frombuffer(raw, np.dtype(dtype).newbyteorder("<")).astype(dtype)
            return array.reshape([int(size) for size in shape])
        except (ValueError, TypeError) as error:
            raise ArtifactError(f"tensor {name!r}: {error}") from error


def _fields(value: Any, types: Mapping[str, type | tuple[type, ...]], what: str) -> dict[str, Any]:
    """`value` if it is an object with exactly the fields of `types`."""
    if not isinstance(value, dict) or set(value) != set(types):
        raise ArtifactError(f"{what}: expected an object with {', '.join(types)}")
    for name, kind in types.items():
        if not isinstance(value[name], kind) or isinstance(value[name], bool):
            raise ArtifactError(f"{what}: field {name!r} is of the wrong type")
    return value


def _part_key(value: str | list[Any]) -> PartKey:
    if isinstance(value, str):
        return value
    if len(value) != 2 or not all(_is_count(size) for size in value):
        raise ArtifactError(f"part key {value} is neither a name nor [width, height]")
    return value[0], value[1]


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 32


def _nbytes(dtype: str, shape: "list[int] | tuple[int, ...]") -> int:
    return ITEMSIZE[dtype] * prod(shape)


def _bind_tensors(what: str, specs: tuple[TensorSpec, ...], tensors: Tensors) -> None:
    expected = {spec.name: (spec.dtype, tuple(spec.shape)) for spec in specs}
    found = {name: (tensor.dtype.name, tensor.shape) for name, tensor in tensors.items()}
    if expected != found:
        raise ArtifactError(f"{what}: it has {found}, the artifact {expected}")
