"""The policy action: `python -m autoclave.compiler.policy request.json`.

Compiles the ONNX files of a driving model, with the queues that feed them, into an artifact of one part, `run_policy`. Ends as the
compile action does. For each frame the part takes

    img, big_img        what the warp of this frame gave, (6, height, width) uint8
    img_q, big_img_q, feat_q, desire_q
                        state, zeros at first: the host feeds back what comes out as next_img_q ... (metadata `state`)
    packed_npy_inputs   (1, N) float32: the small inputs one after the other; metadata `policy_inputs` says where each begins.
                        prev_feat is what the model gave as hidden_state in the run before, zeros at first

and gives `outputs`, or of a model in several files an output named after each: `vision`, `policy` ..., all float32. With the image
history in the warp, img_q and big_img_q are what the warp gave, and there is no img. A stateful model's part takes and
gives what its ONNX file does.
"""

import sys
from typing import Any

from autoclave.compiler.build import Plan, build, run_action, state_pairs
from autoclave.compiler.captured import Capture
from autoclave.compiler.driving_adapters import load_driving_adapter
from autoclave.compiler.policy_plan import PolicyPlan, plan_policy
from autoclave.compiler.policy_request import PolicyRequest
from autoclave.driving.kinds import Kind
from autoclave.driving.metadata import part_to_json

RUN_POLICY = "run_policy"
"""The part's key."""


def compile_policy(request: PolicyRequest) -> dict[str, Any]:
    """Compile as `request` says, once per process."""
    plan = plan_policy(request)
    return build(
        request,
        Plan(RUN_POLICY, lambda capture: policy_metadata(request, plan, capture)),
        load_driving_adapter,
        lambda adapter, profile, progress: adapter.capture_policy(plan, profile, progress),
    )


def policy_metadata(request: PolicyRequest, plan: PolicyPlan, capture: Capture) -> dict[str, Any]:
    """What the artifact says about the model, and about what the host has to feed."""
    packed = () if plan.kind is Kind.STATEFUL else plan.packed
    return {
        "policy": {
            "frame_skip": plan.frame_skip,
            "image_history_pipeline": plan.pipeline,
            "kind": plan.kind.value,
            "parts": {model.part: part_to_json(model.metadata) for model in plan.models},
            "policy_order": list(plan.policy_order),
        },
        "policy_inputs": [{"name": each.name, "offset": each.offset, "shape": list(each.shape)} for each in packed],
        "sources": {model.part: {"sha256": model.sha256, "size": model.size} for model in request.models},
        "state": state_pairs(capture),
        "synthetic": request.synthetic,
    }


def main(arguments: list[str]) -> int:
    """Run the action. Returns the exit code."""
    return run_action("autoclave.compiler.policy", arguments, PolicyRequest.load, compile_policy)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
