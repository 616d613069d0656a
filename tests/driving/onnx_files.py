"""Summaries of the ONNX files of openpilot's models, by the names they have there."""

from autoclave.driving.kinds import OnnxFileSummary, Shape

MEGABYTE = 1_000_000

IMAGES: dict[str, Shape] = {"img": (1, 12, 128, 256), "big_img": (1, 12, 128, 256)}
OLD_IMAGES: dict[str, Shape] = {"input_imgs": (1, 12, 128, 256), "big_input_imgs": (1, 12, 128, 256)}
POLICY: dict[str, Shape] = {
    "features_buffer": (1, 25, 512),
    "desire_pulse": (1, 25, 8),
    "traffic_convention": (1, 2),
}
SUPERCOMBO: dict[str, Shape] = {**IMAGES, **POLICY, "features_buffer": (1, 24, 512), "action_t": (1, 2)}
STATE: dict[str, Shape] = {"img_buffer": (2, 6, 128, 256), "features_buffer": (1, 24, 512)}
STATEFUL: dict[str, Shape] = {"new_img": (2, 6, 128, 256), "traffic_convention": (1, 2), **STATE}


def onnx_file(name: str, inputs: dict[str, Shape], size: int = 46 * MEGABYTE, **other: bool) -> OnnxFileSummary:
    outputs: dict[str, Shape] = {"outputs": (1, 2578)}
    if "new_img" in inputs:
        outputs |= {f"next_{name}": shape for name, shape in inputs.items() if name in STATE}
    return OnnxFileSummary(name, size, inputs, outputs, **other)


VISION_FILE = onnx_file("driving_vision.onnx", IMAGES)
POLICY_FILE = onnx_file("driving_policy.onnx", POLICY, 15 * MEGABYTE)
ON_POLICY_FILE = onnx_file("driving_on_policy.onnx", POLICY, 15 * MEGABYTE)
OFF_POLICY_FILE = onnx_file("driving_off_policy.onnx", POLICY, 15 * MEGABYTE)
SUPERCOMBO_FILE = onnx_file("driving_supercombo.onnx", SUPERCOMBO, 60_934_112)
BIG_FILE = onnx_file("big_driving_supercombo.onnx", SUPERCOMBO, 770 * MEGABYTE)
STATEFUL_FILE = onnx_file("driving_supercombo.onnx", STATEFUL, 61 * MEGABYTE)
