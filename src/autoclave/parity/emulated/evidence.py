"""Rung 5: on what evidence the emulator's arithmetic rests, weighted by how often each rule is applied.

How many instructions each launch executes is counted exactly. What kinds of instructions they are is taken from the first
thread or wave of each kernel's first launch (among its first workgroup, where they work together), in proportion.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from autoclave.emulator.evidence import Evidence, weakest_evidence
from autoclave.emulator.interpretation import Interpretation
from autoclave.emulator.interpretations import interpretation
from autoclave.emulator.model import EmulatedModel
from autoclave.parity.gates import EVIDENCE, GateResult

GATE = "evidence"
SUBJECT = "executed instructions"
HARDWARE: Final = "hardware"
_STRONGEST_FIRST: tuple[Evidence, ...] = (HARDWARE, "documented", "declared")
_SHOWN = 12
"""Rules that a report lists."""

Mix = Sequence[tuple[Any, int]]
"""Instructions of a kernel, and how often each is executed, repetitions counted one by one."""


@dataclass(frozen=True, slots=True)
class Verified:
    """Instructions by the weakest evidence among their rules, and by rule those that have no `hardware` evidence.

    Instructions that no rule of arithmetic is about, branches for example, count in `total` alone.
    """

    total: float
    by_evidence: Mapping[str, float]
    unverified: Mapping[tuple[str, str], float]

    @property
    def ruled(self) -> float:
        """Instructions that some rule is about."""
        return sum(self.by_evidence.values())

    def share(self, evidence: str) -> float:
        """The part of the ruled instructions with this evidence, 0 to 1."""
        return self.by_evidence.get(evidence, 0.0) / self.ruled if self.ruled else 0.0


def collect_evidence(model: EmulatedModel, mixes: Mapping[int, Mix]) -> Verified:
    """The evidence for all launches of `model`, of loading and of its last run; `mixes` are those of its kernels."""
    known = interpretation(model.architecture.name)
    executed = Counter[int]()
    statistics = (*model.init_statistics, *model.statistics)
    for step, each in zip(model.init + model.calls, statistics, strict=True):
        if step.number is not None:
            executed[step.number] += each.instructions
    by_evidence: defaultdict[str, float] = defaultdict(float)
    unverified: defaultdict[tuple[str, str], float] = defaultdict(float)
    for number, instructions in executed.items():
        for instruction, weight in _weighted(mixes.get(number, ()), instructions):
            _count(known, instruction, weight, by_evidence, unverified)
    return Verified(float(sum(executed.values())), dict(by_evidence), dict(unverified))


def _weighted(mix: Mix, instructions: int) -> Iterator[tuple[Any, float]]:
    total = sum(count for _, count in mix)
    return ((instruction, count * instructions / total) for instruction, count in mix)


def _count(
    known: Interpretation,
    instruction: Any,
    weight: float,
    by_evidence: defaultdict[str, float],
    unverified: defaultdict[tuple[str, str], float],
) -> None:
    names = known.rules_of(instruction)
    if not names:
        return
    by_evidence[weakest_evidence(known.rules, names)] += weight
    for name in names:
        if known.rules[name].evidence != HARDWARE:
            unverified[name, known.rules[name].evidence] += weight


def evidence_result(evidence: Verified, required: bool) -> GateResult:
    """What the evidence says; with `required`, all of it has to be `hardware`."""
    figures = {name: evidence.share(name) for name in _STRONGEST_FIRST} | {"instructions": evidence.total}
    shares = ", ".join(f"{100 * evidence.share(name):.3g} % {name}" for name in _STRONGEST_FIRST)
    message = f"of {evidence.total:.4g}, {evidence.ruled:.4g} are arithmetic, by rules whose evidence is: {shares}"
    if not required:
        return GateResult(EVIDENCE, GATE, SUBJECT, "passed", message + "; not required", figures)
    if not evidence.unverified:
        return GateResult(EVIDENCE, GATE, SUBJECT, "passed", message, figures)
    return GateResult(
        EVIDENCE, GATE, SUBJECT, "unverified", f"{message}; not verified for {_listed(evidence)}", figures
    )


def _listed(evidence: Verified) -> str:
    ranked = sorted(evidence.unverified.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(f"{rule} ({kind}, {count:.4g} instructions)" for (rule, kind), count in ranked[:_SHOWN])
    return shown if len(ranked) <= _SHOWN else f"{shown} and {len(ranked) - _SHOWN} more rules"
