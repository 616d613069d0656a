"""Reading a check file: inputs, and the outputs that were recorded for them, bound to one artifact by its sha256.

One zstandard frame of a preamble, a header in JSON, and tensors one after the other (docs/parity.md).
"""

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from .errors import VerificationError
from .outputs import nbytes
from .records import Part, Tensor, key_text

_MAGIC = b"\x8aATCHCK\n"
_FORMAT = 1
_PREAMBLE = struct.Struct("<8sIQ")
_MAX_HEADER = 1 << 20
_MAX_WINDOW = 1 << 25


@dataclass(frozen=True)
class Recording:
    """Of one part: the bytes of all inputs, and of the outputs; those are none if nobody could compute them."""

    inputs: Mapping[str, bytes]
    outputs: Mapping[str, bytes]


def read_check_header(path: Path) -> dict[str, Any]:
    """The header of the check file at `path`; the tensors behind it stay compressed. Raises `VerificationError`."""
    return _header(_decompressed(path, _PREAMBLE.size + _MAX_HEADER), path)[0]


def read_recordings(path: Path, parts: tuple[Part, ...]) -> dict[str, Recording]:
    """What the check file at `path` holds of `parts`, by the part's key as text.

    At most as much is decompressed as the tensors of `parts` have. Raises `VerificationError` unless it has just their tensors.
    """
    most = sum(nbytes(tensor) for part in parts for tensor in part.inputs + part.outputs)
    data = _decompressed(path, _PREAMBLE.size + _MAX_HEADER + most)
    header, start = _header(data, path)
    tensors = memoryview(data)[start:]
    return {key_text(part.key): _recording(part, header, tensors, path) for part in parts}


def require_parts(header: Mapping[str, Any], parts: tuple[Part, ...], path: Path) -> None:
    """Raise `VerificationError` unless the check file recorded inputs and outputs as `parts` have them."""
    for part in parts:
        _recorded_part(part, header, path)


def _recording(part: Part, header: Mapping[str, Any], tensors: memoryview, path: Path) -> Recording:
    recorded = _recorded_part(part, header, path)
    return Recording(
        dict(_bytes(part.inputs, recorded["inputs"], tensors, path)),
        dict(_bytes(part.outputs, recorded["outputs"], tensors, path)),
    )


def _bytes(
    tensors: tuple[Tensor, ...], recorded: list[Any], data: memoryview, path: Path
) -> Iterator[tuple[str, bytes]]:
    for tensor, described in zip(tensors, recorded, strict=False):
        offset, size = _span(described.get("data"))
        if size != nbytes(tensor) or offset < 0 or offset + size > len(data):
            raise VerificationError(
                f"{path}: {tensor.name!r} is {described.get('data')!r} of {len(data)} bytes, expected {nbytes(tensor)} bytes: cut short?"
            )
        yield tensor.name, bytes(data[offset : offset + size])


def _span(value: Any) -> tuple[int, int]:
    if isinstance(value, list) and len(value) == 2 and all(type(number) is int for number in value):
        return value[0], value[1]
    return -1, -1


def _recorded_part(part: Part, header: Mapping[str, Any], path: Path) -> dict[str, list[Any]]:
    """What the header says of the inputs and outputs of `part`, in the artifact's order."""
    expected = part.key if isinstance(part.key, str) else list(part.key)
    recorded = header.get("parts")
    for each in recorded if isinstance(recorded, list) else ():
        if isinstance(each, dict) and each.get("key") == expected:
            inputs, outputs = each.get("inputs"), each.get("outputs")
            if _shapes(inputs) == _described(part.inputs) and _shapes(outputs) in ([], _described(part.outputs)):
                assert isinstance(inputs, list)
                assert isinstance(outputs, list)
                return {"inputs": inputs, "outputs": outputs}
    raise VerificationError(f"{path}: it has no part {key_text(part.key)} with the artifact's inputs and outputs")


def _shapes(tensors: Any) -> list[object]:
    if not isinstance(tensors, list) or not all(isinstance(tensor, dict) for tensor in tensors):
        return [None]
    return [[tensor.get(field) for field in ("name", "dtype", "shape")] for tensor in tensors]


def _described(tensors: tuple[Tensor, ...]) -> list[object]:
    return [[tensor.name, tensor.dtype, list(tensor.shape)] for tensor in tensors]


def _header(data: bytes, path: Path) -> tuple[dict[str, Any], int]:
    """The header in the check file's content `data`, and where the tensors begin."""
    if len(data) < _PREAMBLE.size:
        raise VerificationError(f"{path}: not a check file: cut short")
    magic, version, length = _PREAMBLE.unpack_from(data)
    if magic != _MAGIC or version != _FORMAT or length > _MAX_HEADER:
        raise VerificationError(f"{path}: not a check file of format {_FORMAT}")
    end = _PREAMBLE.size + length
    return parse_object(data[_PREAMBLE.size : end], path), end


def parse_object(data: bytes, path: Path) -> dict[str, Any]:
    """The JSON object `data`, which is from the file at `path`. Raises `VerificationError`."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise VerificationError(f"{path}: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise VerificationError(f"{path}: expected a JSON object")
    return value


def _decompressed(path: Path, most: int) -> bytes:
    """The first `most` bytes of what is in the zstandard file at `path`."""
    for module in ("compression.zstd", "zstandard", "backports.zstd"):
        try:
            zstd = import_module(module)
        except ImportError:
            continue
        try:
            with path.open("rb") as file:
                if module == "zstandard":
                    stream = zstd.ZstdDecompressor(max_window_size=_MAX_WINDOW).stream_reader(file)
                else:
                    stream = zstd.ZstdFile(file, options={zstd.DecompressionParameter.window_log_max: 25})
                return bytes(stream.read(most))
        except (OSError, EOFError, zstd.ZstdError) as error:
            raise VerificationError(f"{path}: cannot be read as a check file: {error}") from error
    raise VerificationError(
        f"{path}: reading it needs Python 3.14 or the package zstandard; or give the sha256 instead"
    )
