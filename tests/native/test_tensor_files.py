"""Tensors from .npz files: numpy's own files are read, everything else is refused without being unpacked."""

import io
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from autoclave.artifact.model import TensorSpec
from autoclave.errors import AutoclaveError
from autoclave.native.tensor_files import read_rows, read_tensors, write_tensors

SPECS = (TensorSpec("a", (2, 3), "float32", 0), TensorSpec("img", (4,), "uint8", 1))
TENSORS: dict[str, np.ndarray] = {
    "a": np.arange(6, dtype=np.float32).reshape(2, 3),
    "img": np.array([0, 1, 254, 255], np.uint8),
}


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed], ids=["stored", "compressed"])
def test_numpys_files_are_read(tmp_path: Path, save: object) -> None:
    assert callable(save)
    save(tmp_path / "in.npz", **TENSORS)

    tensors = read_tensors(tmp_path / "in.npz", SPECS)

    assert {name: tensor.tolist() for name, tensor in tensors.items()} == {
        name: tensor.tolist() for name, tensor in TENSORS.items()
    }


def test_column_major_files_are_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", a=np.asfortranarray(TENSORS["a"]), img=TENSORS["img"])

    assert np.array_equal(read_tensors(tmp_path / "in.npz", SPECS)["a"], TENSORS["a"])


def test_written_files_are_numpys_and_always_the_same(tmp_path: Path) -> None:
    write_tensors(tmp_path / "one.npz", TENSORS)
    write_tensors(tmp_path / "two.npz", dict(reversed(TENSORS.items())))

    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    with np.load(tmp_path / "one.npz", allow_pickle=False) as loaded:
        assert np.array_equal(loaded["a"], TENSORS["a"])


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        pytest.param({"a": TENSORS["a"]}, "missing: img; not known: none", id="missing"),
        pytest.param(TENSORS | {"b": TENSORS["a"]}, "missing: none; not known: b", id="surplus"),
        pytest.param(TENSORS | {"a": np.zeros((2, 3))}, r"it is float64 \[2, 3\], expected float32", id="dtype"),
        pytest.param(TENSORS | {"a": np.zeros((3, 2), np.float32)}, r"it is float32 \[3, 2\]", id="shape"),
        pytest.param(TENSORS | {"a": np.zeros((2, 3), ">f4")}, "it is >f4", id="byte-order"),
        pytest.param(TENSORS | {"a": np.array([{}], object)}, "it is object", id="pickle"),
    ],
)
def test_other_tensors_are_refused(tmp_path: Path, tensors: dict[str, np.ndarray], message: str) -> None:
    np.savez(tmp_path / "in.npz", **tensors)  # type: ignore[arg-type]

    with pytest.raises(AutoclaveError, match=message):
        read_tensors(tmp_path / "in.npz", SPECS)


def member(shape: str, dtype: str = "<f4", body: bytes = b"") -> bytes:
    """A .npy file with any header."""
    file = io.BytesIO()
    np.lib.format.write_array(file, np.zeros(1, np.float32))
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    return file.getvalue()[:8] + len(header).to_bytes(2, "little") + header + body


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(member("(2, 3)", body=bytes(23)), "exactly 24 bytes", id="short"),
        pytest.param(member("(2, 3)", body=bytes(25)), "exactly 24 bytes", id="long"),
        pytest.param(member("(2, 3)", body=bytes(1 << 24)), "exactly 24 bytes", id="bomb"),
        pytest.param(member("(1 << 60,)"), "in.npz", id="expression"),
        pytest.param(member(f"({1 << 60},)"), "expected float32", id="huge"),
        pytest.param(member("(2, 3)", dtype="|O"), "it is object", id="objects"),
        pytest.param(b"\x93NUMPY\x09\x00", r"format \(9, 0\)", id="version"),
        pytest.param(b"PK", "in.npz", id="no-npy"),
    ],
)
def test_hostile_members_are_refused(tmp_path: Path, data: bytes, message: str) -> None:
    with zipfile.ZipFile(tmp_path / "in.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", data)
        archive.writestr("img.npy", member("(4,)", "|u1", bytes(4)))

    with pytest.raises(AutoclaveError, match=message):
        read_tensors(tmp_path / "in.npz", SPECS)


