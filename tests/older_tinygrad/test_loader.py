"""The loader under tinygrad 0.13: artifacts that 0.14 compiled give the same bits as Autoclave's own runners give."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import older_tinygrad.run_model
import pytest
from compiler.compile_action import compile_model
from compiler.onnx_models import small_model
from older_tinygrad.images import images
from sandbox.locked_trees import wheel_tree

import autoclave
from autoclave.artifact.reader import open_artifact
from autoclave.emulator.jit import best_target
from autoclave.emulator.model import EmulatedModel, Placement
from autoclave.native.model import NativeModel

RELEASE = "0.13.0"
STEPS = 4
DEVICES = {"cpu": "CPU", "qcom": "QCOM", "chestnut": "AMD"}


@pytest.fixture(scope="module")
def tinygrad() -> Iterator[Path]:
    """The folder of the older tinygrad's modules."""
    place = Path(tempfile.mkdtemp(prefix="autoclave-tinygrad-"))
    yield wheel_tree("tinygrad-0.13", "3rdparty/tinygrad-0.13.lock", place)
    shutil.rmtree(place)


def answers_under(tinygrad: Path, artifact: Path, device: str) -> dict[str, Any]:
    """What run_model.py says with `tinygrad` in the place of the installed one."""
    library = [tinygrad, Path(autoclave.__file__).parents[1], *(path for path in sys.path if path)]
    done = subprocess.run(
        [sys.executable, older_tinygrad.run_model.__file__, artifact, device, str(STEPS)],
        env={"PYTHONPATH": os.pathsep.join(map(str, library)), "PATH": "/nonexistent", "DEV": "NULL"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    answers: dict[str, Any] = json.loads(done.stdout)
    return answers


def expected_answers(artifact: Path, hardware: str) -> list[str]:
    """The same steps by Autoclave's own runner, which has nothing of tinygrad's."""
    with open_artifact(artifact) as opened:
        run = (
            NativeModel(opened, "run").run
            if hardware == "cpu"
            else EmulatedModel(opened, "run", Placement(best_target())).run
        )
        memory, answers = np.zeros((1, 8), np.float32 if hardware == "cpu" else np.float16), []
        for image in images(STEPS):
            outputs = run({"image": image, "memory": memory})
            answers.append(outputs["answer"].tobytes().hex())
            memory = outputs["next_memory"]
    return answers


@pytest.mark.parametrize("hardware", DEVICES)
def test_outputs_are_the_same_bits(tmp_path: Path, tinygrad: Path, hardware: str) -> None:
    model = small_model("float32" if hardware == "cpu" else "float16")
    artifact = compile_model(tmp_path, model, hardware).artifact

    found = answers_under(tinygrad, artifact, DEVICES[hardware])

    assert found["tinygrad"] == RELEASE
    assert found["answers"] == expected_answers(artifact, hardware)
    assert len(set(found["answers"])) == STEPS
