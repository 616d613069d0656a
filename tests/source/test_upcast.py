"""The upcast leaves no float16 behind, and changes nothing else."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from source.onnx_samples import SAMPLES, branching_model, external_data_model, mirrored_models, model_of

import autoclave
from autoclave.errors import SourceError
from autoclave.source.upcast import upcast_file, upcast_model

HALF, SINGLE = TensorProto.FLOAT16, TensorProto.FLOAT


def upcast(model: ModelProto) -> ModelProto:
    """A checked single-precision copy."""
    copy = ModelProto()
    copy.CopyFrom(model)
    assert upcast_model(copy)
    onnx.checker.check_model(copy, full_check=True)
    assert upcast_model(copy) == {}
    return copy


def run(model: ModelProto | Path, inputs: dict[str, np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    source = str(model) if isinstance(model, Path) else model.SerializeToString()
    session = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])
    return [np.asarray(value) for value in session.run(None, inputs)]


def values(names: str, dtype: int, dims: list[int]) -> list[onnx.ValueInfoProto]:
    return [helper.make_tensor_value_info(name, dtype, dims) for name in names]


def test_a_supercombo_becomes_single_precision_with_the_same_weights(small_supercombo: Path, tmp_path: Path) -> None:
    changes = upcast_file(small_supercombo, tmp_path / "single.onnx")
    half, single = onnx.load(small_supercombo), onnx.load(tmp_path / "single.onnx")
    onnx.checker.check_model(single, full_check=True)
    assert set(changes) == {"initialisers", "dtype_attributes"}
    assert not [tensor.name for tensor in single.graph.initializer if tensor.data_type == HALF]
    assert {value.type.tensor_type.elem_type for value in single.graph.input} == {SINGLE, TensorProto.UINT8}
    for before, after in zip(half.graph.initializer, single.graph.initializer, strict=True):
        assert np.array_equal(numpy_helper.to_array(before), numpy_helper.to_array(after))
    assert half.metadata_props == single.metadata_props
    assert [node.op_type for node in half.graph.node] == [node.op_type for node in single.graph.node]


@pytest.mark.parametrize("which", [True, False])
def test_subgraphs_are_upcast(which: bool) -> None:
    inputs = {"which": np.array(which), "flags": np.array([1, 2], np.uint8)}
    x = np.array([0.1, 3.0], np.float16)
    (half,) = run(branching_model(HALF), {**inputs, "x": x})
    (single,) = run(upcast(branching_model(HALF)), {**inputs, "x": x.astype(np.float32)})
    assert single.dtype == np.float32
    assert np.allclose(half, single, rtol=1e-3)


def test_constants_fills_and_casts_are_upcast() -> None:
    fill = helper.make_tensor("value", HALF, [1], [0.1])
    model = model_of(
        [
            helper.make_node("Shape", ["x"], ["s"]),
            helper.make_node("ConstantOfShape", ["s"], ["f"], value=fill),
            helper.make_node("Cast", ["x"], ["h"], to=HALF),
            helper.make_node("Add", ["h", "f"], ["a"]),
            helper.make_node("Cast", ["a"], ["y"], to=SINGLE),
        ],
        values("x", SINGLE, [3]),
        values("y", SINGLE, [3]),
    )
    single = upcast(model)
    x = np.array([1e-5, 2.0, 1e6], np.float32)
    (y,) = run(single, {"x": x})
    assert np.array_equal(y, x + np.float32(np.float16(0.1)))


def test_typed_half_data_keeps_its_values() -> None:
    numbers = [1.0, -2.5, 65504.0, 6e-8, float("inf")]
    weight = helper.make_tensor("w", HALF, [5], numbers)
    model = model_of(
        [helper.make_node("Add", ["x", "w"], ["y"])], values("x", HALF, [5]), values("y", HALF, [5]), [weight]
    )
    single = upcast(model)
    assert np.array_equal(
        numpy_helper.to_array(single.graph.initializer[0]), np.array(numbers, np.float16).astype(np.float32)
    )


def test_types_inside_other_types_are_upcast() -> None:
    model = model_of(
        [helper.make_node("SequenceConstruct", ["x"], ["q"]), helper.make_node("SequenceLength", ["q"], ["y"])],
        values("x", HALF, [1]),
        values("y", TensorProto.INT64, []),
    )
    model.graph.value_info.append(helper.make_tensor_sequence_value_info("q", HALF, [1]))
    assert upcast(model).graph.value_info[0].type.sequence_type.elem_type.tensor_type.elem_type == SINGLE


def test_local_functions_are_upcast() -> None:
    body = [
        helper.make_node("Constant", [], ["c"], value=helper.make_tensor("value", HALF, [1], [0.5])),
        helper.make_node("Add", ["a", "c"], ["b"]),
    ]
    model = model_of(
        [helper.make_node("Half", ["x"], ["y"], domain="local")],
        values("x", HALF, [1]),
        values("y", HALF, [1]),
        opsets=[helper.make_opsetid("", 18), helper.make_opsetid("local", 1)],
    )
    model.functions.append(helper.make_function("local", "Half", ["a"], ["b"], body, [helper.make_opsetid("", 18)]))
    (y,) = run(upcast(model), {"x": np.array([1.25], np.float32)})
    assert y == [1.75]


@pytest.mark.parametrize("name", sorted(set(SAMPLES) - {"typed_data", "external_data"}))
def test_a_model_without_half_precision_stays_byte_for_byte(name: str, tmp_path: Path) -> None:
    content = SAMPLES[name]().SerializeToString()
    (tmp_path / "in.onnx").write_bytes(content)
    assert upcast_file(tmp_path / "in.onnx", tmp_path / "out.onnx") == {}
    assert (tmp_path / "out.onnx").read_bytes() == content


def test_real_models_are_upcast_or_stay_as_they_are(small_supercombo: Path, tmp_path: Path) -> None:
    for path in mirrored_models() or [small_supercombo]:
        changes = upcast_file(path, tmp_path / "out.onnx")
        onnx.checker.check_model(str(tmp_path / "out.onnx"))
        assert bool(changes) == ((tmp_path / "out.onnx").read_bytes() != path.read_bytes())


def test_external_half_data_is_refused(tmp_path: Path) -> None:
    model = external_data_model()
    model.graph.initializer[0].data_type = HALF
    (tmp_path / "in.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(SourceError, match="'w' lies in another file"):
        upcast_file(tmp_path / "in.onnx", tmp_path / "out.onnx")


def test_a_model_too_large_for_one_file_is_refused(
    small_supercombo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("autoclave.source.upcast.MAX_PROTOBUF_BYTES", small_supercombo.stat().st_size * 3 // 2)
    with pytest.raises(SourceError, match="in float32 it would have"):
        upcast_file(small_supercombo, tmp_path / "out.onnx")


def test_the_action_writes_model_and_report(small_supercombo: Path, tmp_path: Path) -> None:
    request = {"model": str(small_supercombo), "output": "out/single.onnx", "report": "out/upcast.json"}
    first = action(tmp_path, request)
    assert (first.returncode, first.stderr) == (0, "")
    assert json.loads((tmp_path / "out/upcast.json").read_text())["changed"]["initialisers"] > 80
    single = (tmp_path / "out/single.onnx").read_bytes()
    action(tmp_path, {**request, "model": "out/single.onnx", "output": "out/again.onnx"})
    assert (tmp_path / "out/again.onnx").read_bytes() == single
    assert json.loads((tmp_path / "out/upcast.json").read_text()) == {"changed": {}}


def test_the_action_refuses_what_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "in.onnx").write_bytes(b"\x08\x09")
    refused = action(tmp_path, {"model": "in.onnx", "output": "out.onnx", "report": "report.json"})
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: in.onnx: not a complete ONNX model")


def test_damage_where_the_scanner_does_not_look_is_refused(tmp_path: Path) -> None:
    training_info = b"\xa2\x01\x01\xff"  # field 20 of the model, a message that ends within its first tag
    (tmp_path / "in.onnx").write_bytes(branching_model().SerializeToString() + training_info)
    with pytest.raises(SourceError, match="in.onnx: damaged, or not an ONNX model"):
        upcast_file(tmp_path / "in.onnx", tmp_path / "out.onnx")


def action(folder: Path, request: dict[str, str]) -> subprocess.CompletedProcess[str]:
    (folder / "request.json").write_text(json.dumps(request))
    library = Path(autoclave.__file__).parents[1]
    return subprocess.run(
        [sys.executable, "-m", "autoclave.source.upcast", "request.json"],
        cwd=folder,
        env={"PYTHONPATH": os.pathsep.join([str(library), *filter(None, sys.path)]), "PATH": os.defpath},
        capture_output=True,
        text=True,
        timeout=120,
    )
