"""Run one part of an artifact on its check file's inputs and put the outputs through the gates of rung 3."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autoclave.artifact.model import Part
from autoclave.artifact.reader import key_text
from autoclave.errors import AutoclaveError
from autoclave.native.model import Tensors
from autoclave.parity.check_file import PartCheck
from autoclave.parity.gates import GateResult, finite_gate, pinned_gate, replay_gate, sensitivity_gate
from autoclave.parity.hardware import Runner
from autoclave.parity.inputs import varied_input


@dataclass(frozen=True, slots=True)
class Expectations:
    """What a target says about its outputs: sha256 by output name, and the reason by name of each input it ignores."""

    pinned: Mapping[str, str]
    unused: Mapping[str, str]

    def check_names(self, part: Part) -> None:
        """Raise `AutoclaveError` if a name is none of `part`'s."""
        for names, specs, field in (
            (self.pinned, part.outputs, "pinned_outputs"),
            (self.unused, part.inputs, "unused_inputs"),
        ):
            known = {spec.name for spec in specs}
            if unknown := sorted(set(names) - known):
                raise AutoclaveError(
                    f"{field}: part {key_text(part.key)} has no {unknown[0]!r}; it has {', '.join(sorted(known))}"
                )


def replay_part(model: Runner, check: PartCheck, expectations: Expectations) -> tuple[Tensors, list[GateResult]]:
    """The outputs of one part for its check inputs, and what the gates of rung 3 say."""
    expectations.check_names(model.part)
    outputs = model.run(check.inputs)
    return outputs, list(_results(model, check, outputs, expectations))


def _results(model: Runner, check: PartCheck, outputs: Tensors, expectations: Expectations) -> Iterator[GateResult]:
    for name, actual in outputs.items():
        yield replay_gate(name, check.outputs[name], actual)
        yield finite_gate(name, actual)
        if name in expectations.pinned:
            yield pinned_gate(name, actual, expectations.pinned[name])
    for spec in model.part.inputs:
        varied = model.run(check.inputs | {spec.name: varied_input(spec, check.seed)})
        yield sensitivity_gate(spec.name, outputs, varied, expectations.unused.get(spec.name))
    again = model.run(check.inputs)
    for name, actual in again.items():  # nothing of the runs in between may have stayed behind
        yield replay_gate(name, check.outputs[name], actual, gate="repeat")
