"""Check files: what goes in comes out, the same bytes every time, and hostile files are refused within bounds."""

import json
import random
import struct
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from native.cpu_artifacts import write_artifact

from autoclave.artifact.reader import Artifact, open_artifact
from autoclave.canonical import canonical_json
from autoclave.errors import ArtifactError
from autoclave.parity.check_file import (
    MAGIC,
    CheckFile,
    PartCheck,
    Recorder,
    bind_check,
    decode_check,
    encode_check,
    read_check,
    read_check_of,
    write_check,
)
from autoclave.parity.record import record

CHECK = CheckFile(
    "ab" * 32,
    Recorder("cpu", "autoclave.native", "1"),
    (
        PartCheck(
            "run",
            42,
            {"img": np.arange(6, dtype=np.uint8).reshape(1, 6), "flag": np.array([True]), "t": np.array(7, np.int64)},
            {"out": np.array([[0.5, -0.0], [np.inf, np.nan]], np.float32), "half": np.array([1.5], np.float16)},
        ),
        PartCheck((1928, 1208), 43, {"frame": np.zeros((2, 0, 3), np.uint8)}, {}),
    ),
)


FRAME_OF_2_GIB = b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", 2 << 30) + bytes(9)
"""Magic, a descriptor that says "one segment, 8 bytes of size follow", the size: all that is read of it."""


