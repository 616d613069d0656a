"""One run of a job: its workspace, its environment, and what its steps leave for each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workflows.expressions import evaluate


@dataclass(frozen=True)
class JobResult:
    """What became of a job: "success", "failure" or "skipped"; of a matrix, "success" only if all its jobs are."""

    result: str
    outputs: Mapping[str, str]


@dataclass
class Job:
    """One run of a job: its workspace, and what its steps have left for the later ones."""

    workspace: Path
    temporary: Path
    context: dict[str, Any]
    environment: dict[str, str]
    steps: dict[str, Any] = field(default_factory=dict)
    failed: bool = False

    def functions(self) -> dict[str, Any]:
        return {
            "success": lambda: not self.failed,
            "failure": lambda: self.failed,
            "cancelled": lambda: False,
            "always": lambda: True,
        }

    def value(self, text: Any, inputs: Mapping[str, Any] | None = None) -> Any:
        known = {**self.context, "steps": self.steps, **({} if inputs is None else {"inputs": inputs})}
        return evaluate(text, known, self.functions())


class Empty(dict[str, Any]):
    """A context in which whatever is not set is empty."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> str:
        return ""


def pairs(file: Path) -> dict[str, str]:
    """The lines NAME=VALUE of an environment file; nothing of ours writes values of several lines."""
    return dict(line.split("=", 1) for line in file.read_text().splitlines() if line)
