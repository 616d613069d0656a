"""Make a synthetic model: `python -m autoclave.source.synthetic request.json`.

The request is `{"architecture": one of ARCHITECTURES, "scale": "S"|"M"|"L"|"XL", "seed": n, "output": "out/model.onnx"}`, and optionally
`"behavior_version": "v8"` to `"v16"` (default v16), whose outputs the model then has. The file's bytes depend on these
alone. Prints one JSON object: sha256, size, parameters, flop, nodes, operators.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from onnx import ModelProto

from autoclave.errors import SourceError
from autoclave.source import driver_monitoring, split, stateful, supercombo
from autoclave.source.driving_model import EXTRA_HEADS, NEWEST
from autoclave.source.driving_network import SCALES
from autoclave.source.request_file import run_action
from autoclave.source.weight_stream import RandomTensor, Tensor, write_model

ARCHITECTURES: dict[str, Callable[[str, int, str], tuple[ModelProto, list[Tensor], int]]] = {
    "supercombo": supercombo.build,
    "stateful": stateful.build,
    "vision": split.build_vision,
    "policy": split.build_policy,
    "on_policy": split.build_on_policy,
    "off_policy": split.build_off_policy,
    "monitoring": driver_monitoring.build,
}
"""Name -> builder. Vision and policies are the files of models in several files."""


def generate(architecture: str, scale: str, seed: int, output: Path, version: str = NEWEST) -> dict[str, Any]:
    """Write the synthetic model to `output` and return its figures. `version` is a behaviour version.

    Raises `SourceError` for an unknown architecture, scale or version, or a seed outside 0..2**32-1.
    """
    if architecture not in ARCHITECTURES:
        raise SourceError(
            f"unknown synthetic architecture {architecture!r}: expected one of {', '.join(ARCHITECTURES)}"
        )
    if scale not in SCALES:
        raise SourceError(f"unknown scale {scale!r} of {architecture}: expected one of {', '.join(SCALES)}")
    if version not in EXTRA_HEADS:
        raise SourceError(f"unknown behaviour version {version!r}: expected one of {', '.join(EXTRA_HEADS)}")
    if not isinstance(seed, int) or not 0 <= seed < 2**32:
        raise SourceError(f"seed {seed} of synthetic {architecture}: expected a whole number from 0 to {2**32 - 1}")
    model, tensors, flop = ARCHITECTURES[architecture](scale, seed, version)
    output.parent.mkdir(parents=True, exist_ok=True)
    write_model(output, model, tensors)
    parameters = sum(tensor.nbytes // 2 for tensor in tensors if isinstance(tensor, RandomTensor))
    operators = sorted({node.op_type for node in model.graph.node})
    with output.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "sha256": sha256,
        "size": output.stat().st_size,
        "parameters": parameters,
        "flop": flop,
        "nodes": len(model.graph.node),
        "operators": operators,
    }


def run(request: Mapping[str, Any]) -> None:
    """Make the model of `request` and print its figures."""
    output = Path(request["output"])
    version = request.get("behavior_version") or NEWEST
    print(json.dumps(generate(request["architecture"], request["scale"], request["seed"], output, version)))


if __name__ == "__main__":
    required = ("architecture", "scale", "seed", "output")
    sys.exit(run_action("autoclave.source.synthetic", sys.argv[1:], required, run))
