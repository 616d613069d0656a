"""Run one part of an artifact on its check file's inputs and put the outputs through the gates of rung 3."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from autoclave.artifact.model import Part, TensorSpec
from autoclave.artifact.reader import key_text
from autoclave.errors import AutoclaveError
from autoclave.native.model import Tensors
from autoclave.parity.check_file import PartCheck
from autoclave.parity.gates import (
    NO_SLICES,
    GateResult,
    dependence_gate,
    finite_gate,
    pinned_gate,
    replay_gate,
    sensitivity_gate,
)
from autoclave.parity.hardware import Runner
from autoclave.parity.inputs import varied_input

Slices = Mapping[str, Mapping[str, slice]]


@dataclass(frozen=True, slots=True)
class Expectations:
    """What a target says about its outputs: sha256 by output name, and the reason by name of each input it ignores.

    A name is that of a tensor, in every part that has it, or `PART/NAME` for one part's, as in "1928x1208/img".
    """

    pinned: Mapping[str, str]
    unused: Mapping[str, str]

    def check_names(self, parts: Sequence[Part]) -> None:
        """Raise `AutoclaveError` if a name is in none of `parts`."""
        for names, field, attribute in (
            (self.pinned, "pinned_outputs", "outputs"),
            (self.unused, "unused_inputs", "inputs"),
        ):
            known = {spec.name for part in parts for spec in getattr(part, attribute)}
            qualified = {qualified_name(part, spec.name) for part in parts for spec in getattr(part, attribute)}
            if unknown := sorted(set(names) - known - qualified):
                owner = f"part {key_text(parts[0].key)} has" if len(parts) == 1 else "the artifact's parts have"
                raise AutoclaveError(f"{field}: {owner} no {unknown[0]!r}; it has {', '.join(sorted(known))}")

    def of(self, part: Part) -> "Expectations":
        """What is said of one part, by the names of its tensors."""
        return Expectations(
            _selected(self.pinned, part, part.outputs),
            _selected(self.unused, part, part.inputs),
        )


def _selected(named: Mapping[str, str], part: Part, specs: Sequence[TensorSpec]) -> dict[str, str]:
    """The entries of `named` about `specs`; one that names the part counts more."""
    entries = ((spec.name, named.get(qualified_name(part, spec.name), named.get(spec.name))) for spec in specs)
    return {name: value for name, value in entries if value is not None}


def qualified_name(part: Part, name: str) -> str:
    """What a tensor of one part is called where those of several parts are named."""
    return f"{key_text(part.key)}/{name}"


def replay_part(
    model: Runner, check: PartCheck, expectations: Expectations, slices: Slices
) -> tuple[Tensors, list[GateResult]]:
    """The outputs of one part for its check inputs, and what the gates of rung 3 say. `slices` of outputs, by their names."""
    outputs = model.run(check.inputs)
    return outputs, list(_results(model, check, outputs, expectations, slices))


def _results(
    model: Runner, check: PartCheck, outputs: Tensors, expectations: Expectations, slices: Slices
) -> Iterator[GateResult]:
    for name, actual in outputs.items():
        yield replay_gate(name, check.outputs[name], actual)
        yield finite_gate(name, actual)
        if name in expectations.pinned:
            yield pinned_gate(name, actual, expectations.pinned[name])
    seen: list[Tensors] = []
    for spec in model.part.inputs:
        seen.append(model.run(check.inputs | {spec.name: varied_input(spec, check.seed)}))
        yield sensitivity_gate(spec.name, outputs, seen[-1], expectations.unused.get(spec.name))
    if len(expectations.unused) < len(model.part.inputs):
        for name, actual in outputs.items():
            named = slices.get(name, NO_SLICES)
            yield dependence_gate(name, actual, [varied[name] for varied in seen], named)
    again = model.run(check.inputs)
    for name, actual in again.items():  # nothing of the runs in between may have stayed behind
        yield replay_gate(name, check.outputs[name], actual, gate="repeat")
