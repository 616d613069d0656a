"""Check an artifact against its check file: `python -m autoclave.parity request.json`, inside the sandbox.

The request, all paths relative to the working directory:

    artifact         the artifact
    check            its check file
    reference        optional: .npz file that autoclave.parity.reference made, for an artifact of one part
    reference_model  optional, instead of it: the fp32 ONNX that the artifact was built from
    tolerance, change_fraction, tolerance_reason
                     optional: see autoclave.parity.tolerance
    pinned_outputs   optional: {output name: sha256 of its bytes}
    unused_inputs    optional: {input name: why the model ignores it}
    command          what a person types to repeat this check; printed if it fails
    report           where to write the report as JSON

The report goes to stdout as well. Exit code 0: passed, or could not be checked, which the report warns of; 1: failed;
2: the request or a file in it is unusable.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autoclave.artifact.model import Part, TensorSpec
from autoclave.artifact.reader import Artifact, key_text, open_artifact
from autoclave.canonical import canonical_json
from autoclave.errors import AutoclaveError
from autoclave.native.model import Tensors
from autoclave.native.request import read_request
from autoclave.native.tensor_files import read_tensors
from autoclave.parity.check_file import CheckFile, PartCheck, read_check_of
from autoclave.parity.gates import REFERENCE, REPLAY, GateResult, reference_gate
from autoclave.parity.replay import Expectations, replay_part
from autoclave.parity.report import RUNG_NAMES, PartReport, Report
from autoclave.parity.tolerance import Tolerance, resolve_tolerance

NO_EMULATOR = "compiled, no emulator yet"
NO_REFERENCE = "no reference model was given"

References = tuple[Tensors, Tensors]
"""Reference outputs for the check inputs and for those of the next seed."""


def check_artifact(request: dict[str, Any]) -> Report:
    """Carry out the checks that `request` asks for. Raises `AutoclaveError` if it or its files are unusable."""
    with open_artifact(request["artifact"]) as artifact:
        check = read_check_of(artifact, Path(request["check"]))
        parts = tuple(_check_part(artifact, part, check, request) for part in artifact.header.parts)
    recorder = check.recorded_by
    return Report(
        artifact_sha256=check.artifact_sha256,
        recorded_by=f"{recorder.kind} ({recorder.name} {recorder.version})" if recorder.name else "nobody",
        command=str(request.get("command") or ""),
        parts=parts,
    )


def _check_part(artifact: Artifact, part: Part, check: CheckFile, request: dict[str, Any]) -> PartReport:
    tolerance = resolve_tolerance(part.target.device, request)
    if part.target.device == "CPU":
        results = list(_native_results(artifact, part, check, request, tolerance))
    else:
        results = [_skipped(rung, NO_EMULATOR) for rung in (REPLAY, REFERENCE)]
    return PartReport(key_text(part.key), part.target, tuple(results))


def _native_results(
    artifact: Artifact, part: Part, check: CheckFile, request: dict[str, Any], tolerance: Tolerance
) -> Iterator[GateResult]:
    if check.recorded_by.kind == "none":
        raise AutoclaveError(f"{request['check']}: it has no outputs, but the artifact is for the CPU; record it again")
    part_check = check.part(part.key)
    expectations = Expectations(request.get("pinned_outputs") or {}, request.get("unused_inputs") or {})
    outputs, results = replay_part(artifact, part_check, expectations)
    yield from results
    references = _references(part, part_check, request)
    if references is None:
        yield _skipped(REFERENCE, NO_REFERENCE)
        return
    for spec in part.outputs:
        reference, varied = (_reference_of(spec, tensors) for tensors in references)
        yield from reference_gate(spec.name, outputs[spec.name], reference, varied, tolerance)


def _skipped(rung: int, reason: str) -> GateResult:
    return GateResult(rung, RUNG_NAMES[rung], "all outputs", "warning", reason)


def _references(part: Part, check: PartCheck, request: dict[str, Any]) -> References | None:
    if request.get("reference"):
        return _read_references(Path(request["reference"]), part, check.seed)
    if request.get("reference_model"):
        from autoclave.parity.reference import reference_outputs  # ONNX Runtime is needed for this only

        return reference_outputs(Path(request["reference_model"]), check)
    return None


def _read_references(path: Path, part: Part, seed: int) -> References:
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


def main(arguments: list[str]) -> int:
    """Carry out the request that `arguments` names. Returns the exit code."""
    try:
        request = read_request(arguments, "autoclave.parity")
        report = check_artifact(request)
        if request.get("report"):
            path = Path(request["report"])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(canonical_json(report.json()) + b"\n")
    except AutoclaveError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    sys.stdout.write(report.text())
    return 1 if report.status == "failed" else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
