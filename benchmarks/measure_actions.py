"""Measure every action of synthetic models, for the simulation of a large catalogue (src/autoclave/simulation).

    AUTOCLAVE_MIRRORS=... python benchmarks/measure_actions.py --scales S L --output benchmarks/measurements/actions.json

Models of each scale, for cpu, qcom and chestnut, are built and tested through ./pants, one action after the other, with a store of
their own. Pants keeps the actions' sandboxes: sizes are those of their files, and seconds what lies between
Pants' lines "Starting" and "Completed" (the process, setting up its directory and taking in its outputs).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from catalogue import CHECKOUT, copy_checkout, declare
from counted_builds import processor

sys.path.insert(0, str(CHECKOUT / "src"))
from autoclave.artifact.reader import open_artifact  # noqa: E402

HARDWARE = ("cpu", "qcom", "chestnut")
LINE = re.compile(
    r"^(?P<time>\d\d:\d\d:\d\d\.\d\d) \[INFO\] (?P<event>Starting|Completed): (?P<action>.+?)( - succeeded)?\.?$"
)
KEPT = re.compile(r"[Pp]reserving local process execution dir (?P<folder>\S+) for (?P<action>.+?)\.?$")
STAGES = {"Test parity of": "Test"}
"""Stages whose name in a simulation is another than Pants shows."""


@dataclass(frozen=True)
class Ran:
    """An action that ran: the stage and target that Pants shows, its seconds, its sandbox."""

    stage: str
    target: str
    seconds: float
    sandbox: Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scales", nargs="+", default=["S", "L"], help="scales of the synthetic models")
    parser.add_argument("--output", type=Path, required=True, help="the JSON file to write")
    options = parser.parse_args()
    trees: dict[str, dict[str, int]] = {}
    actions: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        copy_checkout(folder / "checkout")
        seed = int(time.time())
        for scale in options.scales:
            declare_tested(folder, scale, scale, seed)
            for ran in build(folder, scale):
                measure(ran, scale, trees, actions)
    found = {
        "how": " ".join((__doc__ or "").split("\n\n")[2].split()),
        "machine": f"{platform.system()} {platform.machine()}, {processor()}, {os.cpu_count()} processors, {time.strftime('%B %Y')}",
        "trees": dict(sorted(trees.items())),
        "actions": actions,
    }
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(found, indent=1) + "\n")
    print(f"{len(actions)} actions, {sum(each['seconds'] for each in actions):.0f} s: {options.output}")


def declare_tested(folder: Path, name: str, scale: str, seed: int) -> None:
    """A synthetic model for every hardware, with its parity tests."""
    declare(folder / "checkout", name, scale, seed, *HARDWARE)
    with (folder / f"checkout/models/BUILD.{name}").open("a") as file:
        file.write(f'parity_tests(name="{name}-parity", model=":{name}", hardware={HARDWARE!r})\n')


def build(folder: Path, name: str) -> list[Ran]:
    """Build and test a model; what ran for it, in the order in which it ended. Its parity need not hold: synthetic models of other
    seeds than the catalogue's may be off by more than its tolerances, and their tests take as long."""
    (folder / "sandboxes").mkdir(exist_ok=True)
    result = subprocess.run(
        [
            "./pants",
            "--no-pantsd",
            "--no-dynamic-ui",
            "--no-colors",
            "--keep-sandboxes=always",
            "--process-execution-local-parallelism=1",
            f"--local-execution-root-dir={folder}/sandboxes",
            f"--local-store-dir={folder}/store",
            "test",
            f"models:{name}-parity",
        ],
        cwd=folder / "checkout",
        capture_output=True,
        text=True,
    )
    ran = list(in_log(result.stderr, f"models:{name}"))
    if not ran:
        raise SystemExit(f"nothing ran for {name}:\n{result.stdout}{result.stderr}")
    return ran


def in_log(log: str, target: str) -> Iterator[Ran]:
    sandboxes = {match["action"]: Path(match["folder"]) for match in map(KEPT.search, log.splitlines()) if match}
    began: dict[str, datetime] = {}
    free = datetime.min
    for match in filter(None, map(LINE.match, log.splitlines())):
        action, moment = match["action"], datetime.strptime(match["time"], "%H:%M:%S.%f")
        if match["event"] == "Starting":
            began[action] = moment
        elif action in began and action in sandboxes:
            stage, _, model = action.rpartition(" ")
            if model.startswith(target):
                yield Ran(stage, model, (moment - max(began[action], free)).total_seconds(), sandboxes[action])
            free = moment


def measure(ran: Ran, scale: str, trees: dict[str, dict[str, int]], actions: list[dict[str, Any]]) -> None:
    """Add an action to those that were measured, and the trees that it used."""
    request = json.loads((ran.sandbox / "request.json").read_text())
    used = sorted(
        [*(ran.sandbox / "toolchain").iterdir(), *filter(Path.exists, (ran.sandbox / n for n in ("python", "bwrap")))]
    )
    for tree in used:
        trees.setdefault(tree.name, amount(tree))
    outputs = {path.name: amount(path)["bytes"] for path in sorted((ran.sandbox / "out").glob("*"))}
    hardware = re.search(r"@(?:hardware|model)=(\w+)", ran.target)
    stage = STAGES.get(ran.stage, ran.stage)
    if stage == "Translate" and not request["quick"]:
        stage = "Translate again"
    found: dict[str, Any] = {
        "scale": scale,
        **({"hardware": hardware[1]} if hardware else {}),
        "stage": stage,
        "seconds": round(ran.seconds, 2),
        "trees": [tree.name for tree in used],
        "library": amount(ran.sandbox / "src"),
        "outputs": outputs,
    }
    if "artifact.pkl" in outputs:
        with open_artifact(ran.sandbox / "out/artifact.pkl") as artifact:
            header = artifact.header
        spans = {b.data for part in header.parts for b in part.buffers if b.data is not None}
        found.update(weights=sum(span.length for span in spans), kernels=len(header.kernels))
    actions.append(found)


def amount(path: Path) -> dict[str, int]:
    """Bytes and files of a file or a tree, which may be reached through a link."""
    files = (
        [path]
        if path.is_file()
        else [each for each in path.resolve().rglob("*") if each.is_file() and not each.is_symlink()]
    )
    return {"bytes": sum(each.stat().st_size for each in files), "files": len(files)}


if __name__ == "__main__":
    main()
