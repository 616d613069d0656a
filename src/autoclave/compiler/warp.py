"""The warp action: `python -m autoclave.compiler.warp request.json`.

Compiles how a camera's NV12 frames become what a model sees, into an artifact of one part whose key is the camera's size. Ends as
the compile action does. Models that see the same share the warp: the request holds nothing of them.

A pixel (x, y) of the model's image lies in the camera's frame, with the matrix `tfm` as m, in float32 and with each step rounded, at

    ((m00 * x + m01 * y) + m02) / ((m20 * x + m21 * y) + m22),    ((m10 * x + m11 * y) + m12) / the same

clipped to the frame and rounded to the nearest, ties to even. GPUs may contract the sums and approximate the division, which moves
pixels that lie on the border between two.

Chroma, which has half the resolution, is sampled by the matrix whose elements are scaled by `CHROMA_SCALE`. The six planes
are luma's even and odd rows of even columns, then of odd columns, U and V.
"""

import sys
from typing import Any

from autoclave.compiler.build import Plan, build, run_action, state_pairs
from autoclave.compiler.driving_adapters import load_driving_adapter
from autoclave.compiler.warp_request import WarpRequest


def compile_warp(request: WarpRequest) -> dict[str, Any]:
    """Compile as `request` says, once per process."""
    camera = request.camera
    metadata = {
        "warp": {
            "border_fill": request.border_fill,
            "camera": [camera.width, camera.height],
            "history": request.history,
            "layout": request.layout,
            "model_size": list(request.model_size),
        },
        "synthetic": False,
    }
    return build(
        request,
        Plan((camera.width, camera.height), lambda capture: {**metadata, "state": state_pairs(capture)}),
        load_driving_adapter,
        lambda adapter, profile, progress: adapter.capture_warp(request, profile, progress),
    )


def main(arguments: list[str]) -> int:
    """Run the action. Returns the exit code."""
    return run_action("autoclave.compiler.warp", arguments, WarpRequest.load, compile_warp)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
