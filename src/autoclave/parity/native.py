"""CPU artifacts run on this machine's own processor."""

from collections.abc import Iterator, Mapping
from typing import Any

from autoclave import __version__
from autoclave.artifact.model import Part
from autoclave.artifact.reader import Artifact
from autoclave.native.model import NativeModel, Placement
from autoclave.parity.check_file import PartCheck, Recorder
from autoclave.parity.gates import EVIDENCE, GateResult
from autoclave.parity.hardware import Runner, Ways

REPLAY_PLACEMENT = Placement(skew=64, fill=0xFF)
"""Other than the recorder's: every buffer is aligned to 64 bytes only, and scratch memory is full of NaNs."""


class NativeHardware:
    """The way of CPU artifacts: see `NativeModel`."""

    recorder = Recorder("cpu", "autoclave.native", __version__)

    def open(self, artifact: Artifact, part: Part, request: Mapping[str, Any], *, replays: bool) -> NativeModel:
        """Load `part` into this process."""
        return NativeModel(artifact, part.key, REPLAY_PLACEMENT if replays else Placement())

    def further_results(self, runner: Runner, check: PartCheck, request: Mapping[str, Any]) -> Iterator[GateResult]:
        """If evidence is demanded: that the hardware itself has run."""
        if request.get("require_hardware_evidence"):
            yield GateResult(EVIDENCE, "evidence", "all outputs", "passed", "the hardware itself has computed them")


WAYS: Ways = {"CPU": NativeHardware()}
