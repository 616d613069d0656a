"""Runs the actions that make driving artifacts, each as a process of its own, as rules do."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiler.compile_action import action_environment

import autoclave.artifact.assemble  # noqa: F401  so that Pants knows what the actions need
import autoclave.compiler.policy  # noqa: F401
import autoclave.compiler.warp  # noqa: F401

TOOLCHAIN = {"tinygrad": "0.14.0", "absent_flags": ["TC_MIN_GLOBALS"]}


@dataclass(frozen=True)
class Done:
    """What an action left behind. `report` is its last line of standard output, empty if it failed."""

    output: Path
    code: int
    report: dict[str, Any]
    log: str


def run_action(module: str, directory: Path, request: Mapping[str, Any]) -> Done:
    """Run `python -m module request.json` in `directory`; the request names its output."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "request.json").write_text(json.dumps(request))
    done = subprocess.run(
        [sys.executable, "-m", module, "request.json"],
        cwd=directory,
        env=action_environment(),
        capture_output=True,
        text=True,
    )
    report = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {}
    return Done(directory / str(request.get("output", "out/artifact.pkl")), done.returncode, report, done.stderr)


def warp_request(camera: tuple[int, int], model_size: tuple[int, int], **fields: Any) -> dict[str, Any]:
    """A request for a warp for the CPU; `fields` are added."""
    size = {"camera": list(camera), "model_size": list(model_size)}
    return {**TOOLCHAIN, "hardware": "cpu", "layout": "planes", **size, **fields}


def compile_warp(directory: Path, camera: tuple[int, int], model_size: tuple[int, int], **fields: Any) -> Done:
    """Compile a warp."""
    return run_action("autoclave.compiler.warp", directory, warp_request(camera, model_size, **fields))


def policy_request(kind: str, models: Mapping[str, bytes], **fields: Any) -> dict[str, Any]:
    """A request for a policy for the CPU, whose files `compile_policy` puts at PART.onnx; `fields` are added."""
    sources = [
        {"part": part, "path": f"{part}.onnx", "sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
        for part, content in models.items()
    ]
    return {**TOOLCHAIN, "hardware": "cpu", "kind": kind, "models": sources, "synthetic": True, **fields}


def compile_policy(directory: Path, kind: str, models: Mapping[str, bytes], **fields: Any) -> Done:
    """Compile a policy of the files `models`, by part."""
    directory.mkdir(parents=True, exist_ok=True)
    for part, content in models.items():
        (directory / f"{part}.onnx").write_bytes(content)
    return run_action("autoclave.compiler.policy", directory, policy_request(kind, models, **fields))


def assemble(directory: Path, parts: list[Path], version: str = "v16") -> Done:
    """Assemble part artifacts."""
    request = {"parts": [str(part) for part in parts], "behavior_version": version, "output": "artifact.pkl"}
    return run_action("autoclave.artifact.assemble", directory, request)
