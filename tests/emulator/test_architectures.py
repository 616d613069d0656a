"""What the emulated GPUs share: one model, compiled for each of them."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from emulator.a630_artifacts import example_inputs, expected_result, write_artifact
from emulator.gfx1200_artifacts import ASTRAY, write_gfx1200_artifact

import autoclave
from autoclave.artifact.reader import open_artifact
from autoclave.emulator.jit import BASELINE, PORTABLE, HostTarget, best_target
from autoclave.emulator.model import EmulatedModel, Placement
from autoclave.emulator.program import Sequence, Translation, pack_translations, unpack_translations
from autoclave.emulator.shapes import artifact_work, pack_work, translate_work, unpack_work
from autoclave.errors import ArtifactError, EmulationError, MemoryFault

if TYPE_CHECKING:  # imported in processes of their own; said here so that Pants knows
    import autoclave.emulator.a630.interpreter
    import autoclave.emulator.a630.translator.kernel
    import autoclave.emulator.rdna4.interpreter
    import autoclave.emulator.rdna4.translator.kernel  # noqa: F401

WRITERS: dict[str, Callable[[Path], str]] = {"a630": write_artifact, "gfx1200": write_gfx1200_artifact}


@pytest.fixture(params=sorted(WRITERS))
def gpu(request: pytest.FixtureRequest) -> str:
    """The GPU's name."""
    name: str = request.param
    return name


@pytest.fixture
def artifact_path(gpu: str, tmp_path: Path) -> Path:
    """The sample model for the GPU."""
    path = tmp_path / "model.pkl"
    WRITERS[gpu](path)
    return path


def run(path: Path, inputs: dict[str, np.ndarray], target: HostTarget = PORTABLE, threads: int = 1) -> np.ndarray:
    with open_artifact(path) as artifact:
        return EmulatedModel(artifact, "run", Placement(target, threads=threads)).run(inputs)["result"]


@pytest.mark.parametrize(
    ("target", "threads"), [(BASELINE, 1), (PORTABLE, 2), (best_target(), 1)], ids=["baseline", "portable", "best"]
)
def test_model_gives_what_numpy_gives(artifact_path: Path, target: HostTarget, threads: int) -> None:
    result = run(artifact_path, example_inputs(), target, threads)

    assert np.array_equal(result, expected_result(**example_inputs()))


@pytest.mark.parametrize(("gpu", "kept"), [("a630", False), ("gfx1200", True)], indirect=["gpu"])
def test_floats_are_in_the_gpus_own_mode(artifact_path: Path, kept: bool) -> None:
    tiny = {"x": np.full((2, 4), 1e-39, np.float32), "pixels": np.zeros(8, np.uint8)}

    result = run(artifact_path, tiny)

    expected = expected_result(**tiny)
    assert np.all((0 < expected) & (expected < np.finfo(np.float32).tiny))
    assert np.array_equal(result, expected if kept else np.zeros_like(expected))


def test_kernels_are_packed_without_loss(artifact_path: Path) -> None:
    with open_artifact(artifact_path) as artifact:
        work = artifact_work(artifact)

    assert unpack_work(pack_work(work)) == work


def test_host_code_is_packed_without_loss(artifact_path: Path) -> None:
    with open_artifact(artifact_path) as artifact:
        translations = translate_work(artifact_work(artifact), PORTABLE, 1)

    assert unpack_translations(pack_translations(translations)) == {each.key: each for each in translations}


def test_known_host_code_is_not_made_again(artifact_path: Path) -> None:
    with open_artifact(artifact_path) as artifact:
        work = artifact_work(artifact)
    made = translate_work(work, PORTABLE, 1)
    known = {each.key: replace(each, code=b"kept") for each in made[1:]}

    again = translate_work(work, PORTABLE, 1, known)

    assert len(known) > 0
    assert again == tuple(known.get(each.key, each) for each in made)


@pytest.mark.parametrize("change", [{"architecture": "a730"}, {"lanes": 5}], ids=["gpu", "lanes"])
def test_malformed_host_code_is_refused(change: dict[str, object]) -> None:
    fields: dict[str, object] = {"key": "00", "architecture": "a630", "kernel": "k", "target": PORTABLE, "code": b""}
    fields |= {"thread_bytes": 64, "lanes": 8, "order": (0, 1, 2), "packed": 1, "ordered": False}

    packed = pack_translations([Translation(**(fields | change))])  # type: ignore[arg-type]

    with pytest.raises(ArtifactError, match="malformed"):
        unpack_translations(packed)


SHARED = ("elementary", "launch", "memory", "{gpu}.instruction", "{gpu}.launch", "{gpu}.code_object")
"""Of the emulator, what interpreter and translator both import: constants, and what a launch and an instruction are."""


@pytest.mark.parametrize("gpu", ["a630", "rdna4"])
def test_the_second_implementation_shares_no_rule_with_the_first(gpu: str) -> None:
    emulator = "autoclave.emulator."
    first, second = (_imported(f"{emulator}{gpu}.{module}") for module in ("translator.kernel", "interpreter"))

    shared = {name.removeprefix(emulator) for name in first & second if name.startswith(emulator)}

    assert shared <= {gpu, *(name.format(gpu=gpu) for name in SHARED)}


def _imported(module: str) -> set[str]:
    """The modules that a process has which imports `module`."""
    environment = {"PYTHONPATH": ":".join([str(Path(autoclave.__file__).parents[1]), *sys.path])}
    script = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_launches_of_two_gpus_are_no_sequence(tmp_path: Path) -> None:
    """Their host code wants floats in different modes."""
    prepared = []
    for name, write in WRITERS.items():
        write(tmp_path / name)
        with open_artifact(tmp_path / name) as artifact:
            prepared += [step.prepared for step in EmulatedModel(artifact, "run", Placement(PORTABLE)).calls]

    with pytest.raises(EmulationError, match="launches of a630 and gfx1200; it takes those of one GPU"):
        Sequence(prepared)


def test_gfx1200_store_outside_of_its_buffer_is_told_with_thread_and_address(tmp_path: Path) -> None:
    write_gfx1200_artifact(tmp_path / "model.pkl", ASTRAY)

    with pytest.raises(
        MemoryFault, match=r"kernel 'add_bytes', pc \d+, workgroup \(0, 0, 0\), thread \(0, 0, 0\).*buffer 0"
    ):
        run(tmp_path / "model.pkl", example_inputs())
