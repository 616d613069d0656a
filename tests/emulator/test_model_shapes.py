"""Kernels taken out of artifacts, and translated from the file that they are kept in."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from emulator.a630_artifacts import DOUBLE, FOREVER, WEIGHTS, write_artifact
from native.cpu_artifacts import write_artifact as write_cpu_artifact

from autoclave.artifact.reader import open_artifact
from autoclave.emulator import extract, translate
from autoclave.emulator.jit import PORTABLE
from autoclave.emulator.program import unpack_translations
from autoclave.emulator.shapes import artifact_work, chosen_target, pack_work, unpack_work
from autoclave.errors import ArtifactError


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_artifact(tmp_path / "model.pkl")
    return tmp_path


def run_action(main: "object", request: dict[str, object]) -> int:
    Path("request.json").write_text(json.dumps(request))
    return main(["request.json"])  # type: ignore[operator, no-any-return]


EXTRACT = {"artifact": "model.pkl", "output": "out/kernels.json"}
TRANSLATE = {"kernels": "out/kernels.json", "cpu": "x86-64-v3", "lanes": 8, "output": "out/translations"}


def test_shapes_come_back_from_their_file() -> None:
    with open_artifact("model.pkl") as artifact:
        work = artifact_work(artifact)

    assert [(each.shape.kernel.name, each.threads) for each in work] == [
        ("double", 0),
        ("multiply", 8),
        ("add_bytes", 8),
    ]
    assert work[0].shape.local_size == (4, 1, 1)
    assert unpack_work(pack_work(work)) == work


@pytest.mark.parametrize(
    ("code", "threads", "quick"),
    [
        pytest.param(DOUBLE, 0, True, id="on-loading-only"),
        pytest.param(DOUBLE, 1000, True, id="few-threads"),
        pytest.param(DOUBLE, 1_000_000, False, id="many-threads"),
        pytest.param(FOREVER, 30_000, False, id="loop"),
    ],
)
def test_kernels_with_little_to_do_are_translated_quickly(
    directory: Path, code: list, threads: int, quick: bool
) -> None:
    write_artifact(directory / "model.pkl", code)
    with open_artifact("model.pkl") as artifact:
        work = replace(artifact_work(artifact)[-1], threads=threads)

    assert chosen_target(work, PORTABLE) == replace(PORTABLE, quick=quick)


def test_weights_are_not_among_the_kernels(directory: Path) -> None:
    run_action(extract.main, EXTRACT)
    first = (directory / "out/kernels.json").read_bytes()
    write_artifact(directory / "model.pkl", weights=WEIGHTS * np.float32(2))

    run_action(extract.main, EXTRACT)

    assert (directory / "out/kernels.json").read_bytes() == first


def test_translations_have_the_same_bytes_from_any_number_of_processes(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_action(extract.main, EXTRACT)
    found = []
    for count in ("1", "2"):
        monkeypatch.setenv("AUTOCLAVE_PROCESSORS", count)
        assert run_action(translate.main, TRANSLATE) == 0
        found.append((directory / "out/translations").read_bytes())

    assert found[0] == found[1]
    with open_artifact("model.pkl") as artifact:
        keys = {each.shape.key(chosen_target(each, PORTABLE)) for each in artifact_work(artifact)}
    assert set(unpack_translations(found[0])) == keys


def test_instruction_without_a_rule_is_named(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_artifact(directory / "model.pkl", b"\xff" * 8 + bytes(8), name="odd")
    run_action(extract.main, EXTRACT)

    assert run_action(translate.main, TRANSLATE) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and "'odd'" in error and "pc 0" in error


def test_artifact_of_other_hardware_is_refused(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_cpu_artifact(directory / "model.pkl")

    assert run_action(extract.main, EXTRACT) == 2
    assert "compiled for CPU; the emulator is for QCOM" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda content: content.update(format=99), id="format"),
        pytest.param(lambda content: content.pop("kernels"), id="no-kernels"),
        pytest.param(lambda content: content["kernels"][0].update(architecture="a730"), id="architecture"),
        pytest.param(lambda content: content["kernels"][0].update(code="zz"), id="code"),
        pytest.param(lambda content: content["kernels"][0].update(code="00"), id="half-an-instruction"),
        pytest.param(lambda content: content["kernels"][0].update(local_size=[1, 2]), id="sides"),
        pytest.param(lambda content: content["kernels"][0].pop("threads"), id="threads"),
        pytest.param(lambda content: content["kernels"][0].update(image_formats=["float64"]), id="image-format"),
        pytest.param(lambda content: content["kernels"][0]["launch"].pop("shared_bytes"), id="field"),
        pytest.param(lambda content: content["kernels"][0]["launch"].update(shared_bytes=1 << 40), id="range"),
        pytest.param(lambda content: content["kernels"][0]["launch"].update(isam_mode="cl"), id="isam-mode"),
    ],
)
def test_malformed_kernels_are_refused(change: "object") -> None:
    with open_artifact("model.pkl") as artifact:
        content = json.loads(pack_work(artifact_work(artifact)))
    change(content)  # type: ignore[operator]

    with pytest.raises(ArtifactError):
        unpack_work(json.dumps(content).encode())
