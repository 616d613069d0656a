"""Two revisions of a checkout, and what the forecast backend says of each (`autoclave_pants.forecast`)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PASSED_ON = ("--autoclave-", "--local-", "--named-caches-dir", "--pants-config-files")
"""Options of the command line (by their beginnings) that hold for the forecasts too. The environment holds for them anyway."""

SETTINGS = (
    # All that BUILD files name stays known; the backend itself is replaced by the one that runs nothing.
    """--backend-packages=-["autoclave_pants"],+["autoclave_pants.forecast"]""",
    "--no-pantsd",
    "--no-dynamic-ui",
    "--no-remote-cache-read",
    "--no-remote-cache-write",
    "--no-remote-execution",
    "--level=error",
)

Forecast = Mapping[str, Mapping[str, Any]]
"""What `./pants forecast` prints: by the address of a model, hashes of what it is made from."""


class RevisionError(Exception):
    """A revision cannot be looked at; the message says why."""


def _git(directory: Path, *arguments: str, environment: Mapping[str, str]) -> str:
    """What a git command prints, without the last line break."""
    command = ["git", "-c", "safe.directory=*", "-C", str(directory), *arguments]
    try:
        result = subprocess.run(command, env=dict(environment), capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise RevisionError("there is no `git` on PATH, which looks up the revision") from None
    if result.returncode != 0:
        raise RevisionError(result.stderr.strip() or f"git {arguments[0]} failed")
    return result.stdout.rstrip("\n")


def commit_of(directory: Path, revision: str, environment: Mapping[str, str]) -> str:
    """The commit (40 hexadecimal digits) that `revision` names.

    Raises:
        RevisionError: there is no such commit here; a shallow clone often lacks it.
    """
    try:
        return _git(
            directory,
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            f"{revision}^{{commit}}",
            environment=environment,
        )
    except RevisionError as error:
        shallow = "A shallow clone lacks older commits: fetch it, or clone with all history (`fetch-depth: 0`)."
        known = "" if str(error).startswith("git rev-parse") else f" ({error})"
        raise RevisionError(f"{revision!r} names no commit of {directory}{known}. {shallow}") from None


def write_tree(directory: Path, commit: str, destination: Path, environment: Mapping[str, str]) -> None:
    """Write the files that `commit` has below `directory` to `destination`, as a checkout of it would."""
    # The path within the repository, which `directory` need not be the root of.
    inside = _git(directory, "rev-parse", "--show-prefix", environment=environment).rstrip("/")
    scratch = destination.parent / f"{destination.name}.index"
    apart = {**environment, "GIT_INDEX_FILE": str(scratch)}
    _git(directory, "read-tree", f"{commit}:{inside}", environment=apart)
    top = Path(_git(directory, "rev-parse", "--show-toplevel", environment=environment))
    destination.mkdir(parents=True)
    _git(top, "checkout-index", "--all", f"--prefix={destination}/", environment=apart)


def passed_on(arguments: Sequence[str]) -> list[str]:
    """The options of a command line that a forecast needs, too."""
    return [each for each in arguments if each.startswith(PASSED_ON)]


def start_forecast(
    checkout: Path, scratch: Path, options: Sequence[str], environment: Mapping[str, str]
) -> subprocess.Popen[str]:
    """Start `./pants forecast` for a checkout, by the Pants that runs this, with its working files in `scratch`."""
    command = [
        sys.executable,
        "-m",
        "pants.bin.pants_loader",
        *options,
        *SETTINGS,
        f"--pants-workdir={scratch / 'workdir'}",
        f"--pants-subprocessdir={scratch / 'pids'}",
        "forecast",
    ]
    return subprocess.Popen(
        command,
        cwd=checkout,
        env={**environment, "NO_SCIE_WARNING": "1", "PWD": str(checkout)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: subprocess.Popen[str]) -> Forecast:
    """Wait for a forecast.

    Raises:
        RevisionError: it failed, with the end of what it printed.
    """
    output, log = process.communicate()
    if process.returncode != 0:
        said = [line for line in (output + log).splitlines() if line.strip()]
        raise RevisionError("\n".join(said[-8:]) or f"exit code {process.returncode}")
    forecast: Forecast = json.loads(output)
    return forecast


def forecasts(
    checkout: Path, commit: str, scratch: Path, options: Sequence[str], environment: Mapping[str, str]
) -> tuple[Forecast, Forecast | RevisionError]:
    """What the checkout is, and what it was at `commit`, or why that cannot be told.

    Raises:
        RevisionError: the checkout as it is cannot be told.
    """
    before = scratch / "before"
    write_tree(checkout, commit, before, environment)
    started = [
        start_forecast(place, scratch / name, options, environment)
        for name, place in (("now-run", checkout), ("before-run", before))
    ]
    try:
        try:
            now = finished(started[0])
        except RevisionError as error:
            raise RevisionError(f"the checkout as it is cannot be told:\n{error}") from None
        try:
            return now, finished(started[1])
        except RevisionError as error:
            return now, error
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
                process.wait()
