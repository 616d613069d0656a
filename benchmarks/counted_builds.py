"""Builds of small models through ./pants, in checkouts and stores of their own: how long, what ran, which bytes came out."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from catalogue import copy_checkout, declare, stop_daemon

STAGES = ("Synthesize", "Check", "Upcast", "Compile", "Record")
ACTIONS_OF_A_MODEL = len(STAGES)
STARTED = re.compile(rf"Starting: ({'|'.join(STAGES)}) models:m\d")


@dataclass(frozen=True)
class Build:
    """One build: seconds by the clock, how many actions of models it ran, the sha256 of each file that it wrote."""

    seconds: float
    ran: int
    files: dict[str, str] = field(repr=False)

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s, {self.ran} actions, {len(self.files)} files"


class CountedCheckout:
    """A checkout with `models` models of scale S for cpu, and one more to get the toolchains by; its store is beside it."""

    def __init__(self, folder: Path, models: int, name: str, logs: Path | None) -> None:
        self.folder = folder
        self.name = name
        self.logs = logs
        self.root = folder / "checkout"
        self.of_models = [f"models:m{number}" for number in range(models)]
        copy_checkout(self.root)
        for number in range(models):
            declare(self.root, f"m{number}", "S", number + 1, "cpu")
        declare(self.root, "toolchains", "S", 1000, "cpu")

    def package(self, targets: list[str], *options: str) -> Build:
        """Build; it has to succeed."""
        begin = time.perf_counter()
        log = self.pants("package", targets, options)
        seconds = time.perf_counter() - begin
        if self.logs:
            self.logs.mkdir(parents=True, exist_ok=True)
            with (self.logs / f"{self.name}.log").open("a") as file:
                file.write(log)
        return Build(seconds, len(STARTED.findall(log)), self.files())

    def start_daemon(self, *options: str) -> None:
        """Let the daemon come up and read the catalogue, without building anything of it."""
        self.pants("list", ["models::"], options)

    def pants(self, goal: str, targets: list[str], options: tuple[str, ...]) -> str:
        command = ["./pants", "--no-dynamic-ui", f"--local-store-dir={self.folder}/store", *options, goal, *targets]
        result = subprocess.run(command, cwd=self.root, capture_output=True, text=True)
        if result.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed:\n{result.stdout}{result.stderr}")
        return result.stderr

    def files(self) -> dict[str, str]:
        dist = self.root / "dist"
        found = sorted(path for path in dist.glob("models/m*/**/*") if path.is_file())
        return {str(path.relative_to(dist)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}

    def remove(self) -> None:
        stop_daemon(self.root)
        shutil.rmtree(self.folder)


def processor() -> str:
    """The name of this machine's processor."""
    names = re.findall(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return names[0] if names else "unknown processor"
