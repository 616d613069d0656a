"""The action `python -m autoclave.native request.json`."""

import json
from pathlib import Path

import numpy as np
import pytest
from native.cpu_artifacts import example_inputs, expected_result, write_artifact

from autoclave.native.__main__ import main


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The action's directory, which is its working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_action(request: object) -> int:
    Path("request.json").write_text(request if isinstance(request, str) else json.dumps(request))
    return main(["request.json"])


@pytest.fixture
def request_fields(directory: Path) -> dict[str, object]:
    write_artifact(directory / "model.pkl")
    np.savez(directory / "in.npz", **example_inputs())  # type: ignore[arg-type]
    return {"artifact": "model.pkl", "part": "run", "inputs": "in.npz", "output": "out/result.npz", "repeat": 3}


def test_outputs_and_times(request_fields: dict[str, object], capsys: pytest.CaptureFixture[str]) -> None:
    code = run_action(request_fields)

    printed = capsys.readouterr()
    assert (code, printed.err) == (0, "")
    assert len(json.loads(printed.out.splitlines()[-1])["seconds"]["run"]) == 3
    with np.load("out/result.npz") as outputs:
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
    request_fields: dict[str, object], changes: dict[str, object], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fields = {name: value for name, value in (request_fields | changes).items() if value is not None}

    code = run_action(fields)

    printed = capsys.readouterr().err
    assert code == 2
    assert printed.startswith("error: ") and printed.count("\n") == 1
    assert message in printed


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100000, "1" * 5000])
def test_malformed_requests_are_one_line(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_action(text) == 2
    assert capsys.readouterr().err.startswith("error: reading the request request.json: ")


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage: python -m autoclave.native request.json" in capsys.readouterr().err
