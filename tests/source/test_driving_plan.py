"""What a driving model is, told before anything is compiled: the action, on small files of every kind."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest
from compiler import driving_onnx

import autoclave
from autoclave.errors import AutoclaveError
from autoclave.source.driving_plan import plan

SUPERCOMBO = {"driving_supercombo.onnx": driving_onnx.supercombo()}
SPLIT = {"driving_vision.onnx": driving_onnx.vision(), "driving_policy.onnx": driving_onnx.policy()}
STATEFUL = {"driving_supercombo.onnx": driving_onnx.stateful()}
MULTI = {
    "driving_vision.onnx": driving_onnx.vision(),
    "driving_off_policy.onnx": driving_onnx.policy(4),
    "driving_on_policy.onnx": driving_onnx.policy(),
}


def request(
    folder: Path, files: dict[str, bytes], roles: dict[str, str] | None = None, **fields: Any
) -> dict[str, Any]:
    """A request for the model that consists of `files`; `fields` replace what is declared."""
    models = []
    for name, content in files.items():
        (folder / name).write_bytes(content)
        models.append(
            {
                "path": str(folder / name),
                "name": name,
                "role": (roles or {}).get(name),
                "sha256": hashlib.sha256(content).hexdigest(),
                "size": len(content),
                "synthetic": False,
            }
        )
    declared = {
        "kind": "auto",
        "size_class": "small",
        "behavior_version": "v16",
        "image_history_pipeline": "policy",
        "frame_skip": None,
        "dimensions": {},
    }
    return {"models": models, **declared, "output": str(folder / "out/plan.json"), **fields}


def supercombo_with(output: str = "outputs", axes: int = 2) -> dict[str, bytes]:
    """The supercombo with another name of its output, or with its last axes only."""
    model = onnx.load_from_string(driving_onnx.supercombo())
    (declared,) = model.graph.output
    model.graph.node[-1].output[0] = declared.name = output
    del declared.type.tensor_type.shape.dim[:-axes]
    return {"driving_supercombo.onnx": model.SerializeToString()}


PLANES = {"layout": "planes", "model_size": [64, 32], "history": None}


@pytest.mark.parametrize(
    ("files", "fields", "kind", "parts", "skip", "warp"),
    [
        (SUPERCOMBO, {}, "supercombo", {"supercombo": 0}, 4, PLANES),
        (SUPERCOMBO, {"frame_skip": 2}, "supercombo", {"supercombo": 0}, 2, PLANES),
        (SPLIT, {}, "split", {"vision": 0, "policy": 1}, 4, PLANES),
        (
            MULTI,
            {"behavior_version": "v15"},
            "multi_policy",
            {"vision": 0, "on_policy": 2, "off_policy": 1},
            4,
            PLANES,
        ),
        (STATEFUL, {}, "stateful", {"stateful": 0}, 1, {**PLANES, "layout": "stacked"}),
        (
            SPLIT,
            {"image_history_pipeline": "warp"},
            "split",
            {"vision": 0, "policy": 1},
            4,
            # Two frames that lie four apart: five.
            {**PLANES, "layout": "queue", "history": 5},
        ),
        (
            {"driving_supercombo.onnx": driving_onnx.supercombo(99, 100)},
            {"image_history_pipeline": "warp"},
            "supercombo",
            {"supercombo": 0},
            1,
            {**PLANES, "layout": "queue", "history": 2},
        ),
    ],
)
def test_plan_tells_kind_parts_and_what_warps_give(
    tmp_path: Path,
    files: dict[str, bytes],
    fields: dict[str, Any],
    kind: str,
    parts: dict[str, int],
    skip: int,
    warp: dict[str, Any],
) -> None:
    found = plan(request(tmp_path, files, **fields))

    assert (found["kind"], found["parts"], found["frame_skip"], found["warp"]) == (kind, parts, skip, warp)
    assert found["why"].startswith(f"{kind}, because ")


def test_roles_count_as_names(tmp_path: Path) -> None:
    files = {"a.onnx": driving_onnx.policy(), "b.onnx": driving_onnx.vision()}

    found = plan(request(tmp_path, files, {"a.onnx": "policy", "b.onnx": "vision"}))

    assert found["parts"] == {"vision": 1, "policy": 0}


@pytest.mark.parametrize(
    ("files", "roles", "fields", "message"),
    [
        ({"v.onnx": driving_onnx.vision()}, {}, {}, "v.onnx is a vision model: that makes no kind of model"),
        (SUPERCOMBO | SPLIT, {}, {}, "left over"),
        (SUPERCOMBO, {}, {"kind": "split"}, "makes no split model"),
        (SUPERCOMBO, {}, {"size_class": "big"}, "size_class is big: is it the right file?"),
        (SUPERCOMBO, {"driving_supercombo.onnx": "vision"}, {}, "the name says vision"),
        (STATEFUL, {"driving_supercombo.onnx": "supercombo"}, {}, "declared as supercombo, but it is a stateful model"),
        (SUPERCOMBO, {}, {"behavior_version": "v9"}, "desired_curvature is missing"),
        (SPLIT, {}, {"behavior_version": "v15"}, "a split model has no off-policy part, which v15 does not fit"),
        (SUPERCOMBO, {}, {"dimensions": {"N": 1}}, "'N'"),
        (supercombo_with(output="answers"), {}, {}, "driving_supercombo.onnx: has no output 'outputs' but answers"),
        (supercombo_with(axes=1), {}, {}, r"the output 'outputs' is \[2570\]; expected \[1, N\]"),
        ({"a.onnx": b"<!DOCTYPE html>"}, {}, {}, "HTML"),
    ],
)
def test_what_makes_no_model_as_declared_is_refused(
    tmp_path: Path, files: dict[str, bytes], roles: dict[str, str], fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(AutoclaveError, match=message):
        plan(request(tmp_path, files, roles, **fields))


def run(module: str, wanted: dict[str, Any], folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "request.json").write_text(json.dumps(wanted))
    return subprocess.run(
        [sys.executable, "-m", module, str(folder / "request.json")],
        env={"PYTHONPATH": ":".join([str(Path(autoclave.__file__).parents[1]), *sys.path])},
        capture_output=True,
        text=True,
    )


def test_the_action_writes_the_plan(tmp_path: Path) -> None:
    wanted = request(tmp_path, SUPERCOMBO)

    done = run("autoclave.source.driving_plan", wanted, tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((tmp_path / "out/plan.json").read_text()) == plan(wanted)


def test_the_action_says_in_one_line_why_a_model_is_refused(tmp_path: Path) -> None:
    done = run("autoclave.source.driving_plan", request(tmp_path, SUPERCOMBO, size_class="big"), tmp_path)

    assert done.returncode == 2
    assert done.stderr.startswith("error: driving_supercombo.onnx: ")
    assert done.stderr.count("\n") == 1
