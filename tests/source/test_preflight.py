"""Each thing that can be wrong with a declared model is refused in a sentence that helps."""

import hashlib
import json
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from onnx import ModelProto, TensorProto, helper
from source.onnx_samples import custom_operator_model, external_data_model, linear_model, stateful_model

import autoclave
from autoclave.errors import SourceError
from autoclave.source.preflight import ExpectedInput, check_model

ONE = {"batch": 1}


@pytest.fixture()
def written(tmp_path: Path) -> Callable[[ModelProto | bytes], Path]:
    def write(content: ModelProto | bytes) -> Path:
        path = tmp_path / "model.onnx"
        path.write_bytes(content if isinstance(content, bytes) else content.SerializeToString())
        return path

    return write


Write = Callable[[ModelProto | bytes], Path]


def refusal(path: Path, **declared: Any) -> str:
    """The message with which a model is refused; it names target and file."""
    with pytest.raises(SourceError) as caught:
        check_model(path, target="models:sample", **declared)
    assert str(path) in str(caught.value)
    return str(caught.value)


def test_a_good_model_is_described(written: Write) -> None:
    path = written(linear_model())
    content = path.read_bytes()
    interface = check_model(
        path,
        sha256=hashlib.sha256(content).hexdigest().upper(),
        size=len(content),
        dimensions={"batch": 2},
        inputs=[ExpectedInput("x", "float32", (2, 4))],
        operators=["MatMul", "Add", "Relu"],
    )
    assert interface.to_json() == {
        "sha256": hashlib.sha256(content).hexdigest(),
        "size": len(content),
        "ir_version": 9,
        "opsets": {"": 18},
        "inputs": [{"name": "x", "dtype": "float32", "shape": [2, 4]}],
        "outputs": [{"name": "y", "dtype": "float32", "shape": [2, 3]}],
        "state": [],
        "nodes": 2,
        "operators": {"MatMul": 1, "Add": 1},
        "initializers": 2,
        "initializer_bytes": 60,
        "metadata_keys": [],
    }


def test_state_is_an_input_with_its_next_output(written: Write) -> None:
    assert check_model(written(stateful_model())).state == (("memory", "next_memory"),)


# ---- the file ----


def test_a_wrong_sha256_shows_both(written: Write) -> None:
    path = written(linear_model())
    message = refusal(path, sha256="ab" * 32)
    assert "models:sample" in message
    assert f"expected sha256 {'ab' * 32}" in message
    assert hashlib.sha256(path.read_bytes()).hexdigest() in message


@pytest.mark.parametrize(("difference", "said"), [(5, "5 are missing"), (-3, "3 too many")])
def test_a_wrong_size_shows_both(written: Write, difference: int, said: str) -> None:
    path = written(linear_model())
    size = path.stat().st_size
    message = refusal(path, size=size + difference)
    assert f"expected {size + difference} bytes, came {size} ({said})" in message


def test_an_empty_file(written: Write) -> None:
    assert "expected an ONNX model (7 bytes), came an empty file" in refusal(written(b""), size=7)


def test_a_missing_file(tmp_path: Path) -> None:
    assert "cannot be read: No such file" in refusal(tmp_path / "none.onnx")


def test_an_lfs_pointer_shows_oid_and_size(written: Write) -> None:
    oid = "c" * 64
    message = refusal(
        written(f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 60934112\n".encode())
    )
    assert f"a Git LFS pointer to oid sha256:{oid}, size 60934112" in message
    assert "git lfs pull" in message


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"<!DOCTYPE html><html>", "an HTML page"),
        (b"\n  <HTML><body>", "an HTML page"),
        (b"<?xml version='1.0'?><Error/>", "an XML document"),
        (b'{"error": "gone"}', "JSON text"),
        (b"Not found\n", "plain text"),
        (b"\x1f\x8b\x08\x00", "gzip-compressed data"),
        (b"\x28\xb5\x2f\xfd\x00", "zstandard-compressed data"),
        (b"\x1c\x00\x00\x00TFL3", "a TensorFlow Lite model"),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
        (pickle.dumps({"metadata": {}}), "a Python pickle"),
    ],
)
def test_what_is_evidently_no_onnx_is_called_by_its_name(written: Write, content: bytes, kind: str) -> None:
    assert f"came {kind}" in refusal(written(content))


