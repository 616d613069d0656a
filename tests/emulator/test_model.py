"""Whole parts of a630 artifacts on the emulator, against numpy."""

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from emulator.a630_artifacts import (
    ASTRAY,
    ELEMENT,
    STORE,
    WEIGHTS,
    example_inputs,
    expected_result,
    write_artifact,
)
from emulator.a630_programs import kernel_of, mov
from native.cpu_artifacts import write_artifact as write_cpu_artifact

from autoclave.artifact.reader import Artifact, open_artifact
from autoclave.emulator.a630.launch import bind_launch
from autoclave.emulator.jit import BASELINE, PORTABLE, HostTarget
from autoclave.emulator.launch import Bound
from autoclave.emulator.model import EmulatedModel, Placement
from autoclave.emulator.shapes import artifact_work, translate_work
from autoclave.errors import ArtifactError, AutoclaveError, EmulationError, MemoryFault

PLACE = Placement(PORTABLE)

WRITES_WHAT_IT_READS = [*ELEMENT, mov("r2.x", "r3.x"), mov("r2.y", "r3.y"), mov("r5.x", "r4.x"), *STORE]
"""Writes to its second buffer, which its artifact says it reads."""


@pytest.fixture
def artifact(tmp_path: Path) -> Iterator[Artifact]:
    write_artifact(tmp_path / "model.pkl")
    with open_artifact(tmp_path / "model.pkl") as opened:
        yield opened


def test_run_gives_what_numpy_gives(artifact: Artifact) -> None:
    outputs = EmulatedModel(artifact, "run", PLACE).run(example_inputs())

    assert outputs["result"].tobytes() == expected_result(**example_inputs()).tobytes()


@pytest.mark.parametrize(
    "placement",
    [
        Placement(HostTarget("x86-64-v3", "", 16), fill=0xFF),
        Placement(HostTarget("x86-64-v3", "", 32), threads=2),
        Placement(HostTarget("x86-64-v3", "", 4, quick=True)),
        Placement(BASELINE, fill=0x7F, threads=3),
    ],
    ids=str,
)
def test_placement_does_not_matter(artifact: Artifact, placement: Placement) -> None:
    outputs = EmulatedModel(artifact, "run", placement).run(example_inputs())

    assert outputs["result"].tobytes() == expected_result(**example_inputs()).tobytes()


def test_runs_do_not_see_each_other(artifact: Artifact) -> None:
    model = EmulatedModel(artifact, "run", PLACE)
    others = {"x": np.full((2, 4), 3, np.float32), "pixels": np.full(8, 200, np.uint8)}

    results = [model.run(inputs)["result"].tobytes() for inputs in (example_inputs(), others, example_inputs())]

    assert results[0] == results[2] == expected_result(**example_inputs()).tobytes()
    assert results[1] == expected_result(**others).tobytes()


def test_each_call_shows_what_it_reads_and_writes(artifact: Artifact) -> None:
    model = EmulatedModel(artifact, "run", PLACE)
    seen = []
    for step in model.start(example_inputs()):
        before = [tensor.values.copy() for tensor in step.written]
        model.execute(step)
        seen.append((step.stage, step.index, step.name, [tensor.name for tensor in step.tensors], before, step.written))

    assert [each[:4] for each in seen] == [
        ("init", 0, "double", ["persistent buffer 3", "constant weights", "constant weights"]),
        ("run", 0, "multiply", ["arena + 0", "input x", "persistent buffer 3"]),
        ("run", 1, "copy", ["arena + 128", "arena + 0"]),
        ("run", 2, "add_bytes", ["output result", "arena + 128", "input pixels"]),
    ]
    (tripled,) = seen[0][5]
    assert np.array_equal(tripled.values, WEIGHTS * 3)
    assert not seen[0][4][0].any()


def test_nothing_runs_behind_the_last_call_that_was_executed(artifact: Artifact) -> None:
    model = EmulatedModel(artifact, "run", Placement(PORTABLE, fill=0xAB))
    steps = model.start(example_inputs())

    for step in steps[:3]:
        model.execute(step)

    assert model.outputs()["result"].tobytes() == b"\xab" * 32
    product = example_inputs()["x"].reshape(-1) * (WEIGHTS * np.float32(3))
    assert np.array_equal(steps[2].written[0].values, product)


def test_instructions_of_all_threads_are_counted(artifact: Artifact) -> None:
    """MULTIPLY has 12 instructions before STORE and two in it that count, for 8 threads each."""
    model = EmulatedModel(artifact, "run", PLACE)
    model.run(example_inputs())

    assert [each.instructions for each in model.init_statistics] == [8 * 14]
    assert [each.instructions for each in model.statistics] == [8 * 12, 0, 8 * 14]


