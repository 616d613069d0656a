"""Verify a model before it is compiled: `python -m autoclave.source.check request.json`.

The request is `{"model": path, "dimensions": {...}}` and optionally `target`, `sha256`, `size`, `inputs` (names, or
`{"name", "dtype", "shape"}`), `operators` and `output`. Writes the verified interface as canonical JSON to `output`
(default out/interface.json). Exit code 2 with one message if the model is refused.
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autoclave.canonical import canonical_json
from autoclave.source.preflight import ExpectedInput, ModelInterface, check_model
from autoclave.source.request_file import run_action


def check_request(request: Mapping[str, Any]) -> ModelInterface:
    """Check the model that `request` describes. Raises `SourceError`."""
    inputs = request.get("inputs")
    return check_model(
        Path(request["model"]),
        target=request.get("target"),
        sha256=request.get("sha256"),
        size=request.get("size"),
        dimensions=request.get("dimensions"),
        inputs=None if inputs is None else [_expected_input(value) for value in inputs],
        operators=request.get("operators"),
    )


def _expected_input(value: str | Mapping[str, Any]) -> ExpectedInput:
    if isinstance(value, str):
        return ExpectedInput(value)
    shape = value.get("shape")
    return ExpectedInput(value["name"], value.get("dtype"), None if shape is None else tuple(shape))


def run(request: Mapping[str, Any]) -> None:
    """Check the model of `request` and write its interface."""
    interface = check_request(request)
    output = Path(request.get("output", "out/interface.json"))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(canonical_json(interface.to_json()))


if __name__ == "__main__":
    sys.exit(run_action("autoclave.source.check", sys.argv[1:], ("model",), run))
