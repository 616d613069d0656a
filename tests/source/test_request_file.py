"""Requests that make no sense end in one line, whichever the action."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import autoclave

ACTIONS = ["check", "synthetic", "upcast"]


def run(action: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    library = Path(autoclave.__file__).parents[1]
    return subprocess.run(
        [sys.executable, "-m", f"autoclave.source.{action}", *arguments],
        cwd=folder,
        env={"PYTHONPATH": os.pathsep.join([str(library), *filter(None, sys.path)]), "PATH": os.defpath},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "the request cannot be read: No such file"),
        ("{", "the request is not JSON"),
        ("[]", "the request lacks"),
        ("{}", "the request lacks"),
    ],
)
def test_a_senseless_request_is_one_line(tmp_path: Path, action: str, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / "request.json").write_text(content)
    refused = run(action, tmp_path, "request.json")
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: request.json: ")
    assert said in refused.stderr
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize("action", ACTIONS)
def test_without_a_request_it_says_how_it_is_called(tmp_path: Path, action: str) -> None:
    refused = run(action, tmp_path)
    assert refused.returncode == 2
    assert refused.stderr == f"usage: python -m autoclave.source.{action} request.json\n"
