"""The metadata file of driver monitoring: `python -m autoclave.source.monitoring_metadata request.json`.

The request is `{"model": path, "sha256", "size", "dimensions", "camera_resolutions": [[width, height]], "output": path}`. The output is
canonical JSON, with openpilot's keys and no pickle:

    model_checkpoint, output_slices, input_shapes, output_shapes
                        as in a driving model's metadata; the first two are null if the ONNX does not say
    camera_resolutions  [[width, height]]
    warp                {"model_size": [1440, 960], "border_fill": 16}: what the warps make of the driver camera's luma

Exit code 2 with one message if the model is no driver monitoring model.
"""

import sys
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

from autoclave.canonical import canonical_json
from autoclave.driving.output_slices import decode_output_slices, output_slices_to_json
from autoclave.errors import SourceError
from autoclave.source.preflight import ModelInterface, check_model
from autoclave.source.request_file import run_action

MODEL_SIZE = (1440, 960)
"""(width, height) of the image that the model is shown, in pixels of luma."""
BORDER_FILL = 16
"""Luma's black: what lies outside of the camera's frame."""
IMAGE = "input_img"
INPUTS = {IMAGE, "calib"}


def metadata(request: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of the model of `request`. Raises `SourceError` if it is no driver monitoring model."""
    interface = check_model(
        Path(request["model"]), sha256=request["sha256"], size=request["size"], dimensions=request["dimensions"]
    )
    _check_inputs(interface)
    properties = interface.summary.metadata
    slices = properties.get("output_slices")
    return {
        "model_checkpoint": properties.get("model_checkpoint"),
        "output_slices": None if slices is None else output_slices_to_json(decode_output_slices(slices)),
        "input_shapes": {tensor.name: list(tensor.shape) for tensor in interface.inputs},
        "output_shapes": {tensor.name: list(tensor.shape) for tensor in interface.outputs},
        "camera_resolutions": request["camera_resolutions"],
        "warp": {"model_size": list(MODEL_SIZE), "border_fill": BORDER_FILL},
    }


def _check_inputs(interface: ModelInterface) -> None:
    inputs = {tensor.name: tensor for tensor in interface.inputs}
    if set(inputs) != INPUTS:
        raise SourceError(
            f"driver monitoring models have the inputs {' and '.join(sorted(INPUTS))}; this has {', '.join(sorted(inputs))}"
        )
    shape = [size for size in inputs[IMAGE].shape if isinstance(size, int)]
    if (inputs[IMAGE].dtype, shape) != ("uint8", [1, prod(MODEL_SIZE)]):
        raise SourceError(
            f"{IMAGE} is {inputs[IMAGE].dtype} {shape}; the warps give uint8 {[1, prod(MODEL_SIZE)]}, the luma of "
            f"{MODEL_SIZE[0]} x {MODEL_SIZE[1]} pixels"
        )


def run(request: Mapping[str, Any]) -> None:
    """Write the metadata of the model of `request`."""
    output = Path(request["output"])
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(canonical_json(metadata(request)) + b"\n")


if __name__ == "__main__":
    required = ("model", "sha256", "size", "dimensions", "camera_resolutions", "output")
    sys.exit(run_action("autoclave.source.monitoring_metadata", sys.argv[1:], required, run))
