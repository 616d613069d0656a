"""How the parts of an artifact are run here: natively, or on an emulator. One `Hardware` for each way."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from autoclave.artifact.model import Part
from autoclave.artifact.reader import Artifact, key_text
from autoclave.errors import AutoclaveError
from autoclave.native.model import Tensors
from autoclave.parity.check_file import PartCheck, Recorder
from autoclave.parity.gates import GateResult


class Runner(Protocol):
    """One part, loaded and ready to run."""

    @property
    def part(self) -> Part:
        """What `run` takes and gives."""

    def run(self, inputs: Tensors) -> Tensors:
        """The outputs for `inputs`. Nothing that one run leaves behind may matter to the next."""


class Hardware(Protocol):
    """A way to run parts. `request` is the action's: it may name files that this way needs."""

    recorder: Recorder
    """Who computed what this way gives."""

    def open(self, artifact: Artifact, part: Part, request: Mapping[str, Any], *, replays: bool) -> Runner:
        """Load `part`; to replay, under other circumstances than to record, for none of them may matter.

        Raises `AutoclaveError` if it cannot be loaded.
        """

    def further_results(self, runner: Runner, check: PartCheck, request: Mapping[str, Any]) -> Iterator[GateResult]:
        """What this way has to say besides replay and reference. `runner` is what `open` gave to replay."""


Ways = Mapping[str, Hardware]
"""By tinygrad's device name, the ways that an entry module knows."""


def way_of(part: Part, ways: Ways) -> Hardware:
    """How to run `part`. Raises `AutoclaveError` if that is another module's business."""
    if part.target.device not in ways:
        raise AutoclaveError(
            f"part {key_text(part.key)} is for {part.target.device}, and this module is for {' and '.join(ways)}; "
            f"`autoclave parity` finds the right one"
        )
    return ways[part.target.device]
