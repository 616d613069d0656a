"""The metadata file of driver monitoring, of a synthetic model and of what is none."""

import json
from pathlib import Path
from typing import Any

import pytest
from compiler import driving_onnx

from autoclave.errors import SourceError
from autoclave.source.monitoring_metadata import metadata, run
from autoclave.source.synthetic import generate


def request(path: Path, **fields: Any) -> dict[str, Any]:
    return {
        "model": str(path),
        "sha256": None,
        "size": None,
        "dimensions": {},
        "camera_resolutions": [[1928, 1208]],
        "output": str(path.with_suffix(".json")),
        **fields,
    }


def test_metadata_is_plain_json_with_what_openpilot_looks_up(tmp_path: Path) -> None:
    generate("monitoring", "S", 1, tmp_path / "model.onnx")

    run(request(tmp_path / "model.onnx"))

    found = json.loads((tmp_path / "model.json").read_text())
    assert found["input_shapes"] == {"input_img": [1, 1440 * 960], "calib": [1, 3]}
    width = found["output_shapes"]["outputs"][1]
    assert {"face_descs_lhd", "face_descs_rhd", "wheel_on_right"} <= set(found["output_slices"])
    assert all(0 <= start < (end or width) for start, end in found["output_slices"].values() if start >= 0)
    assert found["camera_resolutions"] == [[1928, 1208]]
    assert found["warp"] == {"model_size": [1440, 960], "border_fill": 16}


def test_a_model_without_slices_has_none_in_its_metadata(tmp_path: Path) -> None:
    generate("monitoring", "S", 1, tmp_path / "model.onnx")
    content = (tmp_path / "model.onnx").read_bytes()
    (tmp_path / "model.onnx").write_bytes(content.replace(b"output_slices", b"output_sticks"))

    assert metadata(request(tmp_path / "model.onnx"))["output_slices"] is None


def test_another_model_is_refused_by_its_inputs(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(driving_onnx.vision())

    with pytest.raises(SourceError, match="have the inputs calib and input_img; this has big_img, img"):
        metadata(request(tmp_path / "model.onnx"))
