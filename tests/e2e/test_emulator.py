"""Models on the emulators, through the real ./pants: what passes, what fails and how, what runs again after which change."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from e2e.catalogue_models import declare, started, succeeded, tiny_model

from autoclave.artifact.reader import open_artifact
from autoclave.parity.check_file import read_check, write_check

if TYPE_CHECKING:
    from conftest import Workspace  # pants: no-infer-dep

STAGES = ("Compile", "Extract", "Translate", "Record")


def stages(result: subprocess.CompletedProcess[str]) -> set[str]:
    """The stages of which something was run, not taken from a cache."""
    return {stage for stage in STAGES if started(result, stage)}


@pytest.fixture
def workspace_of_samples(workspace: Workspace, warm: Workspace) -> Workspace:
    """A checkout with its own models; toolchains come from the shared store."""
    return type(workspace)(workspace.root, warm.store)


@pytest.mark.parametrize("hardware", ["qcom", "chestnut"])
def test_the_sample_passes_on_the_emulator(workspace_of_samples: Workspace, hardware: str) -> None:
    result = succeeded(workspace_of_samples.pants("test", "--output=all", f"models:sample-parity@model={hardware}"))

    printed = result.stdout + result.stderr
    assert f"✓ models:sample-parity@model={hardware}" in printed
    for line in (
        "outputs recorded by emulator (autoclave.emulator ",
        "ok      rung 3 replay: outputs: all 2578 values equal, bit for bit",
        "ok      rung 3 replay, cross-check: ",
        "ok      rung 4 reference: outputs: error ",
        "ok      rung 4 reference, change: outputs: ",
        "ok      rung 5 evidence: executed instructions: ",
        "WARNING rung 6 device: all outputs: no device_recording was given",
    ):
        assert line in printed


def packaged(catalogue: Workspace, name: str) -> Path:
    """The artifact of a model, packaged for qcom."""
    succeeded(catalogue.pants("package", f"models:{name}"))
    return catalogue.root / f"dist/models/{name}/qcom/{name}_tinygrad.pkl"


def write_recording(catalogue: Workspace, artifact: Path, change: float = 0.0) -> str:
    """A file as a device's would be, with the outputs of the check file plus `change`; its sha256."""
    (part,) = read_check(artifact.with_name(artifact.name + ".check.zst")).parts
    outputs = {name: tensor + tensor.dtype.type(change) for name, tensor in part.outputs.items()}
    identity = hashlib.sha256(artifact.read_bytes()).digest()
    path = catalogue.root / "models/device.npz"
    np.savez(path, artifact_sha256=np.frombuffer(identity, np.uint8), **outputs)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_device_recordings_and_evidence(catalogue: Workspace) -> None:
    declare(catalogue, "tiny", tiny_model(seed=20), hardware=("qcom",))
    artifact = packaged(catalogue, "tiny")
    build = catalogue.root / "models/BUILD.recorded"

    def test_with(sha256: str) -> subprocess.CompletedProcess[str]:
        fields = f'model=":tiny", device_recording="device.npz", device_recording_sha256="{sha256}"'
        build.write_text(f'parity_test(name="recorded", {fields})\n')
        return catalogue.pants("test", "--output=all", "models:recorded")

    right = test_with(write_recording(catalogue, artifact))
    assert right.returncode == 0, right.stderr
    assert "ok      rung 6 device: y: all 32 values equal, bit for bit" in right.stdout + right.stderr

    wrong = test_with(write_recording(catalogue, artifact, change=0.25))
    assert wrong.returncode == 1
    assert "FAILED  rung 6 device: y: 32 of 32 values differ" in wrong.stdout + wrong.stderr

    unpinned = test_with("0" * 64)
    assert unpinned.returncode == 1
    for word in ("models:recorded", "device.npz", "`device_recording_sha256`", "0" * 64):
        assert word in unpinned.stdout + unpinned.stderr

    build.write_text('parity_test(name="recorded", model=":tiny", require_hardware_evidence=True)\n')
    unverified = catalogue.pants("test", "models:recorded")
    assert unverified.returncode != 0
    assert "UNVERIFIED rung 5 evidence: executed instructions: " in unverified.stdout + unverified.stderr


def replay(artifact: Path, check: Path) -> subprocess.CompletedProcess[str]:
    """`autoclave parity replay`, with this process's packages."""
    source = Path(__file__).resolve().parents[2] / "src"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), *sys.path])}
    command = [
        sys.executable,
        "-m",
        "autoclave.cli",
        "parity",
        "replay",
        str(artifact),
        str(check),
        "--sandbox",
        "none",
    ]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_what_was_tampered_with_does_not_pass(catalogue: Workspace, tmp_path: Path) -> None:
    declare(catalogue, "tiny", tiny_model(seed=20), hardware=("qcom",))
    artifact = packaged(catalogue, "tiny")
    check = read_check(artifact.with_name(artifact.name + ".check.zst"))
    (part,) = check.parts
    changed = part.outputs["y"].copy()
    changed.reshape(-1).view(np.uint32)[5] ^= 1
    write_check(tmp_path / "check", replace(check, parts=(replace(part, outputs={"y": changed}),)))

    tampered_check = replay(artifact, tmp_path / "check")

    assert tampered_check.returncode == 1
    assert "FAILED  rung 3 replay: y: 1 of 32 values differ" in tampered_check.stdout
    assert "the first at index [0, 5]" in tampered_check.stdout

    with open_artifact(artifact) as opened:
        multiply = next(kernel for kernel in opened.header.kernels if kernel.name.startswith("r_"))
        code = bytes(opened.read(multiply.lib))
    places = [at for at in range(0, len(code), 8) if code[at + 7] >> 5 == 3]
    data = bytearray(artifact.read_bytes())
    data[multiply.lib.offset + places[-1] + 2] ^= 1  # another register is multiplied with
    (tmp_path / "tampered.pkl").write_bytes(data)
    bound = replace(check, artifact_sha256=hashlib.sha256(data).hexdigest())
    write_check(tmp_path / "bound", bound)

    tampered_kernel = replay(tmp_path / "tampered.pkl", tmp_path / "bound")

    assert tampered_kernel.returncode == 1
    assert "FAILED  rung 3 replay: y: " in tampered_kernel.stdout


def test_what_runs_again_after_which_change(catalogue: Workspace) -> None:
    declare(catalogue, "first", tiny_model(seed=20), hardware=("qcom", "cpu"))
    succeeded(catalogue.pants("package", "models:first"))

    with (catalogue.root / "src/autoclave/emulator/jit.py").open("a") as file:
        file.write("\n# another line\n")
    edited = succeeded(catalogue.pants("package", "models:first"))

    assert stages(edited) == {"Extract", "Translate", "Record"}, "an edit of the emulator compiles nothing"
    assert not [target for target in started(edited) if "cpu" in target], "nor does it touch what runs natively"

    declare(catalogue, "second", tiny_model(seed=21), hardware=("qcom",))
    reweighted = succeeded(catalogue.pants("package", "models:second"))

    assert stages(reweighted) == {"Compile", "Extract", "Record"}, "other weights translate nothing"
