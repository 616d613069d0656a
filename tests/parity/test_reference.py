"""Reference outputs by ONNX Runtime."""

from pathlib import Path

import numpy as np
import pytest
from native.cpu_artifacts import expected_result, write_artifact
from parity.reference_models import write_reference

from autoclave.artifact.reader import open_artifact
from autoclave.errors import AutoclaveError
from autoclave.parity.check_file import PartCheck
from autoclave.parity.inputs import check_inputs
from autoclave.parity.reference import reference_outputs


@pytest.fixture
def check(tmp_path: Path) -> PartCheck:
    write_artifact(tmp_path / "model.pkl")
    with open_artifact(tmp_path / "model.pkl") as artifact:
        return PartCheck("run", 42, check_inputs(artifact.part("run"), 42), {})


def test_both_seeds_equal_numpy(tmp_path: Path, check: PartCheck) -> None:
    write_reference(tmp_path / "model.onnx")

    outputs, varied = reference_outputs(tmp_path / "model.onnx", check)

    assert np.array_equal(outputs["result"], expected_result(**check.inputs))
    with open_artifact(tmp_path / "model.pkl") as artifact:
        assert np.array_equal(varied["result"], expected_result(**check_inputs(artifact.part("run"), 43)))


def test_half_precision_inputs_are_upcast(tmp_path: Path, check: PartCheck) -> None:
    write_reference(tmp_path / "model.onnx")
    half = check.inputs["x"].astype(np.float16)

    outputs, _ = reference_outputs(tmp_path / "model.onnx", PartCheck("run", 42, check.inputs | {"x": half}, {}))

    assert np.array_equal(outputs["result"], expected_result(half.astype(np.float32), check.inputs["pixels"]))


def test_model_with_other_inputs_is_refused(tmp_path: Path, check: PartCheck) -> None:
    write_reference(tmp_path / "model.onnx", input_name="y")

    with pytest.raises(AutoclaveError, match="its inputs are pixels, y, the artifact's are pixels, x"):
        reference_outputs(tmp_path / "model.onnx", check)


@pytest.mark.parametrize("content", [b"", b"no model"])
def test_file_that_is_no_model_is_refused(tmp_path: Path, check: PartCheck, content: bytes) -> None:
    (tmp_path / "model.onnx").write_bytes(content)

    with pytest.raises(AutoclaveError, match="loading the reference model .*model.onnx"):
        reference_outputs(tmp_path / "model.onnx", check)


def test_inputs_of_another_shape_are_refused(tmp_path: Path, check: PartCheck) -> None:
    write_reference(tmp_path / "model.onnx")
    turned = check.inputs | {"x": check.inputs["x"].T}

    with pytest.raises(AutoclaveError, match="running the reference model .*model.onnx"):
        reference_outputs(tmp_path / "model.onnx", PartCheck("run", 42, turned, {}))
