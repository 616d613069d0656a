"""What part artifacts of a driving model say about themselves, checked against each other and made into one metadata.

A policy part's artifact has the metadata `policy`, `policy_inputs`, `sources`, `state` and `synthetic`; a warp's has `warp`,
`state` and `synthetic`. The assembled artifact has `driving` (docs/driving.md) and, of the policy's, all but `policy`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from autoclave.artifact.model import Header, Part, TensorSpec
from autoclave.driving import metadata_fields as fields
from autoclave.driving.kinds import Kind
from autoclave.driving.metadata import DrivingMetadata
from autoclave.errors import ArtifactError

RUN_POLICY = "run_policy"
_STACKED, _PLANES, _QUEUES = ("new_img",), ("img", "big_img"), ("img_q", "big_img_q")


def driving_metadata(headers: Sequence[Header], behaviour_version: str) -> dict[str, Any]:
    """The metadata of the artifact made of the policy part `headers[0]` and of the warps after it.

    Raises `ArtifactError` if one is no such part, or a warp does not give what the policy takes; `MetadataError`, which is
    one too, if the model is not of `behaviour_version`.
    """
    policy, warps = headers[0], headers[1:]
    part = _only_part(policy)
    described = policy.metadata.get("policy")
    if part.key != RUN_POLICY or not isinstance(described, dict):
        raise ArtifactError(f"the first part should be a policy, {RUN_POLICY!r}; it is {part.key!r}")
    cameras = [_camera(warp) for warp in warps]
    devices = {_only_part(warp).target.device for warp in warps}
    if len(devices) != 1:
        raise ArtifactError(f"the warps should be for one device; they are for {', '.join(sorted(devices)) or 'none'}")
    record = {
        **described,
        "behavior_version": behaviour_version,
        "camera_resolutions": [list(camera) for camera in cameras],
        "execution_device": part.target.device,
        "warp_device": devices.pop(),
    }
    driving = DrivingMetadata.from_json(record)
    for warp in warps:
        _check_warp(_only_part(warp), part, _images(driving))
    return {
        "driving": driving.to_json(),
        "policy_inputs": fields.items("policy_inputs", policy.metadata.get("policy_inputs")),
        "sources": fields.mapping("sources", policy.metadata.get("sources")),
        "state": _joined_state(headers),
        "synthetic": any(header.metadata.get("synthetic") is not False for header in headers),
    }


def _only_part(header: Header) -> Part:
    if len(header.parts) != 1:
        raise ArtifactError(f"a part artifact has one part; this has {len(header.parts)}")
    return header.parts[0]


def _camera(header: Header) -> tuple[int, int]:
    key = _only_part(header).key
    if isinstance(key, str) or not isinstance(header.metadata.get("warp"), dict):
        raise ArtifactError(f"the parts after the policy should be warps, whose key is a camera's size; one is {key!r}")
    return key


def _images(driving: DrivingMetadata) -> tuple[str, ...]:
    """The inputs of the policy that come from a warp."""
    if driving.kind is Kind.STATEFUL:
        return _STACKED
    return _PLANES if driving.image_history_pipeline == "policy" else _QUEUES


def _check_warp(warp: Part, policy: Part, images: Sequence[str]) -> None:
    """Each of the policy's images is an output of the warp, under the same name or, for a queue, as its next content."""
    given = {tensor.name.removeprefix("next_"): tensor for tensor in warp.outputs}
    taken = {tensor.name: tensor for tensor in policy.inputs}
    for name in images:
        if name not in given or name not in taken or _form(given[name]) != _form(taken[name]):
            raise ArtifactError(
                f"the warp {warp.key} does not give what the policy takes: {name} is {_described(given.get(name))}, "
                f"expected {_described(taken.get(name))}"
            )


def _form(tensor: TensorSpec) -> tuple[str, tuple[int, ...]]:
    return tensor.dtype, tensor.shape


def _described(tensor: TensorSpec | None) -> str:
    return "missing" if tensor is None else f"{tensor.dtype} {list(tensor.shape)}"


def _joined_state(headers: Sequence[Header]) -> list[Any]:
    """The pairs of all parts, each once: parts that have a state of the same name share it."""
    state: list[Any] = []
    for header in headers:
        state += [pair for pair in _state(header.metadata) if pair not in state]
    return state


def _state(metadata: Mapping[str, Any]) -> list[Any]:
    return fields.items("state", metadata.get("state"))