def compress(content: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(content)


def rewritten(change: Callable[[dict[str, Any]], object], raw: Callable[[bytes], bytes] = lambda data: data) -> bytes:
    """The content of CHECK with its header changed by `change` and its encoded header by `raw`."""
    content = encode_check(CHECK)
    (length,) = struct.unpack_from("<Q", content, 12)
    header = json.loads(content[20 : 20 + length])
    change(header)
    encoded = raw(canonical_json(header))
    return content[:12] + struct.pack("<Q", len(encoded)) + encoded + content[20 + length :]


def assert_equal(left: CheckFile, right: CheckFile) -> None:
    assert (left.artifact_sha256, left.recorded_by) == (right.artifact_sha256, right.recorded_by)
    assert [(part.key, part.seed) for part in left.parts] == [(part.key, part.seed) for part in right.parts]
    for one, other in zip(left.parts, right.parts, strict=True):
        for tensors, others in ((one.inputs, other.inputs), (one.outputs, other.outputs)):
            assert list(tensors) == list(others)
            for name, tensor in tensors.items():
                assert (tensor.dtype, tensor.shape) == (others[name].dtype, others[name].shape)
                assert tensor.tobytes() == others[name].tobytes()


def test_round_trip(tmp_path: Path) -> None:
    write_check(tmp_path / "model.check.zst", CHECK)

    assert_equal(read_check(tmp_path / "model.check.zst"), CHECK)


def test_bytes_are_always_the_same(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_check(tmp_path / name, CHECK)

    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_layout_is_the_documented_one() -> None:
    content = encode_check(CHECK)

    magic, version, length = struct.unpack_from("<8sIQ", content)
    header = json.loads(content[20 : 20 + length])
    tensors = content[20 + length :]
    assert (magic, version) == (MAGIC, 1)
    assert header["parts"][0]["inputs"][2] == {"name": "t", "dtype": "int64", "shape": [], "data": [7, 8]}
    assert tensors[7:15] == (7).to_bytes(8, "little")
    assert header["parts"][1]["key"] == [1928, 1208]


def test_writing_leaves_no_other_file(tmp_path: Path) -> None:
    write_check(tmp_path / "model.check.zst", CHECK)

    assert [path.name for path in tmp_path.iterdir()] == ["model.check.zst"]


def test_part_that_is_not_there_is_named() -> None:
    with pytest.raises(ArtifactError, match="no part walk; its parts: run, 1928x1208"):
        CHECK.part("walk")


HEADER_ATTACKS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "sha256": (lambda h: h.update(artifact_sha256="AB" * 32), "artifact_sha256"),
    "sha256-type": (lambda h: h.update(artifact_sha256=7), "'artifact_sha256' is of the wrong type"),
    "surplus-field": (lambda h: h.update(more=1), "header: expected an object"),
    "recorder-kind": (lambda h: h["recorded_by"].update(kind="oracle"), "'oracle'"),
    "recorder-field": (lambda h: h["recorded_by"].pop("name"), "recorded_by: expected"),
    "seed-negative": (lambda h: h["parts"][0].update(seed=-1), "seed -1 is not a number"),
    "seed-bool": (lambda h: h["parts"][0].update(seed=True), "'seed'"),
    "part-key": (lambda h: h["parts"][1].update(key=[1, 2, 3]), "part key"),
    "part-key-type": (lambda h: h["parts"][1].update(key=[1, -2]), "part key"),
    "same-key": (lambda h: h["parts"][1].update(key="run"), "same key"),
    "part-type": (lambda h: h["parts"].append(3), "part: expected"),
    "dtype": (lambda h: h["parts"][0]["inputs"][0].update(dtype="object"), "'object'"),
    "dtype-record": (lambda h: h["parts"][0]["inputs"][0].update(dtype="f4,f4"), "'f4,f4'"),
    "shape-negative": (lambda h: h["parts"][0]["inputs"][0].update(shape=[-1, -6]), "not a dtype and a shape"),
    "shape-bool": (lambda h: h["parts"][0]["inputs"][0].update(shape=[True, 6]), "not a dtype and a shape"),
    "shape-huge": (lambda h: h["parts"][0]["inputs"][0].update(shape=[4294967295] * 200), "tensor 'img'"),
    "shape-deep": (lambda h: h["parts"][0]["inputs"][0].update(shape=[1] * 500 + [6]), "tensor 'img'"),
    "shape-too-large": (lambda h: h["parts"][0]["outputs"][0].update(shape=[2, 1000]), "tensor 'out'"),
    "shape-empty-deep": (lambda h: h["parts"][1]["inputs"][0].update(shape=[0] * 99), "tensor 'frame'"),
    "data-overlap": (lambda h: h["parts"][0]["inputs"][1].update(data=[0, 1]), "expected 1 bytes at 6"),
    "data-length": (lambda h: h["parts"][0]["inputs"][0].update(data=[0, 7]), "expected 6 bytes"),
    "same-name": (lambda h: h["parts"][0]["inputs"][1].update(name="img"), "two tensors"),
    "tensor-missing": (lambda h: h["parts"][0]["outputs"].pop(), "its data is at"),
}


@pytest.mark.parametrize(("change", "message"), HEADER_ATTACKS.values(), ids=HEADER_ATTACKS.keys())
def test_hostile_header(change: Callable[[dict[str, Any]], object], message: str) -> None:
    with pytest.raises(ArtifactError, match=message):
        decode_check(rewritten(change))


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        pytest.param(lambda data: data.replace(b'":', b'": ', 1), "not canonical", id="spaces"),
        pytest.param(lambda data: data[:-1] + b',"a":NaN}', "not JSON", id="nan"),
        pytest.param(lambda data: b"[" * 500_000, "not JSON", id="nested"),
        pytest.param(lambda data: b"9" * 10_000, "not JSON", id="long-number"),
        pytest.param(lambda data: b"\xff" + data, "not JSON", id="not-utf-8"),
        pytest.param(lambda data: b"", "not JSON", id="empty"),
        pytest.param(lambda data: b'"\\ud800"', "header", id="lone-surrogate"),
    ],
)
def test_hostile_header_text(raw: Callable[[bytes], bytes], message: str) -> None:
    with pytest.raises(ArtifactError, match=message):
        decode_check(rewritten(lambda header: None, raw))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"", "fewer than its preamble", id="empty"),
        pytest.param(b"\0" * 20, "wrong magic", id="magic"),
        pytest.param(struct.pack("<8sIQ", MAGIC, 2, 0), "format 2", id="format"),
        pytest.param(struct.pack("<8sIQ", MAGIC, 1, 1 << 63), "header of 9223372036854775808", id="header-length"),
        pytest.param(encode_check(CHECK) + b"\0", "its header declares", id="surplus-tensor-bytes"),
        pytest.param(encode_check(CHECK)[:-1], "tensor 'half'", id="tensors-cut-short"),
    ],
)
def test_hostile_content(content: bytes, message: str) -> None:
    with pytest.raises(ArtifactError, match=message):
        decode_check(content)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"", "record it again", id="empty"),
        pytest.param(b"no zstandard frame at all", "it is not a check file, .*; record it again", id="not-a-frame"),
        pytest.param(compress(encode_check(CHECK))[:-3], "cut short", id="cut-short"),
        pytest.param(compress(encode_check(CHECK)) + b"x", "bytes after its end", id="trailing-byte"),
        pytest.param(compress(encode_check(CHECK)) * 2, "bytes after its end", id="two-frames"),
        pytest.param(
            zstandard.ZstdCompressor(write_content_size=False).compress(encode_check(CHECK)),
            "declare a size",
            id="size-not-declared",
        ),
        pytest.param(FRAME_OF_2_GIB, "declare a size of at most 1073741824", id="bomb"),
    ],
)
def test_hostile_frame(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "model.check.zst").write_bytes(data)

    with pytest.raises(ArtifactError, match=rf"model\.check\.zst: .*{message}"):
        read_check(tmp_path / "model.check.zst")


