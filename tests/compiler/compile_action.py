"""Runs the compile action as a process of its own, as rules do."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import autoclave
import autoclave.compiler.__main__  # noqa: F401  so that Pants knows what the action needs


@dataclass(frozen=True)
class Compiled:
    """What the action left behind. `report` is its last line of standard output, empty if it failed."""

    artifact: Path
    code: int
    report: dict[str, Any]
    log: str

    def sha256(self) -> str:
        """Of the artifact file, in hex."""
        return hashlib.sha256(self.artifact.read_bytes()).hexdigest()


def action_environment() -> dict[str, str]:
    """The environment of the action's process: where its modules are, and a PATH that leads nowhere."""
    library = [str(Path(autoclave.__file__).parents[1]), *(path for path in sys.path if path)]
    return {"PYTHONPATH": os.pathsep.join(library), "PATH": "/nonexistent"}


def run_compiler(directory: Path, request: object, environment: Mapping[str, str] | None = None) -> Compiled:
    """Write `request` into `directory` and run the action there with nothing in its environment but `environment`."""
    (directory / "request.json").write_text(json.dumps(request))
    done = subprocess.run(
        [sys.executable, "-m", "autoclave.compiler", "request.json"],
        cwd=directory,
        env={**action_environment(), **(environment or {})},
        capture_output=True,
        text=True,
    )
    report = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {}
    return Compiled(directory / "out" / "artifact.pkl", done.returncode, report, done.stderr)


def request_for(model: bytes, hardware: str, **fields: Any) -> dict[str, Any]:
    """A request for `model`, which `compile_model` puts at model.onnx."""
    return {
        "model": "model.onnx",
        "hardware": hardware,
        "tinygrad": "0.14.0",
        "source_sha256": hashlib.sha256(model).hexdigest(),
        "source_size": len(model),
        "absent_flags": ["TC_MIN_GLOBALS"],
        **fields,
    }


def compile_model(
    directory: Path, model: bytes, hardware: str, environment: Mapping[str, str] | None = None, **fields: Any
) -> Compiled:
    """Compile `model` in `directory`; `fields` are added to the request."""
    (directory / "model.onnx").write_bytes(model)
    return run_compiler(directory, request_for(model, hardware, **fields), environment)
