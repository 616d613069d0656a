"""Lets tests import from the other folders of tests/ as they do under Pants; compiles the small model once per hardware."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

# For tests that import tinygrad into their own process: without it, it looks for devices of this machine.
os.environ["DEV"] = "NULL"

sys.path.insert(0, str(Path(__file__).parent.parent))

from compiler.compile_action import Compiled, compile_model
from compiler.onnx_models import small_model


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Compiled]:
    """Gives the small model's artifact for a hardware, compiled at most once in a session."""
    done: dict[str, Compiled] = {}

    def get(hardware: str) -> Compiled:
        if hardware not in done:
            directory = tmp_path_factory.mktemp(hardware)
            done[hardware] = compile_model(
                directory, small_model("float32" if hardware == "cpu" else "float16"), hardware
            )
        return done[hardware]

    return get
