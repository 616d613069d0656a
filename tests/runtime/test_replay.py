"""A check file is replayed on tinygrad's devices: equal bits are told from others, and what a device computed becomes evidence."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from compiler.compile_action import Compiled
from emulator.a630_artifacts import expected_result
from native.cpu_artifacts import example_inputs, write_artifact
from runtime.test_devices import DEVICES, loaded, runner
from runtime.two_parts import write_driving_artifact

import autoclave.runtime
from autoclave.artifact.reader import open_artifact
from autoclave.native.model import Tensors
from autoclave.parity.check_file import CheckFile, PartCheck, Recorder, write_check
from autoclave.parity.device import device_results
from autoclave.runtime import LoadError, Model, VerificationError, load
from autoclave.runtime.__main__ import main

RESULT = expected_result(example_inputs()["x"], example_inputs()["pixels"])


def record(check: Path, artifact: Path, outputs: Tensors, inputs: Tensors | None = None, kind: str = "cpu") -> Path:
    """Write a check file of the part `run`."""
    with open_artifact(artifact) as opened:
        specs, digest = opened.part("run").inputs, opened.sha256()
    given = inputs or example_inputs()
    part = PartCheck("run", 42, {spec.name: given[spec.name] for spec in specs}, outputs)
    write_check(check, CheckFile(digest, Recorder(kind, "test", "1"), (part,)))
    return check


@pytest.fixture
def artifact(tmp_path: Path) -> Path:
    write_artifact(tmp_path / "model.pkl")
    return tmp_path / "model.pkl"


def on_cpu(artifact: Path, check: Path) -> Model:
    return load(artifact, check=check, allow_synthetic=True)


@pytest.mark.parametrize("hardware", DEVICES)
def test_what_autoclaves_runner_recorded_comes_out_on_the_device(
    compiled: Callable[[str], Compiled], hardware: str, tmp_path: Path
) -> None:
    path = compiled(hardware).artifact
    generator = np.random.default_rng(3)
    inputs: Tensors = {
        "image": generator.integers(0, 256, (1, 4, 16, 16), np.uint8),
        "memory": generator.standard_normal((1, 8)).astype(np.float32 if hardware == "cpu" else np.float16),
    }
    with open_artifact(path) as opened:
        outputs = {spec.name: runner(opened, hardware)(inputs)[spec.name] for spec in opened.part("run").outputs}
    check = record(tmp_path / "check.zst", path, outputs, inputs)
    loaded(path, hardware).close()  # registers the device

    with load(path, check=check, allow_synthetic=True) as model:
        result = model.replay(check, runs=3)

    assert result.is_equal
    assert {each.tensor.name for each in result.outputs} == set(outputs)
    assert list(result.seconds) == ["run"]


def test_a_value_that_differs_is_named(artifact: Path, tmp_path: Path) -> None:
    wrong = RESULT.copy()
    wrong[1, 0] += 1
    wrong[1, 3] += 1
    check = record(tmp_path / "check.zst", artifact, {"result": wrong})

    with on_cpu(artifact, check) as model:
        result = model.replay(check)

    assert not result.is_equal
    (output,) = result.outputs
    assert output.data == RESULT.tobytes()
    assert str(output.difference) == (
        "2 of 8 elements differ, the first at [1, 0]: "
        f"recorded 0x{wrong[1, 0].view(np.uint32):08x}, here 0x{RESULT[1, 0].view(np.uint32):08x}"
    )


def test_without_recorded_outputs_nothing_is_proved(artifact: Path, tmp_path: Path) -> None:
    check = record(tmp_path / "check.zst", artifact, {}, kind="none")

    with on_cpu(artifact, check) as model:
        assert not model.replay(check).is_equal


def test_what_is_saved_is_what_numpy_reads_and_parity_takes(artifact: Path, tmp_path: Path) -> None:
    check = record(tmp_path / "check.zst", artifact, {"result": RESULT})
    with on_cpu(artifact, check) as model:
        result = model.replay(check)
    result.save(tmp_path / "device.npz")
    first = (tmp_path / "device.npz").read_bytes()
    result.save(tmp_path / "device.npz")

    assert (tmp_path / "device.npz").read_bytes() == first
    with np.load(tmp_path / "device.npz") as saved:
        assert saved["result"].tobytes() == RESULT.tobytes()
        assert saved["result"].dtype == np.float32
    with open_artifact(artifact) as opened:
        part = opened.part("run")
        request = {"device_recording": str(tmp_path / "device.npz")}
        same = device_results(opened, part, PartCheck("run", 42, {}, {}), {"result": RESULT}, request)
        assert [each.status for each in same] == ["passed"]
        other = device_results(opened, part, PartCheck("run", 42, {}, {}), {"result": RESULT + 1}, request)
        assert [each.status for each in other] == ["failed"]


def test_outputs_of_several_parts_are_saved_by_part(tmp_path: Path) -> None:
    write_driving_artifact(tmp_path / "model.pkl")
    with open_artifact(tmp_path / "model.pkl") as opened:
        parts = opened.header.parts
        recorded = []
        for part in parts:
            inputs = {spec.name: np.ones(spec.shape, spec.dtype) for spec in part.inputs}
            recorded.append(PartCheck(part.key, 42, inputs, {}))
        check = CheckFile(opened.sha256(), Recorder("none", "", ""), tuple(recorded))
    write_check(tmp_path / "check.zst", check)

    with on_cpu(tmp_path / "model.pkl", tmp_path / "check.zst") as model:
        model.replay(tmp_path / "check.zst").save(tmp_path / "device.npz")

    keys = {part.key: part.key if isinstance(part.key, str) else "x".join(map(str, part.key)) for part in parts}
    with np.load(tmp_path / "device.npz") as saved:
        named = {f"{keys[part.key]}/{spec.name}" for part in parts for spec in part.outputs}
        assert set(saved) == {"artifact_sha256", *named}
        assert bytes(saved["artifact_sha256"]).hex() == check.artifact_sha256


def test_a_check_file_of_another_artifact_or_cut_short_is_refused(artifact: Path, tmp_path: Path) -> None:
    check = record(tmp_path / "check.zst", artifact, {"result": RESULT})
    with open_artifact(artifact) as opened:
        part = PartCheck("run", 42, example_inputs(), {"result": RESULT})
        sha256 = opened.sha256()
    write_check(tmp_path / "other.zst", CheckFile("ab" * 32, Recorder("cpu", "test", "1"), (part,)))
    (tmp_path / "short.zst").write_bytes(check.read_bytes()[:-40])

    with load(artifact, sha256=sha256, allow_synthetic=True) as model:
        for name in ("other.zst", "short.zst", "none.zst"):
            with pytest.raises(VerificationError):
                model.replay(tmp_path / name)
    with (
        load(artifact, allow_unverified=True, allow_synthetic=True) as model,
        pytest.raises(VerificationError, match="the model was loaded from None"),
    ):
        model.replay(check)


def test_an_npz_file_that_cannot_be_written_is_an_error(artifact: Path, tmp_path: Path) -> None:
    check = record(tmp_path / "check.zst", artifact, {"result": RESULT})
    with on_cpu(artifact, check) as model, pytest.raises(LoadError, match="cannot be written"):
        model.replay(check).save(tmp_path / "no such folder" / "device.npz")


def test_a_copy_of_the_package_proves_it_on_the_command_line(artifact: Path, tmp_path: Path) -> None:
    check = record(tmp_path / "check.zst", artifact, {"result": RESULT})
    folder = Path(autoclave.runtime.__file__).parent
    shutil.copytree(folder, tmp_path / "copied", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "copied", str(artifact), str(check), "--allow-synthetic", "--json"]
    paths = [str(tmp_path), *(each for each in sys.path if "site-packages" in each)]

    done = subprocess.run(
        [*command, "--save", "device.npz", "--runs", "2"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["outputs"] == [{"part": "run", "output": "result", "status": "ok", "difference": ""}]
    assert (tmp_path / "device.npz").is_file()


def test_exit_codes_tell_other_bits_from_a_file_that_is_unusable(
    artifact: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    different = record(tmp_path / "check.zst", artifact, {"result": RESULT + 1})

    assert main([str(artifact), str(different), "--allow-synthetic"]) == 1
    assert "DIFFERENT run: result: 8 of 8 elements differ" in capsys.readouterr().out
    assert main([str(artifact), str(different)]) == 2
    assert "SyntheticRefused" in capsys.readouterr().err
    assert main([str(artifact), str(tmp_path / "none"), "--allow-synthetic"]) == 2
    assert "VerificationError" in capsys.readouterr().err
