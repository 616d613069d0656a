"""What a parity check found, for people (`Report.text`) and for programs (`Report.json`)."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from autoclave.artifact.model import Target
from autoclave.parity.gates import RUNG_NAMES, Difference, GateResult, Status

_WORDS: dict[Status, str] = {"passed": "ok", "failed": "FAILED", "warning": "WARNING", "unverified": "UNVERIFIED"}
_WORST_FIRST: tuple[Status, ...] = ("failed", "unverified", "warning", "passed")


@dataclass(frozen=True, slots=True)
class PartReport:
    """The results of one part; `part` is its key as text."""

    part: str
    target: Target
    results: tuple[GateResult, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """The results of one artifact. `command` is what a person types to get this report again."""

    artifact_sha256: str
    recorded_by: str
    command: str
    parts: tuple[PartReport, ...]

    @property
    def status(self) -> Status:
        """The worst status of any result."""
        found = {result.status for part in self.parts for result in part.results}
        return next((status for status in _WORST_FIRST if status in found), "passed")

    def json(self) -> dict[str, Any]:
        """All of the report as JSON values; NaN and infinities are strings."""
        return _plain(asdict(self) | {"status": self.status, "format": 1})  # type: ignore[no-any-return]

    def text(self) -> str:
        """All of the report in lines of text: every gate, and of each failure where and by how much."""
        lines = [f"artifact sha256 {self.artifact_sha256}, outputs recorded by {self.recorded_by}"]
        for part in self.parts:
            lines += _part_lines(part)
        lines.append(f"parity: {_WORDS[self.status]}")
        if self.status in ("failed", "unverified") and self.command:
            lines.append(f"reproduce with: {self.command}")
        return "\n".join(lines) + "\n"


def _part_lines(part: PartReport) -> list[str]:
    lines = [f"part {part.part} on {part.target.device} {part.target.renderer} {part.target.arch}"]
    for result in part.results:
        rung = f"rung {result.rung} {RUNG_NAMES[result.rung]}"
        gate = "" if result.gate == RUNG_NAMES[result.rung] else f", {result.gate}"
        lines.append(f"{_WORDS[result.status]:7} {rung}{gate}: {result.subject}: {result.message}")
        if result.difference is not None:
            lines += [f"          {line}" for line in difference_lines(result.difference)]
    return lines


def difference_lines(found: Difference) -> list[str]:
    """How two tensors differ, in lines: how many values, the first of them, and by how much."""
    return [
        f"{found.count} of {found.total} values, the first at index {list(found.first_index)}",
        f"expected {found.expected_hex} = {found.expected!r}",
        f"got      {found.actual_hex} = {found.actual!r}",
        f"absolute error over all values: max {found.max_error:.6g}, mean {found.mean_error:.6g}",
    ]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
