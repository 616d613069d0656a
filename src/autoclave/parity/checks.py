"""All checks of an artifact against its check file, by whatever way its hardware is run."""

import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from autoclave.artifact.model import Part
from autoclave.artifact.reader import Artifact, key_text, open_artifact
from autoclave.canonical import canonical_json
from autoclave.errors import AutoclaveError, EmulationError
from autoclave.native.request import carried_out
from autoclave.parity.check_file import CheckFile, read_check_of
from autoclave.parity.device import device_results
from autoclave.parity.gates import (
    REPLAY,
    RUNG_NAMES,
    GateResult,
    Status,
)
from autoclave.parity.hardware import Hardware, Ways, way_of
from autoclave.parity.references import prepare_reference, reference_results
from autoclave.parity.replay import Expectations, replay_part
from autoclave.parity.report import PartReport, Report
from autoclave.parity.slices import output_slices
from autoclave.parity.tolerance import Tolerance, resolve_tolerance

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
        _expectations(request).check_names(artifact.header.parts)
        parts = tuple(_check_part(artifact, part, check, request, ways) for part in artifact.header.parts)
    recorder = check.recorded_by
    return Report(
        artifact_sha256=check.artifact_sha256,
        recorded_by=f"{recorder.kind} ({recorder.name} {recorder.version})" if recorder.name else "nobody",
        command=str(request.get("command") or ""),
        parts=parts,
    )


def _expectations(request: Mapping[str, Any]) -> Expectations:
    return Expectations(request.get("pinned_outputs") or {}, request.get("unused_inputs") or {})


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
    expectations = _expectations(request).of(part)
    runner = hardware.open(artifact, part, request, replays=True)
    outputs, results = replay_part(runner, part_check, expectations, output_slices(artifact))
    yield from results
    # The reference is computed by ONNX Runtime or numpy, the rest by an interpreter in Python: side by side.
    with ThreadPoolExecutor(1) as beside:
        reference = beside.submit(prepare_reference, artifact, part, part_check, request)
        yield from hardware.further_results(runner, part_check, request)
        yield from reference_results(artifact, runner, part_check, outputs, reference.result(), tolerance)
    yield from device_results(artifact, part, part_check, outputs, request)
