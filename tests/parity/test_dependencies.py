"""What an action imports decides what its toolchain must have and whether it shares code with what it checks."""

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import autoclave

if TYPE_CHECKING:  # imported in processes of their own; said here so that Pants knows
    import autoclave.native.__main__
    import autoclave.parity.__main__
    import autoclave.parity.record
    import autoclave.parity.reference  # noqa: F401

HEAVY = {"onnx", "onnxruntime", "tinygrad", "llvmlite", "zstandard", "numpy"}


@pytest.mark.parametrize(
    ("module", "packages"),
    [
        ("autoclave.native.__main__", {"numpy"}),
        ("autoclave.parity.record", {"numpy", "zstandard"}),
        ("autoclave.parity.__main__", {"numpy", "zstandard"}),
        ("autoclave.parity.reference", {"numpy", "zstandard", "onnxruntime"}),
    ],
)
def test_action_imports_no_more_than_it_needs(module: str, packages: set[str]) -> None:
    script = f"import sys, {module}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    environment = {"PYTHONPATH": ":".join([str(Path(autoclave.__file__).parents[1]), *sys.path])}

    imported = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )

    assert set(imported.stdout.split()) & HEAVY == packages


@pytest.mark.parametrize("module", ["autoclave.native.__main__", "autoclave.parity.__main__"])
def test_action_shares_no_code_with_the_compiler(module: str) -> None:
    script = f"import sys, {module}; print(*sys.modules)"
    environment = {"PYTHONPATH": ":".join([str(Path(autoclave.__file__).parents[1]), *sys.path])}

    imported = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )

    assert not [name for name in imported.stdout.split() if name.startswith(("autoclave.compiler", "autoclave.source"))]
