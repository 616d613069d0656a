"""The compile action: `python -m autoclave.compiler request.json`.

Writes the artifact that the request names. The last line of standard output is a JSON object with the artifact's sha256,
size and figures; progress goes to standard error. Exit code 2: the model, the request or the toolchain is at fault, and
the message says how.
"""

import gc
import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

from autoclave.compiler.adapters import load_adapter
from autoclave.compiler.environment import prepare_environment
from autoclave.compiler.profiles import profile_for
from autoclave.compiler.renderers.hip import start_under_loader
from autoclave.compiler.request import CompileRequest
from autoclave.errors import AutoclaveError


def compile_model(request: CompileRequest) -> dict[str, Any]:
    """Compile as `request` says, once per process: tinygrad's settings are fixed when it is imported."""
    from autoclave.artifact.writer import ArtifactWriter
    from autoclave.compiler.lowering import lower

    started = time.monotonic()
    profile = profile_for(request.hardware, request.renderer)
    prepare_environment(profile, request.absent_flags)
    # tinygrad's graphs have no cycles: collecting them finds nothing and takes a quarter of the time.
    gc.disable()
    adapter = load_adapter(request.tinygrad)
    adapter.check_flags(profile, request.absent_flags)
    imported = time.monotonic()
    capture = adapter.capture(request.model, profile, request.dimensions, report_progress)
    captured = time.monotonic()
    request.output.parent.mkdir(parents=True, exist_ok=True)
    with ArtifactWriter(request.output) as writer:
        lowered = lower(capture, profile, artifact_metadata(request, capture), writer)
        sha256 = writer.finish(lowered.header)
    part = lowered.header.parts[0]
    return {
        "sha256": sha256,
        "size": request.output.stat().st_size,
        "launches": len(part.calls),
        "init_launches": len(part.init),
        "kernels": len(lowered.header.kernels),
        "arena": lowered.arena,
        "live_peak": lowered.live_peak,
        "weights": lowered.weights,
        "seconds": {
            "import": round(imported - started, 3),
            "capture": round(captured - imported, 3),
            "write": round(time.monotonic() - captured, 3),
        },
        "peak_rss": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def artifact_metadata(request: CompileRequest, capture: Any) -> dict[str, Any]:
    """What the artifact says about its origin: the ONNX file, whether it is synthetic, and which inputs are state.

    An input X whose next value is the output next_X is state: the runner feeds the one to the other.
    """
    outputs = {tensor.name for tensor in capture.outputs}
    state = [[tensor.name, f"next_{tensor.name}"] for tensor in capture.inputs if f"next_{tensor.name}" in outputs]
    return {
        "onnx": {"sha256": request.source_sha256, "size": request.source_size},
        "state": state,
        "synthetic": request.synthetic,
    }


def report_progress(message: str) -> None:
    """One line of progress on standard error."""
    print(message, file=sys.stderr, flush=True)


def main(arguments: list[str]) -> int:
    """Run the action. Returns the exit code."""
    if len(arguments) != 1:
        print("usage: python -m autoclave.compiler REQUEST.json", file=sys.stderr)
        return 2
    try:
        request = CompileRequest.load(Path(arguments[0]))
        if profile_for(request.hardware, request.renderer).renderer == "hip":
            start_under_loader()
        report = compile_model(request)
    except AutoclaveError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(json.dumps(report, sort_keys=True))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
