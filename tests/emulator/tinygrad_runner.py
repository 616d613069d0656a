"""Runs tinygrad programs on an emulated device as one does by hand: `python -m autoclave.emulator.tinygrad_device`."""

import os
import subprocess
import sys
from pathlib import Path

import autoclave
import autoclave.emulator.tinygrad_device.__main__  # noqa: F401  so that Pants knows what the runner needs


def run(tmp_path: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """The runner, in a process of its own with nothing in its environment but where the modules are."""
    library = [str(Path(autoclave.__file__).parents[1]), *(path for path in sys.path if path)]
    environment = {"PYTHONPATH": os.pathsep.join(library), "PATH": "/nonexistent", "CACHELEVEL": "0"}
    command = [sys.executable, "-m", "autoclave.emulator.tinygrad_device", *arguments]
    return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)


SCRIPT = """
import sys
from tinygrad import Device, Tensor

print(Device.DEFAULT, sys.argv[1], (Tensor([1.0, 2.0]) + Tensor([3.0, 4.0])).tolist())
"""
