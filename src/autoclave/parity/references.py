"""Rung 4 of one part: where its reference comes from, and how near to it the outputs have to be.

Fields of a request:

    reference         an .npz file that autoclave.parity.reference made, for an artifact of one part
    reference_model   instead of it: the one fp32 ONNX that the artifact was built from
    reference_models  of a driving model instead: the fp32 ONNX files that it was built from, by part

Warps need none of them: their reference is `autoclave.parity.warp_reference`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from autoclave.artifact.model import Part, TensorSpec
from autoclave.artifact.reader import Artifact
from autoclave.driving.kinds import Kind
from autoclave.errors import AutoclaveError
from autoclave.native.model import Tensors
from autoclave.native.tensor_files import read_tensors
from autoclave.parity.check_file import PartCheck
from autoclave.parity.gates import NO_SLICES, REFERENCE, GateResult, pixels_gate, reference_gate, skipped
from autoclave.parity.hardware import Runner
from autoclave.parity.slices import output_slices
from autoclave.parity.steps import own_state, step_results
from autoclave.parity.tolerance import Tolerance
from autoclave.parity.warp_reference import EQUAL_SHARE, warp_outputs

NO_REFERENCE = "no reference model was given"
NO_STEPS = "steps of the part's state need the reference model itself, not what it once gave"


@dataclass(frozen=True)
class Reference:
    """What a part should give for the check inputs, and a policy for those of the next seed, too; both None if nothing tells.

    model: what computed it, which can compute more.
    """

    outputs: Tensors | None
    varied: Tensors | None = None
    model: "_Model | None" = None


def prepare_reference(artifact: Artifact, part: Part, check: PartCheck, request: Mapping[str, Any]) -> Reference:
    """The reference of `part` that `request` names. Raises `AutoclaveError` if it is of another model."""
    if not isinstance(part.key, str):
        return Reference(warp_outputs(part, artifact.header.metadata, check.inputs))
    if request.get("reference"):
        return Reference(*_read_references(Path(request["reference"]), part, check.seed))
    model = _reference_model(artifact, request)
    if model is None:
        return Reference(None)
    from autoclave.parity.reference import next_inputs

    return Reference(model.run(check.inputs), model.run(next_inputs(check)), model)


def reference_results(
    artifact: Artifact, runner: Runner, check: PartCheck, outputs: Tensors, reference: Reference, tolerance: Tolerance
) -> Iterator[GateResult]:
    """What rung 4 says of `outputs`, which `runner` gave for the check inputs, and of the steps of a part with state.

    Raises `AutoclaveError` if the reference is of another model.
    """
    part = runner.part
    if reference.outputs is None:
        yield skipped(REFERENCE, NO_REFERENCE)
        return
    if reference.varied is None:
        for spec in part.outputs:
            yield pixels_gate(spec.name, outputs[spec.name], _reference_of(spec, reference.outputs), EQUAL_SHARE)
        return
    slices = output_slices(artifact)
    for spec in part.outputs:
        expected, varied = (_reference_of(spec, tensors) for tensors in (reference.outputs, reference.varied))
        named = slices.get(spec.name, NO_SLICES)
        yield from reference_gate(spec.name, outputs[spec.name], expected, varied, tolerance, named)
    state = _own_state(artifact)
    if reference.model is not None:
        yield from step_results(runner, reference.model.run, state, check.seed, tolerance)
    elif own_state(part, state):
        yield skipped(REFERENCE, NO_STEPS)


def _own_state(artifact: Artifact) -> list[list[str]]:
    """The pairs of a model that keeps its history itself. Queues that are put before a model are copies, which one run of any state shows
    to be right.
    """
    kind = artifact.header.metadata.get("driving", {}).get("kind", Kind.STATEFUL.value)
    return artifact.header.metadata.get("state") or [] if kind == Kind.STATEFUL.value else []


class _Model(Protocol):
    """A part's reference."""

    def run(self, inputs: Tensors) -> Tensors:
        """What the part should give for `inputs`."""


def _reference_model(artifact: Artifact, request: Mapping[str, Any]) -> _Model | None:
    """The reference that computes, if there is one. ONNX Runtime is needed for these only."""
    if models := _reference_models(artifact, request):
        from autoclave.parity.policy_reference import PolicyReference

        return PolicyReference(models, artifact.header.metadata)
    if request.get("reference_model"):
        from autoclave.parity.reference import ReferenceModel

        return ReferenceModel(Path(request["reference_model"]))
    return None


def _reference_models(artifact: Artifact, request: Mapping[str, Any]) -> dict[str, Path]:
    """The models of a driving model's parts. One that consists of one file may have it as `reference_model`, too."""
    parts = list(artifact.header.metadata.get("driving", {}).get("parts", ()))
    if request.get("reference_models"):
        if not parts:
            raise AutoclaveError(
                "the artifact is no driving model's: its reference is one model, without a part's name"
            )
        return {name: Path(path) for name, path in request["reference_models"].items()}
    if not parts or not request.get("reference_model"):
        return {}
    if len(parts) > 1:
        raise AutoclaveError(
            f"the artifact is made of {' and '.join(parts)}: give a reference model for each, by its part's name"
        )
    return {parts[0]: Path(request["reference_model"])}


def _read_references(path: Path, part: Part, seed: int) -> tuple[Tensors, Tensors]:
    seeds = (seed, seed + 1)
    specs = tuple(
        TensorSpec(f"{number}/{spec.name}", spec.shape, _upcast(spec.dtype), buffer=0)
        for number in seeds
        for spec in part.outputs
    )
    tensors = read_tensors(path, specs)
    first, second = ({spec.name: tensors[f"{number}/{spec.name}"] for spec in part.outputs} for number in seeds)
    return first, second


def _upcast(dtype: str) -> str:
    return "float32" if dtype == "float16" else dtype


def _reference_of(spec: TensorSpec, references: Tensors) -> Any:
    """The reference for the output `spec`. Raises `AutoclaveError` if there is none or it has another shape."""
    if spec.name not in references:
        raise AutoclaveError(f"the reference model has no output {spec.name!r}; it has {', '.join(references)}")
    if (shape := references[spec.name].shape) != spec.shape:
        raise AutoclaveError(
            f"the reference for {spec.name!r} is {list(shape)}, the artifact's output {list(spec.shape)}"
        )
    return references[spec.name]
