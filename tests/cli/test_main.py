"""The `autoclave` command itself: help that teaches, one-line errors, suggestions, exit codes."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from artifact.sample_artifacts import write_sample
from cli.command_line import autoclave

from autoclave import __version__
from autoclave.cli import COMMANDS

if TYPE_CHECKING:  # what `python -m autoclave.cli` runs, for build tools
    from autoclave.cli import __main__  # noqa: F401


def process(*words: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "autoclave.cli", *map(str, words)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"]], ids=["nothing", "--help", "-h", "help"])
def test_help_lists_each_command_with_examples(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    done = autoclave(capsys, *words)
    assert done.code == 0
    for name in COMMANDS:
        assert f"\n  {name:<10}{import_module(f'autoclave.cli.{name}').HELP}\n" in done.out
    assert "autoclave verify pop223_driving_tinygrad.pkl --sha256" in done.out


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_s_help_has_examples(capsys: pytest.CaptureFixture[str], name: str) -> None:
    for words in ([name, "--help"], ["help", name]):
        done = autoclave(capsys, *words)
        assert done.code == 0
        assert done.out.startswith(f"usage: autoclave {name}")
        assert f"  autoclave {name} " in done.out.split("examples:")[1]


@pytest.mark.parametrize("name", COMMANDS)
def test_command_module_is_named_after_its_command(name: str) -> None:
    assert import_module(f"autoclave.cli.{name}").NAME == name


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert autoclave(capsys, "--version").out == f"autoclave {__version__}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["inspct"], "there is no command inspct; did you mean inspect?"),
        (["dis"], "there is no command dis; did you mean"),
        (["frobnicate"], f"there is no command frobnicate; there are {', '.join(COMMANDS)}"),
        (["--frobnicate"], "unrecognized arguments: --frobnicate"),
        (["inspect"], "the following arguments are required: ARTIFACT"),
        (["inspect", "x", "--jsn"], "unrecognized arguments: --jsn"),
        (["inspect", "does-not-exist.pkl"], "does-not-exist.pkl: cannot be opened: No such file or directory"),
        (["inspect", "bad\x1b[2Jname"], r"bad\x1b[2Jname: cannot be opened"),
    ],
)
def test_mistake_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    done = autoclave(capsys, *words)
    assert done.code == 2
    assert done.out == ""
    first, *rest = done.err.splitlines()
    assert first.startswith("autoclave: error: ")
    assert message in first
    assert not rest or rest[0].startswith("See `autoclave ")


def test_module_runs_as_a_process(tmp_path: Path) -> None:
    write_sample(tmp_path / "sample.pkl")
    assert "part run for QCOM" in process("inspect", tmp_path / "sample.pkl").stdout
    failed = process("inspect", tmp_path)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr == f"autoclave: error: {tmp_path}: not a regular file; expected an artifact\n"


def test_reader_that_stops_listening_is_no_error(tmp_path: Path) -> None:
    write_sample(tmp_path / "sample.pkl")
    reading, writing = os.pipe()
    os.close(reading)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "autoclave.cli", "inspect", str(tmp_path / "sample.pkl")]
    done = subprocess.run(command, env=environment, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_commands_on_artifacts_need_no_third_party_package(tmp_path: Path) -> None:
    write_sample(tmp_path / "sample.pkl")
    script = """
import sys
from autoclave.cli.main import main
main(["inspect", sys.argv[1]])
main(["verify", sys.argv[1]])
print(sorted({"numpy", "tinygrad", "llvmlite", "zstandard", "onnx", "capstone", "tinymesa"} & set(sys.modules)))
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", script, str(tmp_path / "sample.pkl")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
