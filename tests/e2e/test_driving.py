"""Driving and monitoring models through the real ./pants: what is built of them, what they share, what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from textwrap import dedent
from typing import TYPE_CHECKING

import numpy as np
from compiler.driving_onnx import policy, supercombo, vision
from e2e.catalogue_models import started, succeeded
from onnx import TensorProto, helper, numpy_helper

from autoclave.artifact.reader import open_artifact
from autoclave.driving.metadata import DrivingMetadata

if TYPE_CHECKING:
    from conftest import Workspace  # pants: no-infer-dep

HARDWARE = ("cpu", "qcom")
CAMERAS = ((128, 96), (64, 48))
"""Small ones, to be quick."""


def declare_driving(
    workspace: Workspace, name: str, files: Mapping[str, bytes], hardware: tuple[str, ...] = HARDWARE, **fields: object
) -> None:
    """Put a driving model into the catalogue: its files, by part, its target and its parity tests."""
    declared = {"behavior_version": "v16", "camera_resolutions": [f"{w}x{h}" for w, h in CAMERAS], **fields}
    extra = "".join(f", {field}={value!r}" for field, value in declared.items())
    choices = ", ".join(repr(each) for each in hardware)
    lines = []
    for part, content in files.items():
        (workspace.root / f"models/{name}_{part}.onnx").write_bytes(content)
        lines.append(f'onnx_file(name="{name}-{part}", source="{name}_{part}.onnx")')
    sources = [f":{name}-{part}" for part in files]
    chosen = f"parametrize({choices})" if len(hardware) > 1 else choices
    lines += [
        f'driving_model(name="{name}", sources={sources!r}, hardware={chosen}{extra})',
        f'parity_tests(name="{name}-parity", model=":{name}", hardware=({choices},))',
    ]
    (workspace.root / f"models/BUILD.{name}").write_text("\n".join(lines))


def test_driving_models_are_policies_of_their_own_and_warps_that_they_share(catalogue: Workspace) -> None:
    declare_driving(catalogue, "fused", {"supercombo": supercombo()})
    declare_driving(catalogue, "split", {"vision": vision(), "policy": policy()})
    result = succeeded(catalogue.pants("package", "models::"))

    compiled = started(result, "Compile")
    policies = [f"models:{name}@hardware={hardware}" for name in ("fused", "split") for hardware in HARDWARE]
    assert [target for target in compiled if "warp" not in target] == sorted(policies)
    assert len(compiled) - len(policies) == len(CAMERAS) * len(HARDWARE), "a warp is compiled once for both models"
    assert "split, because split_vision.onnx is a vision model, split_policy.onnx is a policy model" in result.stderr

    for hardware in HARDWARE:
        folder = catalogue.root / "dist/models/split" / hardware
        assert sorted(path.name for path in folder.iterdir()) == [
            "driving_tinygrad.pkl",
            "driving_tinygrad.pkl.check.zst",
            "driving_tinygrad.pkl.provenance.json",
        ]
        with open_artifact(folder / "driving_tinygrad.pkl") as artifact:
            assert [part.key for part in artifact.header.parts] == ["run_policy", *CAMERAS]
            metadata = DrivingMetadata.from_json(artifact.header.metadata["driving"])
        assert (metadata.kind.value, metadata.behaviour_version, metadata.frame_skip) == ("split", "v16", 4)
        statement = json.loads((folder / "driving_tinygrad.pkl.provenance.json").read_text())["predicate"]
        materials = {each["name"] for each in statement["buildDefinition"]["resolvedDependencies"]}
        assert {"onnx (vision)", "onnx (policy)", "tinygrad", "llvm"} <= materials

    # All parts are checked, on the CPU and on the emulator.
    tested = succeeded(catalogue.pants("test", "--output=all", "models:split-parity", "models:fused-parity"))
    assert tested.stderr.count("✓ models:") == 4
    for part in ("run_policy", "128x96", "64x48"):
        assert (tested.stdout + tested.stderr).count(f"part {part} on ") == 4

    # A new policy runs its own actions, and no warp's.
    (catalogue.root / "models/split_policy.onnx").write_bytes(policy(seed=5))
    again = succeeded(catalogue.pants("package", "models::"))
    assert started(again, "Compile") == sorted(each for each in policies if "split" in each)


REFUSED: dict[str, tuple[dict[str, bytes], dict[str, object], list[str]]] = {
    "lonely": ({"vision": vision()}, {}, ["vision model", "needs", "policy (split)"]),
    "twofold": ({"vision": vision(), "policy": policy(), "supercombo": supercombo()}, {}, ["left over", "supercombo"]),
    "undersized": ({"supercombo": supercombo()}, {"size_class": "big"}, ["size_class is big", "is it the right file?"]),
    "misnamed": ({"policy": vision()}, {}, ["the name says policy"]),
    "other-kind": ({"supercombo": supercombo()}, {"kind": "split"}, ["no split model"]),
    "outdated": ({"supercombo": supercombo()}, {"behavior_version": "v9"}, ["v9", "desired_curvature is missing"]),
    "astray": ({"supercombo": supercombo()}, {"sources": {"vision": ":astray-supercombo"}}, ["the name says vision"]),
}


def test_what_makes_no_driving_model_is_refused_before_anything_is_compiled(catalogue: Workspace) -> None:
    for name, (files, fields, _) in REFUSED.items():
        declare_driving(catalogue, name, files, ("cpu",), **{key: fields[key] for key in fields if key != "sources"})
        if "sources" in fields:
            build = catalogue.root / f"models/BUILD.{name}"
            build.write_text(
                build.read_text().replace(f"sources=[':{name}-supercombo']", f"sources={fields['sources']}")
            )
    result = catalogue.pants("rebuild", "models::")

    assert result.returncode == 1
    assert started(result, "Compile") == []
    for name, (_, _, words) in REFUSED.items():
        record = json.loads((catalogue.root / f"dist/failures/models.{name}.json").read_text())
        assert record["stage"] == "plan"
        for word in words:
            assert word in record["reason"], (name, record["reason"])


def monitoring_model(calibration: str = "calib") -> bytes:
    """mean(input_img) + calib * w: the interface of a driver monitoring model."""
    graph = helper.make_graph(
        [
            helper.make_node("Cast", ["input_img"], ["pixels"], to=TensorProto.FLOAT),
            helper.make_node("ReduceMean", ["pixels", "axes"], ["mean"], keepdims=1),
            helper.make_node("Div", ["mean", "scale"], ["brightness"]),
            helper.make_node("MatMul", [calibration, "w"], ["weighted"]),
            helper.make_node("Add", ["brightness", "weighted"], ["outputs"]),
        ],
        "monitoring",
        [
            helper.make_tensor_value_info("input_img", TensorProto.UINT8, [1, 1440 * 960]),
            helper.make_tensor_value_info(calibration, TensorProto.FLOAT, [1, 3]),
        ],
        [helper.make_tensor_value_info("outputs", TensorProto.FLOAT, [1, 4])],
        [
            numpy_helper.from_array(np.array([1], np.int64), "axes"),
            numpy_helper.from_array(np.array(255, np.float32), "scale"),
            numpy_helper.from_array(np.arange(12, dtype=np.float32).reshape(3, 4) / 8, "w"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    return bytes(model.SerializeToString(deterministic=True))


def test_monitoring_models_are_four_files_or_none(catalogue: Workspace) -> None:
    (catalogue.root / "models/dm.onnx").write_bytes(monitoring_model())
    (catalogue.root / "models/BUILD.dm").write_text(
        dedent("""
        onnx_file(name="dm-onnx", source="dm.onnx")
        monitoring_models(name="dm", source=":dm-onnx", hardware="cpu")
        parity_tests(name="dm-parity", model=":dm", hardware=("cpu",))
        """)
    )
    succeeded(catalogue.pants("package", "models:dm"))

    folder = catalogue.root / "dist/models/dm/cpu"
    artifacts = (
        "dmonitoring_model_tinygrad.pkl",
        "dm_warp_1928x1208_tinygrad.pkl",
        "dm_warp_1344x760_tinygrad.pkl",
    )
    beside = [f"{name}.{suffix}" for name in artifacts for suffix in ("check.zst", "provenance.json")]
    metadata = "dmonitoring_model_metadata.pkl"
    assert sorted(path.name for path in folder.iterdir()) == sorted((*artifacts, *beside, metadata))
    described = json.loads((folder / metadata).read_text())
    assert described["input_shapes"] == {"input_img": [1, 1440 * 960], "calib": [1, 3]}
    assert described["camera_resolutions"] == [[1928, 1208], [1344, 760]]
    tested = succeeded(catalogue.pants("test", "--output=all", "models:dm-parity"))
    for part in ("run", "1928x1208", "1344x760"):
        assert f"part {part} on CPU" in tested.stdout + tested.stderr

    (catalogue.root / "models/dm.onnx").write_bytes(monitoring_model("head"))
    refused = catalogue.pants("rebuild", "models:dm")
    assert refused.returncode == 1
    assert (
        "calib and input_img; this has head, input_img"
        in refused.stdout + (catalogue.root / "dist/failures/models.dm.json").read_text()
    )
    assert not folder.exists()
