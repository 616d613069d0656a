"""Reference outputs of a driving model's policy part: queues in numpy, the models by ONNX Runtime on their fp32 graphs.

The queues hold every frame's value, the newest last; a model is shown every `frame_skip`-th row, and of desires the largest of each
`frame_skip` (docs/driving.md).
"""

from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from autoclave.driving.kinds import FEATURES, IMAGES, WIDE_IMAGES, Kind
from autoclave.driving.metadata import OUTPUT, DrivingMetadata
from autoclave.errors import AutoclaveError
from autoclave.native.model import Array, Tensors
from autoclave.parity.reference import ReferenceModel

DESIRES = ("desire_pulse", "desire")
CAMERAS = (("", IMAGES), ("big_", WIDE_IMAGES))
HIDDEN_STATE = "hidden_state"


class PolicyReference:
    """The policy part of the artifact with this `metadata`, whose ONNX files in fp32 are `models`, by part."""

    def __init__(self, models: Mapping[str, Path], metadata: Mapping[str, Any]) -> None:
        """Raises `AutoclaveError` if a model cannot be loaded, or they are not those of the artifact."""
        self._driving = DrivingMetadata.from_json(metadata["driving"])
        self._packed = metadata["policy_inputs"]
        order = [part for part in self._driving.parts if part not in self._driving.policy_order]
        self._parts = (*order, *self._driving.policy_order)
        if set(models) != set(self._parts):
            raise AutoclaveError(
                f"the reference models are {', '.join(sorted(models))}; the artifact's parts are {', '.join(self._parts)}"
            )
        self._models = {part: ReferenceModel(models[part]) for part in self._parts}

    def run(self, inputs: Tensors) -> Tensors:
        """What the part should give for `inputs`."""
        if self._driving.kind is Kind.STATEFUL:
            (model,) = self._models.values()
            return model.run(inputs)
        return _Step(self._driving, self._packed, inputs).outputs(self._models, self._parts)


class _Step:
    """One run: `values` are what models are fed, `state` the next content of the queues."""

    def __init__(self, driving: DrivingMetadata, packed: Any, inputs: Tensors) -> None:
        self._driving = driving
        self._inputs = inputs
        self._skip = driving.frame_skip
        self.state: dict[str, Array] = {}
        values = inputs["packed_npy_inputs"].reshape(-1) if packed else np.empty(0, np.float32)
        self.values = {each["name"]: values[each["offset"] : each["offset"] + prod(each["shape"])] for each in packed}
        self._show_images()
        self._show_desires()
        if "prev_feat" in self.values:
            self._show_features(self.values.pop("prev_feat"))

    def outputs(self, models: Mapping[str, ReferenceModel], parts: tuple[str, ...]) -> Tensors:
        """Each model's output, the vision model's first, whose features feed the policies."""
        results: dict[str, Array] = {}
        for part in parts:
            result = models[part].run(self._fed(models[part]))[OUTPUT]
            results[OUTPUT if len(parts) == 1 else part] = result
            if part == "vision":
                self._show_features(result[0, self._driving.parts[part].output_slices[HIDDEN_STATE]])
        return results | self.state

    def _fed(self, model: ReferenceModel) -> Tensors:
        return {name: self.values[name].reshape(shape) for name, shape in model.input_shapes.items()}

    def _show_images(self) -> None:
        for prefix, names in CAMERAS:
            if self._driving.image_history_pipeline == "policy":
                queue = self._advanced(f"{prefix}img_q", self._inputs[f"{prefix}img"])
            else:
                queue = self._inputs[f"{prefix}img_q"]
            self.values |= dict.fromkeys(names, queue[:: self._skip])

    def _show_desires(self) -> None:
        if "desire_q" not in self._inputs:
            return
        queue = self._advanced("desire_q", self.values["desire"])
        groups = queue.reshape(-1, self._skip, queue.shape[-1])
        self.values |= dict.fromkeys(DESIRES, groups.max(axis=1))

    def _show_features(self, newest: Array) -> None:
        self.values[FEATURES] = self._advanced("feat_q", newest)[:: self._skip]

    def _advanced(self, name: str, newest: Array) -> Array:
        """The queue `name` with its oldest row dropped and `newest` appended."""
        queue = self._inputs[name]
        advanced = np.concatenate([queue[1:], newest.reshape(1, *queue.shape[1:]).astype(queue.dtype)])
        self.state[f"next_{name}"] = advanced
        return advanced
