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
from compiler.driving_reference import Camera, SupercomboDrive

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


FRAMES = 50


@pytest.mark.parametrize("size", CAMERAS, ids=lambda size: f"{size[0]}x{size[1]}")
def test_a_drive_gives_what_numpy_and_onnx_runtime_give(assembled: Done, size: tuple[int, int]) -> None:
    drive = SupercomboDrive(driving_onnx.supercombo(), CAMERAS[size], driving_onnx.IMAGE, seed=5)
    with open_artifact(assembled.output) as artifact:
        slices = DrivingMetadata.from_json(artifact.header.metadata["driving"]).parts["supercombo"].output_slices
        errors = drive_through(artifact, size, drive, FRAMES)

    for name, where in slices.items():
        assert errors[:, where].max() < 1e-4, name


def drive_through(artifact: Artifact, size: tuple[int, int], drive: SupercomboDrive, frames: int) -> np.ndarray:
    """How far the artifact's outputs are from those of `drive`, in any of `frames`. Each goes its own way from zeros."""
    warp, policy = NativeModel(artifact, size), NativeModel(artifact, "run_policy")
    state: Mapping[str, Any] = _zeros(policy, artifact.header.metadata["state"])
    hidden, errors = np.zeros((1, FEATURES), np.float32), np.zeros(1)
    for _ in range(frames):
        frame = drive.frame()
        seen = warp.run({name: frame[name] for name in ("frame", "big_frame", "tfm", "big_tfm")})
        packed = np.concatenate([frame["desire"], frame["traffic_convention"], frame["action_t"], hidden], axis=1)
        outputs = policy.run({**seen, **state, "packed_npy_inputs": packed})

        errors = np.maximum(errors, np.abs(outputs["outputs"] - drive.step(frame)))
        for name in seen:
            assert np.array_equal(seen[name], drive.newest_image(name))
        hidden = outputs["outputs"][:, -FEATURES:]
        state = {name: outputs[following] for name, following in artifact.header.metadata["state"]}
    return errors


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
