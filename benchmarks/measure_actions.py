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
from collections import defaultdict, deque
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
KEPT = re.compile(r'[Pp]reserving local process execution dir "?(?P<folder>[^\s"]+)"? for (?P<action>.+?)\.?$')
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
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        copy_checkout(folder / "checkout")
        seed = int(time.time())
        for scale in options.scales:
            declare_tested(folder, scale, scale, seed)
            for ran in build(folder, scale):
                if ran.stage == "Unpack":
                    trees.update(unpacked(ran))
                elif ran.target.startswith(f"models:{scale}"):
                    measure(ran, scale, actions)
            options.output.write_text(json.dumps(told(trees, actions), indent=1) + "\n")
            print(f"{scale}: {sum(each['seconds'] for each in actions if each['scale'] == scale):.0f} s", flush=True)


def told(trees: dict[str, dict[str, int]], actions: list[dict[str, Any]]) -> dict[str, Any]:
    """What is written: see `autoclave.simulation.measurements`."""
    return {
        "how": " ".join((__doc__ or "").split("\n\n")[2].split()),
        "machine": f"{platform.system()} {platform.machine()}, {processor()}, {os.cpu_count()} processors, {time.strftime('%B %Y')}",
        "trees": dict(sorted(trees.items())),
        "actions": actions,
    }


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
    ran = list(in_log(result.stderr))
    if not ran:
        raise SystemExit(f"nothing ran for {name}:\n{result.stdout}{result.stderr}")
    return ran


def in_log(log: str) -> Iterator[Ran]:
    """What ran, by the lines of its start, of its sandbox, and of its end, which come in this order; some have the same name."""
    sandboxes: dict[str, deque[Path]] = defaultdict(deque)
    began: dict[str, deque[datetime]] = defaultdict(deque)
    free = datetime.min
    for line in log.splitlines():
        if match := KEPT.search(line):
            sandboxes[match["action"]].append(Path(match["folder"]))
        elif match := LINE.match(line):
            action, moment = match["action"], datetime.strptime(match["time"], "%H:%M:%S.%f")
            if match["event"] == "Starting":
                began[action].append(moment)
            elif began[action] and sandboxes[action]:
                stage, _, target = action.rpartition(" ")
                begin = max(began[action].popleft(), free)
                yield Ran(stage, target, (moment - begin).total_seconds(), sandboxes[action].popleft())
                free = moment


def unpacked(ran: Ran) -> dict[str, dict[str, int]]:
    """The tree that an action has unpacked: by the component's name, how many bytes and files it has."""
    component = re.search(r"--component '?([\w-]+)", (ran.sandbox / "__run.sh").read_text())
    files = json.loads((ran.sandbox / "flat/layout.json").read_text())["files"]
    size = sum((ran.sandbox / "flat" / str(number)).stat().st_size for number in range(len(files)))
    return {component[1]: {"bytes": size, "files": len(files)}} if component else {}


def measure(ran: Ran, scale: str, actions: list[dict[str, Any]]) -> None:
    """Add an action to those that were measured."""
    request = json.loads((ran.sandbox / "request.json").read_text())
    # Links, to what Pants has removed when it ended.
    used = [*os.listdir(ran.sandbox / "toolchain"), "python", "bubblewrap"]
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
        "trees": sorted(used),
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
    """Bytes and files of a file or a folder."""
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return {"bytes": sum(each.stat().st_size for each in files), "files": len(files)}


if __name__ == "__main__":
    main()
