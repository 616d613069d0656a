"""Assembling: part artifacts become one that runs as they do, holds everything once, and fits together or does not come into being."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiler import driving_onnx
from compiler.driving_actions import Done, assemble, compile_policy, compile_warp
from compiler.driving_onnx import FEATURES, MODEL_SIZE
from compiler.driving_reference import Camera, History, matrices, outputs_of, reference, six_planes

from autoclave.artifact.assemble import read_request
from autoclave.artifact.reader import Artifact, open_artifact
from autoclave.artifact.validate import sections
from autoclave.artifact.writer import ArtifactWriter
from autoclave.driving.metadata import DrivingMetadata
from autoclave.errors import ArtifactError
from autoclave.native.model import NativeModel, Tensors

CAMERAS = {
    (64, 48): Camera(width=64, height=48, stride=128, y_height=64, uv_height=32),
    (96, 64): Camera(width=96, height=64, stride=128, y_height=64, uv_height=32),
}


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A policy and two warps for it."""
    root = tmp_path_factory.mktemp("parts")
    done = [compile_policy(root / "policy", "supercombo", {"supercombo": driving_onnx.supercombo()})]
    done += [compile_warp(root / str(width), (width, height), MODEL_SIZE) for width, height in CAMERAS]
    assert [each.code for each in done] == [0, 0, 0], [each.log for each in done]
    return [each.output for each in done]


