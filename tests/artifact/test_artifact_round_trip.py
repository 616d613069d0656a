"""What is written can be read: the same header, the same bytes, at the places that the format prescribes."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from artifact.sample_artifacts import CODE, TARGET, WEIGHTS, sample_header, split_file, write_sample

from autoclave.artifact.codec import decode_header, encode_header
from autoclave.artifact.model import Argument as Arg
from autoclave.artifact.model import Buffer, Copy, Header, Part, Span, TensorSpec
from autoclave.artifact.reader import open_artifact
from autoclave.artifact.writer import ArtifactWriter
from autoclave.errors import ArtifactError


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    write_sample(tmp_path / "sample.pkl")
    return tmp_path / "sample.pkl"


def test_header_comes_back_as_it_was(sample: Path) -> None:
    with open_artifact(sample) as artifact:
        spans = [Span(4096, 1024), Span(5120, 32), Span(5376, 8)]
        assert artifact.header == sample_header(spans, [Span(5632, 24), Span(5888, 20)])


def test_sections_come_back_byte_for_byte(sample: Path) -> None:
    with open_artifact(sample) as artifact:
        constants = [buffer.data for buffer in artifact.part("run").buffers if buffer.data is not None]
        assert [bytes(artifact.read(span)) for span in constants] == [WEIGHTS[0], WEIGHTS[2]]
        assert [bytes(artifact.read(kernel.lib)) for kernel in artifact.header.kernels] == list(CODE)


def test_header_ends_the_file_in_canonical_json(sample: Path) -> None:
    sections, header = split_file(sample.read_bytes())
    with open_artifact(sample) as artifact:
        encoded = encode_header(artifact.header)
    assert sample.read_bytes() == sections + encoded
    assert decode_header(encoded, 1 << 20) == decode_header(encode_header(decode_header(encoded, 1 << 20)), 1 << 20)
    assert list(header) == ["kernels", "metadata", "parts"]


def test_names_may_hold_any_character(tmp_path: Path) -> None:
    name = "größe/\u4e2d\U0001f697 \"'\\\n\0"
    part = Part("run", TARGET, (), (TensorSpec(name, (2,), "int8", 0),), (Buffer("output", 2, name=name),), (), ())
    with ArtifactWriter(tmp_path / "names.pkl") as writer:
        writer.finish(Header({name: name}, (), (part,)))
    with open_artifact(tmp_path / "names.pkl") as artifact:
        assert artifact.header.parts[0].outputs[0].name == name
        assert artifact.header.metadata == {name: name}


def test_same_content_gives_same_bytes_wherever_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    first = write_sample(tmp_path / "a.pkl")
    second = write_sample(tmp_path / "elsewhere" / "another name.pkl")
    assert first == second
    assert (tmp_path / "a.pkl").read_bytes() == (tmp_path / "elsewhere" / "another name.pkl").read_bytes()


def test_identity_is_the_sha256_of_the_file(sample: Path) -> None:
    expected = hashlib.sha256(sample.read_bytes()).hexdigest()
    assert write_sample(sample) == expected
    with open_artifact(sample) as artifact:
        assert artifact.sha256() == expected
        assert artifact.size == sample.stat().st_size


def test_equal_sections_are_stored_once(tmp_path: Path) -> None:
    with ArtifactWriter(tmp_path / "a.pkl") as writer:
        first, second = writer.add_weight(b"weight" * 100), writer.add_weight(b"other")
        assert writer.add_weight(bytearray(b"weight" * 100)) == first
        assert writer.add_blob(b"other") == second
        assert writer.add_blob(b"code").offset == 5120


def test_sections_are_aligned_to_256_and_follow_each_other(tmp_path: Path) -> None:
    with ArtifactWriter(tmp_path / "a.pkl") as writer:
        spans = [writer.add_weight(bytes([size % 255 + 1]) * size) for size in (1, 255, 256, 257, 4096)]
    assert spans == [Span(4096, 1), Span(4352, 255), Span(4608, 256), Span(4864, 257), Span(5376, 4096)]


def test_place_of_weights_does_not_depend_on_kernels(tmp_path: Path) -> None:
    write_sample(tmp_path / "a.pkl")
    write_sample(tmp_path / "b.pkl", code=(b"quite different", b"and longer code" * 1000))
    end = 4096 + 1024 + 256 + 256
    assert (tmp_path / "a.pkl").read_bytes()[4096:end] == (tmp_path / "b.pkl").read_bytes()[4096:end]


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12, dtype=np.float16).reshape(3, 4),
        np.array(2.5, dtype=np.float32),
        np.array([True, False]),
        np.arange(24, dtype=np.int64).reshape(2, 3, 4),
        memoryview(b"read only"),
    ],
    ids=["matrix", "scalar", "bool", "tensor", "memoryview"],
)
def test_any_contiguous_buffer_can_be_a_weight(tmp_path: Path, array: np.ndarray) -> None:
    expected = array.tobytes()
    with ArtifactWriter(tmp_path / "a.pkl") as writer:
        span = writer.add_weight(array)
        part = Part("run", TARGET, (), (), (Buffer("constant", len(expected), span),), (), ())
        writer.finish(Header({}, (), (part,)))
    with open_artifact(tmp_path / "a.pkl") as artifact:
        assert bytes(artifact.read(span)) == expected


def test_views_are_read_only_and_outlive_the_artifact(sample: Path) -> None:
    with open_artifact(sample) as artifact:
        view = artifact.read(Span(4096, 4))
    with pytest.raises(TypeError):
        view[0] = 1
    assert bytes(view) == WEIGHTS[0][:4]


def test_closed_artifact_cannot_be_read(sample: Path) -> None:
    with open_artifact(sample) as artifact:
        pass
    with pytest.raises(ValueError, match="is closed"):
        artifact.read(Span(4096, 4))


@pytest.mark.parametrize("span", [Span(0, 1 << 40), Span(1 << 40, 1), Span(-1, 1), Span(4096, -1)])
def test_span_outside_the_file_is_refused(sample: Path, span: Span) -> None:
    with open_artifact(sample) as artifact, pytest.raises(ArtifactError, match="not within"):
        artifact.read(span)


def test_parts_are_found_by_key(sample: Path) -> None:
    with open_artifact(sample) as artifact:
        assert artifact.part("run").key == "run"
        assert artifact.part((1928, 1208)) is artifact.part("1928x1208")


def test_unknown_part_gets_a_suggestion(sample: Path) -> None:
    with open_artifact(sample) as artifact:
        with pytest.raises(ArtifactError, match="no part 1928x1280; did you mean 1928x1208"):
            artifact.part("1928x1280")
        with pytest.raises(ArtifactError, match="it has run, 1928x1208"):
            artifact.part("policy")


def test_part_without_weights_or_kernels_is_an_artifact(tmp_path: Path) -> None:
    copy = Copy(Arg(1, 0, 4, "float32"), Arg(0, 0, 4, "float32"))
    specs = (TensorSpec("x", (1,), "float32", 0),), (TensorSpec("y", (1,), "float32", 1),)
    part = Part("run", TARGET, *specs, (Buffer("input", 4), Buffer("output", 4), Buffer("arena", 0)), (), (copy,))
    with ArtifactWriter(tmp_path / "copy.pkl") as writer:
        writer.finish(Header({}, (), (part,)))
    with open_artifact(tmp_path / "copy.pkl") as artifact:
        assert artifact.header.parts == (part,)
