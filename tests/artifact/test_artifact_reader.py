"""Hostile artifacts: each attack by its name is refused with a message that names what is out of place."""

import os
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from artifact.sample_artifacts import join_file, split_file, write_sample

from autoclave.artifact.reader import open_artifact
from autoclave.errors import ArtifactError

OUTSIDE = 1 << 40
EMOJI = "\U0001f600"


@pytest.fixture(scope="module")
def valid(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("valid") / "valid.pkl"
    write_sample(path)
    return path.read_bytes()


def refused(tmp_path: Path, data: bytes) -> str:
    """The message with which opening a file of `data` is refused."""
    path = tmp_path / "hostile.pkl"
    path.write_bytes(data)
    with pytest.raises(ArtifactError) as caught:
        open_artifact(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    return message


def packed(valid: bytes, fields: str, at: int, *values: int) -> bytes:
    data = bytearray(valid)
    struct.pack_into(fields, data, at, *values)
    return bytes(data)


PREAMBLE_ATTACKS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty file": (lambda valid: b"", "the file is empty"),
    "other magic": (lambda valid: b"AUTOCLAW" + valid[8:], "not an artifact: it starts with b'AUTOCLAW'"),
    "pickle": (lambda valid: b"\x80\x04\x95" + bytes(5000), "a Python pickle: Autoclave never loads those"),
    "LFS pointer": (
        lambda valid: b"version https://git-lfs.github.com/spec/v1\n",
        "a Git LFS pointer: run `git lfs pull`",
    ),
    "HTML page": (lambda valid: b"<!DOCTYPE html>", "the download failed"),
    "preamble alone cut short": (lambda valid: valid[:100], "cut short: 100 bytes"),
    "future format": (lambda valid: packed(valid, "<I", 8, 2), "format 2 is unknown"),
    "something hidden in the preamble": (lambda valid: packed(valid, "<B", 4095, 1), "bytes 28 to 4096 must be zero"),
    "header in the preamble": (lambda valid: packed(valid, "<Q", 12, 0), "header offset 0 is not"),
    "header not aligned": (lambda valid: packed(valid, "<Q", 12, 4097), "header offset 4097 is not a multiple of 256"),
    "header beyond the file": (lambda valid: packed(valid, "<Q", 12, OUTSIDE), "but the file has"),
    "header offset that overflows 64 bits": (
        lambda valid: packed(valid, "<Q", 12, (1 << 64) - 256),
        "but the file has",
    ),
    "empty header": (lambda valid: packed(valid, "<Q", 20, 0), "header length 0"),
    "header of 2^64 bytes": (lambda valid: packed(valid, "<Q", 20, (1 << 64) - 1), "is not between 1 and 16777216"),
    "file cut short": (lambda valid: valid[:-1], "the file is cut short"),
    "bytes after the header": (lambda valid: valid + b"\0", "the header must end the file"),
}


@pytest.mark.parametrize("attack", PREAMBLE_ATTACKS)
def test_preamble_attack_is_refused(tmp_path: Path, valid: bytes, attack: str) -> None:
    mutate, message = PREAMBLE_ATTACKS[attack]
    assert message in refused(tmp_path, mutate(valid))


SPELLING_ATTACKS: dict[str, tuple[bytes, str]] = {
    "not JSON": (b"{", "not JSON in UTF-8"),
    "not UTF-8": (b'{"a":"\xff"}', "not JSON in UTF-8"),
    "UTF-8 with a byte order mark": (b"\xef\xbb\xbf{}", "not JSON in UTF-8"),
    "UTF-16": ("{}".encode("utf-16"), "not JSON in UTF-8"),
    "NaN": (b'{"kernels":[],"metadata":{"x":NaN},"parts":[]}', "NaN is not a JSON number"),
    "infinity by overflow": (b'{"kernels":[],"metadata":{"x":1e999},"parts":[]}', "not JSON in UTF-8"),
    "lone surrogate": (b'{"kernels":[],"metadata":{"x":"\\ud800"},"parts":[]}', "not JSON in UTF-8"),
    "integer of 5000 digits": (b'{"metadata":' + b"9" * 5000 + b"}", "not JSON in UTF-8"),
    "integer beyond 53 bits": (b'{"kernels":[],"metadata":{"x":9007199254740992},"parts":[]}', "at most 53 bits"),
    "keys not sorted": (b'{"metadata":{},"kernels":[],"parts":[]}', "not canonical JSON"),
    "key twice": (b'{"kernels":[],"kernels":[],"metadata":{},"parts":[]}', "not canonical JSON"),
    "spaces": (b'{"kernels": [],"metadata":{},"parts":[]}', "not canonical JSON"),
    "escaped characters": (b'{"kernels":[],"metadata":{"x":"\\u0041"},"parts":[]}', "not canonical JSON"),
    "minus zero": (b'{"kernels":[],"metadata":{"x":-0},"parts":[]}', "not canonical JSON"),
    "a list instead of a header": (b"[]", "expected an object with metadata, kernels, parts, found a list of 0"),
    "nothing in it": (b"{}", "the key 'kernels' is missing"),
    "no parts": (b'{"kernels":[],"metadata":{},"parts":[]}', "0 parts; expected 1 to 64"),
    "lists in lists": (b"[" * 100_000, "nested deeper"),
    "closed lists in lists": (b"[" * 50_000 + b"]" * 50_000, "nested deeper"),
    "objects in objects": (b'{"a":' * 20_000 + b"0" + b"}" * 20_000, "nested deeper"),
    "a little too deep": (
        b'{"kernels":[],"metadata":{"x":' + b"[" * 40 + b"]" * 40 + b'},"parts":[]}',
        "deeper than 32",
    ),
    "a million empty lists": (b"[" + b"[]," * 1_000_000 + b"[]]", "parsing it may take"),
    "emoji that take four times their text": (f'["{EMOJI * 500_000}"]'.encode(), "parsing it may take"),
}


@pytest.mark.parametrize("attack", SPELLING_ATTACKS)
def test_spelling_attack_is_refused(tmp_path: Path, valid: bytes, attack: str) -> None:
    header, message = SPELLING_ATTACKS[attack]
    assert message in refused(tmp_path, join_file(valid[:4096], header))


def put(value: Any, *path: Any) -> Callable[[Any], None]:
    """A change of a header: put `value` at `path`."""

    def change(header: Any) -> None:
        for key in path[:-1]:
            header = header[key]
        header[path[-1]] = value

    return change


def drop(*path: Any) -> Callable[[Any], None]:
    """A change of a header: remove what is at `path`."""

    def change(header: Any) -> None:
        for key in path[:-1]:
            header = header[key]
        del header[path[-1]]

    return change


def both(first: Callable[[Any], None], second: Callable[[Any], None]) -> Callable[[Any], None]:
    """Two changes of a header, one after the other."""

    def change(header: Any) -> None:
        first(header)
        second(header)

    return change


RUN = ("parts", 0)
IMG, STATE, WEIGHT, BIAS, PERSISTENT, ARENA, OUTPUT = (("parts", 0, "buffers", number) for number in range(7))
CALL = ("parts", 0, "calls", 0)
COPY = ("parts", 0, "calls", 2)
KERNEL = ("kernels", 0)

FIELD_ATTACKS: dict[str, tuple[Callable[[Any], None], str]] = {
    # types and presence
    "unknown key": (put(1, *KERNEL, "pickle"), 'kernels[0]: the key "pickle" is unknown'),
    "missing key": (drop(*CALL, "values"), "parts[0].calls[0]: the key 'values' is missing"),
    "bool as an integer": (put(True, *CALL, "kernel"), "parts[0].calls[0].kernel: expected an integer"),
    "float as an integer": (put(1.0, *IMG, "nbytes"), "buffers[0].nbytes: expected an integer"),
    "string as an integer": (put("1", *IMG, "nbytes"), "buffers[0].nbytes: expected an integer"),
    "null as a string": (put(None, *KERNEL, "name"), "kernels[0].name: expected a string"),
    "empty name": (put("", *KERNEL, "name"), "kernels[0].name: expected a string that is not empty"),
    "negative size": (put(-1, *IMG, "nbytes"), "expected an integer from 0"),
    "size of 2^63": (put(1 << 63, *IMG, "nbytes"), "expected an integer from 0 to 9007199254740991"),
    "span of three": (put([4096, 1, 1], *KERNEL, "lib"), "lib: expected a list of 2"),
    "span as an object": (put({"offset": 4096}, *KERNEL, "lib"), "lib: expected a list of 2, found an object"),
    "unknown buffer kind": (put("device", *IMG, "kind"), "expected one of input, constant"),
    "unknown call kind": (put("exec", *CALL, "kind"), "expected a call of kind program or copy"),
    "call kind of another type": (put([], *CALL, "kind"), "expected a call of kind program or copy"),
    "part key of three numbers": (put([1, 2, 3], *RUN, "key"), "parts[0].key: expected a list of 2"),
    "part key of zero": (put([0, 1], *RUN, "key"), "parts[0].key[0]: expected an integer from 1"),
    "workgroup of two dimensions": (put([1, 1], *CALL, "local_size"), "local_size: expected a list of 3"),
    "grid of zero": (put([0, 1, 1], *CALL, "global_size"), "global_size[0]: expected an integer from 1"),
    "shape of 17 dimensions": (put([1] * 17, *RUN, "outputs", 0, "shape"), "shape: expected a list of at most 16"),
    "launch is a list": (put([], *KERNEL, "launch"), "launch: expected an object"),
    "fraction in metadata": (put({"x": 0.5}, "metadata"), "metadata: expected no fractions"),
    "huge integer in launch": (put({"x": [1 << 60]}, *KERNEL, "launch"), "launch: expected an integer of at most 53"),
    # sections
    "code in the preamble": (put([0, 24], *KERNEL, "lib"), "offset 0 lies in the preamble"),
    "code not aligned": (put([5633, 24], *KERNEL, "lib"), "offset 5633 is not a multiple of 256"),
    "code beyond the file": (put([OUTSIDE, 24], *KERNEL, "lib"), "but sections end at"),
    "code that runs into the header": (put([5632, 1 << 20], *KERNEL, "lib"), "but sections end at"),
    "empty code": (put([5632, 0], *KERNEL, "lib"), "the section is empty"),
    "code over a weight": (put([4352, 24], *KERNEL, "lib"), "overlap"),
    "weight shorter than its buffer": (put([4096, 1000], *WEIGHT, "data"), "1024 bytes, but its data has 1000"),
    "weight beyond the file": (put([1 << 50, 1024], *WEIGHT, "data"), "but sections end at"),
    # buffers
    "input with data": (put([4096, 1024], *IMG, "data"), "has data if and only if it is a constant"),
    "constant without data": (put(None, *WEIGHT, "data"), "has data if and only if it is a constant"),
    "two arenas": (put("arena", *PERSISTENT, "kind"), "2 arenas; a part has at most one"),
    "arena of 5 GiB": (put(5 << 30, *ARENA, "nbytes"), "at most 4294967296 are allowed"),
    "persistent buffer of 2^53 bytes": (put((1 << 53) - 1, *PERSISTENT, "nbytes"), "at most 4294967296 are allowed"),
    "two buffers of 3 GiB": (
        both(put(3 << 30, *ARENA, "nbytes"), put(3 << 30, *OUTPUT, "nbytes")),
        "at most 4294967296 are allowed",
    ),
    # tensors
    "input in an arena": (put(5, *RUN, "inputs", 0, "buffer"), "buffer 5 is of kind arena; expected input"),
    "output in a weight": (put(2, *RUN, "outputs", 0, "buffer"), "buffer 2 is of kind constant; expected output"),
    "input in no buffer": (put(7, *RUN, "inputs", 0, "buffer"), "buffer 7 does not exist; the part has 7"),
    "two inputs in one buffer": (
        put(0, *RUN, "inputs", 1, "buffer"),
        "buffers[0] must hold exactly one input, it holds 2",
    ),
    "input buffer without an input": (drop(*RUN, "inputs", 0), "must hold exactly one input, it holds 0"),
    "tensor larger than its buffer": (
        put([2, 4, 8], *RUN, "inputs", 0, "shape"),
        "64 bytes at 0 leave the buffer of 32",
    ),
    "tensor beyond its buffer": (put(1 << 20, *RUN, "outputs", 0, "offset"), "leave the buffer of 64 bytes"),
    "shape that overflows": (put([(1 << 53) - 1] * 16, *RUN, "inputs", 0, "shape"), "leave the buffer of 32"),
    "tensor across elements": (put(1, *RUN, "outputs", 0, "offset"), "are not whole elements of 2 bytes"),
    "unknown dtype": (put("object", *RUN, "inputs", 0, "dtype"), "dtype 'object' is unknown"),
    "two inputs of one name": (put("img", *RUN, "inputs", 1, "name"), "input 'img' occurs twice"),
    # kernels
    "slot twice": (
        put([{"dtype": "float32", "name": "data0", "shape": [], "slot": 0}] * 2, *KERNEL, "signature"),
        "signature slot 0 occurs twice",
    ),
    "parameter of unknown dtype": (put("float8", *KERNEL, "signature", 0, "dtype"), "dtype 'float8' is unknown"),
    "writes what it does not get": (put([3], *KERNEL, "outs"), "outs [3] are not all among globals [0, 1, 2]"),
    "reads what it does not get": (put([3], *KERNEL, "ins"), "ins [3] are not all among globals"),
    "global twice": (put([0, 1, 1], *KERNEL, "globals"), "global 1 occurs twice"),
    # calls
    "kernel that is not there": (put(2, *CALL, "kernel"), "kernel 2 does not exist; there are 2"),
    "argument too few": (drop(*CALL, "args", 2), "2 arguments for the 3 globals of 'r_16_4'"),
    "argument in no buffer": (put(99, *CALL, "args", 0, "buffer"), "buffer 99 does not exist"),
    "argument beyond its buffer": (put(4096, *CALL, "args", 0, "offset"), "64 bytes at 4096 leave the buffer of 4096"),
    "argument larger than its buffer": (put(1 << 40, *CALL, "args", 1, "nbytes"), "leave the buffer of 1024"),
    "argument of no bytes": (put(0, *CALL, "args", 1, "nbytes"), "nbytes: expected an integer from 1"),
    "argument across elements": (put(63, *CALL, "args", 0, "nbytes"), "are not whole elements of 2 bytes"),
    "argument of unknown dtype": (put("void", *CALL, "args", 0, "dtype"), "dtype 'void' is unknown"),
    "program that writes a weight": (put(2, *CALL, "args", 0, "buffer"), "writes to buffer 2, which is constant"),
    "program that writes an input": (
        put({"buffer": 0, "dtype": "uint8", "nbytes": 32, "offset": 0}, *CALL, "args", 0),
        "writes to buffer 0, which is input",
    ),
    "program that changes what init made": (
        put(4, *CALL, "args", 0, "buffer"),
        "writes to persistent buffer 4 after init",
    ),
    "copy that changes what init made": (
        put(4, *COPY, "destination", "buffer"),
        "writes to persistent buffer 4 after init",
    ),
    "init that reads an input": (
        put({"buffer": 0, "dtype": "uint8", "nbytes": 32, "offset": 0}, "parts", 0, "init", 0, "args", 0),
        "writes to buffer 0, which is input",
    ),
    "init that copies an input": (
        put(
            {
                "kind": "copy",
                "destination": {"buffer": 4, "dtype": "uint8", "nbytes": 32, "offset": 0},
                "source": {"buffer": 0, "dtype": "uint8", "nbytes": 32, "offset": 0},
            },
            "parts",
            0,
            "init",
            0,
        ),
        "init uses input buffer 0 before it is bound",
    ),
    "copy of unequal sizes": (put(16, *COPY, "source", "nbytes"), "copies 16 bytes to 32"),
    "copy onto an input": (put(1, *COPY, "destination", "buffer"), "leave the buffer"),
    "workgroup of 1025 threads": (put([1025, 1, 1], *CALL, "local_size"), "1025 threads in a workgroup; at most 1024"),
    "workgroup that overflows": (put([(1 << 31) - 1] * 3, *CALL, "local_size"), "threads in a workgroup"),
    "scalar beyond 32 bits": (put([1 << 31], *CALL, "values"), "values[0]: expected an integer"),
    # the whole
    "part key twice": (put("run", "parts", 1, "key"), "part key 'run' occurs twice"),
    "65 parts": (
        lambda header: header["parts"].extend({**header["parts"][1], "key": f"p{number}"} for number in range(63)),
        "65 parts; expected 1 to 64",
    ),
}


@pytest.mark.parametrize("attack", FIELD_ATTACKS)
def test_field_attack_is_refused(tmp_path: Path, valid: bytes, attack: str) -> None:
    change, message = FIELD_ATTACKS[attack]
    sections, header = split_file(valid)
    change(header)
    assert message in refused(tmp_path, join_file(sections, header))


def test_many_constants_on_one_section_are_refused_when_they_add_up(tmp_path: Path, valid: bytes) -> None:
    sections, header = split_file(valid)
    sections = sections.ljust(1 << 20, b"\0")
    length = len(sections) - 8192
    constant = {"data": [8192, length], "kind": "constant", "name": None, "nbytes": length}
    header["parts"][1]["buffers"] += [constant] * 4300
    assert "far more than the file has" in refused(tmp_path, join_file(sections, header))


def irregular_files(tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    return {
        "a folder": tmp_path / "folder",
        "a FIFO that nobody writes": tmp_path / "fifo",
        "a symlink to itself": tmp_path / "loop",
        "a dangling symlink": tmp_path / "dangling",
        "a missing file": tmp_path / "nothing",
        "a device": Path("/dev/zero"),
        "a name with a NUL": Path("a\0b"),
        "a name too long": Path("a" * 5000),
    }


@pytest.mark.parametrize(
    "kind",
    [
        "a folder",
        "a FIFO that nobody writes",
        "a symlink to itself",
        "a dangling symlink",
        "a missing file",
        "a device",
        "a name with a NUL",
        "a name too long",
    ],
)
def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path, kind: str) -> None:
    with pytest.raises(ArtifactError, match="not a regular file|cannot be opened"):
        open_artifact(irregular_files(tmp_path)[kind])


def test_symlink_to_an_artifact_is_followed(tmp_path: Path) -> None:
    write_sample(tmp_path / "real.pkl")
    (tmp_path / "link.pkl").symlink_to("real.pkl")
    with open_artifact(tmp_path / "link.pkl") as artifact:
        assert artifact.part("run").key == "run"


def test_refused_files_leave_no_descriptor_open(tmp_path: Path, valid: bytes) -> None:
    before = os.listdir("/proc/self/fd")
    for data in (b"", valid[:-1], valid[:4096], join_file(valid[:4096], b"[]")):
        refused(tmp_path, data)
    assert os.listdir("/proc/self/fd") == before


def test_message_does_not_repeat_a_huge_value(tmp_path: Path, valid: bytes) -> None:
    sections, header = split_file(valid)
    header["parts"][0]["buffers"][0]["kind"] = "x" * 100_000
    message = refused(tmp_path, join_file(sections, header))
    assert re.search(r"found \"x{40,60}", message)
    assert len(message) < 400