@pytest.fixture(scope="module")
def assembled(parts: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Done:
    done = assemble(tmp_path_factory.mktemp("assembled"), parts)
    assert done.code == 0, done.log
    return done


def test_the_report_describes_the_artifact(assembled: Done) -> None:
    with open_artifact(assembled.output) as artifact:
        assert assembled.report == {
            "sha256": artifact.sha256(),
            "size": artifact.size,
            "kernels": len(artifact.header.kernels),
            "parts": 3,
        }
        assert [part.key for part in artifact.header.parts] == ["run_policy", *CAMERAS]


def test_frames_go_through_warp_queues_and_model_as_through_numpy_and_onnx_runtime(assembled: Done) -> None:
    for size, camera in CAMERAS.items():
        with open_artifact(assembled.output) as artifact:
            _drive(artifact, size, camera)


def _drive(artifact: Artifact, size: tuple[int, int], camera: Camera) -> None:
    random, session = np.random.default_rng(5), reference(driving_onnx.supercombo())
    warp, policy = NativeModel(artifact, size), NativeModel(artifact, "run_policy")
    images: dict[str, History] = {"img": History(), "big_img": History()}
    hidden, desires = History(), History()
    hidden.append(np.zeros((1, FEATURES), np.float32))
    state: Mapping[str, Any] = _zeros(policy, artifact.header.metadata["state"])
    for matrix, big_matrix in zip(matrices(camera, MODEL_SIZE, 9, 6), matrices(camera, MODEL_SIZE, 9, 7), strict=True):
        frame, big_frame = random.integers(0, 256, (2, camera.nbytes), np.uint8)
        desires.append((random.random((1, 8)) < 0.2).astype(np.float32))
        conditions = {name: random.random((1, 2), np.float32) for name in ("traffic_convention", "action_t")}
        seen = warp.run({"frame": frame, "big_frame": big_frame, "tfm": matrix, "big_tfm": big_matrix})
        packed = np.concatenate([desires.ago(0), *conditions.values(), hidden.ago(0)], axis=1)
        outputs = policy.run({**seen, **state, "packed_npy_inputs": packed})

        images["img"].append(six_planes(frame, matrix, camera, MODEL_SIZE))
        images["big_img"].append(six_planes(big_frame, big_matrix, camera, MODEL_SIZE))
        shown = {name: history.every(4, 2).reshape(1, 12, *driving_onnx.IMAGE) for name, history in images.items()}
        shown["features_buffer"] = hidden.every(4, 24, first=3).reshape(1, 24, FEATURES)
        shown["desire_pulse"] = desires.largest(4, 25).reshape(1, 25, 8)
        expected = outputs_of(session, {**shown, **conditions})["outputs"]
        assert np.abs(outputs["outputs"] - expected).max() < 1e-4
        hidden.append(expected[:, -FEATURES:])
        state = {name: outputs[following] for name, following in artifact.header.metadata["state"]}


def _zeros(model: NativeModel, state: list[list[str]]) -> Tensors:
    specs = {spec.name: spec for spec in model.part.inputs}
    return {name: np.zeros(specs[name].shape, specs[name].dtype) for name, _ in state}


def test_parts_are_what_they_were_and_weights_lie_where_the_policys_own_file_has_them(
    assembled: Done, parts: list[Path]
) -> None:
    with open_artifact(assembled.output) as whole, open_artifact(parts[0]) as policy:
        for mine, own in zip(whole.header.parts[0].buffers, policy.header.parts[0].buffers, strict=True):
            assert mine == own
        for path in parts:
            with open_artifact(path) as artifact:
                part = artifact.header.parts[0]
                mine_part = whole.part(part.key)
                assert (mine_part.inputs, mine_part.outputs, mine_part.target) == (
                    part.inputs,
                    part.outputs,
                    part.target,
                )
                for here, there in zip(mine_part.calls, part.calls, strict=True):
                    assert here.args == there.args
                    code = whole.header.kernels[here.kernel], artifact.header.kernels[there.kernel]
                    assert bytes(whole.read(code[0].lib)) == bytes(artifact.read(code[1].lib))
                    assert replace(code[0], lib=code[1].lib) == code[1]


def test_equal_sections_and_equal_kernels_are_stored_once(assembled: Done, parts: list[Path], tmp_path: Path) -> None:
    twice = _rekeyed(parts[1], tmp_path / "again.pkl", (128, 96))
    done = assemble(tmp_path, [*parts, twice])
    assert done.code == 0, done.log

    with open_artifact(assembled.output) as one, open_artifact(done.output) as other:
        assert len(other.header.parts) == 4
        assert other.header.kernels == one.header.kernels
        assert {span for _, span in sections(other.header)} == {span for _, span in sections(one.header)}


def test_metadata_is_the_records_of_the_parts_as_one(assembled: Done) -> None:
    with open_artifact(assembled.output) as artifact:
        metadata = artifact.header.metadata
    driving = DrivingMetadata.from_json(metadata["driving"])

    assert (driving.kind.value, driving.behaviour_version, driving.frame_skip) == ("supercombo", "v16", 4)
    assert driving.camera_resolutions == tuple(CAMERAS)
    assert (driving.execution_device, driving.warp_device) == ("CPU", "CPU")
    assert metadata["synthetic"] is True
    assert {name for name, _ in metadata["state"]} == {"img_q", "big_img_q", "desire_q", "feat_q"}
    assert [each["name"] for each in metadata["policy_inputs"]] == [
        "desire",
        "traffic_convention",
        "action_t",
        "prev_feat",
    ]
    assert set(metadata["sources"]) == {"supercombo"}


def test_the_same_parts_give_the_same_bytes(assembled: Done, parts: list[Path], tmp_path: Path) -> None:
    assert assemble(tmp_path, parts).report["sha256"] == assembled.report["sha256"]


def test_a_model_that_is_not_of_the_behaviour_version_is_refused(parts: list[Path], tmp_path: Path) -> None:
    done = assemble(tmp_path, parts, version="v9")

    assert done.code == 2
    assert "desired_curvature is missing" in done.log
    assert not done.output.exists()


def test_a_warp_that_gives_something_else_is_refused(parts: list[Path], tmp_path: Path) -> None:
    larger = compile_warp(tmp_path / "larger", (64, 48), (128, 64))
    done = assemble(tmp_path, [parts[0], larger.output])

    assert done.code == 2
    assert "img is uint8 [6, 32, 64], expected uint8 [6, 16, 32]" in done.log


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ([1, 0], "the first part should be a policy"),
        ([0], "the warps should be for one device; they are for none"),
        ([0, 0], "the parts after the policy should be warps"),
        ([0, 1, 1], "camera_resolutions: is [(64, 48), (64, 48)]; expected at least one, and each once"),
    ],
)
def test_parts_that_make_no_model_are_refused(
    parts: list[Path], tmp_path: Path, order: list[int], message: str
) -> None:
    done = assemble(tmp_path, [parts[number] for number in order])

    assert done.code == 2
    assert message in done.log


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("[]", "expected a JSON object"),
        ('{"parts": [], "behavior_version": "v16", "output": "a"}', "the field 'parts' should be a list of paths"),
        ('{"parts": ["a"], "output": "a"}', "the field 'behavior_version' is missing"),
        ('{"parts": ["a"], "behavior_version": 16, "output": "a"}', "should be str, got 16"),
        ('{"parts": ["a"], "behavior_version": "v16", "output": "a", "model": "b"}', "unknown field 'model'"),
    ],
)
def test_a_wrong_request_is_refused_by_the_fields_name(tmp_path: Path, document: str, message: str) -> None:
    (tmp_path / "request.json").write_text(document)

    with pytest.raises(ArtifactError, match=message):
        read_request(tmp_path / "request.json")


def _rekeyed(path: Path, output: Path, key: tuple[int, int]) -> Path:
    """The artifact at `path`, its part under another key."""
    with open_artifact(path) as artifact, ArtifactWriter(output) as writer:
        kernels = tuple(
            replace(kernel, lib=writer.add_blob(artifact.read(kernel.lib))) for kernel in artifact.header.kernels
        )
        (part,) = artifact.header.parts
        writer.finish(replace(artifact.header, kernels=kernels, parts=(replace(part, key=key),)))
    return output
