"""The scanner agrees with the `onnx` package on whole models, and survives damaged ones."""

import random
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import AttributeProto, GraphProto, ModelProto, TensorProto, helper, numpy_helper
from source.onnx_samples import (
    NUMPY_DTYPES,
    SAMPLES,
    linear_model,
    mirrored_models,
    model_of,
    sample_values,
    typed_data_model,
)

from autoclave.errors import SourceError
from autoclave.source.onnx_scanner import MAX_DEPTH, MAX_INITIALIZERS, ModelSummary, open_model, scan, scan_model
from autoclave.source.onnx_types import ELEMENT_TYPES


def scanned(model: ModelProto | bytes) -> ModelSummary:
    data = model if isinstance(model, bytes) else model.SerializeToString()
    return scan(memoryview(data), "sample.onnx")


def graphs_of(graph: GraphProto) -> Iterator[GraphProto]:
    """The graph and all its subgraphs."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from graphs_of(attribute.g)


def assert_agrees_with_onnx(path: Path) -> None:
    model = onnx.load_model(str(path), load_external_data=False)
    with open_model(path) as file:
        summary = file.summary
        assert summary.ir_version == model.ir_version
        assert summary.producer == model.producer_name
        assert summary.graph_name == model.graph.name
        assert summary.opsets == {"" if o.domain == "ai.onnx" else o.domain: o.version for o in model.opset_import}
        assert summary.metadata == {entry.key: entry.value for entry in model.metadata_props}
        for ours, theirs in ((summary.inputs, model.graph.input), (summary.outputs, model.graph.output)):
            assert [(value.name, value.dtype, value.dims) for value in ours] == [
                (
                    value.name,
                    ELEMENT_TYPES[value.type.tensor_type.elem_type].name,
                    tuple(dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim),
                )
                for value in theirs
            ]
        graphs = list(graphs_of(model.graph))
        assert {str(operator): count for operator, count in summary.operators.items()} == Counter(
            f"{node.domain}::{node.op_type}" if node.domain else node.op_type for graph in graphs for node in graph.node
        )
        pairs = [*zip(summary.initializers, model.graph.initializer, strict=True)]
        pairs += zip(summary.subgraph_initializers, [t for g in graphs[1:] for t in g.initializer], strict=True)
        for weight, tensor in pairs:
            assert (weight.name, weight.shape) == (tensor.name, tuple(tensor.dims))
            if tensor.data_location != TensorProto.EXTERNAL and weight.dtype in NUMPY_DTYPES:
                assert bytes(file.data(weight)) == numpy_helper.to_array(tensor).tobytes()


@pytest.mark.parametrize("name", SAMPLES)
def test_it_agrees_with_onnx_on_samples(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(SAMPLES[name]().SerializeToString())
    assert_agrees_with_onnx(path)


def test_it_agrees_with_onnx_on_a_synthetic_supercombo(small_supercombo: Path) -> None:
    assert_agrees_with_onnx(small_supercombo)


def test_it_agrees_with_onnx_on_real_models(small_supercombo: Path) -> None:
    for path in mirrored_models() or [small_supercombo]:
        assert_agrees_with_onnx(path)


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
@pytest.mark.parametrize("storage", ["raw", "typed"])
def test_data_is_the_tensor_s_little_endian_bytes(tmp_path: Path, dtype: str, storage: str) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(typed_data_model().SerializeToString())
    with open_model(path) as file:
        (weight,) = [value for value in file.summary.initializers if value.name == f"{storage}_{dtype}"]
        assert (weight.data is not None) == (storage == "raw")
        assert bytes(file.data(weight)) == sample_values(dtype).tobytes()
        assert weight.nbytes == sample_values(dtype).nbytes


def test_raw_data_is_a_view_that_outlives_the_file(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(linear_model().SerializeToString())
    with open_model(path) as file:
        view = file.data(file.summary.initializers[0])
    path.unlink()
    assert np.frombuffer(view, np.float32).tolist() == list(range(12))
    assert view.readonly


def test_strings_have_no_raw_bytes(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(typed_data_model().SerializeToString())
    with open_model(path) as file:
        (text,) = [value for value in file.summary.initializers if value.dtype == "string"]
        with pytest.raises(SourceError, match="strings have no raw bytes"):
            file.data(text)


def test_unpacked_typed_data_is_read(tmp_path: Path) -> None:
    """Repeated fields may come one by one, as proto2 writers without [packed] send them."""
    tensor = b"\x08\x02" + b"\x10\x07" + b"\x38\x05" + b"\x38" + b"\xff" * 9 + b"\x01" + b"\x42\x01w"
    graph = linear_model().graph
    graph.ClearField("initializer")
    content = graph.SerializeToString() + b"\x2a" + bytes([len(tensor)]) + tensor
    model = linear_model()
    model.ClearField("graph")
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString() + b"\x3a" + _varint(len(content)) + content)
    with open_model(path) as file:
        (weight,) = file.summary.initializers
        assert np.frombuffer(file.data(weight), np.int64).tolist() == [5, -1]
    assert_agrees_with_onnx(path)


def test_weights_listed_as_inputs_are_not_fed() -> None:
    model = linear_model()
    model.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [4, 3]))
    summary = scanned(model)
    assert [value.name for value in summary.inputs] == ["x", "w"]
    assert [value.name for value in summary.fed_inputs] == ["x"]


def test_external_data_is_reported() -> None:
    (reference,) = scanned(SAMPLES["external_data"]()).external
    assert (reference.tensor, reference.location) == ("w", "weights.bin")


def test_external_data_of_a_constant_in_a_subgraph_is_reported() -> None:
    model = SAMPLES["branching"]()
    tensor = model.graph.node[0].attribute[0].g.node[0].attribute[0].t
    if not tensor.dims:
        tensor = model.graph.node[0].attribute[1].g.node[0].attribute[0].t
    tensor.ClearField("float_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="../elsewhere")
    assert [reference.location for reference in scanned(model).external] == ["../elsewhere"]


@pytest.mark.parametrize(
    ("dims", "expected"), [(None, None), ([], ()), ([None], (None,)), ([0], (0,)), (["N", 3], ("N", 3))]
)
def test_shapes_of_every_kind_are_told_apart(dims: list[str | int | None] | None, expected: object) -> None:
    model = linear_model()
    model.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", TensorProto.FLOAT, dims))
    assert scanned(model).inputs[0].dims == expected


def test_a_value_that_is_no_tensor_keeps_its_kind() -> None:
    model = linear_model()
    model.graph.input[0].CopyFrom(helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, [1]))
    assert scanned(model).inputs[0].kind == "sequence"


def test_local_functions_are_listed_and_their_nodes_counted() -> None:
    model = linear_model()
    body = [helper.make_node("Relu", ["a"], ["b"])]
    model.functions.append(helper.make_function("local", "Twice", ["a"], ["b"], body, [helper.make_opsetid("", 18)]))
    summary = scanned(model)
    assert [str(function) for function in summary.functions] == ["local::Twice"]
    assert {str(operator) for operator in summary.operators} == {"MatMul", "Add", "Relu"}


# ---- damage ----


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"\x00", "0x0 is no field tag"),
        (b"\x0b", "is no field tag"),
        (b"\x08", "field 1 is cut off"),
        (b"\x08" + b"\x80" * 11, "longer than a 64 bit number"),
        (b"\x08\x07", "no opset_import, no graph, no outputs"),
        (b"\x3a\x05\x0a", "the graph needs 5 bytes, only 1 are left"),
        (b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "truncated or damaged"),
        (b"\x38\x07", "field 7 (the graph) is encoded as VARINT, expected BYTES"),
        (b"\x0a\x01\x07", "field 1 (ir_version) is encoded as BYTES, expected VARINT"),
        (b"\x12\x01\xff", "producer_name is not valid UTF-8"),
        (b"\x3a\x00\x3a\x00", "a second graph"),
        (b"\x3a\x02\x0a\x00", "the node has no op_type"),
    ],
)
def test_damage_is_named_with_its_place(content: bytes, reason: str) -> None:
    with pytest.raises(SourceError) as caught:
        scanned(content)
    assert reason in str(caught.value)
    assert "at byte" in str(caught.value)
    assert str(caught.value).startswith("sample.onnx: ")


def test_an_empty_file_and_a_missing_one_are_named(tmp_path: Path) -> None:
    (tmp_path / "empty.onnx").touch()
    with pytest.raises(SourceError, match="empty.onnx: the file is empty"):
        scan_model(tmp_path / "empty.onnx")
    with pytest.raises(SourceError, match="none.onnx: cannot be opened: No such file"):
        scan_model(tmp_path / "none.onnx")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"raw_data": b"\0" * 47}, r"tensor 'w' \(float32, 4x3\) has 47 bytes of data, expected 48"),
        ({"dims": [4, -3]}, "negative dimension"),
        ({"dims": [2**62] * 8}, "has 48 bytes of data, expected"),
        ({"dims": [2**62] * 32, "data_type": TensorProto.INT4}, "has 48 bytes of data, expected"),
        ({"dims": [1] * 40}, "more than 32 dimensions"),
        ({"data_type": 99}, "unknown data_type 99"),
    ],
)
def test_a_tensor_that_contradicts_itself_is_refused(change: dict[str, Any], reason: str) -> None:
    model = linear_model()
    tensor = model.graph.initializer[0]
    for name, value in change.items():
        tensor.ClearField(name)
        tensor.MergeFrom(TensorProto(**{name: value}))
    with pytest.raises(SourceError, match=reason):
        scanned(model)


def test_typed_data_of_the_wrong_count_is_refused() -> None:
    model = linear_model()
    model.graph.initializer[1].float_data.append(1.0)
    with pytest.raises(SourceError, match="has 4 values of data, expected 3"):
        scanned(model)


def nested_subgraphs(depth: int) -> bytes:
    """A model of If nodes inside If nodes."""
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])], "g", [], [helper.make_tensor_value_info("y", 1, [1])]
    )
    for _ in range(depth):
        graph = helper.make_graph(
            [helper.make_node("If", ["c"], ["y"], then_branch=graph)],
            "g",
            [],
            [helper.make_tensor_value_info("y", 1, [1])],
        )
    content: bytes = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]).SerializeToString()
    return content


def test_nesting_is_bounded() -> None:
    assert scanned(nested_subgraphs(MAX_DEPTH)).node_count == MAX_DEPTH + 1
    with pytest.raises(SourceError, match=f"more than {MAX_DEPTH} deep"):
        scanned(nested_subgraphs(MAX_DEPTH + 1))


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value])


def in_graph(content: bytes) -> bytes:
    """A model with the given bytes as its graph."""
    return b"\x3a" + _varint(len(content)) + content


HOSTILE = {
    "packed dims": in_graph(b"\x2a" + _varint(4 + 100_000) + b"\x0a" + _varint(100_000) + b"\x01" * 100_000),
    "many small dims": in_graph(b"\x2a" + _varint(100_000) + b"\x08\x01" * 50_000),
    "many initialisers": in_graph(b"\x2a\x06\x10\x01\x08\x00\x4a\x00" * 20_000),
    "many inputs": in_graph(b"\x5a\x02\x0a\x00" * 20_000),
    "many operators": in_graph(b"".join(b"\x0a\x06\x22\x04" + b"%04x" % n for n in range(20_000))),
    "long name": in_graph(b"\x12" + _varint(100_000) + b"n" * 100_000),
    "many typed values": in_graph(b"\x2a" + _varint(100_000) + b"\x38\x01" * 50_000),
    "many operator sets": b"".join(b"\x42\x08\x0a\x04" + b"%04x" % n + b"\x10\x01" for n in range(20_000)),
    "many properties": b"".join(b"\x72\x06\x0a\x04" + b"%04x" % n for n in range(20_000)),
    "unknown fields": b"\xf8\x07\x00" * 30_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_end_in_an_error_within_bounded_memory(name: str) -> None:
    content = HOSTILE[name]
    tracemalloc.start()
    try:
        with pytest.raises(SourceError):
            scanned(content)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 24 << 20


def test_the_number_of_initialisers_is_bounded() -> None:
    content = in_graph(b"\x2a\x06\x10\x01\x08\x00\x4a\x00" * (MAX_INITIALIZERS + 1))
    with pytest.raises(SourceError, match=f"more than {MAX_INITIALIZERS} of them"):
        scanned(content)


def survives(content: bytes) -> bool:
    """Whether a damaged model scans; anything but success and SourceError is a defect."""
    try:
        scanned(content)
    except SourceError:
        return False
    return True


@pytest.mark.parametrize("name", SAMPLES)
def test_every_truncation_is_refused_or_still_whole(name: str) -> None:
    content = SAMPLES[name]().SerializeToString()
    step = max(1, len(content) // 1500)
    whole = [length for length in range(0, len(content), step) if length and survives(content[:length])]
    for length in whole:  # what is left is a model of its own, which onnx reads as well
        assert onnx.load_model_from_string(content[:length]).graph.output


@pytest.mark.parametrize("name", SAMPLES)
def test_damaged_bytes_are_refused_or_harmless(name: str) -> None:
    content = SAMPLES[name]().SerializeToString()
    chance = random.Random(7)
    for _ in range(1500):
        damaged = bytearray(content)
        for _ in range(chance.choice((1, 1, 2, 8))):
            damaged[chance.randrange(len(damaged))] = chance.choice((0, 0x7F, 0x80, 0xFF, chance.randrange(256)))
        survives(bytes(damaged))


def test_a_damaged_supercombo_is_refused_or_harmless(small_supercombo: Path) -> None:
    content = small_supercombo.read_bytes()
    chance = random.Random(8)
    head = len(content) - sum(value.nbytes for value in scan_model(small_supercombo).initializers)
    for _ in range(60):
        damaged = bytearray(content)
        damaged[chance.randrange(head)] ^= 1 << chance.randrange(8)
        survives(bytes(damaged[: chance.choice((len(content), chance.randrange(1, len(content))))]))


def test_random_bytes_are_no_model() -> None:
    chance = random.Random(9)
    assert not any(survives(chance.randbytes(chance.randrange(1, 400))) for _ in range(1500))


def test_a_model_without_nodes_is_still_a_model() -> None:
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])
    assert scanned(model_of([], [value], [value])).node_count == 0
