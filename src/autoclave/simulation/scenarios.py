"""The questions that docs/scale.md answers, each as simulated builds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from autoclave.simulation.actions import Action, distinct
from autoclave.simulation.catalogue import Generation, Model, Scope, catalogue_actions, generated_models
from autoclave.simulation.farm import NOTHING, Farm, Known, Outcome, simulate
from autoclave.simulation.limits import Limits, limits
from autoclave.simulation.measurements import Measurements

GIGABIT = 125e6
"""Bytes a second of 1 Gbit/s."""


@dataclass(frozen=True)
class Plan:
    """The catalogue and the farm of all questions: so many models of one scale in so many families, each for this hardware."""

    models: int = 1000
    scale: str = "L"
    families: int = 20
    hardware: tuple[str, ...] = ("cpu", "qcom", "chestnut")

    def catalogue(self) -> list[Model]:
        return generated_models(self.models, self.scale, self.families, self.hardware)


@dataclass(frozen=True)
class Answer:
    """One simulated build and its limits."""

    name: str
    outcome: Outcome
    limits: Limits


def answer(name: str, actions: Sequence[Action], farm: Farm, known: Known = NOTHING) -> Answer:
    """Simulate a build and find its limits."""
    outcome = simulate(actions, farm, known)
    return Answer(name, outcome, limits(actions, farm, outcome, known))


def tools_of(actions: Iterable[Action]) -> set[str]:
    """The names of all toolchain trees and library files: what a worker has that has worked before."""
    return {blob.name for action in actions for blob in action.tools}


def after(actions: Iterable[Action]) -> Known:
    """What is known once these actions have been carried out, by workers that then forget all but the toolchains."""
    done = distinct(actions)
    made = {blob.name for action in done for blob in action.outputs}
    delivered = {blob.name for action in done if action.delivered for blob in action.outputs}
    return Known({action.key for action in done}, made, tools_of(done), delivered)


def everything_new(plan: Plan, measured: Measurements, farm: Farm) -> list[Answer]:
    """The whole catalogue, nothing of it in the cache: at 1 and 10 Gbit/s; by workers that are new, that have the toolchains, and that
    besides take all actions of a model."""
    actions = catalogue_actions(plan.catalogue(), measured)
    worked_before = Known(on_workers=tools_of(actions))
    return [
        answer(f"cache of {gigabits} Gbit/s, {state}", actions, replace(each, cache_rate=gigabits * GIGABIT), known)
        for gigabits in (1, 10)
        for state, each, known in (
            ("new workers", farm, NOTHING),
            ("workers with toolchains", farm, worked_before),
            ("each with whole models", replace(farm, by_model=True), worked_before),
        )
    ]


def by_workers(
    plan: Plan, measured: Measurements, farm: Farm, counts: Sequence[int], gigabits: float
) -> list[tuple[int, Answer]]:
    """The whole catalogue on each number of workers, which have the toolchains."""
    actions = catalogue_actions(plan.catalogue(), measured)
    known = Known(on_workers=tools_of(actions))
    rate = gigabits * GIGABIT
    return [
        (count, answer(f"{count}", actions, replace(farm, workers=count, cache_rate=rate), known)) for count in counts
    ]


def bumps(plan: Plan, measured: Measurements, farm: Farm) -> list[Answer]:
    """Another tinygrad over a catalogue that was built before: it changes no kernel, kernels of one family in ten, or a kernel of every
    artifact; and the last two if artifacts were stored in two pieces."""
    models = plan.catalogue()
    tenth = {f"{plan.scale}{number}" for number in range(0, plan.families, 10)}
    none = Generation(2)
    some = Generation(2, lambda model, hardware: model.family in tenth)
    every = Generation(2, lambda model, hardware: True)
    whole, split = Scope(), Scope(split_artifacts=True)
    cases = (
        ("no kernel changes", none, whole),
        ("all changes in 1 artifact of 10", some, whole),
        ("changes in every artifact", every, whole),
        ("1 artifact of 10, weights apart", some, split),
        ("every artifact, weights apart", every, split),
    )
    return [
        answer(
            name,
            catalogue_actions(models, measured, scope, generation),
            farm,
            after(catalogue_actions(models, measured, scope)),
        )
        for name, generation, scope in cases
    ]


def chance_of_change(kernels: int, share: float) -> float:
    """How likely an artifact of so many kernels has one that changes, if `share` of all kernels change, each as likely as any other."""
    return 1.0 - (1.0 - share) ** kernels
