"""Run one of Autoclave's modules on files of the user's, in the sandbox: native code of an artifact runs nowhere else."""

import argparse
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from autoclave.canonical import canonical_json
from autoclave.cli.waiting import waiting
from autoclave.errors import AutoclaveError, SandboxError
from autoclave.sandbox.start import run_module, sandbox_of_this_interpreter

BAD_INPUT = 2
VERDICTS = (0, 1, 3)
"""Exit codes with which modules say what they found; with 1 and 3 they have printed it."""

_ERROR = "error: "


def add_sandbox_option(parser: argparse.ArgumentParser) -> None:
    """Add `--sandbox` to the arguments of a command."""
    parser.add_argument(
        "--sandbox",
        choices=("bubblewrap", "none"),
        default="bubblewrap",
        help="where the artifact's native code runs (default bubblewrap); none: with all your rights, so only if you "
        "trust who built it",
    )


@contextmanager
def action_directory() -> Iterator[Path]:
    """A directory for one run of a module; it vanishes afterwards, with what the module wrote to its folder `out`."""
    with tempfile.TemporaryDirectory(prefix="autoclave-") as name:
        directory = Path(name)
        (directory / "inputs").mkdir()
        (directory / "out").mkdir()
        yield directory


def bring(directory: Path, role: str, file: Path) -> str:
    """Make `file` an input of the action in `directory`; returns its path relative to that.

    Linked if it is on the same file system, as artifacts are large, else copied. `AutoclaveError` if it cannot be read.
    """
    place = directory / "inputs" / role / file.name
    place.parent.mkdir(exist_ok=True)
    try:
        source = file.resolve(strict=True)
        if not source.is_file():
            raise AutoclaveError(f"{file}: not a regular file")
        try:
            os.link(source, place)
        except OSError:
            shutil.copyfile(source, place)
    except OSError as error:
        raise AutoclaveError(f"{file}: cannot be read: {error.strerror}") from error
    return str(place.relative_to(directory))


def run_confined(
    directory: Path, module: str, request: dict[str, Any], names: Mapping[str, Path], mode: str
) -> subprocess.CompletedProcess[str]:
    """Run `python -m module request.json` in `directory`, with the interpreter and packages of this process.

    `names` maps paths of inputs in `directory` to what the user called them, for messages. Raises `AutoclaveError` with
    the module's message if it refuses its input, and `SandboxError` if there is no sandbox.
    """
    (directory / "request.json").write_bytes(canonical_json(request))
    try:
        sandbox = sandbox_of_this_interpreter(mode="none" if mode == "none" else "bubblewrap")
        with waiting(f"{module} works on {', '.join(sorted({path.name for path in names.values()}))}"):
            done = run_module(sandbox, module, ["request.json"], directory)
    except SandboxError as error:
        raise SandboxError(
            f"{error}\nThe option --sandbox none runs it without isolation, with all your rights."
        ) from None
    for inner, outer in names.items():
        done.stdout = done.stdout.replace(inner, str(outer))
        done.stderr = done.stderr.replace(inner, str(outer))
    if done.returncode == BAD_INPUT and done.stderr.startswith(_ERROR):
        raise AutoclaveError(done.stderr.removeprefix(_ERROR).strip())
    if done.returncode not in VERDICTS or (done.returncode and not done.stdout):
        raise AutoclaveError(_crash(module, done))
    return done


def produced(directory: Path, name: str) -> Path:
    """The file `name` that a module wrote in `directory`.

    Raises `AutoclaveError` if it is not a file: native code could leave a link there, to have a file of the user's read.
    """
    path = directory / name
    if not path.is_file() or path.is_symlink():
        raise AutoclaveError(f"the module in the sandbox did not write {name}")
    return path


def deliver(directory: Path, name: str, destination: Path) -> None:
    """Copy the file `name` that a module wrote in `directory` to where the user wants it."""
    source = produced(directory, name)
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, destination)
    except OSError as error:
        raise AutoclaveError(f"{destination}: cannot be written: {error.strerror}") from error


def _crash(module: str, done: subprocess.CompletedProcess[str]) -> str:
    """A message for a module that ended as it should not, by a signal of its native code for example."""
    last = done.stderr.strip().splitlines()[-1:] or ["no message"]
    return f"{module} ended with exit code {done.returncode} in the sandbox: {last[0]}"
