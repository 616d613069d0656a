"""`python -m autoclave.native request.json`, as a process of its own."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from native.cpu_artifacts import example_inputs, expected_result, write_artifact

import autoclave


def run_action(directory: Path, request: object) -> subprocess.CompletedProcess[str]:
    (directory / "request.json").write_text(request if isinstance(request, str) else json.dumps(request))
    environment = {"PYTHONPATH": ":".join([str(Path(autoclave.__file__).parents[1]), *sys.path])}
    return subprocess.run(
        [sys.executable, "-m", "autoclave.native", "request.json"],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
    )


@pytest.fixture
def request_fields(tmp_path: Path) -> dict[str, object]:
    write_artifact(tmp_path / "model.pkl")
    np.savez(tmp_path / "in.npz", **example_inputs())  # type: ignore[arg-type]
    return {"artifact": "model.pkl", "part": "run", "inputs": "in.npz", "output": "out/result.npz", "repeat": 3}


def test_outputs_and_times(tmp_path: Path, request_fields: dict[str, object]) -> None:
    done = run_action(tmp_path, request_fields)

    assert (done.returncode, done.stderr) == (0, "")
    assert len(json.loads(done.stdout.splitlines()[-1])["seconds"]["run"]) == 3
    with np.load(tmp_path / "out" / "result.npz") as outputs:
        assert np.array_equal(outputs["result"], expected_result(**example_inputs()))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"artifact": "absent.pkl"}, "absent.pkl", id="no-artifact"),
        pytest.param({"artifact": "in.npz"}, "in.npz", id="not-an-artifact"),
        pytest.param({"inputs": "model.pkl"}, "model.pkl", id="not-inputs"),
        pytest.param({"part": "walk"}, "no part walk", id="no-such-part"),
        pytest.param({"inputs": None}, "field 'inputs'", id="field-missing"),
    ],
)
def test_unusable_requests_are_one_line(
    tmp_path: Path, request_fields: dict[str, object], changes: dict[str, object], message: str
) -> None:
    fields = {name: value for name, value in (request_fields | changes).items() if value is not None}

    done = run_action(tmp_path, fields)

    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1
    assert message in done.stderr


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100000, "1" * 5000])
def test_malformed_requests_are_one_line(tmp_path: Path, text: str) -> None:
    done = run_action(tmp_path, text)

    assert done.returncode == 2
    assert done.stderr.startswith("error: reading the request request.json: ")
