"""The wheel: what a person installs who only reads artifacts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Workspace  # pants: no-infer-dep


def test_command_works_in_a_clean_environment(workspace: Workspace, tmp_path: Path) -> None:
    built = workspace.pants("package", "src/autoclave:wheel")
    assert built.returncode == 0, built.stderr
    (wheel,) = (workspace.root / "dist").glob("autoclave-*.whl")

    environment = tmp_path / "environment"
    variables = {**os.environ, "PIP_CONFIG_FILE": os.devnull, "PYTHONPATH": ""}
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    pip = [str(environment / "bin/python"), "-m", "pip", "install", "--quiet", "--only-binary=:all:", str(wheel)]
    subprocess.run(pip, env=variables, check=True)

    def autoclave(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(environment / "bin/autoclave"), *arguments]
        return subprocess.run(command, env={"PATH": "/usr/bin:/bin"}, cwd=tmp_path, capture_output=True, text=True)

    listed = autoclave("--help")
    assert listed.returncode == 0
    for command in ("inspect", "disasm", "verify", "run", "diff", "lock", "parity", "profile", "trace"):
        assert command in listed.stdout
        assert autoclave(command, "--help").returncode == 0

    refused = autoclave("inspect", "nothing.pkl")
    assert refused.returncode == 2
    assert refused.stderr.startswith("autoclave: error: ")
    assert "nothing.pkl" in refused.stderr
