"""Outputs on tinygrad's devices are those of Autoclave's own runners and of calculation by hand, bit for bit."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from compiler.compile_action import Compiled
from emulator.a630_artifacts import expected_result
from emulator.a630_artifacts import write_artifact as write_a630_artifact
from emulator.gfx1200_artifacts import write_gfx1200_artifact
from native.cpu_artifacts import example_inputs
from native.cpu_artifacts import write_artifact as write_cpu_artifact

from autoclave.artifact.reader import Artifact, open_artifact
from autoclave.emulator.jit import best_target
from autoclave.emulator.model import EmulatedModel, Placement
from autoclave.emulator.tinygrad_device import register
from autoclave.native.model import NativeModel, Tensors
from autoclave.runtime import Model, load

DEVICES = {"cpu": "CPU", "qcom": "QCOM", "chestnut": "AMD"}
# What the interpreter of the emulator does without, and tinygrad's loader asks for.
REGISTERS = {"full_registers": 49, "half_registers": 1, "branch_stack": 0, "double_threadsize": False}
SETUP = {"isam_mode": "gl", "constant_demotion": True, "constant_length": 8, **REGISTERS}
WRITERS: dict[str, Callable[[Path], str]] = {
    "cpu": write_cpu_artifact,
    "qcom": lambda path: write_a630_artifact(path, **SETUP),
    "chestnut": write_gfx1200_artifact,
}


@pytest.fixture(autouse=True)
def no_compilers(monkeypatch: pytest.MonkeyPatch) -> None:
    """No clang is found, which tinygrad's CPU wants when it is opened."""
    monkeypatch.setenv("PATH", "/nonexistent")


def loaded(path: Path, hardware: str) -> Model:
    if hardware != "cpu":
        register(device=DEVICES[hardware])
    return load(path, allow_unverified=True, allow_synthetic=True)


def runner(artifact: Artifact, hardware: str) -> Callable[[Tensors], Tensors]:
    """Autoclave's own way to run the part."""
    if hardware == "cpu":
        return NativeModel(artifact, "run").run
    return EmulatedModel(artifact, "run", Placement(best_target())).run


@pytest.mark.parametrize("hardware", DEVICES)
def test_outputs_equal_those_calculated_by_hand(tmp_path: Path, hardware: str) -> None:
    WRITERS[hardware](tmp_path / "model.pkl")
    inputs = example_inputs()

    model = loaded(tmp_path / "model.pkl", hardware)
    outputs = model["run"].run(inputs)

    assert outputs["result"].numpy().tobytes() == expected_result(inputs["x"], inputs["pixels"]).tobytes()


@pytest.mark.parametrize("hardware", DEVICES)
def test_runs_with_state_equal_those_of_autoclaves_runner(compiled: Callable[[str], Compiled], hardware: str) -> None:
    """Images, weights in another layout, an arena, state: all that a driving model has."""
    path = compiled(hardware).artifact
    model = loaded(path, hardware)
    generator = np.random.default_rng(7)

    with open_artifact(path) as artifact:
        run = runner(artifact, hardware)
        memory = np.zeros((1, 8), np.float32 if hardware == "cpu" else np.float16)
        for _ in range(5):
            image = generator.integers(0, 256, (1, 4, 16, 16), np.uint8)
            expected = run({"image": image, "memory": memory})
            outputs = model["run"].run({"image": image})
            assert outputs["answer"].tobytes() == expected["answer"].tobytes()
            memory = expected["next_memory"]

    assert np.any(memory)


@pytest.mark.parametrize("hardware", DEVICES)
def test_a_reset_model_starts_as_a_new_one(compiled: Callable[[str], Compiled], hardware: str) -> None:
    model = loaded(compiled(hardware).artifact, hardware)
    image = np.arange(1024, dtype=np.uint16).astype(np.uint8).reshape(1, 4, 16, 16)

    first = model["run"].run({"image": image})["answer"].tobytes()
    second = model["run"].run({"image": image})["answer"].tobytes()
    model.reset()

    assert model["run"].run({"image": image})["answer"].tobytes() == first
    assert second != first
