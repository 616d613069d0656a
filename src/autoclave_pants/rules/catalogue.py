"""The models of a checkout, and which parity tests each has."""

from __future__ import annotations

from dataclasses import dataclass

from pants.engine.addresses import Address
from pants.engine.rules import Rule, collect_rules, rule
from pants.engine.target import AllTargets, Target

from autoclave_pants.engine import targets_at
from autoclave_pants.rules.parity import ParityFieldSet
from autoclave_pants.rules.products import is_model


@dataclass(frozen=True)
class CataloguedModel:
    """A model for one hardware."""

    target: Target
    tests: tuple[ParityFieldSet, ...]


@dataclass(frozen=True)
class Catalogue:
    """All models, in the order of their addresses."""

    models: tuple[CataloguedModel, ...]


@rule
async def catalogue(targets: AllTargets) -> Catalogue:
    tests: dict[Address, list[ParityFieldSet]] = {}
    for fields in (ParityFieldSet.create(each) for each in targets if ParityFieldSet.is_applicable(each)):
        for model in await targets_at(fields.model.to_unparsed_address_inputs()):
            tests.setdefault(model.address, []).append(fields)
    models = sorted(filter(is_model, targets), key=lambda each: str(each.address))
    return Catalogue(tuple(CataloguedModel(each, tuple(tests.get(each.address, ()))) for each in models))


def rules() -> list[Rule]:
    return list(collect_rules())