def test_same_name_twice_is_refused(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(tmp_path / "in.npz", "w") as archive:
        for name in ("a", "img", "img"):
            archive.writestr(f"{name}.npy", b"")

    with pytest.raises(AutoclaveError, match="expected a, img"):
        read_tensors(tmp_path / "in.npz", SPECS)


@pytest.mark.parametrize(("offset", "value"), [(6, 1), (8, 99), (-1, 0xFF)], ids=["encrypted", "method", "data"])
def test_members_that_zipfile_cannot_read_are_refused(tmp_path: Path, offset: int, value: int) -> None:
    with zipfile.ZipFile(tmp_path / "in.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", member("(2, 3)", body=bytes(24)))
        archive.writestr("img.npy", member("(4,)", "|u1", bytes(4)))
    content = bytearray((tmp_path / "in.npz").read_bytes())
    if offset < 0:  # the first byte of the compressed data
        content[30 + len("a.npy")] = value
    else:  # the file's own header and the directory's
        for start in (offset, content.index(b"PK\x01\x02") + 2 + offset):
            content[start] = value
    (tmp_path / "in.npz").write_bytes(content)

    with pytest.raises(AutoclaveError, match="reading tensors from .*in.npz"):
        read_tensors(tmp_path / "in.npz", SPECS)


@pytest.mark.parametrize("content", [b"", b"not a zip file", b"PK\x05\x06" + bytes(18)])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "in.npz").write_bytes(content)

    with pytest.raises(AutoclaveError, match="in.npz"):
        read_tensors(tmp_path / "in.npz", SPECS)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(AutoclaveError, match="absent.npz"):
        read_tensors(tmp_path / "absent.npz", SPECS)


ROWS = (TensorSpec("frame", (500, 65536), "uint8", 0), TensorSpec("m", (3, 3), "float32", 1))
MATRIX = np.arange(9, dtype=np.float32).reshape(3, 3)


def numbered_rows() -> np.ndarray:
    return np.repeat(np.arange(500).astype(np.uint8)[:, np.newaxis], 65536, axis=1)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed], ids=["stored", "compressed"])
def test_rows_come_one_at_a_time(tmp_path: Path, save: object) -> None:
    """32 MB are read within 8 MB."""
    assert callable(save)
    save(tmp_path / "in.npz", frame=numbered_rows(), m=MATRIX)

    tracemalloc.start()
    found = []
    for row in read_rows(tmp_path / "in.npz", ROWS, ("m",)):
        assert row["frame"].shape == (65536,) and len(np.unique(row["frame"])) == 1
        assert np.array_equal(row["m"], MATRIX)
        found.append(int(row["frame"][0]))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert found == [number % 256 for number in range(500)]
    assert peak < 8 << 20


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        pytest.param({"frame": np.asfortranarray(numbered_rows())}, "'frame' .* is column-major", id="column-major"),
        pytest.param({"frame": numbered_rows()[1:]}, r"it is uint8 \[499, 65536\], expected", id="fewer"),
        pytest.param({"frame": numbered_rows(), "n": MATRIX}, "not known: n", id="surplus"),
    ],
)
def test_other_rows_are_refused_before_the_first(tmp_path: Path, rows: dict[str, np.ndarray], message: str) -> None:
    np.savez(tmp_path / "in.npz", m=MATRIX, **rows)  # type: ignore[arg-type]

    with pytest.raises(AutoclaveError, match=message):
        next(read_rows(tmp_path / "in.npz", ROWS, ("m",)))


@pytest.mark.parametrize(
    ("body", "message"), [(bytes(9), "'a' .* ends before its last row"), (bytes(25), "'a' .* more bytes follow")]
)
def test_rows_that_end_elsewhere_than_declared_are_refused_there(tmp_path: Path, body: bytes, message: str) -> None:
    with zipfile.ZipFile(tmp_path / "in.npz", "w") as archive:
        archive.writestr("a.npy", member("(2, 3)", body=body))
    rows = read_rows(tmp_path / "in.npz", SPECS[:1])

    with pytest.raises(AutoclaveError, match=message):
        list(rows)
