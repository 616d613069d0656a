"""Rung 6: outputs that were captured on a real device come out again, bit for bit.

A recording is one of two files, both of them about the check inputs:

    a check file     whose recorder is of the kind "device"
    an .npz file     one array per output, by name (`PART/NAME` if the artifact has several parts), and `artifact_sha256`: 32
                     values of uint8, the sha256 of the artifact that ran on the device

Another artifact may well compute other bits, so a recording counts for the artifact that it names and no other.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from autoclave.artifact.model import Part, TensorSpec
from autoclave.artifact.reader import Artifact
from autoclave.errors import AutoclaveError
from autoclave.native.model import Tensors
from autoclave.native.tensor_files import read_tensors
from autoclave.parity.check_file import PartCheck, read_check
from autoclave.parity.gates import DEVICE, GateResult, replay_gate
from autoclave.parity.replay import qualified_name

ARTIFACT = "artifact_sha256"
_NPZ = b"PK"


class _Unfit(Exception):
    """Why a recording says nothing about this artifact."""


def device_results(
    artifact: Artifact, part: Part, check: PartCheck, outputs: Tensors, request: Mapping[str, Any]
) -> Iterator[GateResult]:
    """What the recording that `request` names as `device_recording`, if any, says of `outputs`.

    Raises `AutoclaveError` if it cannot be read; one of another artifact or of other inputs is a failure.
    """
    if not request.get("device_recording"):
        return
    try:
        recorded = _recorded_outputs(Path(request["device_recording"]), artifact, part, check)
    except _Unfit as reason:
        yield GateResult(DEVICE, "device", "all outputs", "failed", str(reason))
        return
    for spec in part.outputs:
        yield replay_gate(spec.name, recorded[spec.name], outputs[spec.name], "device", DEVICE)


def _recorded_outputs(path: Path, artifact: Artifact, part: Part, check: PartCheck) -> Tensors:
    try:
        with path.open("rb") as file:
            is_npz = file.read(len(_NPZ)) == _NPZ
    except OSError as error:
        raise AutoclaveError(f"reading the device recording {path}: {error.strerror}") from error
    return _from_npz(path, artifact, part) if is_npz else _from_check_file(path, artifact, part, check)


def _from_npz(path: Path, artifact: Artifact, part: Part) -> Tensors:
    parts = artifact.header.parts
    digest = TensorSpec(ARTIFACT, (32,), "uint8", buffer=0)
    outputs = (replace(spec, name=_name(parts, each, spec)) for each in parts for spec in each.outputs)
    tensors = read_tensors(path, (digest, *outputs))
    _require_artifact(bytes(np.asarray(tensors[ARTIFACT], np.uint8)).hex(), artifact)
    return {spec.name: tensors[_name(parts, part, spec)] for spec in part.outputs}


def _name(parts: Sequence[Part], part: Part, spec: TensorSpec) -> str:
    """What an output of `part` is called in the .npz file of an artifact with `parts`."""
    return spec.name if len(parts) == 1 else qualified_name(part, spec.name)


def _from_check_file(path: Path, artifact: Artifact, part: Part, check: PartCheck) -> Tensors:
    recording = read_check(path)
    _require_artifact(recording.artifact_sha256, artifact)
    if recording.recorded_by.kind != "device":
        raise _Unfit(
            f"the recording was made by {recording.recorded_by.kind} ({recording.recorded_by.name}), not on a device"
        )
    recorded = recording.part(part.key)
    for spec in part.inputs:
        if spec.name not in recorded.inputs or not _same(recorded.inputs[spec.name], check.inputs[spec.name]):
            raise _Unfit(f"the recording's input {spec.name!r} is not that of the check file, of seed {check.seed}")
    for spec in part.outputs:
        tensor = recorded.outputs.get(spec.name)
        if tensor is None or (tensor.dtype.name, tensor.shape) != (spec.dtype, spec.shape):
            raise _Unfit(f"the recording has no output {spec.name!r} of {spec.dtype} {list(spec.shape)}")
    return recorded.outputs


def _require_artifact(recorded: str, artifact: Artifact) -> None:
    if recorded != (found := artifact.sha256()):
        raise _Unfit(
            f"the recording is of artifact {recorded}, this is {found}; "
            f"record this one on a device, or take device_recording out of the test"
        )


def _same(left: Any, right: Any) -> bool:
    return bool(left.dtype == right.dtype and left.shape == right.shape and left.tobytes() == right.tobytes())
