"""Tensors in .npz files, read as untrusted: no pickles, and never more memory than the declared tensors need."""

import lzma
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
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
    with _opened(path, by_name) as archive:
        return {name: _read_member(archive, name, spec, path) for name, spec in by_name.items()}


def check_rows(path: Path, specs: tuple[TensorSpec, ...]) -> None:
    """Raise what `read_rows` would for these arrays' names, dtypes and shapes."""
    by_name = {spec.name: spec for spec in specs}
    with _opened(path, by_name) as archive:
        for name, spec in by_name.items():
            _check_row_major(archive, name, spec, path)


def read_rows(path: Path, specs: tuple[TensorSpec, ...], fixed: Collection[str] = ()) -> Iterator[Tensors]:
    """The arrays of `read_tensors`, of each the first row, then the second ..., one row in memory at a time.

    Those of `fixed` come whole every time; the others have equally many rows. Raises as `read_tensors` does, for what is wrong in a row
    when it is asked for, and for column-major arrays.
    """
    by_name = {spec.name: spec for spec in specs}
    rows = {name: spec for name, spec in by_name.items() if name not in fixed}
    check_rows(path, specs)
    with _opened(path, by_name) as archive, ExitStack() as members:
        whole = {name: _read_member(archive, name, by_name[name], path) for name in fixed}
        files = {name: members.enter_context(archive.open(name + _SUFFIX)) for name in rows}
        for name, file in files.items():
            _read_header(file, name, rows[name], path)
        for _ in range(min(spec.shape[0] for spec in rows.values())):
            yield whole | {name: _read_row(file, rows[name], path) for name, file in files.items()}
        for name, file in files.items():
            if file.read(1):
                raise AutoclaveError(f"reading {name!r} from {path}: more bytes follow its last row")


def write_tensors(path: Path, tensors: Mapping[str, Array]) -> None:
    """Write `tensors` to the .npz file at `path`, uncompressed; the same tensors give the same bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(tensors):
            entry = zipfile.ZipInfo(name + _SUFFIX)  # with a fixed date
            with archive.open(entry, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.ascontiguousarray(tensors[name]), version=(1, 0), allow_pickle=False)


@contextmanager
def _opened(path: Path, specs: Mapping[str, TensorSpec]) -> Iterator[zipfile.ZipFile]:
    """The archive at `path`, which has an array for each of `specs`. Raises `AutoclaveError` for what is wrong with it inside, too."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = [entry.removesuffix(_SUFFIX) for entry in archive.namelist()[: MAX_TENSORS + 1]]
            _check_names(path, names, specs)
            yield archive
    except UNREADABLE as error:
        raise AutoclaveError(f"reading tensors from {path}: {error}; write the file with numpy.savez") from error


def _check_names(path: Path, names: list[str], specs: Mapping[str, TensorSpec]) -> None:
    missing = [name for name in specs if name not in names]
    surplus = [name for name in names if name not in specs]
    if missing or surplus or len(set(names)) != len(names):
        raise AutoclaveError(
            f"reading tensors from {path}: expected {', '.join(specs)}; "
            f"missing: {', '.join(missing) or 'none'}; not known: {', '.join(surplus) or 'none'}"
        )


def _read_member(archive: zipfile.ZipFile, name: str, spec: TensorSpec, path: Path) -> Array:
    with archive.open(name + _SUFFIX) as file:
        column_major = _read_header(file, name, spec, path)
        data = _read_exactly(file, prod(spec.shape) * np.dtype(spec.dtype).itemsize, name, path)
    array = np.frombuffer(data, spec.dtype).reshape(spec.shape, order="F" if column_major else "C")
    return np.ascontiguousarray(array)


def _read_row(file: IO[bytes], spec: TensorSpec, path: Path) -> Array:
    shape, dtype = spec.shape[1:], np.dtype(spec.dtype)
    data = file.read(prod(shape) * dtype.itemsize)
    if len(data) != prod(shape) * dtype.itemsize:
        raise AutoclaveError(f"reading {spec.name!r} from {path}: it ends before its last row")
    return np.frombuffer(data, dtype).reshape(shape)


def _read_header(file: IO[bytes], name: str, spec: TensorSpec, path: Path) -> bool:
    """Whether the array is column-major. Raises `AutoclaveError` unless it is what `spec` says."""
    version = np.lib.format.read_magic(file)
    if version not in _HEADER_READERS:
        raise AutoclaveError(f"reading {name!r} from {path}: .npy format {version} is not supported")
    shape, column_major, found = _HEADER_READERS[version](file)
    if (shape, found) != (spec.shape, np.dtype(spec.dtype)):
        raise AutoclaveError(
            f"reading {name!r} from {path}: it is {found} {list(shape)}, expected {spec.dtype} {list(spec.shape)}"
        )
    return bool(column_major)


def _read_exactly(file: IO[bytes], nbytes: int, name: str, path: Path) -> bytes:
    data = file.read(nbytes)
    if len(data) != nbytes or file.read(1):
        raise AutoclaveError(f"reading {name!r} from {path}: expected exactly {nbytes} bytes after its header")
    return data


def _check_row_major(archive: zipfile.ZipFile, name: str, spec: TensorSpec, path: Path) -> None:
    """Refuse an array that cannot be read row by row, or is not what `spec` says."""
    with archive.open(name + _SUFFIX) as file:
        if _read_header(file, name, spec, path):
            raise AutoclaveError(
                f"reading {name!r} from {path}: it is column-major; write numpy.ascontiguousarray of it"
            )
