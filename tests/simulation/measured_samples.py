"""Measurements with round figures, for catalogues whose builds can be worked out by hand."""

import json
from pathlib import Path
from typing import Any

REFERENCES = ["numpy"]
COMPILER = ["tinygrad", "numpy"]
TREES = {"numpy": {"bytes": 100, "files": 3}, "tinygrad": {"bytes": 40, "files": 2}}
SECONDS = {
    "Synthesize": 1,
    "Check": 1,
    "Upcast": 2,
    "Compile": 10,
    "Extract": 1,
    "Translate": 4,
    "Translate again": 5,
    "Record": 3,
    "Test": 6,
}
OUTPUTS = {
    "Synthesize": {"model.onnx": 1000},
    "Check": {},
    "Upcast": {"model.onnx": 2000, "report.json": 7},
    "Compile": {"artifact.pkl": 1100},
    "Extract": {"kernels.json": 50},
    "Translate": {"translations": 60},
    "Translate again": {"translations": 70},
    "Record": {"check.zst": 30},
    "Test": {"report.json": 9},
}  # fmt: skip
COMMON = ("Synthesize", "Check", "Upcast")
EMULATED = ("Extract", "Translate", "Translate again")


def measured(hardware: tuple[str, ...] = ("cpu", "qcom", "chestnut")) -> dict[str, Any]:
    """What measure_actions.py would write of models of scale S."""
    places = [(stage, None) for stage in COMMON]
    for each in hardware:
        places += [(stage, each) for stage in ("Compile", "Record", "Test")]
        places += [(stage, each) for stage in EMULATED if each != "cpu"]
    return {"how": "by hand", "machine": "none", "trees": TREES, "actions": [entry(*place) for place in places]}


def entry(stage: str, hardware: str | None) -> dict[str, Any]:
    return {
        "scale": "S",
        **({"hardware": hardware} if hardware else {}),
        "stage": stage,
        "seconds": SECONDS[stage],
        "trees": COMPILER if stage == "Compile" else REFERENCES,
        "library": {"bytes": 5, "files": 1},
        "outputs": OUTPUTS[stage],
        **({"weights": 1000, "kernels": 4} if stage == "Compile" else {}),
    }


def written(folder: Path, content: Any = None) -> Path:
    path = folder / "actions.json"
    path.write_text(json.dumps(measured() if content is None else content))
    return path
