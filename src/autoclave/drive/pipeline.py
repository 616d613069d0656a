"""One frame after the other through warp and policy: what the host does between them.

The host packs the small inputs into one, hands the features of a supercombo's last run back to it (`prev_feat`), and feeds all state back.
"""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from autoclave.artifact.model import Header, Part, TensorSpec
from autoclave.drive.video import zeros
from autoclave.driving.metadata import OUTPUT, DrivingMetadata
from autoclave.errors import ArtifactError
from autoclave.native.model import Array, Tensors

RUN_POLICY = "run_policy"
PACKED = "packed_npy_inputs"
PREVIOUS_FEATURES, HIDDEN_STATE = "prev_feat", "hidden_state"
DEFAULTS = {"traffic_convention": (1.0, 0.0)}
"""What inputs are that are not given, other than zeros: traffic that keeps to the right."""

Run = Callable[[Mapping[str, Array]], Tensors]


class Drive:
    """A driving model on its way. It starts with zeros in all queues."""

    def __init__(self, header: Header, warp: Part, policy: Part, run_warp: Run, run_policy: Run) -> None:
        """`run_warp` and `run_policy` run the parts of the artifact with this `header`.

        Raises `ArtifactError` if it is not a driving model's.
        """
        self._warp, self._policy = warp, policy
        self._run_warp, self._run_policy = run_warp, run_policy
        self._driving = driving_metadata(header)
        self._packed = packed_inputs(header)
        self._state_pairs: dict[str, str] = dict(header.metadata["state"])
        self._features: Array | None = None
        specs = {spec.name: spec for spec in (*warp.inputs, *policy.inputs)}
        self._state = {name: zeros(specs[name]) for name in self._state_pairs if name in specs}

    def step(self, frame: Tensors) -> Tensors:
        """The models' outputs for `frame`, what a `Video` has at one place: `outputs`, or one by each model's name."""
        seen = self._run(self._warp, self._run_warp, frame)
        given = frame | seen
        if any(spec.name == PACKED for spec in self._policy.inputs):
            given[PACKED] = self._pack(frame)
        outputs = self._run(self._policy, self._run_policy, given)
        results = {name: outputs[name] for name in result_names(self._driving)}
        if OUTPUT in results and any(name == PREVIOUS_FEATURES for name, _, _ in self._packed):
            (part,) = self._driving.parts.values()
            self._features = results[OUTPUT][0, part.output_slices[HIDDEN_STATE]]
        return results

    def _run(self, part: Part, run: Run, given: Mapping[str, Array]) -> Tensors:
        """Run `part` on what is given, on state and on defaults; afterwards the state is what it left."""
        known = {**self._state, **given}
        inputs = {spec.name: known[spec.name] if spec.name in known else _default(spec) for spec in part.inputs}
        outputs = run(inputs)
        self._state |= {
            name: outputs[following] for name, following in self._state_pairs.items() if following in outputs
        }
        return outputs

    def _pack(self, frame: Tensors) -> Array:
        values = []
        for name, shape, _ in self._packed:
            value = self._features if name == PREVIOUS_FEATURES else frame.get(name)
            values.append(_default(TensorSpec(name, shape, "float32", 0)) if value is None else value)
        return np.concatenate([value.reshape(1, -1) for value in values], axis=1).astype(np.float32)


def driving_metadata(header: Header) -> DrivingMetadata:
    """What the artifact says about its driving model. Raises `ArtifactError` if it is none."""
    if "driving" not in header.metadata:
        raise ArtifactError("it is no driving model: its metadata has no 'driving'")
    return DrivingMetadata.from_json(header.metadata["driving"])


def result_names(driving: DrivingMetadata) -> tuple[str, ...]:
    """The outputs of run_policy that are the models' results, in the order of `driving.parts`."""
    return (OUTPUT,) if len(driving.parts) == 1 else tuple(driving.parts)


def packed_inputs(header: Header) -> list[tuple[str, tuple[int, ...], int]]:
    """Name, shape and offset of what the host packs. Raises `ArtifactError` if the artifact does not say it properly."""
    packed: Any = header.metadata.get("policy_inputs")
    try:
        found = [(str(each["name"]), tuple(each["shape"]), int(each["offset"])) for each in packed]
        if [offset for _, _, offset in found] != [sum(prod(s) for _, s, _ in found[:n]) for n in range(len(found))]:
            raise ValueError("offsets do not follow from the shapes")
    except (KeyError, TypeError, ValueError) as error:
        raise ArtifactError(f"metadata: policy_inputs: {error}") from error
    return found


def host_inputs(header: Header, warp: Part, policy: Part) -> dict[str, TensorSpec]:
    """What may come with a frame besides the frame: what the host packs, and inputs of run_policy that nothing else gives."""
    packed = {name: TensorSpec(name, shape, "float32", 0) for name, shape, _ in packed_inputs(header)}
    packed.pop(PREVIOUS_FEATURES, None)
    made = {PACKED} | {spec.name for spec in warp.outputs} | {name for name, _ in header.metadata["state"]}
    return packed | {spec.name: spec for spec in policy.inputs if spec.name not in made}


def _default(spec: TensorSpec) -> Array:
    value = zeros(spec)
    if spec.name in DEFAULTS and value.size == len(DEFAULTS[spec.name]):
        value.reshape(-1)[:] = DEFAULTS[spec.name]
    return value
