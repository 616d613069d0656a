"""`autoclave run`, `parity` and `profile` on artifacts for GPUs, through the command's own entry point, down to the emulator."""

import json
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np
import pytest
from cli.command_line import autoclave
from emulator.a630_artifacts import ADD_BYTES, MULTIPLY, example_inputs, expected_result, write_artifact
from emulator.gfx1200_artifacts import write_gfx1200_artifact
from native.cpu_artifacts import write_artifact as write_cpu_artifact

from autoclave.parity.check_file import read_check

if TYPE_CHECKING:  # found by name or run as processes of their own; said here so that Pants knows
    import autoclave.cli.parity
    import autoclave.cli.profile
    import autoclave.cli.run
    import autoclave.emulator.__main__
    import autoclave.emulator.profile
    import autoclave.parity.emulated.__main__
    import autoclave.parity.emulated.bisect
    import autoclave.parity.emulated.record  # noqa: F401

OPEN = ("--sandbox", "none")


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: an artifact and inputs."""
    monkeypatch.chdir(tmp_path)
    write_artifact(tmp_path / "model.pkl")
    np.savez(tmp_path / "in.npz", **example_inputs())  # type: ignore[arg-type]
    return tmp_path


def test_run_in_bubblewrap_gives_what_numpy_gives(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = autoclave(capsys, "run", "model.pkl", "--inputs", "in.npz", "--output", "out.npz", "--repeat", "3")

    assert done.code == 0, done.err
    assert "forward, 3 times: median" in done.out
    with np.load(directory / "out.npz") as outputs:
        assert np.array_equal(outputs["result"], expected_result(**example_inputs()))


def test_record_replay_and_bisect(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = ("model.pkl", "model.check.zst", *OPEN)
    recorded = autoclave(capsys, "parity", "record", *both, "--launches", "launches.json")
    replayed = autoclave(capsys, "parity", "replay", *both, "--bisect", "launches.json", "--report", "report.json")

    assert recorded.code == 0, recorded.err
    assert read_check(directory / "model.check.zst").recorded_by.kind == "emulator"
    assert replayed.code == 0, replayed.err + replayed.out
    assert replayed.out.endswith("parity: WARNING\nbisect: all 4 launches leave the same bits\n")
    assert json.loads((directory / "report.json").read_text())["status"] == "warning"

    write_artifact(directory / "other.pkl", [*ADD_BYTES[:-3], *MULTIPLY[-3:]])
    differing = autoclave(capsys, "parity", "replay", *both, "--bisect", "other.pkl")

    assert differing.code == 1
    assert "bisect: launch 2 of run, kernel 2 add_bytes, is the first that differs" in differing.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("record", "--seed", "-3"), "argument --seed: expected a whole number from 0 up, got -3"),
        (("check", "--tolerance", "nan"), "argument --tolerance: expected a number from 0 up, got nan"),
        (("check", "--tolerance", "inf"), "argument --tolerance: expected a number from 0 up, got inf"),
        (("check", "--tolerance", "1%"), "argument --tolerance: expected a number from 0 up, got 1%"),
        (("replay", "--seed", "43"), "parity replay takes no --seed"),
        (("replay", "--bisect", "other.pkl"), "other.pkl: cannot be read: No such file or directory"),
        (("replay", "--bisect", "in.npz"), "in.npz: "),
        (("replay", "--bisect", "cpu.pkl"), "cpu.pkl: part run is for CPU, that of model.pkl for QCOM"),
        (("replay", "--bisect", "chestnut.pkl"), "chestnut.pkl: part run is for AMD, that of model.pkl for QCOM"),
        (("replay", "--bisect", "empty.json"), "it is not what `autoclave parity record --launches` writes"),
        (("replay", "--bisect", "model.pkl", "--part", "rum"), "there is no part rum; did you mean run?"),
        (("replay", "--part", "run"), "--part is for --bisect"),
    ],
)
def test_wrong_options_of_parity_are_refused_before_anything_runs(
    directory: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    write_cpu_artifact(directory / "cpu.pkl")
    write_gfx1200_artifact(directory / "chestnut.pkl")
    (directory / "empty.json").write_text("{}")
    action, *options = words
    done = autoclave(capsys, "parity", action, "model.pkl", "model.check.zst", *options, *OPEN)

    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_chestnut_runs_and_is_replayed_as_qcom_is(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_gfx1200_artifact(directory / "chestnut.pkl")
    both = ("chestnut.pkl", "chestnut.check.zst", *OPEN)

    ran = autoclave(capsys, "run", "chestnut.pkl", "--inputs", "in.npz", "--output", "out.npz", *OPEN)
    recorded = autoclave(capsys, "parity", "record", *both, "--launches", "launches.json")
    replayed = autoclave(capsys, "parity", "replay", *both, "--bisect", "launches.json")

    assert ran.code == 0, ran.err
    with np.load(directory / "out.npz") as outputs:
        assert np.array_equal(outputs["result"], expected_result(**example_inputs()))
    assert recorded.code == 0, recorded.err
    assert replayed.code == 0, replayed.err + replayed.out
    assert replayed.out.endswith("parity: WARNING\nbisect: all 4 launches leave the same bits\n")


def test_evidence_that_is_not_there_has_an_exit_code_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    both = ("model.pkl", "model.check.zst", *OPEN)
    autoclave(capsys, "parity", "record", *both)

    done = autoclave(capsys, "parity", "replay", *both, "--require-hardware-evidence")

    assert done.code == 3
    assert done.out.endswith(
        "parity: UNVERIFIED\nreproduce with: "
        "autoclave parity replay model.pkl model.check.zst --require-hardware-evidence\n"
    )


def test_profile_prints_a_table_and_draws_a_chart(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = autoclave(capsys, "profile", "model.pkl", "--sort", "order", "--top", "2", "--svg", "p.svg", *OPEN)

    assert done.code == 0, done.err
    heading, columns, first, second, rest = done.out.splitlines()
    assert heading.startswith("part run: 3 launches, 208 instructions, 232 B, ")
    assert columns.split() == ["launch", "kernel", "threads", "instructions", "share", "bytes", "time"]
    assert first.split()[:8] == ["0", "1", "multiply", "8", "96.0", "46.2", "%", "96.0"]
    assert second.split()[:2] == ["1", "copy"]
    assert rest == "  and 1 launch more; --top 0 shows all"
    assert len(ElementTree.parse(directory / "p.svg").findall(".//{*}g[@role='listitem']")) == 6


def test_profile_as_json_has_all_launches(capsys: pytest.CaptureFixture[str]) -> None:
    done = autoclave(capsys, "profile", "model.pkl", "--top", "1", "--json", *OPEN)

    launches = done.json["launches"]
    assert [(each["name"], each["instructions"], each["bytes"]) for each in launches] == [
        ("multiply", 96, 96),
        ("copy", 0, 64),
        ("add_bytes", 112, 72),
    ]
    assert launches[0]["workgroups"] == [2, 1, 1] and launches[1]["kernel"] is None


def test_profile_refuses_other_hardware(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_cpu_artifact(directory / "model.pkl")

    done = autoclave(capsys, "profile", "model.pkl", *OPEN)

    assert (done.code, done.out) == (2, "")
    assert "it is for CPU; profile takes artifacts of hardware qcom and chestnut" in done.err
