"""The compile action: `python -m autoclave.compiler request.json`.

Writes the artifact that the request names. The last line of standard output is a JSON object with the artifact's sha256,
size and figures; progress goes to standard error. Exit code 2: the model, the request or the toolchain is at fault, and
the message says how.
"""

import sys
from typing import Any

from autoclave.compiler.adapters import load_adapter
from autoclave.compiler.build import Plan, build, run_action, state_pairs
from autoclave.compiler.captured import Capture
from autoclave.compiler.request import CompileRequest


def compile_model(request: CompileRequest) -> dict[str, Any]:
    """Compile as `request` says, once per process: tinygrad's settings are fixed when it is imported."""
    return build(
        request,
        Plan("run", lambda capture: artifact_metadata(request, capture)),
        load_adapter,
        lambda adapter, profile, progress: adapter.capture(request.model, profile, request.dimensions, progress),
    )


def artifact_metadata(request: CompileRequest, capture: Capture) -> dict[str, Any]:
    """What the artifact says about its origin: the ONNX file, whether it is synthetic, and which inputs are state."""
    return {
        "onnx": {"sha256": request.source_sha256, "size": request.source_size},
        "state": state_pairs(capture),
        "synthetic": request.synthetic,
    }


def main(arguments: list[str]) -> int:
    """Run the action. Returns the exit code."""
    return run_action("autoclave.compiler", arguments, CompileRequest.load, compile_model)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
