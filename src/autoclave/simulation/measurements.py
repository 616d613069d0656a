"""Measured actions, which a simulated catalogue is made from: a JSON file that `benchmarks/measure_actions.py` writes.

    {"how": text, "machine": text,
     "trees": {name: {"bytes": n, "files": n}},
     "actions": [{"scale": "L", "hardware": "qcom", "stage": "Compile", "seconds": 12.3, "trees": [name, ...],
                  "library": {"bytes": n, "files": n}, "outputs": {"artifact.pkl": bytes}, "weights": bytes, "kernels": n}]}

`trees` are the toolchain's components. `hardware` is missing where an action serves all hardware, and `weights` (bytes of the
artifact that are weights) and `kernels` are those of an artifact.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from autoclave.errors import AutoclaveError
from autoclave.simulation.actions import Blob


@dataclass(frozen=True)
class MeasuredAction:
    """One action. `seconds` is its process alone; `outputs` are bytes by file name; `weights` bytes and `kernels` are an artifact's."""

    scale: str
    hardware: str
    stage: str
    seconds: float
    trees: tuple[str, ...]
    library: Blob
    outputs: Mapping[str, int]
    weights: int = 0
    kernels: int = 0


@dataclass(frozen=True)
class Measurements:
    """All that was measured: the trees by name, and the actions."""

    machine: str
    trees: Mapping[str, Blob]
    actions: tuple[MeasuredAction, ...] = field(repr=False)

    @cached_property
    def _by_place(self) -> Mapping[tuple[str, str, str], MeasuredAction]:
        return {(each.scale, each.hardware, each.stage): each for each in self.actions}

    def action(self, scale: str, hardware: str, stage: str) -> MeasuredAction:
        """The action of a model of this scale; `hardware` is "" for one that serves all hardware.

        Raises:
            AutoclaveError: it was not measured.
        """
        found = self._by_place.get((scale, hardware, stage))
        if found is None:
            whose = f"a model of scale {scale}" + (f" for {hardware}" if hardware else "")
            scales = ", ".join(sorted({each.scale for each in self.actions}))
            raise AutoclaveError(
                f"the action `{stage}` of {whose} was not measured (measured scales: {scales}); measure it with "
                "benchmarks/measure_actions.py"
            )
        return found


def read_measurements(path: Path) -> Measurements:
    """Read a file of measurements.

    Raises:
        AutoclaveError: it cannot be read or is no such file.
    """
    try:
        found = json.loads(path.read_text())
        trees = {name: Blob(f"tree {name}", tree["bytes"], tree["files"]) for name, tree in found["trees"].items()}
        return Measurements(found["machine"], trees, tuple(_action(each) for each in found["actions"]))
    except OSError as error:
        raise AutoclaveError(f"the measurements {path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise AutoclaveError(
            f"{path} holds no measurements of benchmarks/measure_actions.py: {type(error).__name__} {error}"
        ) from None


def _action(found: Mapping[str, Any]) -> MeasuredAction:
    stage, library = found["stage"], found["library"]
    return MeasuredAction(
        found["scale"],
        found.get("hardware", ""),
        stage,
        found["seconds"],
        tuple(found["trees"]),
        Blob(f"library of {stage} {found.get('hardware', '')}".rstrip(), library["bytes"], library["files"]),
        dict(found["outputs"]),
        found.get("weights", 0),
        found.get("kernels", 0),
    )
