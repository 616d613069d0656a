"""From an ONNX file on disk to a checked record and a picture, as a build and a run go."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from autoclave.driving.kinds import COMPOSITIONS, OnnxFileSummary, check_size_class, choose_kind
from autoclave.driving.metadata import CAMERA_RESOLUTIONS, DrivingMetadata, derive_frame_skip, part_from_onnx
from autoclave.driving.parser import parse_parts
from autoclave.driving.plot import plot
from autoclave.driving.scene import scene
from autoclave.source.onnx_scanner import ModelSummary, ValueInfo, scan_model
from autoclave.source.synthetic import generate


@pytest.fixture(scope="module", params=["supercombo", "stateful"])
def architecture(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def model(architecture: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp(architecture) / "driving_supercombo.onnx"
    generate(architecture, "S", 1, path)
    return path


def shapes(values: tuple[ValueInfo, ...]) -> dict[str, tuple[int, ...]]:
    return {value.name: value.dims for value in values}


def described(path: Path, summary: ModelSummary) -> DrivingMetadata:
    inputs, outputs = shapes(summary.fed_inputs), shapes(summary.outputs)
    file = OnnxFileSummary(path.name, summary.size, inputs, outputs, synthetic=True)
    choice = choose_kind([file])
    check_size_class("small", list(choice.parts.values()))
    (name,) = choice.parts
    return DrivingMetadata(
        kind=choice.kind,
        behaviour_version="v16",
        parts={name: part_from_onnx(path.name, summary.metadata, inputs, outputs)},
        policy_order=(),
        frame_skip=derive_frame_skip(inputs),
        image_history_pipeline="policy",
        camera_resolutions=CAMERA_RESOLUTIONS,
        execution_device="CPU",
        warp_device="CPU",
    )


def test_a_generated_model_is_described_by_what_its_file_says(model: Path, architecture: str) -> None:
    record = described(model, scan_model(model))
    assert record.kind.value == architecture and record.frame_skip == 4
    (part,) = record.parts.values()
    assert part.model_checkpoint.startswith("synthetic/")
    assert part.output_slices["plan"] == slice(917, 1907)
    assert part.output_shapes["outputs"] == (1, 2578)
    assert DrivingMetadata.from_json(record.to_json()) == record


def test_what_a_model_computes_is_parsed_and_drawn(model: Path) -> None:
    record = described(model, scan_model(model))
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    dtypes = {"tensor(uint8)": np.uint8, "tensor(float)": np.float32}
    (raw,) = session.run(
        ["outputs"], {each.name: np.ones(each.shape, dtypes[each.type]) for each in session.get_inputs()}
    )
    (name,) = record.parts
    outputs = parse_parts({name: raw}, {name: record.parts[name].output_slices})
    assert outputs["lead"].shape == (3, 6, 4)
    assert outputs["desire_pred"].sum(axis=1) == pytest.approx(1)
    assert plot(scene(outputs), "synthetic").count("<polyline") >= 7


def test_every_part_that_a_kind_has_is_one_that_the_parser_knows() -> None:
    for composition in COMPOSITIONS:
        width = {"hidden_state": slice(0, 512)}
        raw = {part: np.full((1, 512), 1.0) for part in composition.parts}
        assert parse_parts(raw, dict.fromkeys(raw, width))["hidden_state"].shape == (512,)
