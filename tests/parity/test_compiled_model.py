"""The whole way of a model on the CPU: made, upcast, compiled, recorded, replayed, and compared with ONNX Runtime."""

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import autoclave
from autoclave.artifact.reader import open_artifact
from autoclave.native.model import NativeModel, Placement
from autoclave.parity.inputs import check_inputs

if TYPE_CHECKING:  # run as processes of their own; said here so that Pants knows
    import autoclave.compiler.__main__
    import autoclave.compiler.adapters.tinygrad_0_14
    import autoclave.parity.__main__
    import autoclave.parity.record
    import autoclave.parity.reference
    import autoclave.source.synthetic
    import autoclave.source.upcast  # noqa: F401


def run_action(directory: Path, module: str, request: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    (directory / "request.json").write_text(json.dumps(request))
    environment = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": ":".join([str(Path(autoclave.__file__).parents[1]), *sys.path]),
    }
    done = subprocess.run(
        [sys.executable, "-m", module, "request.json"],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stderr
    return done


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a compiled synthetic model of scale S, its fp32 graph and its check file."""
    place = tmp_path_factory.mktemp("model")
    run_action(
        place,
        "autoclave.source.synthetic",
        {"architecture": "supercombo", "scale": "S", "seed": 7, "output": "model.onnx"},
    )
    run_action(
        place, "autoclave.source.upcast", {"model": "model.onnx", "output": "fp32.onnx", "report": "upcast.json"}
    )
    source = (place / "model.onnx").read_bytes()
    compile_request = {
        "model": "fp32.onnx",
        "hardware": "cpu",
        "renderer": "llvm",
        "tinygrad": "0.14.0",
        "source_sha256": sha256(source).hexdigest(),
        "source_size": len(source),
        "synthetic": True,
        "output": "artifact.pkl",
    }
    run_action(place, "autoclave.compiler", compile_request)
    run_action(place, "autoclave.parity.record", {"artifact": "artifact.pkl", "output": "check.zst", "seed": 42})
    return place


def test_compiled_model_passes_both_rungs(directory: Path) -> None:
    done = run_action(
        directory,
        "autoclave.parity",
        {"artifact": "artifact.pkl", "check": "check.zst", "reference_model": "fp32.onnx", "report": "report.json"},
    )

    assert done.returncode == 0, done.stdout
    report = json.loads((directory / "report.json").read_text())
    assert report["status"] == "passed"
    varied = [r["subject"] for r in report["parts"][0]["results"] if r["gate"] == "sensitivity"]
    with open_artifact(directory / "artifact.pkl") as artifact:
        assert varied == [spec.name for spec in artifact.part("run").inputs]


def test_a_wrong_weight_is_noticed(directory: Path) -> None:
    """The reference gate sees one weight matrix that is off by a thousandth."""
    import onnx
    from onnx import numpy_helper

    model = onnx.load(directory / "fp32.onnx")
    largest = max(model.graph.initializer, key=lambda tensor: len(tensor.raw_data))
    largest.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(largest) * np.float32(1.001), largest.name))
    onnx.save(model, directory / "wrong.onnx")

    done = run_action(
        directory,
        "autoclave.parity",
        {"artifact": "artifact.pkl", "check": "check.zst", "reference_model": "wrong.onnx", "tolerance": 1e-5},
    )

    assert done.returncode == 1
    assert "FAILED  rung 4 reference" in done.stdout


@pytest.mark.parametrize("placement", [Placement(64, 0xFF), Placement(1024, 0x7F)], ids=str)
def test_placement_does_not_matter(directory: Path, placement: Placement) -> None:
    with open_artifact(directory / "artifact.pkl") as artifact:
        inputs = check_inputs(artifact.part("run"), 1)
        usual, moved = (NativeModel(artifact, "run", where).run(inputs) for where in (Placement(), placement))

        assert {name: tensor.tobytes() for name, tensor in usual.items()} == {
            name: tensor.tobytes() for name, tensor in moved.items()
        }
