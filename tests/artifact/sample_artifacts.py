"""A small artifact that uses every feature of the format, and ways to write it and variations of it."""

import json
import struct
from pathlib import Path
from typing import Any

from autoclave.artifact.model import (
    Argument,
    Buffer,
    Copy,
    Header,
    Kernel,
    Parameter,
    Part,
    Program,
    Span,
    Target,
    TensorSpec,
)
from autoclave.artifact.writer import ArtifactWriter
from autoclave.canonical import canonical_json

TARGET = Target("QCOM", "IR3", "a630,IMAGE_PITCH_ALIGNMENT=64")
WEIGHTS = (bytes(range(256)) * 4, struct.pack("<8f", *range(8)), struct.pack("<4e", 1, 2, 3, 4))
CODE = (bytes.fromhex("0300000000000000") * 3, b"second kernel's code")


def write_sample(path: Path, weights: tuple[bytes, ...] = WEIGHTS, code: tuple[bytes, ...] = CODE) -> str:
    """Write the sample artifact to `path` and return its sha256."""
    with ArtifactWriter(path) as writer:
        spans = [writer.add_weight(data) for data in weights]
        libs = [writer.add_blob(data) for data in code]
        return writer.finish(sample_header(spans, libs))


def sample_header(weights: list[Span], libs: list[Span]) -> Header:
    """Two kernels and two parts: "run", which has init launches, a copy and an arena, and a warp for one camera."""
    convolve = Kernel(
        name="r_16_4",
        renderer="ir3",
        lib=libs[0],
        signature=(
            Parameter("data0", 0, "float16"),
            Parameter("data1", 1, "float16", (2, 4, 4)),
            Parameter("data2", 2, "float16"),
        ),
        globals=(0, 1, 2),
        outs=(0,),
        ins=(1, 2),
        launch={"registers": 12, "images": [{"slot": 1, "writes": False}], "demoted": None},
    )
    spread = Kernel("E_32", "ir3", libs[1], (Parameter("data0", 0, "float32"),), (0,), (0,), ())
    return Header(
        metadata={"synthetic": True, "onnx": {"sha256": "ab" * 32, "size": 12}, "state": [["state", "next_state"]]},
        kernels=(convolve, spread),
        parts=(_run(weights), _warp(weights)),
    )


def _run(weights: list[Span]) -> Part:
    return Part(
        key="run",
        target=TARGET,
        inputs=(TensorSpec("img", (1, 4, 8), "uint8", 0), TensorSpec("state", (16,), "float16", 1)),
        outputs=(TensorSpec("outputs", (1, 16), "float16", 6), TensorSpec("next_state", (16,), "float16", 6, 32)),
        buffers=(
            Buffer("input", 32, name="img"),
            Buffer("input", 32, name="state"),
            Buffer("constant", weights[0].length, weights[0], "conv.weight"),
            Buffer("constant", weights[2].length, weights[2], "bias.Größe"),
            Buffer("persistent", 1024),
            Buffer("arena", 4096),
            Buffer("output", 64),
        ),
        init=(Program(1, (4, 1, 1), (8, 1, 1), (Argument(4, 0, 1024, "float32"),)),),
        calls=(
            Program(0, (2, 2, 1), (64, 1, 1), (_half(5, 0, 64), _half(2, 0, 64), _half(4, 0, 64)), values=(3,)),
            Program(0, (2, 2, 1), (64, 1, 1), (_half(6, 0, 64), _half(5, 64, 64), _half(3, 0, 8)), values=(-1,)),
            Copy(_half(6, 32, 32), _half(1, 0, 32)),
        ),
    )


def _warp(weights: list[Span]) -> Part:
    return Part(
        key=(1928, 1208),
        target=TARGET,
        inputs=(),
        outputs=(TensorSpec("warped", (8,), "float32", 1),),
        buffers=(Buffer("constant", weights[1].length, weights[1]), Buffer("output", 32)),
        init=(),
        calls=(Copy(Argument(1, 0, 32, "float32"), Argument(0, 0, 32, "float32")),),
    )


def _half(buffer: int, offset: int, nbytes: int) -> Argument:
    return Argument(buffer, offset, nbytes, "float16")


HEADER_AT = struct.Struct("<QQ")
"""Header offset and length, at byte 12 of the file."""


def split_file(data: bytes) -> tuple[bytes, Any]:
    """An artifact taken apart without the code under test: the bytes before the header, and the header's JSON."""
    offset, length = HEADER_AT.unpack_from(data, 12)
    return data[:offset], json.loads(data[offset : offset + length])


def join_file(sections: bytes, header: Any) -> bytes:
    """The inverse of `split_file`; the header may be JSON, or bytes to take as they are."""
    encoded = header if isinstance(header, bytes) else canonical_json(header)
    data = bytearray(sections)
    HEADER_AT.pack_into(data, 12, len(sections), len(encoded))
    return bytes(data) + encoded
