"""docs/artifact-format.md is enough to write a reader: this one follows it and shares no code with Autoclave's own."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest
from artifact.sample_artifacts import CODE, WEIGHTS, write_sample

SIZES = {
    **dict.fromkeys(("bool", "int8", "uint8"), 1),
    **dict.fromkeys(("bfloat16", "float16", "int16", "uint16"), 2),
    **dict.fromkeys(("float32", "int32", "uint32"), 4),
    **dict.fromkeys(("float64", "int64", "uint64"), 8),
}


class DocumentedReader:
    """A reader by the document: "The file", "The header", "Rules"."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        magic, version, offset, length = struct.unpack_from("<8sIQQ", self.data)
        assert (magic, version) == (b"AUTOCLAV", 1)
        assert not any(self.data[28:4096])
        assert offset % 256 == 0 and offset >= 4096 and offset + length == len(self.data)
        text = self.data[offset:]
        self.header = json.loads(text)
        canonical = json.dumps(self.header, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        assert canonical.encode() == text
        assert sorted(self.header) == ["kernels", "metadata", "parts"]
        self.sections_end = offset

    def section(self, span: list[int]) -> bytes:
        offset, length = span
        assert length and offset % 256 == 0 and 4096 <= offset and offset + length <= self.sections_end
        return self.data[offset : offset + length]

    def part(self, key: Any) -> Any:
        return next(part for part in self.header["parts"] if part["key"] == key)

    def launches(self, part: Any, calls: str) -> list[tuple[str, list[tuple[str, int, int]]]]:
        """For each call its kernel's name or "copy", and the kind, offset and size of each argument."""
        return [
            (
                self.header["kernels"][call["kernel"]]["name"] if call["kind"] == "program" else "copy",
                [
                    self.argument(part, argument)
                    for argument in (
                        call["args"] if call["kind"] == "program" else (call["destination"], call["source"])
                    )
                ],
            )
            for call in part[calls]
        ]

    def argument(self, part: Any, argument: Any) -> tuple[str, int, int]:
        buffer = part["buffers"][argument["buffer"]]
        assert argument["offset"] + argument["nbytes"] <= buffer["nbytes"]
        assert argument["nbytes"] % SIZES[argument["dtype"]] == 0
        return buffer["kind"], argument["offset"], argument["nbytes"]


@pytest.fixture
def reader(tmp_path: Path) -> DocumentedReader:
    write_sample(tmp_path / "sample.pkl")
    return DocumentedReader(tmp_path / "sample.pkl")


def test_documented_reader_finds_the_weights(reader: DocumentedReader) -> None:
    constants = {
        buffer["name"]: reader.section(buffer["data"]) for buffer in reader.part("run")["buffers"] if buffer["data"]
    }
    assert constants == {"conv.weight": WEIGHTS[0], "bias.Größe": WEIGHTS[2]}


def test_documented_reader_finds_the_kernels(reader: DocumentedReader) -> None:
    assert [reader.section(kernel["lib"]) for kernel in reader.header["kernels"]] == list(CODE)
    assert reader.header["kernels"][0]["signature"][1] == {
        "name": "data1",
        "slot": 1,
        "dtype": "float16",
        "shape": [2, 4, 4],
    }


def test_documented_reader_finds_inputs_and_outputs(reader: DocumentedReader) -> None:
    part = reader.part("run")
    assert [(spec["name"], spec["shape"], spec["dtype"]) for spec in part["inputs"]] == [
        ("img", [1, 4, 8], "uint8"),
        ("state", [16], "float16"),
    ]
    assert [(spec["name"], spec["buffer"], spec["offset"]) for spec in part["outputs"]] == [
        ("outputs", 6, 0),
        ("next_state", 6, 32),
    ]


def test_documented_reader_finds_what_to_launch(reader: DocumentedReader) -> None:
    part = reader.part("run")
    assert reader.launches(part, "init") == [("E_32", [("persistent", 0, 1024)])]
    assert reader.launches(part, "calls") == [
        ("r_16_4", [("arena", 0, 64), ("constant", 0, 64), ("persistent", 0, 64)]),
        ("r_16_4", [("output", 0, 64), ("arena", 64, 64), ("constant", 0, 8)]),
        ("copy", [("output", 32, 32), ("input", 0, 32)]),
    ]


def test_documented_reader_finds_the_warp_by_its_camera(reader: DocumentedReader) -> None:
    part = reader.part([1928, 1208])
    assert reader.section(part["buffers"][0]["data"]) == WEIGHTS[1]
    assert reader.launches(part, "calls") == [("copy", [("output", 0, 32), ("constant", 0, 32)])]
