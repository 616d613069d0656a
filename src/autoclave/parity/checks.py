"""All checks of an artifact against its check file, by whatever way its hardware is run."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from autoclave.artifact.model import Part, TensorSpec
from autoclave.artifact.reader import Artifact, key_text, open_artifact
from autoclave.canonical import canonical_json
from autoclave.errors import AutoclaveError, EmulationError
from autoclave.native.model import Tensors
from autoclave.native.request import carried_out
from autoclave.native.tensor_files import read_tensors
from autoclave.parity.check_file import CheckFile, PartCheck, read_check_of
from autoclave.parity.device import device_results
from autoclave.parity.gates import (
    REFERENCE,
    REPLAY,
    RUNG_NAMES,
    GateResult,
    Status,
    reference_gate,
    skipped,
)
from autoclave.parity.hardware import Hardware, Ways, way_of
from autoclave.parity.replay import Expectations, replay_part
from autoclave.parity.report import PartReport, Report
from autoclave.parity.tolerance import Tolerance, resolve_tolerance

NO_REFERENCE = "no reference model was given"

References = tuple[Tensors, Tensors]
"""Reference outputs for the check inputs and for those of the next seed."""


EXIT_CODES: dict[Status, int] = {"passed": 0, "warning": 0, "failed": 1, "unverified": 3}
"""By a report's status."""


def run_check(arguments: list[str], module: str, ways: Ways) -> int:
    """Check as the request file in `arguments` says; returns the exit code. `module` is the entry module's name."""

    def carry_out(request: dict[str, Any]) -> int:
        report = check_artifact(request, ways)
        if request.get("report"):
            path = Path(request["report"])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(canonical_json(report.json()) + b"\n")
        sys.stdout.write(report.text())
        return EXIT_CODES[report.status]

    return carried_out(arguments, module, carry_out)


def check_artifact(request: Mapping[str, Any], ways: Ways) -> Report:
    """Carry out the checks that `request` asks for. Raises `AutoclaveError` if it or its files are unusable."""
    with open_artifact(request["artifact"]) as artifact:
        check = read_check_of(artifact, Path(request["check"]))
        parts = tuple(_check_part(artifact, part, check, request, ways) for part in artifact.header.parts)
    recorder = check.recorded_by
    return Report(
        artifact_sha256=check.artifact_sha256,
        recorded_by=f"{recorder.kind} ({recorder.name} {recorder.version})" if recorder.name else "nobody",
        command=str(request.get("command") or ""),
        parts=parts,
    )


def _check_part(artifact: Artifact, part: Part, check: CheckFile, request: Mapping[str, Any], ways: Ways) -> PartReport:
    tolerance = resolve_tolerance(part.target.device, request)
    hardware = way_of(part, ways)
    found = _results_or_fault(artifact, part, check, request, tolerance, hardware)
    results = sorted(found, key=lambda result: result.rung)
    return PartReport(key_text(part.key), part.target, tuple(results))


def _results_or_fault(
    artifact: Artifact,
    part: Part,
    check: CheckFile,
    request: Mapping[str, Any],
    tolerance: Tolerance,
    hardware: Hardware,
) -> Iterator[GateResult]:
    """As `_results`; code that does what it must not is a failure, whatever came out before."""
    try:
        yield from _results(artifact, part, check, request, tolerance, hardware)
    except EmulationError as error:
        yield GateResult(REPLAY, RUNG_NAMES[REPLAY], "all outputs", "failed", str(error))


def _results(
    artifact: Artifact,
    part: Part,
    check: CheckFile,
    request: Mapping[str, Any],
    tolerance: Tolerance,
    hardware: Hardware,
) -> Iterator[GateResult]:
    if check.recorded_by.kind == "none":
        raise AutoclaveError(
            f"{request['check']}: it has no outputs, but {part.target.device} can be run; record it again"
        )
    part_check = check.part(part.key)
    expectations = Expectations(request.get("pinned_outputs") or {}, request.get("unused_inputs") or {})
    runner = hardware.open(artifact, part, request, replays=True)
    outputs, results = replay_part(runner, part_check, expectations)
    yield from results
    yield from hardware.further_results(runner, part_check, request)
    yield from _reference_results(part, part_check, outputs, request, tolerance)
    yield from device_results(artifact, part, part_check, outputs, request)


def _reference_results(
    part: Part, check: PartCheck, outputs: Tensors, request: Mapping[str, Any], tolerance: Tolerance
) -> Iterator[GateResult]:
    references = _references(part, check, request)
    if references is None:
        yield skipped(REFERENCE, NO_REFERENCE)
        return
    for spec in part.outputs:
        reference, varied = (_reference_of(spec, tensors) for tensors in references)
        yield from reference_gate(spec.name, outputs[spec.name], reference, varied, tolerance)


def _references(part: Part, check: PartCheck, request: Mapping[str, Any]) -> References | None:
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