def test_constants_stay_where_the_file_is_mapped(artifact: Artifact) -> None:
    model = EmulatedModel(artifact, "run", PLACE)

    (constant,) = (tensor for tensor in model.init[0].tensors[1:2])
    data = artifact.part("run").buffers[2].data
    assert data is not None
    mapped = np.frombuffer(artifact.read(data), np.uint8)

    assert constant.values.ctypes.data == mapped.ctypes.data
    assert not constant.values.flags.writeable


@pytest.mark.parametrize(("code", "words"), [(ASTRAY, "astray"), (WRITES_WHAT_IT_READS, "astray")], ids=["far", "near"])
def test_kernel_that_writes_elsewhere_is_stopped(tmp_path: Path, code: list, words: str) -> None:
    write_artifact(tmp_path / "model.pkl", code, name="astray")

    with open_artifact(tmp_path / "model.pkl") as artifact, pytest.raises(MemoryFault, match=words):
        EmulatedModel(artifact, "run", PLACE).run(example_inputs())


def test_translations_that_were_made_before_are_used(artifact: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    made = {each.key: each for each in translate_work(artifact_work(artifact), PORTABLE, 1)}
    monkeypatch.setattr("autoclave.emulator.model.translate_work", None)

    outputs = EmulatedModel(artifact, "run", PLACE, made).run(example_inputs())

    assert np.array_equal(outputs["result"], expected_result(**example_inputs()))


def test_missing_translation_is_named(artifact: Artifact) -> None:
    with pytest.raises(ArtifactError, match="loading kernel 'double': .*x86-64-v3 with 8 lanes; translate"):
        EmulatedModel(artifact, "run", PLACE, {})


def test_artifact_of_other_hardware_is_refused(tmp_path: Path) -> None:
    write_cpu_artifact(tmp_path / "model.pkl")

    with open_artifact(tmp_path / "model.pkl") as artifact, pytest.raises(ArtifactError, match="compiled for CPU"):
        EmulatedModel(artifact, "run", PLACE)


def test_wrong_launch_fields_are_refused(tmp_path: Path) -> None:
    write_artifact(tmp_path / "model.pkl", buffer_slots=[0, 1, 7])

    with open_artifact(tmp_path / "model.pkl") as artifact, pytest.raises(ArtifactError, match="slot of parameter 7"):
        EmulatedModel(artifact, "run", PLACE)


@pytest.mark.parametrize(("height", "width"), [(1, 16385), (16385, 1)])
def test_image_with_a_side_longer_than_the_hardware_has_is_refused(height: int, width: int) -> None:
    memory = np.zeros(8 * height * width, np.uint8)
    with pytest.raises(ArtifactError, match=f"an image of {width} x {height}; a side has at most 16384 pixels"):
        bind_launch(
            kernel_of(b"\0" * 8, texture_slots=(0,)),
            (1, 1, 1),
            (1, 1, 1),
            [Bound(memory, (height, width, 4), "float16")],
        )


def test_unknown_input_is_named(artifact: Artifact) -> None:
    with pytest.raises(AutoclaveError, match="no input 'pixel'; did you mean 'pixels'"):
        EmulatedModel(artifact, "run", PLACE).run({"pixel": np.zeros(8, np.uint8)})


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("merged_registers", 1, "true or false"),
        ("arguments_offset", None, "expected 0 to"),
        ("immediates_offset", "x", "expected 0 to"),
        ("driver_params_offset", -1, "expected 0 to"),
        ("driver_params_size", [], "expected 0 to"),
        ("shared_bytes", 1 << 40, "expected 0 to"),
        ("buffer_slots", ["x"], "buffer_slots has something else than numbers"),
        ("texture_slots", [[0]], "texture_slots has something else than numbers"),
        ("immediates", [-1], "immediates has something else than numbers"),
        ("image_slots", 7, "missing or of a wrong type"),
    ],
)
def test_launch_fields_of_other_types_and_ranges_are_refused(
    tmp_path: Path, field: str, value: object, words: str
) -> None:
    write_artifact(tmp_path / "model.pkl", **{field: value})

    with open_artifact(tmp_path / "model.pkl") as artifact, pytest.raises(ArtifactError, match=words):
        EmulatedModel(artifact, "run", PLACE)


def test_threads_that_cannot_be_started_are_an_error(artifact: Artifact, monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def start_one(thread: threading.Thread) -> None:
        if threading.active_count() > already:
            raise RuntimeError("can't start new thread")
        start(thread)

    already = threading.active_count()
    monkeypatch.setattr(threading.Thread, "start", start_one)

    with pytest.raises(EmulationError, match="starting 2 threads: can't start"):
        EmulatedModel(artifact, "run", Placement(PORTABLE, threads=3))