def test_a_zip_archive(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.onnx", linear_model().SerializeToString())
    assert "came a zip archive" in refusal(path)


def test_random_bytes(written: Write) -> None:
    assert "not a complete ONNX model: at byte" in refusal(written(hashlib.sha512(b"7").digest() * 20))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_truncated_model(written: Write, share: float) -> None:
    content = linear_model().SerializeToString()
    message = refusal(written(content[: int(len(content) * share)]))
    assert "not a complete ONNX model" in message
    assert "truncated" in message


# ---- the model ----


def test_external_data_is_refused_by_place(written: Write) -> None:
    message = refusal(written(external_data_model("../big/weights.bin")), dimensions=ONE)
    assert "'w', lies outside of it in '../big/weights.bin'" in message


def test_all_unknown_operators_are_listed(written: Write) -> None:
    message = refusal(written(custom_operator_model()), operators=["Relu", "Conv"])
    assert "2 of its 3 operators" in message
    assert "LSTM (1x), com.example::Frobnicate (2x)" in message


@pytest.mark.parametrize("known", ["Frobnicate", "com.example::Frobnicate"])
def test_an_operator_of_another_domain_is_known_by_either_name(written: Write, known: str) -> None:
    check_model(written(custom_operator_model()), operators=["Relu", "LSTM", known])


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        (["x", "z"], "lacks 'z'"),
        ([], "has in addition 'x'"),
        (["new_img"], "lacks 'new_img' and has in addition 'x'"),
    ],
)
def test_missing_and_surplus_inputs(written: Write, expected: list[str], said: str) -> None:
    inputs = [ExpectedInput(name) for name in expected]
    assert said in refusal(written(linear_model()), dimensions=ONE, inputs=inputs)


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        (ExpectedInput("x", "uint8"), "expected uint8 (1, 4), came float32 (1, 4)"),
        (ExpectedInput("x", None, (1, 5)), "expected float32 (1, 5), came float32 (1, 4)"),
    ],
)
def test_an_input_of_another_kind(written: Write, expected: ExpectedInput, said: str) -> None:
    assert said in refusal(written(linear_model()), dimensions=ONE, inputs=[expected])


def test_a_named_axis_without_a_value(written: Write) -> None:
    message = refusal(written(linear_model()))
    assert "named axes without a value: 'batch' (of x). Declare them, such as dimensions={'batch': 1}" in message


@pytest.mark.parametrize(
    ("dimensions", "said"),
    [
        ({"batch": 1, "bach": 1}, "'bach' (did you mean 'batch'?)"),
        ({"batch": 1, "time": 1}, "'time' (it has 'batch')"),
        ({"batch": 0}, "dimensions['batch'] is 0, expected a whole number from 1 on"),
        ({"batch": True}, "dimensions['batch'] is True"),
        ({"batch": "1"}, "dimensions['batch'] is '1'"),
    ],
)
def test_dimensions_that_do_not_fit(written: Write, dimensions: dict[str, Any], said: str) -> None:
    assert said in refusal(written(linear_model()), dimensions=dimensions)


@pytest.mark.parametrize(
    ("dims", "said"),
    [
        ([None, 4], "axis 0 of input 'x' (?, 4) has neither extent nor name"),
        ([-1, 4], "axis 0 of input 'x' (-1, 4) has neither extent nor name"),
        (None, "input 'x' has no shape"),
    ],
)
def test_an_axis_of_unknown_extent(written: Write, dims: list[int | None] | None, said: str) -> None:
    model = linear_model()
    model.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", TensorProto.FLOAT, dims))
    assert said in refusal(written(model))


def test_an_output_axis_that_nothing_determines_keeps_its_name(written: Write) -> None:
    model = linear_model()
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", None]))
    assert check_model(written(model), dimensions=ONE).outputs[0].shape == ("rows", None)
    assert check_model(written(model), dimensions={**ONE, "rows": 1}).outputs[0].shape == (1, None)


def test_an_input_that_is_no_tensor(written: Write) -> None:
    model = linear_model()
    model.graph.input[0].CopyFrom(helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, [1]))
    assert "input 'x' is of kind sequence" in refusal(written(model))


# ---- the action ----


def run_check(folder: Path, request: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    (folder / "request.json").write_text(json.dumps(request))
    library = Path(autoclave.__file__).parents[1]
    return subprocess.run(
        [sys.executable, "-S", "-m", "autoclave.source.check", "request.json"],
        cwd=folder,
        env={"PYTHONPATH": str(library), "PATH": os.defpath},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_action_writes_the_interface_with_the_standard_library_alone(written: Write, tmp_path: Path) -> None:
    written(linear_model())
    inputs = ["x"]
    first = run_check(tmp_path, {"model": "model.onnx", "dimensions": {"batch": 1}, "inputs": inputs})
    assert (first.returncode, first.stderr) == (0, "")
    content = (tmp_path / "out" / "interface.json").read_bytes()
    assert json.loads(content)["inputs"] == [{"dtype": "float32", "name": "x", "shape": [1, 4]}]
    assert b" " not in content


def test_the_action_refuses_with_one_line(written: Write, tmp_path: Path) -> None:
    written(linear_model())
    inputs = [{"name": "x", "dtype": "uint8", "shape": [1, 4]}]
    refused = run_check(
        tmp_path, {"model": "model.onnx", "target": "models:sample", "dimensions": {"batch": 1}, "inputs": inputs}
    )
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: models:sample: model.onnx: input 'x': expected uint8")
    assert refused.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()
