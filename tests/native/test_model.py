"""The runner: a part's launch list gives what numpy gives, wherever its buffers lie."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from native.cpu_artifacts import DOUBLE, WEIGHTS, example_inputs, expected_result, write_artifact

from autoclave.artifact.model import Target
from autoclave.artifact.reader import Artifact, open_artifact
from autoclave.errors import ArtifactError, AutoclaveError
from autoclave.native import host
from autoclave.native.model import NativeModel, Placement


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Artifact]:
    path = tmp_path_factory.mktemp("artifact") / "model.pkl"
    write_artifact(path)
    with open_artifact(path) as opened:
        yield opened


@pytest.mark.parametrize(
    "placement", [Placement(), Placement(skew=64, fill=0xFF), Placement(skew=192, fill=1)], ids=str
)
def test_outputs_equal_numpys_bit_for_bit(artifact: Artifact, placement: Placement) -> None:
    inputs = example_inputs()

    outputs = NativeModel(artifact, "run", placement).run(inputs)

    assert list(outputs) == ["result"]
    assert outputs["result"].tobytes() == expected_result(inputs["x"], inputs["pixels"]).tobytes()


def test_runs_do_not_influence_each_other(artifact: Artifact) -> None:
    model = NativeModel(artifact, "run")
    inputs = example_inputs()
    first = model.run(inputs)["result"]

    model.run({name: np.ones_like(tensor) for name, tensor in inputs.items()})

    assert model.run(inputs)["result"].tobytes() == first.tobytes()


def test_outputs_are_copies(artifact: Artifact) -> None:
    model = NativeModel(artifact, "run")
    first = model.run(example_inputs())["result"]
    before = first.copy()

    model.run({name: np.ones_like(tensor) for name, tensor in example_inputs().items()})

    assert np.array_equal(first, before)


def test_constants_are_mapped_from_the_file_not_copied(artifact: Artifact) -> None:
    constant = next(buffer for buffer in artifact.part("run").buffers if buffer.kind == "constant")
    assert constant.data is not None
    mapped = np.frombuffer(artifact.read(constant.data), np.uint8).ctypes.data

    model = NativeModel(artifact, "run")

    assert mapped in {memory.ctypes.data for memory in model._buffers}
    assert np.array_equal(np.frombuffer(artifact.read(constant.data), np.float32), WEIGHTS)


def test_column_major_inputs_mean_the_same(artifact: Artifact) -> None:
    inputs = example_inputs()
    model = NativeModel(artifact, "run")

    turned = model.run(inputs | {"x": np.asfortranarray(inputs["x"])})

    assert np.array_equal(turned["result"], model.run(inputs)["result"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"x": None}, r"input 'x' is missing; give an array of float32 \[2, 4\]", id="missing"),
        pytest.param({"pixel": np.zeros(8, np.uint8)}, "no input 'pixel'; did you mean 'pixels'", id="surplus"),
        pytest.param({"zzz": np.zeros(8, np.uint8)}, "no input 'zzz'; it has pixels, x", id="surplus-unlike-any"),
        pytest.param(
            {"x": np.zeros((2, 4))}, r"'x' is float64 \[2, 4\], expected float32 \[2, 4\]", id="another-dtype"
        ),
        pytest.param({"x": np.zeros((4, 2), np.float32)}, r"'x' is float32 \[4, 2\], expected", id="another-shape"),
        pytest.param({"x": np.zeros((2, 4), ">f4")}, "'x' is >f4", id="another-byte-order"),
    ],
)
def test_wrong_inputs_are_named(artifact: Artifact, changes: dict[str, np.ndarray | None], message: str) -> None:
    inputs = {name: tensor for name, tensor in (example_inputs() | changes).items() if tensor is not None}

    with pytest.raises(AutoclaveError, match=message):
        NativeModel(artifact, "run").run(inputs)


def test_unknown_part_is_named(artifact: Artifact) -> None:
    with pytest.raises(ArtifactError, match="no part runn; did you mean run"):
        NativeModel(artifact, "runn")


def test_artifact_for_other_hardware_is_refused(tmp_path: Path) -> None:
    write_artifact(tmp_path / "model.pkl", Target("AMD", "LLVM", "gfx1200"))

    with (
        open_artifact(tmp_path / "model.pkl") as artifact,
        pytest.raises(ArtifactError, match="AMD gfx1200, not for the CPU"),
    ):
        NativeModel(artifact, "run")


def test_processor_is_checked_before_anything_runs(
    artifact: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cpuinfo").write_text("flags : sse2\n")
    monkeypatch.setattr(host, "CPU_FLAGS", tmp_path / "cpuinfo")

    with pytest.raises(AutoclaveError, match="lacks .*avx2"):
        NativeModel(artifact, "run")


def test_launch_over_several_workgroups_is_refused(tmp_path: Path) -> None:
    write_artifact(tmp_path / "model.pkl", workgroups=4)

    with (
        open_artifact(tmp_path / "model.pkl") as artifact,
        pytest.raises(ArtifactError, match=r"over \(4, 1, 1\) workgroups"),
    ):
        NativeModel(artifact, "run")


def test_kernel_that_calls_out_is_refused_on_loading(tmp_path: Path) -> None:
    calling = """
declare void @free(ptr)
define void @add_bytes(ptr %0, ptr %1, ptr %2) {
  call void @free(ptr %0)
  ret void
}
"""
    write_artifact(tmp_path / "model.pkl", add_bytes=calling)

    with open_artifact(tmp_path / "model.pkl") as artifact, pytest.raises(ArtifactError, match="'add_bytes'.*'free'"):
        NativeModel(artifact, "run")


@pytest.mark.parametrize("placement", [{"skew": 32}, {"skew": -64}, {"skew": 4096}, {"fill": 256}])
def test_senseless_placement_is_a_mistake_of_the_caller(placement: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="out of range"):
        Placement(**placement)


def test_first_kernel_is_the_hand_calculation_it_says() -> None:
    # (a + a) * 1.5 = 3 a: the constant of `init` in tests/native/cpu_artifacts.py.
    assert "0x3FF8000000000000" in DOUBLE  # 1.5 as the double that LLVM wants for a float
    assert expected_result(np.ones((2, 4), np.float32), np.zeros(8, np.uint8)).reshape(-1)[3] == 3.0
