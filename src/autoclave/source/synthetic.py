"""Make a synthetic model: `python -m autoclave.source.synthetic request.json`.

The request is `{"architecture": "supercombo"|"stateful", "scale": "S"|"M"|"L"|"XL", "seed": n, "output": "out/model.onnx"}`. The
file's bytes depend on architecture, scale and seed alone. Prints one JSON object: sha256, size, parameters, flop,
nodes, operators.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from onnx import ModelProto

from autoclave.errors import SourceError
from autoclave.source import stateful, supercombo
from autoclave.source.request_file import run_action
from autoclave.source.weight_stream import RandomTensor, Tensor, write_model

ARCHITECTURES: dict[str, tuple[tuple[str, ...], Callable[[str, int], tuple[ModelProto, list[Tensor], int]]]] = {
    "supercombo": (tuple(supercombo.SCALES), supercombo.build),
    "stateful": (tuple(supercombo.SCALES), stateful.build),
}
"""Name -> (scales, builder)."""


def generate(architecture: str, scale: str, seed: int, output: Path) -> dict[str, Any]:
    """Write the synthetic model to `output` and return its figures.

    Raises `SourceError` for an unknown architecture or scale, or a seed outside 0..2**32-1.
    """
    if architecture not in ARCHITECTURES:
        raise SourceError(
            f"unknown synthetic architecture {architecture!r}: expected one of {', '.join(ARCHITECTURES)}"
        )
    scales, build = ARCHITECTURES[architecture]
    if scale not in scales:
        raise SourceError(f"unknown scale {scale!r} of {architecture}: expected one of {', '.join(scales)}")
    if not isinstance(seed, int) or not 0 <= seed < 2**32:
        raise SourceError(f"seed {seed} of synthetic {architecture}: expected a whole number from 0 to {2**32 - 1}")
    model, tensors, flop = build(scale, seed)
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
    print(json.dumps(generate(request["architecture"], request["scale"], request["seed"], output)))


if __name__ == "__main__":
    required = ("architecture", "scale", "seed", "output")
    sys.exit(run_action("autoclave.source.synthetic", sys.argv[1:], required, run))