def test_frame_that_lies_about_its_size_stays_within_bounds(tmp_path: Path) -> None:
    bomb = bytearray(compress(bytes(64 << 20)))  # magic, descriptor, window, 4 bytes of content size
    assert struct.unpack_from("<I", bomb, 6) == (64 << 20,)
    struct.pack_into("<I", bomb, 6, 1000)
    (tmp_path / "bomb").write_bytes(bomb)

    tracemalloc.start()
    with pytest.raises(ArtifactError):
        read_check(tmp_path / "bomb")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 40 << 20


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="absent"):
        read_check(tmp_path / "absent")


def test_mutated_content_decodes_or_is_refused() -> None:
    content = encode_check(CHECK)
    dice = random.Random(30)
    refused = 0
    for _ in range(3000):
        mutant = bytearray(content)
        for _ in range(dice.randint(1, 3)):
            mutant[dice.randrange(len(mutant))] = dice.randrange(256)
        try:
            decode_check(bytes(mutant))
        except ArtifactError:
            refused += 1
    assert refused > 2000


def test_mutated_files_are_refused(tmp_path: Path) -> None:
    data = compress(encode_check(CHECK))
    dice = random.Random(31)
    path = tmp_path / "mutant"
    for _ in range(1000):
        mutant = bytearray(data)
        mutant[dice.randrange(len(mutant))] ^= 1 << dice.randrange(8)
        path.write_bytes(mutant)
        try:
            assert_equal(read_check(path), CHECK)  # the frame has a bit or two without meaning
        except ArtifactError:
            pass


@pytest.fixture
def artifact(tmp_path: Path) -> Iterator[Artifact]:
    write_artifact(tmp_path / "model.pkl")
    with open_artifact(tmp_path / "model.pkl") as opened:
        yield opened


def test_check_of_its_artifact_is_bound(artifact: Artifact, tmp_path: Path) -> None:
    write_check(tmp_path / "check", record(artifact))

    assert_equal(read_check_of(artifact, tmp_path / "check"), record(artifact))


def test_check_of_another_artifact_is_refused(artifact: Artifact, tmp_path: Path) -> None:
    write_check(tmp_path / "check", replace(record(artifact), artifact_sha256="0" * 64))

    with pytest.raises(ArtifactError, match=rf"for artifact 0{{64}}, this is {artifact.sha256()}"):
        read_check_of(artifact, tmp_path / "check")


def test_more_than_the_artifact_can_need_is_not_unpacked(artifact: Artifact, tmp_path: Path) -> None:
    large = PartCheck("run", 42, {"x": np.zeros(1 << 21, np.uint8)}, {})
    write_check(tmp_path / "check", replace(record(artifact), parts=(large,)))

    with pytest.raises(ArtifactError, match="declare a size of at most"):
        read_check_of(artifact, tmp_path / "check")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"inputs": {"x": np.zeros((2, 4), np.float32)}}, "inputs of part run", id="input-missing"),
        pytest.param({"outputs": {}}, "outputs of part run", id="no-outputs"),
        pytest.param({"outputs": {"result": np.zeros((2, 4))}}, "outputs of part run", id="output-dtype"),
        pytest.param({"key": "walk"}, "no part run; its parts: walk", id="another-part"),
    ],
)
def test_check_that_does_not_fit_is_refused(artifact: Artifact, changes: dict[str, Any], message: str) -> None:
    check = record(artifact)

    with pytest.raises(ArtifactError, match=message):
        bind_check(replace(check, parts=(replace(check.parts[0], **changes),)), artifact)
