"""Tensors in .npz files, read as untrusted: no pickles, and never more memory than the declared tensors need."""

import lzma
import zipfile
import zlib
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import IO

import numpy as np

from autoclave.artifact.model import TensorSpec
from autoclave.errors import AutoclaveError
from autoclave.native.model import Array, Tensors

MAX_TENSORS = 1024
_SUFFIX = ".npy"
UNREADABLE = (
    EOFError,
    OSError,
    RuntimeError,  # an encrypted member; also NotImplementedError, for a compression nobody knows
    ValueError,
    lzma.LZMAError,
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
)
"""What zipfile raises for a damaged file."""

_HEADER_READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read_tensors(path: Path, specs: tuple[TensorSpec, ...]) -> Tensors:
    """The arrays of the .npz file at `path` that `specs` describe.

    Raises `AutoclaveError` if the file is not such a file, lacks one of them, has another one, or has one of another
    dtype or shape. Nothing of an array is read before its header has been compared with its spec.
    """
    by_name = {spec.name: spec for spec in specs}
    try:
        with zipfile.ZipFile(path) as archive:
            names = [entry.removesuffix(_SUFFIX) for entry in archive.namelist()[: MAX_TENSORS + 1]]
            _check_names(path, names, by_name)
            return {name: _read_member(archive, name, by_name[name], path) for name in names}
    except UNREADABLE as error:
        raise AutoclaveError(f"reading tensors from {path}: {error}; write the file with numpy.savez") from error


def write_tensors(path: Path, tensors: Mapping[str, Array]) -> None:
    """Write `tensors` to the .npz file at `path`, uncompressed; the same tensors give the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(tensors):
            entry = zipfile.ZipInfo(name + _SUFFIX)  # with a fixed date
            with archive.open(entry, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.ascontiguousarray(tensors[name]), version=(1, 0), allow_pickle=False)


def _check_names(path: Path, names: list[str], specs: Mapping[str, TensorSpec]) -> None:
    missing = [name for name in specs if name not in names]
    surplus = [name for name in names if name not in specs]
    if missing or surplus or len(set(names)) != len(names):
        raise AutoclaveError(
            f"reading tensors from {path}: expected {', '.join(specs)}; "
            f"missing: {', '.join(missing) or 'none'}; not known: {', '.join(surplus) or 'none'}"
        )


def _read_member(archive: zipfile.ZipFile, name: str, spec: TensorSpec, path: Path) -> Array:
    dtype = np.dtype(spec.dtype)
    with archive.open(name + _SUFFIX) as file:
        version = np.lib.format.read_magic(file)
        if version not in _HEADER_READERS:
            raise AutoclaveError(f"reading {name!r} from {path}: .npy format {version} is not supported")
        shape, column_major, found = _HEADER_READERS[version](file)
        if (shape, found) != (spec.shape, dtype):
            raise AutoclaveError(
                f"reading {name!r} from {path}: it is {found} {list(shape)}, expected {spec.dtype} {list(spec.shape)}"
            )
        data = _read_exactly(file, prod(shape) * dtype.itemsize, name, path)
    array = np.frombuffer(data, dtype).reshape(shape, order="F" if column_major else "C")
    return np.ascontiguousarray(array)


def _read_exactly(file: IO[bytes], nbytes: int, name: str, path: Path) -> bytes:
    data = file.read(nbytes)
    if len(data) != nbytes or file.read(1):
        raise AutoclaveError(f"reading {name!r} from {path}: expected exactly {nbytes} bytes after its header")
    return data
