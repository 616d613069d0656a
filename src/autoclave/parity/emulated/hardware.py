"""Artifacts for emulated GPUs run on the emulator."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from autoclave import __version__
from autoclave.artifact.model import Part
from autoclave.artifact.reader import Artifact
from autoclave.emulator.devices import DEVICES
from autoclave.emulator.jit import PORTABLE, HostTarget, best_target
from autoclave.emulator.model import EmulatedModel, Placement
from autoclave.emulator.processors import processors
from autoclave.emulator.program import Translation, unpack_translations
from autoclave.errors import AutoclaveError
from autoclave.parity.check_file import PartCheck, Recorder
from autoclave.parity.emulated.cross_check import cross_check_results
from autoclave.parity.emulated.evidence import collect_evidence, evidence_result
from autoclave.parity.emulated.inspection import inspect_kernels
from autoclave.parity.emulated.matrices import matrix_results
from autoclave.parity.gates import DEVICE, GateResult, skipped
from autoclave.parity.hardware import Runner, Ways

RECORD_LANES = 4
REPLAY_LANES = {"QCOM": 8, "AMD": RECORD_LANES}
"""What is recorded on one lane width is replayed on another: results must not depend on it. Of the a630; a wave of gfx1200 has lanes of
its own, whatever is asked for, so that asking for the same saves translating kernels again that are made the same way.

A recording runs once, so that all of its host code is made quickly, and little optimised; to replay, the kernels that have much
to do get better code.
"""

NO_RECORDING = "no device_recording was given: outputs captured on a device, see docs/parity.md"


class EmulatedHardware:
    """The way of artifacts for emulated GPUs: see `EmulatedModel`.

    Fields of a request: translations, optional: a file of translations for `cpu` and `features` (of `HostTarget`) and the
    lanes above. Without it, kernels are translated on the spot, for this machine.
    """

    recorder = Recorder("emulator", "autoclave.emulator", __version__)

    def open(self, artifact: Artifact, part: Part, request: Mapping[str, Any], *, replays: bool) -> Runner:
        """As `load`."""
        return self.load(artifact, part, request, replays=replays)

    def load(self, artifact: Artifact, part: Part, request: Mapping[str, Any], *, replays: bool) -> EmulatedModel:
        """Load `part`. On replay host code is made otherwise, see `REPLAY_LANES`, and scratch memory is full of NaNs."""
        lanes = REPLAY_LANES[part.target.device] if replays else RECORD_LANES
        target = replace(_host(request), lanes=lanes, quick=not replays)
        placement = Placement(target, 0xFF if replays else 0, processors())
        return EmulatedModel(artifact, part.key, placement, _translations(request))

    def further_results(self, runner: Runner, check: PartCheck, request: Mapping[str, Any]) -> Iterator[GateResult]:
        """The cross-check by the interpreter, lanes of products of matrices, and the evidence for the rules of arithmetic."""
        assert isinstance(runner, EmulatedModel)
        kernels = tuple(inspect_kernels(runner, check.inputs))
        yield from cross_check_results(kernels)
        yield from matrix_results(kernels)
        evidence = collect_evidence(runner, {kernel.number: kernel.mix for kernel in kernels})
        yield evidence_result(evidence, bool(request.get("require_hardware_evidence")))
        if not request.get("device_recording"):
            yield skipped(DEVICE, NO_RECORDING)


def _host(request: Mapping[str, Any]) -> HostTarget:
    if not request.get("translations"):
        return best_target()
    return replace(PORTABLE, cpu=str(request["cpu"]), features=str(request.get("features") or ""))


def _translations(request: Mapping[str, Any]) -> dict[str, Translation] | None:
    if not request.get("translations"):
        return None
    path = Path(request["translations"])
    try:
        return unpack_translations(path.read_bytes())
    except OSError as error:
        raise AutoclaveError(f"reading the translations {path}: {error.strerror}") from error


WAYS: Ways = dict.fromkeys(DEVICES, EmulatedHardware())
