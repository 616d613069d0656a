"""What stands in for GitHub's own actions: a checkout is a clone, artifacts are folders, and the cache is empty."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any


class StepFailed(Exception):
    """A step failed, and what it printed."""

    def __init__(self, printed: str, outputs: Mapping[str, str]) -> None:
        super().__init__(printed)
        self.outputs = outputs


@dataclass(frozen=True)
class Place:
    """Where a step is: its job's workspace; and what it shares with others: the repository, and the artifacts of the run by name."""

    workspace: Path
    repository: Path
    folder: Path
    artifacts: dict[str, Path]


def checkout(given: Mapping[str, Any], place: Place) -> None:
    depth = int(given.get("fetch-depth", 1))
    shallow = [f"--depth={depth}"] if depth else []
    command = ["git", "clone", "-q", *shallow, f"file://{place.repository}", str(place.workspace)]
    subprocess.run(command, check=True, capture_output=True)


def upload(given: Mapping[str, Any], place: Place) -> None:
    """Patterns of paths, one a line; those that begin with `!` are left out."""
    assert given["name"] not in place.artifacts, f"there are two artifacts {given['name']}"
    lines = given["path"].split()
    (first,) = (line for line in lines if not line.startswith("!"))
    left_out = [place.workspace / line[1:] for line in lines if line.startswith("!")]
    target = place.folder / "artifacts" / given["name"]
    shutil.copytree(
        place.workspace / first,
        target,
        ignore=lambda folder, names: [name for name in names if Path(folder, name) in left_out],
    )
    if given.get("if-no-files-found") == "error" and not any(path.is_file() for path in target.rglob("*")):
        raise StepFailed(f"{first} has no files", {})
    place.artifacts[given["name"]] = target


def download(given: Mapping[str, Any], place: Place) -> None:
    """One artifact by `name`, or all that match `pattern`: each in a folder of its own unless `merge-multiple`, or if it is the only one."""
    target = place.workspace / given["path"]
    if "name" in given:
        if given["name"] not in place.artifacts:
            raise StepFailed(f"there is no artifact {given['name']}", {})
        shutil.copytree(place.artifacts[given["name"]], target, symlinks=True, dirs_exist_ok=True)
        return
    found = [each for each in place.artifacts if fnmatch(each, given["pattern"])]
    for name in found:
        folder = target if given.get("merge-multiple") or len(found) == 1 else target / name
        shutil.copytree(place.artifacts[name], folder, dirs_exist_ok=True)


STAND_INS: Mapping[str, Callable[[Mapping[str, Any], Place], None]] = {
    "actions/cache": lambda given, place: None,
    "actions/checkout": checkout,
    "actions/download-artifact": download,
    "actions/upload-artifact": upload,
}
